"""Targets that are polynomials, as data in the Hermite basis: one kernel serves all of them."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(error_model="numpy", inline="always")
def target_outputs(
    z_star: np.ndarray,
    degrees: np.ndarray,
    products: np.ndarray,
    coefficients: np.ndarray,
    values: np.ndarray,
    labels: np.ndarray,
) -> None:
    """Write g_a = sum_i coefficients_ai values_i.

    The values are 1, then He_1, ..., He_{degrees_l} of each field z*_l, by
    He_{n+1}(x) = x He_n(x) - n He_{n-1}(x), and then products of two earlier values.
    """
    values[0] = 1.0
    last = 0
    for token in range(degrees.shape[0]):
        x = z_star[token]
        below, here = 0.0, 1.0
        for n in range(degrees[token]):
            below, here = here, x * here - n * below
            last += 1
            values[last] = here
    for i in range(products.shape[0]):
        last += 1
        values[last] = values[products[i, 0]] * values[products[i, 1]]
    for a in range(labels.shape[0]):
        total = 0.0
        for i in range(values.shape[0]):
            total += coefficients[a, i] * values[i]
        labels[a] = total
