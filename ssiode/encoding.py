"""Positional encodings: how the rows P_l added to the tokens overlap with each other and w*."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ssiode.errors import InputError, choose, finite_number, number_list, shown, whole_number
from ssiode.geometry import Geometry
from ssiode.memory import require_memory

GramBuilder = Callable[["Encoding", int], np.ndarray]
_GRAM_BUILDERS: dict[str, GramBuilder] = {}
# Options that not all kinds take, with their defaults, and the kinds that do.
_DEFAULTS = {"norm": 1.0, "dimension": None, "seed": 0}
_TAKERS: dict[str, list[str]] = {option: [] for option in _DEFAULTS}

_SINUSOIDAL_DIMENSION = 512
_LONGEST_WAVE = 10_000.0
# Of the random rows: another stream than those of a run with the same seed.
_STREAM_OF_ROWS = int.from_bytes(b"rows")


def _kind(name: str, *options: str) -> Callable[[GramBuilder], GramBuilder]:
    def register(builder: GramBuilder) -> GramBuilder:
        _GRAM_BUILDERS[name] = builder
        for option in options:
            _TAKERS[option].append(name)
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
        `random` (independent rows, uniform on a sphere of `dimension` dimensions);
        `sinusoidal` (:math:`P_{l,2i} = \sin(l\,\omega_i)`, :math:`P_{l,2i+1} = \cos(l\,\omega_i)`
        with :math:`\omega_i = 10000^{-2i/D}`, scaled to `norm`; D is the `dimension`);
        `matrix` (the rows are given); `gram` (the Gram matrix is given).
    norm : float
        Norm of each row, >= 0; not of `none`, `matrix` and `gram`.
    matrix : sequence of L rows, optional
        Rows of P for `matrix`, or their Gram matrix for `gram`.
    teacher_overlap : sequence of L numbers, optional
        :math:`c_l = P_l . w_\star/\sqrt d`, 0 if not given.
    injected : sequence of L numbers, optional
        A constant added to z, held fixed during training; it breaks the even symmetry of
        attention. 0 if not given.
    dimension : int, optional
        Dimension of the rows of `random`, >= 1, by default L; and of `sinusoidal`, even, by
        default 512. The rows span at most so many dimensions.
    seed : int
        Seed of the rows of `random`, >= 0.

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
    dimension: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        choose("encoding", self.kind, _GRAM_BUILDERS)
        object.__setattr__(
            self, "norm", finite_number("norm of the encoding", self.norm, minimum=0)
        )
        seed = whole_number("seed of the encoding", self.seed, minimum=0)
        object.__setattr__(self, "seed", seed)
        if self.dimension is not None:
            object.__setattr__(self, "dimension", self._checked_dimension())
        wants_matrix = self.kind in ("matrix", "gram")
        if wants_matrix != (self.matrix is not None):
            needs = "needs" if wants_matrix else "takes no"
            raise InputError(f"encoding {self.kind!r} {needs} 'matrix'")
        for option, default in _DEFAULTS.items():
            if getattr(self, option) != default and self.kind not in _TAKERS[option]:
                mend = f"choose {' or '.join(_TAKERS[option])}"
                if option == "norm" and wants_matrix:
                    mend = "scale its rows instead"
                raise InputError(f"encoding {self.kind!r} takes no {option!r}; {mend}")
        if self.matrix is not None:
            object.__setattr__(self, "matrix", _as_rows(self.matrix))
        for name in ("teacher_overlap", "injected"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, number_list(name, value))

    def _checked_dimension(self) -> int:
        dimension = whole_number("dimension of the encoding", self.dimension, minimum=1)
        if self.kind == "sinusoidal" and dimension % 2:
            raise InputError(
                f"dimension of the encoding is {dimension}; sinusoidal has pairs of a sine and a "
                "cosine and needs an even one"
            )
        return dimension

    def geometry(self, length: int) -> Geometry:
        """Return the metric and the feasible set for sequences of `length` tokens."""
        with np.errstate(over="ignore", invalid="ignore"):
            gram = _GRAM_BUILDERS[self.kind](self, length)
        return Geometry(
            gram,
            _per_token("teacher_overlap", self.teacher_overlap, length),
            _per_token("injected", self.injected, length),
        )


def encoding_kinds() -> tuple[str, ...]:
    """Names of all kinds of encodings.

    >>> "sinusoidal" in encoding_kinds()
    True
    """
    return tuple(_GRAM_BUILDERS)


@_kind("none")
def _none(encoding: Encoding, length: int) -> np.ndarray:
    return np.zeros((length, length))


@_kind("opposite", "norm")
def _opposite(encoding: Encoding, length: int) -> np.ndarray:
    if length % 2:
        raise InputError(
            f"encoding 'opposite' alternates signs and needs an even length; length is {length}"
        )
    signs = (-1.0) ** np.arange(length)
    return np.square(encoding.norm) * np.outer(signs, signs)


@_kind("orthonormal", "norm")
def _orthonormal(encoding: Encoding, length: int) -> np.ndarray:
    return np.square(encoding.norm) * np.eye(length)


@_kind("random", "norm", "dimension", "seed")
def _random(encoding: Encoding, length: int) -> np.ndarray:
    dimension = encoding.dimension or length
    require_memory({"dimension": 2.0 * length * dimension})
    sequence = np.random.SeedSequence(encoding.seed, spawn_key=(_STREAM_OF_ROWS,))
    rows = np.random.default_rng(sequence).standard_normal((length, dimension))
    rows *= encoding.norm / np.linalg.norm(rows, axis=1, keepdims=True)
    # Sums without BLAS, whose last digits depend on the number of its threads.
    return np.einsum("id,jd->ij", rows, rows)


@_kind("sinusoidal", "norm", "dimension")
def _sinusoidal(encoding: Encoding, length: int) -> np.ndarray:
    r"""The overlap of two rows is :math:`\frac{2}{D} \sum_i \cos((l - l')\,\omega_i)`."""
    dimension = encoding.dimension or _SINUSOIDAL_DIMENSION
    require_memory({"dimension": 1.0 * length * dimension})
    frequencies = _LONGEST_WAVE ** -(np.arange(0, dimension, 2) / dimension)
    tokens = np.arange(length)
    overlaps = np.cos(np.multiply.outer(tokens, frequencies)).mean(axis=1)
    return np.square(encoding.norm) * overlaps[np.abs(np.subtract.outer(tokens, tokens))]


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
