"""Chi-square numbers from a stream that the caller owns."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
from numba import njit

from ssiode.kernels.normals import next_standard_normal, next_uniform


@njit(error_model="numpy", inline="always")
def chi_square_width(degrees: int) -> float:
    """The constant that :func:`next_chi_square` needs for n degrees of freedom."""
    return 1.0 / sqrt(max(4.5 * degrees - 3.0, 1.0))


@njit(error_model="numpy", inline="always")
def next_chi_square(state: np.ndarray, degrees: int, width: float) -> float:
    """Draw a chi-square number with n >= 0 degrees of freedom, in a time that does not grow with n.

    Twice a gamma number of shape n/2, by the rejection method of Marsaglia and Tsang ("A simple
    method for generating gamma variables", ACM TOMS 26, 2000).

    Parameters
    ----------
    state : uint64 array, shape (4,)
        The stream, changed in place.
    degrees : int
        n; 0 gives 0.
    width : float
        ``chi_square_width(degrees)``.
    """
    value = -1.0
    if degrees < 2:
        value = degrees * next_standard_normal(state) ** 2
    shape = 0.5 * degrees - 1.0 / 3.0
    while value < 0.0:
        x = next_standard_normal(state)
        root = 1.0 + width * x
        cube = root * root * root
        if root <= 0.0:
            continue
        uniform = next_uniform(state)
        if uniform < 1.0 - 0.0331 * x * x * x * x or log(uniform) < 0.5 * x * x + shape * (
            1.0 - cube + log(cube)
        ):
            value = 2.0 * shape * cube
    return value
