"""Targets with a kernel of their own, generated from an expression."""

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
    """Write the k labels; the data of polynomials are not used."""
    local_target(z_star, labels)
