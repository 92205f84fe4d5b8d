"""Unsquared loss l(y, f) = |y - f|, whose derivative at y = f is taken as zero."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import njit


@njit(error_model="numpy", inline="always")
def loss_forward(labels: np.ndarray, outputs: np.ndarray, cotangent: np.ndarray) -> float:
    """Return the loss and write dl/df_a = -(y_a - f_a) / |y - f|."""
    total = 0.0
    for a in range(labels.shape[0]):
        residual = labels[a] - outputs[a]
        total += residual * residual
        cotangent[a] = -residual
    norm = sqrt(total)
    inverse = 1.0 / norm if norm > 0.0 else 0.0
    for a in range(labels.shape[0]):
        cotangent[a] *= inverse
    return norm
