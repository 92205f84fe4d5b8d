"""Positional encodings: how the rows P_l added to the tokens overlap with each other and w*."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ssiode.errors import InputError, choose, finite_number, number_list, shown
from ssiode.geometry import Geometry

GramBuilder = Callable[["Encoding", int], np.ndarray]
_GRAM_BUILDERS: dict[str, GramBuilder] = {}


def _kind(name: str) -> Callable[[GramBuilder], GramBuilder]:
    def register(builder: GramBuilder) -> GramBuilder:
        _GRAM_BUILDERS[name] = builder
        return builder

    return register


@dataclass(frozen=True)
class Encoding:
    r"""A positional encoding P, of which only overlaps matter, and an injected constant.

    Token l becomes :math:`X_l + P_l/\sqrt d`, so the student fields are :math:`z = Xw + e` with
    :math:`e = P w/\sqrt d`. Their law depends on P through its Gram matrix and its overlap c with
    the teacher (Arnaboldi et al., arXiv 2506.02651, section 2).

    Parameters
    ----------
    kind : str
        `none`; `opposite` (:math:`P_l = (-1)^{l+1} p`, L even); `orthonormal` (orthogonal rows);
        `matrix` (the rows are given); `gram` (the Gram matrix is given).
    norm : float
        Norm of each row of `opposite` and `orthonormal`, >= 0.
    matrix : sequence of L rows, optional
        Rows of P for `matrix`, or their Gram matrix for `gram`.
    teacher_overlap : sequence of L numbers, optional
        :math:`c_l = P_l . w_\star/\sqrt d`, 0 if not given.
    injected : sequence of L numbers, optional
        A constant added to z, held fixed during training; it breaks the even symmetry of
        attention. 0 if not given.

    Raises
    ------
    InputError
        On an unknown kind or, in :meth:`geometry`, on shapes or overlaps that cannot be.

    Examples
    --------
    >>> Encoding("opposite").geometry(2).metric.tolist()
    [[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """

    kind: str = "none"
    norm: float = 1.0
    matrix: tuple[tuple[float, ...], ...] | None = None
    teacher_overlap: tuple[float, ...] | None = None
    injected: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        choose("encoding", self.kind, _GRAM_BUILDERS)
        object.__setattr__(
            self, "norm", finite_number("norm of the encoding", self.norm, minimum=0)
        )
        wants_matrix = self.kind in ("matrix", "gram")
        if wants_matrix != (self.matrix is not None):
            needs = "needs" if wants_matrix else "takes no"
            raise InputError(f"encoding {self.kind!r} {needs} 'matrix'")
        if self.norm != 1.0 and self.kind not in ("opposite", "orthonormal"):
            mend = "scale its rows instead" if wants_matrix else "choose opposite or orthonormal"
            raise InputError(f"encoding {self.kind!r} takes no 'norm'; {mend}")
        if self.matrix is not None:
            object.__setattr__(self, "matrix", _as_rows(self.matrix))
        for name in ("teacher_overlap", "injected"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, number_list(name, value))

    def geometry(self, length: int) -> Geometry:
        """Return the metric and the feasible set for sequences of `length` tokens."""
        with np.errstate(over="ignore", invalid="ignore"):
            gram = _GRAM_BUILDERS[self.kind](self, length)
        return Geometry(
            gram,
            _per_token("teacher_overlap", self.teacher_overlap, length),
            _per_token("injected", self.injected, length),
        )


@_kind("none")
def _none(encoding: Encoding, length: int) -> np.ndarray:
    return np.zeros((length, length))


@_kind("opposite")
def _opposite(encoding: Encoding, length: int) -> np.ndarray:
    if length % 2:
        raise InputError(
            f"encoding 'opposite' alternates signs and needs an even length; length is {length}"
        )
    signs = (-1.0) ** np.arange(length)
    return np.square(encoding.norm) * np.outer(signs, signs)


@_kind("orthonormal")
def _orthonormal(encoding: Encoding, length: int) -> np.ndarray:
    return np.square(encoding.norm) * np.eye(length)


@_kind("matrix")
def _matrix(encoding: Encoding, length: int) -> np.ndarray:
    rows = np.array(encoding.matrix)
    if rows.shape[0] != length:
        raise InputError(f"the encoding matrix has {rows.shape[0]} rows; length is {length}")
    return rows @ rows.T


@_kind("gram")
def _gram(encoding: Encoding, length: int) -> np.ndarray:
    gram = np.array(encoding.matrix)
    if gram.shape != (length, length):
        raise InputError(f"the Gram matrix is {gram.shape}; it must be ({length}, {length})")
    if not np.allclose(gram, gram.T, rtol=0, atol=1e-12 * np.abs(gram).max()):
        raise InputError("the Gram matrix is not symmetric; give G = P P^T")
    return (gram + gram.T) / 2


def _as_rows(value: Sequence[Sequence[float]]) -> tuple[tuple[float, ...], ...]:
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        raise InputError(f"matrix is {shown(value)}; it must be a list of rows of numbers")
    rows = tuple(number_list("a row of the matrix", row) for row in value)
    if not rows or not rows[0] or len({len(row) for row in rows}) != 1:
        raise InputError("the rows of the encoding matrix must have one length, at least 1")
    return rows


def _per_token(name: str, value: tuple[float, ...] | None, length: int) -> np.ndarray:
    vector = np.zeros(length) if value is None else np.array(value)
    if vector.shape != (length,):
        raise InputError(f"{name} has {vector.size} entries; give one per token ({length})")
    return vector
