"""Chi-square numbers from a stream that the caller owns."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
from numba import njit

from ssiode.kernels.normals import fill_standard_normal, next_uniform


@njit(error_model="numpy")
def next_chi_square(state: np.ndarray, degrees: int, normal: np.ndarray) -> float:
    """Draw a chi-square number with n >= 0 degrees of freedom, in a time that does not grow with n.

    Twice a gamma number of shape n/2, by the rejection method of Marsaglia and Tsang ("A simple
    method for generating gamma variables", ACM TOMS 26, 2000).

    Parameters
    ----------
    state : uint64 array, shape (4,)
        The stream, changed in place.
    degrees : int
        n; 0 gives 0.
    normal : float64 array, shape (1,)
        Overwritten.
    """
    if degrees < 2:
        fill_standard_normal(state, normal)
        return degrees * normal[0] ** 2
    shape = 0.5 * degrees - 1.0 / 3.0
    width = 1.0 / sqrt(9.0 * shape)
    while True:
        fill_standard_normal(state, normal)
        x = normal[0]
        root = 1.0 + width * x
        if root <= 0.0:
            continue
        cube = root * root * root
        uniform = next_uniform(state)
        if uniform < 1.0 - 0.0331 * x * x * x * x:
            return 2.0 * shape * cube
        if log(uniform) < 0.5 * x * x + shape * (1.0 - cube + log(cube)):
            return 2.0 * shape * cube
