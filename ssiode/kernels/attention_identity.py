"""Attention that outputs its whole matrix: f_ij = scale A_ij; parameters are (scale,)."""

from __future__ import annotations

import numpy as np
from numba import njit

from ssiode.kernels.attention import attention_matrix, attention_pullback


@njit(error_model="numpy", inline="always")
def student_forward(
    z: np.ndarray, parameters: np.ndarray, workspace: np.ndarray, outputs: np.ndarray
) -> None:
    """Write the matrix row by row."""
    attention_matrix(z, workspace)
    for i in range(outputs.shape[0]):
        outputs[i] = parameters[0] * workspace[i]


@njit(error_model="numpy", inline="always")
def student_backward(
    z: np.ndarray,
    parameters: np.ndarray,
    workspace: np.ndarray,
    cotangent: np.ndarray,
    gradient: np.ndarray,
) -> None:
    """Pull the cotangent of the matrix back to z."""
    attention_pullback(z, workspace, cotangent, parameters[0], gradient)
