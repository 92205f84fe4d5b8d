"""Attention reduced to one number: f = sum_ij M_ij A_ij; parameters are the L*L entries of M."""

from __future__ import annotations

import numpy as np
from numba import njit

from ssiode.kernels.attention import attention_matrix, attention_pullback


@njit(error_model="numpy", inline="always")
def student_forward(
    z: np.ndarray, parameters: np.ndarray, workspace: np.ndarray, outputs: np.ndarray
) -> None:
    """Write the weighted sum of the matrix."""
    attention_matrix(z, workspace)
    total = 0.0
    for i in range(parameters.shape[0]):
        total += parameters[i] * workspace[i]
    outputs[0] = total


@njit(error_model="numpy", inline="always")
def student_backward(
    z: np.ndarray,
    parameters: np.ndarray,
    workspace: np.ndarray,
    cotangent: np.ndarray,
    gradient: np.ndarray,
) -> None:
    """Pull the cotangent of the sum back to z."""
    attention_pullback(z, workspace, parameters, cotangent[0], gradient)
