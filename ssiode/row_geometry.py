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

    @property
    def n_overlaps(self) -> int:
        """Number of entries of v, 2 L."""
        return 2 * self.length

    @property
    def overlap_names(self) -> list[str]:
        """Names of the entries of v: e1, ..., eL, m1, ..., mL."""
        return [f"{letter}{i}" for letter in "em" for i in range(1, self.length + 1)]

    @cached_property
    def metric(self) -> np.ndarray:
        """Gram matrices of (P_l, w*)/sqrt(d), one for each weight vector, shape (L, 2, 2)."""
        return np.array([geometry.metric for geometry in self._of_tokens])

    def by_rows(self, v: np.ndarray) -> np.ndarray:
        """The (e_l, m_l) of each weight vector, shape (..., 2 L) to (..., L, 2).

        >>> shared = Geometry(np.eye(2), np.zeros(2), np.zeros(2))
        >>> RowGeometry(shared, is_joint=False).by_rows(np.array([0.1, 0.2, 0.3, 0.4])).tolist()
        [[0.1, 0.3], [0.2, 0.4]]
        """
        return v.reshape(*v.shape[:-1], 2, self.length).swapaxes(-1, -2)

    def flat(self, rows: np.ndarray) -> np.ndarray:
        """The inverse of :meth:`by_rows`."""
        return rows.swapaxes(-1, -2).reshape(*rows.shape[:-2], 2 * self.length)

    def recovered(self, v: np.ndarray) -> np.ndarray:
        r"""The |v| of weak recovery, shape (...): :math:`\sqrt{|e|^2 + |m|^2/L}`.

        >>> shared = Geometry(np.eye(2), np.zeros(2), np.zeros(2))
        >>> geometry = RowGeometry(shared, is_joint=False)
        >>> float(geometry.recovered(np.array([0.0, 0.0, 0.6, 0.6])).round(12))
        0.6
        """
        e, m = np.split(v, 2, axis=-1)
        return np.sqrt(np.sum(e**2, axis=-1) + np.mean(m**2, axis=-1))

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
