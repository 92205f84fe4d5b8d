"""Sums of Mehler's series with Chebyshev coefficients on at most two axes."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(error_model="numpy", nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def sum_series(
    coefficients: np.ndarray,
    shape: tuple[int, int],
    sizes: np.ndarray,
    projection: np.ndarray,
    states: np.ndarray,
    units: np.ndarray,
    values: np.ndarray,
) -> None:
    """Write sum_n m^n t_n for each quantity, and before the last the derivative of the first in m.

    Parameters
    ----------
    coefficients : array of shape (number of quantities, N + 1, p_1 p_2)
        Chebyshev coefficients of t_n.
    shape : (p_1, p_2)
    sizes : array of shape (N + 1,)
        Bounds of |t_n| relative to the largest; terms below rounding are skipped.
    projection : array of shape (L, 2)
        From e to points in [-1, 1]^2; an axis with one coefficient has no effect.
    states : array of shape (n, L + 1)
        Values of (e, m).
    units : array of shape (number of quantities + 1,)
        What each column is multiplied by.
    values : array of shape (n, number of quantities + 1)
    """
    n_quantities, n_orders, _ = coefficients.shape
    first, second = shape
    left = np.ones(first)
    right = np.ones(second)
    products = np.empty(first * second)
    length = projection.shape[0]
    for i in range(states.shape[0]):
        x = y = 0.0
        for token in range(length):
            x += states[i, token] * projection[token, 0]
            y += states[i, token] * projection[token, 1]
        m = states[i, length]
        # The recurrence keeps odd polynomials exact relative to their small values near 0.
        for k in range(1, first):
            left[k] = x if k == 1 else 2.0 * x * left[k - 1] - left[k - 2]
        for k in range(1, second):
            right[k] = y if k == 1 else 2.0 * y * right[k - 1] - right[k - 2]
        for k in range(first):
            for j in range(second):
                products[k * second + j] = left[k] * right[j]
        top = n_orders - 1
        while top > 1 and top * sizes[top] * abs(m) ** (top - 1) < 1e-18:
            top -= 1
        for quantity in range(n_quantities):
            total = 0.0
            slope = 0.0
            for n in range(top, -1, -1):
                row = coefficients[quantity, n]
                term = 0.0
                for k in range(first * second):
                    term += row[k] * products[k]
                slope = slope * m + total
                total = total * m + term
            column = quantity if quantity < n_quantities - 1 else n_quantities
            values[i, column] = total * units[column]
            if quantity == 0:
                values[i, n_quantities - 1] = slope * units[n_quantities - 1]
