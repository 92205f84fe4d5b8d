"""The geometry of students with one weight vector for each token."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ssiode.errors import InputError, finite_number, number_list
from ssiode.geometry import Geometry, random_rows


@dataclass(frozen=True, eq=False)
class RowGeometry:
    r"""Overlaps of L weight vectors, each with the teacher and with its own row of the encoding.

    A state is :math:`v = (e_1, \dots, e_L, m_1, \dots, m_L)` with
    :math:`e_l = P_l\cdot w_l/\sqrt d` and :math:`m_l = w_l\cdot w_\star/d`.

    Parameters
    ----------
    shared : Geometry
        Of the encoding, the teacher and one weight vector.
    is_joint : bool
        Whether only the mean of :math:`|w_l|^2` is fixed, and not each of them.

    Examples
    --------
    >>> shared = Geometry(np.eye(2), np.zeros(2), np.zeros(2))
    >>> RowGeometry(shared, is_joint=False).state(e=0.6, m=(0.8, 0.1)).tolist()
    [0.6, 0.6, 0.8, 0.1]
    """

    shared: Geometry
    is_joint: bool

    @property
    def length(self) -> int:
        """Number of tokens L."""
        return self.shared.length

    @property
    def n_rows(self) -> int:
        """Number of weight vectors, L."""
        return self.length

    @property
    def rank(self) -> int:
        """Rank r of the metric of encoding and teacher."""
        return self.shared.rank

    @property
    def basis(self) -> np.ndarray:
        """Coordinates of (P_1, ..., P_L, w*/sqrt(d)), shape (L + 1, r)."""
        return self.shared.basis

    @property
    def injected(self) -> np.ndarray:
        """Constant added to the student fields, shape (L,)."""
        return self.shared.injected

    @cached_property
    def _of_tokens(self) -> tuple[Geometry, ...]:
        """The geometry of each row with the teacher and its own row of the encoding."""
        shared = self.shared
        return tuple(
            Geometry(shared.gram[[[i]], [i]], shared.teacher_overlap[[i]], shared.injected[[i]])
            for i in range(self.length)
        )

    def state(self, e: Any = None, m: Any = 0.0, project: bool = False) -> np.ndarray:
        """Return the feasible state (e, m_1, ..., m_L), shape (2 L,), from user input.

        `e` and `m` are L numbers, or one number for all tokens.

        Raises
        ------
        InputError
            If a list has the wrong length, a number is not finite, or no weights of norm sqrt(d)
            have these overlaps.
        """
        overlaps = [self._numbers(name, given) for name, given in (("e", e), ("m", m))]
        rows = [
            geometry.state(*pair, project=project)
            for geometry, *pair in zip(self._of_tokens, *overlaps, strict=True)
        ]
        return np.array(rows).T.ravel()

    def _numbers(self, name: str, given: Any) -> tuple[float, ...]:
        given = 0.0 if given is None else given
        is_list = hasattr(given, "__iter__") and not isinstance(given, str)
        numbers = number_list(name, given) if is_list else (finite_number(name, given),)
        if len(numbers) not in (1, self.length):
            raise InputError(
                f"{name} has {len(numbers)} entries; give one, or one per token ({self.length})"
            )
        return numbers * (self.length // len(numbers))

    def row_coordinates(self, v: np.ndarray) -> np.ndarray:
        """Coordinates of the shortest weights w_l/sqrt(d) with the overlaps v, shape (L, r).

        >>> shared = Geometry(np.eye(2), np.zeros(2), np.zeros(2))
        >>> geometry = RowGeometry(shared, is_joint=False)
        >>> u = geometry.row_coordinates(np.array([0.1, 0.2, 0.3, 0.4]))
        >>> (u @ geometry.basis.T).round(12).tolist()
        [[0.1, 0.0, 0.3], [0.0, 0.2, 0.4]]
        """
        rows = np.empty((self.length, self.rank))
        for token, geometry in enumerate(self._of_tokens):
            pair = v[[token, self.length + token]]
            seen = self.basis[[token, self.length]]
            rows[token] = geometry.coordinates(pair) @ geometry.coordinates(seen.T).T
        return rows

    def normalised(self, rows: np.ndarray) -> np.ndarray:
        """Rows of shape (L, n) with norms of 1, or a mean square of 1 for the joint constraint."""
        squares = np.sum(rows**2, axis=1, keepdims=True)
        return rows / np.sqrt(squares.mean() if self.is_joint else squares)

    def random_state(self, d: int, generator: np.random.Generator) -> np.ndarray:
        """Draw (e, m_1, ..., m_L) of weights uniform where they may be, shape (2 L,)."""
        overlaps = random_rows(self, d, generator)[:, :-1] @ self.basis.T
        return np.concatenate([np.diagonal(overlaps), overlaps[:, -1]])
