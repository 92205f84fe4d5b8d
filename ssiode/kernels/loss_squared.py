"""Squared loss l(y, f) = sum_a (y_a - f_a)^2."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(error_model="numpy", inline="always")
def loss_forward(labels: np.ndarray, outputs: np.ndarray, cotangent: np.ndarray) -> float:
    """Return the loss and write dl/df_a = -2 (y_a - f_a)."""
    total = 0.0
    for a in range(labels.shape[0]):
        residual = labels[a] - outputs[a]
        total += residual * residual
        cotangent[a] = -2.0 * residual
    return total
