r"""Which symmetric tensors are orthogonally decomposable.

.. math:: C = \sum_i \lambda_i v_i^{\otimes n}, \qquad v_i \cdot v_j = \delta_{ij}

Every matrix is. For n >= 3 it holds if and only if the contraction of C with itself over one index
is symmetric in all that are left, so that with :math:`|\alpha| = |\beta| = n - 1`

.. math:: A_{\alpha\beta} = \sum_k c_{\alpha + e_k} c_{\beta + e_k}

depends on :math:`\alpha + \beta` alone (Boralevi, Draisma, Horobet and Robeva, arXiv 1512.08031):
for n = 3 this says that the algebra with the structure constants C is associative.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import sympy

from ssiode.errors import InputError, finite_number
from ssiode.hermite.polynomial.constants import Constant, ConstantBasis, NotPolynomialError
from ssiode.hermite.polynomial.exact import hermite_expansion
from ssiode.hermite.tensor.symmetric import Alpha, SymmetricTensor

MAX_ROWS = 1000
MAX_EXACT_PRODUCTS = 100_000
_ROUNDING = 2.0**-52


class Decomposability(NamedTuple):
    """Whether a tensor is orthogonally decomposable.

    Attributes
    ----------
    answer : str
        `yes`, `no` or `undetermined`.
    residual : float or None
        How far the equations are from holding, as a fraction of the largest product in them; 0
        for a proof and None if they were not evaluated.
    tolerance : float
        The residual, its error included, up to which a tensor that is not exact counts as
        decomposable.
    reason : str
        The proof or the test in words.
    """

    answer: str
    residual: float | None
    tolerance: float
    reason: str


def is_orthogonally_decomposable(
    tensor: SymmetricTensor, tolerance: float = 1e-9
) -> Decomposability:
    """Tell whether a symmetric tensor is orthogonally decomposable.

    `no` is proved, errors of the entries included, or told by the tolerance for floats. `yes` is
    proved for matrices, diagonal
    tensors and exact entries; the reason says so, or names the tolerance.

    Parameters
    ----------
    tensor : SymmetricTensor
        The tensor C.
    tolerance : float
        See :class:`Decomposability`.

    Examples
    --------
    >>> is_orthogonally_decomposable(SymmetricTensor(3, 3, {(1, 1, 1): 1})).answer
    'no'
    >>> is_orthogonally_decomposable(SymmetricTensor(4, 2, {(4, 0): 1, (0, 4): -2})).answer
    'yes'
    """
    tolerance = finite_number("tolerance", tolerance, minimum=0.0)
    if tensor.order <= 2:
        reason = "vectors and symmetric matrices always are"
        return Decomposability("yes", 0.0, tolerance, reason)
    found = [_connected(part, tolerance) for _, part in tensor.parts() if part.length > 1]
    if not found:
        reason = "it is diagonal: only powers of single tokens"
        return Decomposability("yes", 0.0, tolerance, reason)
    order = {"no": 0, "undetermined": 1, "yes": 2}
    return min(found, key=lambda result: (order[result.answer], -(result.residual or 0.0)))


def _connected(tensor: SymmetricTensor, tolerance: float) -> Decomposability:
    rows = _multi_indices(tensor.order - 1, tensor.length, MAX_ROWS)
    if rows is None:
        reason = f"its equations have more than {MAX_ROWS} rows and were not evaluated"
        return Decomposability("undetermined", None, tolerance, reason)
    residual, error, differs = _residual(tensor, rows)
    # Floats that no error is known of have one all the same: they were rounded.
    if differs and (tensor.is_exact or residual > tolerance):
        reason = "its contraction with itself is not symmetric"
        return Decomposability("no", residual, tolerance, reason)
    if _holds_exactly(tensor, rows):
        reason = "its contraction with itself is symmetric, exactly"
        return Decomposability("yes", 0.0, tolerance, reason)
    reason = f"its contraction with itself is symmetric to {residual:.1e} +- {error:.1e}"
    answer = "yes" if residual + error <= tolerance else "undetermined"
    return Decomposability(answer, residual, tolerance, f"{reason} (tolerance {tolerance:g})")


def _multi_indices(order: int, length: int, limit: int) -> list[Alpha] | None:
    """Return all multi-indices of an order, None if there are more than `limit`."""
    found = []
    # Bars between stars: the gaps are the orders.
    for bars in itertools.combinations(range(order + length - 1), length - 1):
        if len(found) == limit:
            return None
        edges = (-1, *bars, order + length - 1)
        found.append(tuple(b - a - 1 for a, b in itertools.pairwise(edges)))
    return found


def _residual(tensor: SymmetricTensor, rows: list[Alpha]) -> tuple[float, float, bool]:
    """Return the relative spread of A within classes, its error, and whether it is proved > 0."""
    values, bounds = np.zeros((2, len(rows), tensor.length))
    for row, alpha in enumerate(rows):
        for token, longer in enumerate(_raised(alpha)):
            values[row, token] = tensor.values.get(longer, 0.0)
            bounds[row, token] = tensor.bounds.get(longer, 0.0)
    largest = np.abs(values).max() or 1.0
    values, bounds = values / largest, bounds / largest
    products, sizes = values @ values.T, np.abs(values) @ np.abs(values).T
    errors = np.abs(values) @ bounds.T
    errors = errors + errors.T + bounds @ bounds.T + (tensor.length + 2) * _ROUNDING * sizes
    classes = _classes(np.array(rows))
    count = classes.max() + 1
    low, high, surely_low, surely_high = (
        _extremes(data, classes, count, smallest)
        for data, smallest in (
            (products, True),
            (products, False),
            (products + errors, True),
            (products - errors, False),
        )
    )
    top = sizes.max() or 1.0
    differs = bool((surely_high > surely_low).any())
    return float((high - low).max() / top), float(2 * errors.max() / top), differs


def _extremes(data: np.ndarray, classes: np.ndarray, count: int, smallest: bool) -> np.ndarray:
    found = np.full(count, np.inf if smallest else -np.inf)
    (np.minimum if smallest else np.maximum).at(found, classes.ravel(), data.ravel())
    return found


def _classes(rows: np.ndarray) -> np.ndarray:
    """Number the pairs of rows so that pairs with the same sum have the same number."""
    count, length = rows.shape
    base = int(2 * rows.max() + 1)
    known = np.zeros((count, count), dtype=np.int64)
    spare = 1
    for token in range(length):
        sums = rows[:, None, token] + rows[None, :, token]
        if spare * base >= 2**62 // max(count * count, 1):
            known, spare = np.unique(known, return_inverse=True)[1].reshape(count, count), 1
        known, spare = known * base + sums, spare * base
    return np.unique(known, return_inverse=True)[1].reshape(count, count)


def _holds_exactly(tensor: SymmetricTensor, rows: list[Alpha]) -> bool:
    """Whether the equations are proved to hold; False if they may not."""
    if not tensor.is_exact or len(rows) ** 2 * tensor.length > 2 * MAX_EXACT_PRODUCTS:
        return False
    found = _exact_entries(tensor)
    if found is None:
        return False
    basis, entries = found
    table = [[entries.get(longer) for longer in _raised(alpha)] for alpha in rows]
    classes: dict[Alpha, Constant] = {}
    for (i, a), (j, b) in itertools.combinations_with_replacement(enumerate(rows), 2):
        total: Constant = {}
        for left, right in zip(table[i], table[j], strict=True):
            if left and right:
                for key, value in basis.multiply(left, right).items():
                    total[key] = total.get(key, 0) + value
        total = {key: value for key, value in total.items() if value}
        if classes.setdefault(tuple(map(sum, zip(a, b, strict=True))), total) != total:
            return False
    return True


def _exact_entries(tensor: SymmetricTensor) -> tuple[ConstantBasis, dict[Alpha, Constant]] | None:
    """Return the entries in a common normal form, up to a common factor."""
    first = next(iter(tensor.entries.values()))
    names = sympy.symbols(f"t0:{len(tensor.entries)}", real=True)
    for scale in (sympy.S.One, first):
        ratios = [value / scale for value in tensor.entries.values()]
        total = sympy.Add(*[ratio * t for ratio, t in zip(ratios, names, strict=True)])
        try:
            expansion = hermite_expansion(total, names)
        except (NotPolynomialError, InputError):
            continue
        values = {index[0][0]: value for index, value in expansion.coefficients.items()}
        listed = enumerate(tensor.entries)
        return expansion.basis, {alpha: values.get(place, {}) for place, alpha in listed}
    return None


def _raised(alpha: Alpha) -> Iterator[Alpha]:
    """Return alpha + e_k for each token k."""
    for token, order in enumerate(alpha):
        yield (*alpha[:token], order + 1, *alpha[token + 1 :])
