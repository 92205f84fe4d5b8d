"""Targets whose kernel is generated from an expression; its numbers are the first coefficients."""

from __future__ import annotations

import numpy as np
from numba import njit

from ssiode.kernels.interface import local_target


@njit(error_model="numpy", inline="always")
def target_outputs(
    z_star: np.ndarray,
    degrees: np.ndarray,
    products: np.ndarray,
    coefficients: np.ndarray,
    values: np.ndarray,
    labels: np.ndarray,
) -> None:
    """Write the k labels."""
    local_target(z_star, coefficients[0], labels)
