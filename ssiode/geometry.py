"""The geometry of the sufficient statistics: metric, orthonormal basis and feasible set."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.errors import InputError, finite_number, number_list

if TYPE_CHECKING:
    from ssiode.row_geometry import RowGeometry

_RANK_TOLERANCE = 1e-12
_FEASIBILITY_TOLERANCE = 1e-9
_ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class Geometry:
    r"""Gram matrix of the encoding rows and the teacher, and what follows from it.

    With :math:`G = P P^T` and :math:`c = P w_\star/\sqrt d` the metric is

    .. math:: \Gamma = \begin{pmatrix} G & c \\ c^T & 1 \end{pmatrix},

    and a state :math:`v = (e, m)` is reached by some student weights if and only if it lies in
    the range of :math:`\Gamma` and :math:`v^T \Gamma^+ v \le 1`.

    Parameters
    ----------
    gram : array of shape (L, L)
        Gram matrix G of the encoding.
    teacher_overlap : array of shape (L,)
        Overlap c of the encoding with the teacher.
    injected : array of shape (L,)
        Constant added to the student fields z.

    Raises
    ------
    InputError
        If :math:`\Gamma` is not positive semi-definite.

    Examples
    --------
    >>> opposite = Geometry(np.array([[1.0, -1.0], [-1.0, 1.0]]), np.zeros(2), np.zeros(2))
    >>> opposite.rank
    2
    >>> float(opposite.squared_length(np.array([0.6, -0.6, 0.8])).round(12))
    1.0
    """

    gram: np.ndarray
    teacher_overlap: np.ndarray
    injected: np.ndarray

    def __post_init__(self) -> None:
        if not np.all(np.isfinite(self.metric)):
            raise InputError("the encoding is too large: its Gram matrix overflows; lower its norm")
        if self._spectrum[0][0] < -_RANK_TOLERANCE * max(1.0, self._spectrum[0][-1]):
            raise InputError(
                f"the encoding is impossible: the Gram matrix of its rows and the teacher has the "
                f"negative eigenvalue {np.linalg.eigvalsh(self.metric)[0]:.3g}; lower "
                "teacher_overlap or mend the Gram matrix"
            )

    @property
    def length(self) -> int:
        """Number of tokens L."""
        return len(self.teacher_overlap)

    @property
    def n_rows(self) -> int:
        """Number of weight vectors: one for all tokens."""
        return 1

    @property
    def is_joint(self) -> bool:
        """Whether the norm of each weight vector may move: that of a single one is fixed."""
        return False

    @cached_property
    def metric(self) -> np.ndarray:
        """Gram matrix Gamma of (P_1, ..., P_L, w*/sqrt(d)), shape (L+1, L+1)."""
        length = len(self.teacher_overlap)
        metric = np.empty((length + 1, length + 1))
        metric[:length, :length] = self.gram
        metric[:length, length] = metric[length, :length] = self.teacher_overlap
        metric[length, length] = 1.0
        return metric

    @cached_property
    def _norms(self) -> np.ndarray:
        """Norms of the rows, 1 for a row of zeros, so that ranks do not depend on them."""
        norms = np.sqrt(np.abs(np.diag(self.metric)))
        return np.where(norms > 0, norms, 1.0)

    @cached_property
    def _spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        return np.linalg.eigh(self.metric / self._norms / self._norms[:, None])

    @cached_property
    def _kept(self) -> np.ndarray:
        values = self._spectrum[0]
        return values > _RANK_TOLERANCE * max(1.0, values[-1])

    @property
    def rank(self) -> int:
        """Rank r of the metric: the number of directions that carry information."""
        return int(self._kept.sum())

    @cached_property
    def basis(self) -> np.ndarray:
        """Coordinates of (P_1, ..., P_L, w*/sqrt(d)) in an orthonormal basis, shape (L+1, r)."""
        values, vectors = self._spectrum
        return self._norms[:, None] * vectors[:, self._kept] * np.sqrt(values[self._kept])

    @cached_property
    def _inverse_basis(self) -> np.ndarray:
        values, vectors = self._spectrum
        return (vectors[:, self._kept] / np.sqrt(values[self._kept])).T / self._norms

    def coordinates(self, v: np.ndarray) -> np.ndarray:
        """Coordinates u of w/sqrt(d), with v = basis @ u; shape (..., L + 1) to (..., r)."""
        return v @ self._inverse_basis.T

    def row_coordinates(self, v: np.ndarray) -> np.ndarray:
        """The same for one state, as a row for each weight vector, shape (1, r)."""
        return self.coordinates(v)[None]

    def normalised(self, rows: np.ndarray) -> np.ndarray:
        """Rows of shape (1, n) with norms of 1."""
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def squared_length(self, v: np.ndarray) -> np.ndarray:
        r"""Squared norm :math:`v^T \Gamma^+ v` of the informative part of w/sqrt(d), in [0, 1]."""
        return np.sum(self.coordinates(v) ** 2, axis=-1)

    @property
    def n_overlaps(self) -> int:
        """Number of entries of v, L + 1."""
        return self.length + 1

    @property
    def overlap_names(self) -> list[str]:
        """Names of the entries of v: e1, ..., eL, m."""
        return [*(f"e{i}" for i in range(1, self.length + 1)), "m"]

    def by_rows(self, v: np.ndarray) -> np.ndarray:
        """Overlaps by weight vector: v itself, of shape (..., L + 1)."""
        return v

    def flat(self, rows: np.ndarray) -> np.ndarray:
        """The inverse of :meth:`by_rows`."""
        return rows

    def recovered(self, v: np.ndarray) -> np.ndarray:
        """The |v| of weak recovery: the Euclidean norm, shape (...)."""
        return np.linalg.norm(v, axis=-1)

    def outside_range(self, v: np.ndarray) -> np.ndarray:
        """How far v is from the range of the metric in units of the norms of its rows, 0 inside."""
        rows = np.append(np.diag(self.gram), 1.0)
        # A row of zeros has no scale of its own and takes that of the largest row.
        scales = np.sqrt(np.where(rows > 0, rows, max(rows[:-1].max(), 0.0) or 1.0))
        return np.abs((v - self.coordinates(v) @ self.basis.T) / scales).max(axis=-1)

    def state(
        self, e: np.ndarray | float | None = None, m: Any = 0.0, project: bool = False
    ) -> np.ndarray:
        """Return the feasible state v = (e, m), shape (L+1,), from user input.

        `e` is L numbers, one number for all tokens, or None for zero. With `project` an infeasible
        state is replaced by its projection on the feasible set.

        Raises
        ------
        InputError
            If e has the wrong length, a number is not finite, or no weights have these overlaps.
        """
        e = 0.0 if e is None else e
        is_list = hasattr(e, "__iter__") and not isinstance(e, str)
        overlaps = number_list("e", e) if is_list else (finite_number("e", e),)
        if len(overlaps) == 1:
            overlaps *= self.length
        if len(overlaps) != self.length:
            raise InputError(
                f"e has {len(overlaps)} entries; give one, or one per token ({self.length})"
            )
        v = np.array([*overlaps, _one_number("m", m)])
        if not project:
            self.check_feasible(v)
        return self.projected(v)

    def projected(self, v: np.ndarray) -> np.ndarray:
        """Return v if it is feasible, else its projection on the feasible set.

        The part outside the range of the metric is dropped, and what is longer than the weights
        is shortened to their length.

        >>> no_encoding = Geometry(np.zeros((1, 1)), np.zeros(1), np.zeros(1))
        >>> no_encoding.projected(np.array([0.0, 1.0])), no_encoding.projected(np.array([2.0, 3.0]))
        (array([0., 1.]), array([0., 1.]))
        """
        u = self.coordinates(v)
        square = float(u @ u)
        if square <= 1.0 + _ROUNDING and self.outside_range(v) <= _RANK_TOLERANCE:
            return v
        return self.basis @ (u / max(1.0, np.sqrt(square)))

    def check_feasible(self, v: np.ndarray) -> None:
        """Raise `InputError` if no student weights have the overlaps v = (e, m)."""
        if np.abs(v).max() > 1e100:  # its square would overflow below
            raise InputError(f"(e, m) = {_shown(v)} is infeasible: an overlap is far beyond 1")
        if self.outside_range(v) > _FEASIBILITY_TOLERANCE:
            nearest = self.basis @ np.linalg.lstsq(self.basis, v)[0]
            raise InputError(
                f"(e, m) = {_shown(v)} is infeasible: it is outside the span of this encoding and "
                f"the teacher; the nearest state inside is {_shown(nearest)}"
            )
        square = float(self.squared_length(v))
        if square > 1.0 + _FEASIBILITY_TOLERANCE:
            raise InputError(
                f"(e, m) = {_shown(v)} is infeasible: v^T Gamma^+ v = {square:.10g} and must be "
                f"<= 1; the nearest state on this ray is {_shown(v / np.sqrt(square))}"
            )

    def random_state(self, d: int, generator: np.random.Generator) -> np.ndarray:
        """Draw v_0 = (e, m) of weights uniform on the sphere of R^d: N(0, Gamma/d) for large d."""
        (row,) = random_rows(self, d, generator)
        return self.basis @ row[:-1]


def random_rows(
    geometry: Geometry | RowGeometry, d: int, generator: np.random.Generator
) -> np.ndarray:
    """Draw weights uniformly where they may be: r coordinates of each row and the norm of its rest.

    >>> no_encoding = Geometry(np.zeros((1, 1)), np.zeros(1), np.zeros(1))
    >>> random_rows(no_encoding, 10**6, np.random.default_rng(0)).round(4).tolist()
    [[0.0001, 1.0]]
    """
    rank = geometry.rank
    rows = np.empty((geometry.n_rows, rank + 1))
    for row in rows:
        row[:-1] = generator.standard_normal(rank)
        row[-1] = np.sqrt(generator.chisquare(d - rank)) if d > rank else 0.0
    return geometry.normalised(rows)


def _one_number(name: str, given: Any) -> float:
    """A number, or a list that holds just one."""
    if isinstance(given, str) or not hasattr(given, "__len__"):
        return finite_number(name, given)
    if len(given) != 1:
        raise InputError(
            f"{name} has {len(given)} entries; this student has one weight vector, give one number"
        )
    return number_list(name, given)[0]


def _shown(v: np.ndarray) -> str:
    """Digits enough to tell 1.000001 from 1, and no rounding errors beside larger entries."""
    negligible = 1e-12 * np.abs(v).max()
    return "(" + ", ".join(f"{float(x) if abs(x) > negligible else 0.0:.10g}" for x in v) + ")"
