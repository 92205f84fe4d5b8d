r"""The largest absolute value of a form on the unit sphere: from below and, certified, from above.

From below, the shifted symmetric higher-order power method (Kolda and Mayo, arXiv 1007.1267),

.. math:: u \leftarrow \frac{C u^{n-1} + s\,u}{|C u^{n-1} + s\,u|}

with a shift s that grows until the form does. From above, by branch and bound: on a great circle
through a maximiser :math:`u_0` the form is a trigonometric polynomial of degree n, so that by a
lemma of M. Riesz :math:`|f(u)| \ge |f(u_0)| \cos(n \angle(u, u_0))`. A cell of radius r whose
centre has less than :math:`\cos(nr)` times a known value holds no maximiser, and
:math:`|f(\mathrm{centre})|/\cos(nr)` over the cells left bounds the maximum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ssiode.hermite.tensor.symmetric import SymmetricTensor, indices, multiplicity

SEED = 20_250_602
_ROUNDING = 2.0**-52
_FIRST_STEPS = 40
_LAST_STEPS = 400
_KEPT = 8
_PATIENCE = 12
_WORK = 60_000_000
_MAX_CELLS = 200_000
_GAP = 1e-9
_MAX_MATRIX = 4_000_000

_Sparse = tuple[tuple[int, int], ...]


class Extreme(NamedTuple):
    """A value of a form that is attained, and where."""

    value: float
    point: np.ndarray


class Form:
    r"""The form :math:`f(u) = \langle C, u^{\otimes n} \rangle` at many vectors at once.

    Examples
    --------
    >>> form = Form(SymmetricTensor(3, 2, {(2, 1): 1}))
    >>> form(np.array([[1.0, 2.0]])).tolist(), form.gradient(np.array([[1.0, 2.0]])).tolist()
    ([6.0], [[4.0, 1.0]])
    """

    def __init__(self, tensor: SymmetricTensor) -> None:
        self.order, self.length = tensor.order, tensor.length
        self.indices = np.array([indices(alpha) for alpha in tensor.values]).T
        counts = tensor.multiplicities
        self.weights = np.array([counts[a] * value for a, value in tensor.values.items()])
        # Terms by the token at each place, for sums over these.
        orders = [np.argsort(row, kind="stable") for row in self.indices]
        self._sorted = [
            (by_token, np.flatnonzero(np.diff(row[by_token], prepend=-1)))
            for row, by_token in zip(self.indices, orders, strict=True)
        ]
        frobenius = tensor.frobenius_norm().value
        self.rounding = (self.order + len(self.weights) + 8) * _ROUNDING * frobenius

    @property
    def cost(self) -> int:
        """Multiplications at one vector."""
        return self.indices.size

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        """Return the values at vectors of shape (many, L)."""
        columns = vectors.T
        product = columns[self.indices[0]]
        for row in self.indices[1:]:
            product = product * columns[row]
        return self.weights @ product

    def gradient(self, vectors: np.ndarray) -> np.ndarray:
        r"""Return :math:`C u^{n-1}`, the derivative divided by n, of shape (many, L)."""
        factors = vectors.T[self.indices]
        before = np.ones_like(factors)
        np.cumprod(factors[:-1], axis=0, out=before[1:])
        total = np.zeros((self.length, len(vectors)))
        after = np.broadcast_to(self.weights[:, None] / self.order, factors.shape[1:])
        for place in reversed(range(self.order)):
            by_token, first = self._sorted[place]
            sums = np.add.reduceat((before[place] * after)[by_token], first, axis=0)
            total[self.indices[place][by_token[first]]] += sums
            after = after * factors[place]
        return total.T


def power_method(form: Form, starts: np.ndarray) -> Extreme:
    """Return the largest |f| that power iterations from the starts reach.

    Parameters
    ----------
    form : Form
        f.
    starts : array of shape (many, L)
        Where to start; they need not have unit length.

    Examples
    --------
    >>> found = power_method(Form(SymmetricTensor(3, 3, {(1, 1, 1): 1})), np.array([[1, 2, 3]]))
    >>> round(found.value * 3**1.5, 9)
    6.0
    """
    u = _unit(np.concatenate([starts, starts]))
    sign = np.repeat([1.0, -1.0], len(starts))
    if form.order % 2:
        u, sign = u[: len(starts)], np.where(form(u[: len(starts)]) < 0, -1.0, 1.0)
    for steps, kept in ((_FIRST_STEPS, _KEPT), (_LAST_STEPS, 1)):
        value = _climb(form, u, sign, steps)
        best = np.argsort(-value)[:kept]
        u, sign = u[best], sign[best]
    return Extreme(abs(float(form(u)[0])), u[0])


def _climb(form: Form, u: np.ndarray, sign: np.ndarray, steps: int) -> np.ndarray:
    """Move unit vectors u uphill on sign * f, in place, and return the values reached."""
    value, shift = sign * form(u), np.zeros(len(u))
    scale, idle = np.linalg.norm(form.weights), 0
    steps = max(10, min(steps, 5 * _WORK // (form.cost * len(u))))
    for _ in range(steps):
        gradient = sign[:, None] * form.gradient(u)
        following = _unit(gradient + shift[:, None] * u, otherwise=u)
        reached = sign * form(following)
        better = reached >= value
        idle = 0 if (reached > value + 1e-15 * scale).any() else idle + 1
        if idle == _PATIENCE:
            break
        u[better], value[better] = following[better], reached[better]
        shift = np.where(better, shift / 2, 2 * shift + scale / 64)
    return value


def starting_points(form: Form, tensor: SymmetricTensor) -> np.ndarray:
    """Return directions to start from, always the same ones for a tensor.

    The direction of all ones, the axes of the largest entries, the leading direction of the
    unfolding to L rows, and random ones; fewer of these for large tensors.

    Examples
    --------
    >>> tensor = SymmetricTensor(3, 2, {(2, 1): 1})
    >>> starting_points(Form(tensor), tensor).shape
    (18, 2)
    """
    length = form.length
    # On few tokens branch and bound finds what the starts miss.
    most = 12 if length <= 4 else 64
    count = max(4, min(most, _WORK // (100 * form.cost)))
    largest = sorted(tensor.values, key=lambda alpha: -abs(tensor.values[alpha]))[:4]
    axes = np.sqrt(np.array(largest, dtype=float))
    leading = np.linalg.eigh(_gram(tensor))[1][:, -1:].T
    random = np.random.default_rng(SEED).standard_normal((count, length))
    ones = np.ones((4, length))
    ones[1:, 1::2] = np.array([-1.0, 0.5, 0.0])[:, None]
    return np.concatenate([ones, axes, leading, random])


def certified_maximum(form: Form, known: Extreme) -> tuple[Extreme, float] | None:
    """Return a value that is attained and an upper bound of all, by branch and bound.

    Parameters
    ----------
    form : Form
        f.
    known : Extreme
        A value that is attained.

    Returns
    -------
    tuple or None
        None if the sphere has too many dimensions for this.

    Examples
    --------
    >>> form = Form(SymmetricTensor(3, 3, {(1, 1, 1): 1}))
    >>> found, upper = certified_maximum(form, Extreme(1.0, np.ones(3) / 3**0.5))
    >>> bool(found.value <= upper < found.value * (1 + 1e-8))
    True
    """
    faces = form.length - 1
    pieces = math.ceil(form.order * math.sqrt(faces))
    budget = _WORK // form.cost
    if form.length * pieces**faces > min(_MAX_CELLS, budget):
        return None
    half = 1.0 / pieces
    grid = (2 * np.arange(pieces) + 1) * half - 1
    axes = np.meshgrid(*[grid] * faces, indexing="ij")
    corner = np.stack(axes, axis=-1).reshape(-1, faces)
    centres = np.tile(corner, (form.length, 1))
    side = np.repeat(np.arange(form.length), len(corner))
    best, upper = known, math.inf
    halves = np.array(np.meshgrid(*[(-0.5, 0.5)] * faces, indexing="ij")).reshape(faces, -1).T
    while True:
        budget -= len(centres)
        points = _on_sphere(centres, side)
        sizes = np.abs(form(points)) + form.rounding
        inside = np.maximum(np.abs(centres) - half, 0.0)
        distance = np.sqrt(1 + (inside**2).sum(axis=1))
        shrink = np.cos(form.order * half * math.sqrt(faces) / distance)
        if sizes.max() > best.value + 4 * form.rounding:
            best = max(best, _polished(form, points, sizes), key=lambda extreme: extreme.value)
        kept = sizes >= best.value * shrink
        upper = min(upper, float((sizes[kept] / shrink[kept]).max(initial=best.value)))
        children = int(kept.sum()) * len(halves)
        is_closed = upper <= best.value * (1 + _GAP) + 4 * form.rounding
        if is_closed or children > min(_MAX_CELLS, budget):
            return best, upper
        centres = (centres[kept][:, None] + half * halves).reshape(-1, faces)
        side = np.repeat(side[kept], len(halves))
        half /= 2


def unfolding_bound(tensor: SymmetricTensor) -> float:
    r"""Return the least of the largest singular values of the unfoldings.

    The unfolding to p and n - p indices has the entries :math:`C_{i_1 \dots i_n}`; on symmetric
    tensors it is the matrix :math:`\sqrt{p!/\alpha!}\,c_{\alpha+\beta}\sqrt{q!/\beta!}` with
    :math:`|\alpha| = p`, :math:`|\beta| = q = n - p`. The Frobenius norm stands in for unfoldings
    that are too large.

    Examples
    --------
    >>> round(unfolding_bound(SymmetricTensor(3, 3, {(1, 1, 1): 1})) ** 2, 9)
    2.0
    """
    bound = tensor.frobenius_norm().value
    for first in range(1, tensor.order // 2 + 1):
        gram = _gram(tensor, first)
        if gram is not None:
            rounding = 4 * (len(gram) + 4) * _ROUNDING * float(np.trace(gram))
            bound = min(bound, math.sqrt(max(np.linalg.eigvalsh(gram)[-1] + rounding, 0.0)))
    return bound


def _gram(tensor: SymmetricTensor, first: int = 1) -> np.ndarray | None:
    """Return the product of an unfolding with its transpose, None if it is too large."""
    rows: dict[_Sparse, int] = {}
    columns: dict[_Sparse, int] = {}
    if first == 1:
        rows = {((token, 1),): token for token in range(tensor.length)}
    places, values = [], []
    for alpha, value in tensor.values.items():
        tokens = [token for token, count in enumerate(alpha) if count]
        counts = tuple(alpha[token] for token in tokens)
        for part in _parts_of(counts, first):
            rest = tuple(a - b for a, b in zip(counts, part, strict=True))
            row, column = _sparse(tokens, part), _sparse(tokens, rest)
            places.append(
                (rows.setdefault(row, len(rows)), columns.setdefault(column, len(columns)))
            )
            values.append(value * math.sqrt(multiplicity(part) * multiplicity(rest)))
        if len(places) > _MAX_CELLS or len(rows) * len(columns) > _MAX_MATRIX:
            return None if first > 1 else np.eye(tensor.length) * tensor.frobenius_norm().value ** 2
    matrix = np.zeros((len(rows), len(columns)))
    matrix[tuple(np.array(places).T)] = values
    return matrix @ matrix.T


def _sparse(tokens: Sequence[int], counts: tuple[int, ...]) -> _Sparse:
    return tuple((token, count) for token, count in zip(tokens, counts, strict=True) if count)


def _parts_of(alpha: tuple[int, ...], order: int) -> list[tuple[int, ...]]:
    """Return the multi-indices of an order that are at most alpha in each token."""
    found: list[tuple[tuple[int, ...], int]] = [((), order)]
    left = sum(alpha)
    for most in alpha:
        left -= most
        found = [
            ((*part, count), rest - count)
            for part, rest in found
            for count in range(max(0, rest - left), min(most, rest) + 1)
        ]
    return [part for part, _ in found]


def _polished(form: Form, points: np.ndarray, sizes: np.ndarray) -> Extreme:
    return power_method(form, points[np.argsort(-sizes)[:3]])


def _on_sphere(centres: np.ndarray, side: np.ndarray) -> np.ndarray:
    """Project points on the faces of a cube to the sphere; opposite faces are the same."""
    length = centres.shape[1] + 1
    points = np.empty((len(centres), length))
    for face in range(length):
        here = side == face
        points[here] = np.insert(centres[here], face, 1.0, axis=1)
    return _unit(points)


def _unit(vectors: np.ndarray, otherwise: np.ndarray | None = None) -> np.ndarray:
    sizes = np.linalg.norm(vectors, axis=1, keepdims=True)
    if otherwise is not None:
        vectors = np.where(sizes > 0, vectors, otherwise)
        sizes = np.where(sizes > 0, sizes, 1.0)
    return vectors / sizes
