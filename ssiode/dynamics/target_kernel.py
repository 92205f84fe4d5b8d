"""The target as a kernel: polynomials as data, other expressions as source with their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial
from typing import TYPE_CHECKING

import numpy as np

from ssiode.kernels.linker import piece

if TYPE_CHECKING:
    from ssiode.target import Target

# Larger ones are faster in the factored form in which they were written.
_MOST_VALUES = 256


@dataclass(frozen=True, eq=False)
class TargetKernel:
    """Sources that define `target_outputs`, and the data that they read.

    Attributes
    ----------
    pieces : tuple of str
    degrees : integer array of shape (L,)
        Highest Hermite polynomial of each field.
    products : integer array of shape (n, 2)
        Numbers of the values that are multiplied to further values.
    coefficients : array of shape (k, n_values)
        Of the values: 1, the Hermite polynomials, the products. Of other expressions the first
        row holds the numbers in their source.
    """

    pieces: tuple[str, ...]
    degrees: np.ndarray
    products: np.ndarray
    coefficients: np.ndarray


def target_kernel(target: Target) -> TargetKernel:
    """Return the kernel of a target; that of a Python function is never to be called.

    >>> from ssiode import Target
    >>> kernel = target_kernel(Target("z1^2 + z1*z2"))
    >>> kernel.degrees.tolist(), kernel.products.tolist(), kernel.coefficients.tolist()
    ([2, 1], [[1, 3]], [[1.0, 0.0, 1.0, 0.0, 1.0]])
    """
    polynomial = _polynomial(target)
    if polynomial is not None:
        return polynomial
    from ssiode.expression import token_symbols
    from ssiode.expression.code import parametric_kernel_function

    symbols = token_symbols(target.length)
    source, numbers = parametric_kernel_function("local_target", target.expressions, symbols)
    pieces = (piece("scalar_functions"), source, piece("expression_target"))
    degrees, products, _ = _data(target, [])
    # A column at least, as kernels take the number of outputs from the shape.
    coefficients = np.zeros((target.n_outputs, max(len(numbers), 1)))
    coefficients[0, : len(numbers)] = numbers
    return TargetKernel(pieces, degrees, products, coefficients)


def _polynomial(target: Target) -> TargetKernel | None:
    """The kernel of a polynomial that is not too large."""
    from ssiode.errors import InputError
    from ssiode.expression import token_symbols
    from ssiode.hermite.polynomial.exact import is_polynomial, polynomial_coefficients

    symbols = token_symbols(target.length)
    expressions = target.expressions
    if expressions is None:
        tables = [{} for _ in range(target.n_outputs)]
    elif all(is_polynomial(expression, symbols) for expression in expressions):
        try:
            tables = [polynomial_coefficients(expression, symbols) for expression in expressions]
        except InputError:  # too large to be multiplied out
            return None
    else:
        return None
    data = _data(target, tables)
    if data[-1].shape[1] > _MOST_VALUES or not np.all(np.isfinite(data[-1])):
        return None
    return TargetKernel((piece("polynomial_target"),), *data)


def _data(
    target: Target, tables: list[dict[tuple[int, ...], object]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Degrees, products and coefficients of g_a = sum_alpha c_alpha / alpha! He_alpha."""
    indices = sorted({index for table in tables for index in table})
    degrees = np.max(indices, axis=0, initial=0) if indices else np.zeros(target.length, int)
    firsts = np.concatenate([[1], 1 + np.cumsum(degrees)])
    numbers: dict[tuple[int, ...], int] = {(0,) * target.length: 0}
    for token, degree in enumerate(degrees):
        for n in range(1, degree + 1):
            alone = [0] * target.length
            alone[token] = n
            numbers[tuple(alone)] = int(firsts[token]) + n - 1
    products: list[tuple[int, int]] = []

    def number(index: tuple[int, ...]) -> int:
        """The number of He_index, with those of its first factors made where they are missing."""
        if index not in numbers:
            last = max(token for token, n in enumerate(index) if n)
            before = number((*index[:last], *(0 for _ in index[last:])))
            products.append((before, int(firsts[last]) + index[last] - 1))
            numbers[index] = int(firsts[-1]) - 1 + len(products)
        return numbers[index]

    places = [number(index) for index in indices]
    coefficients = np.zeros((len(tables), int(firsts[-1]) + len(products)))
    for row, table in zip(coefficients, tables, strict=True):
        for index, place in zip(indices, places, strict=True):
            scale = np.prod([float(factorial(n)) for n in index])
            row[place] = float(table.get(index, 0)) / scale
    return degrees.astype(np.int64), np.array(products, np.int64).reshape(-1, 2), coefficients
