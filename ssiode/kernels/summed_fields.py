"""Students that see the sum of the fields: f = scale sigma(s), s = sum_l z_l / sqrt(L).

The activation sigma and its derivative are the functions `activation(s, out)` and
`activation_derivative(s, out)` of another piece; parameters are (scale,).
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import njit

from ssiode.kernels.activation_interface import activation, activation_derivative


@njit(error_model="numpy", inline="always")
def student_forward(
    z: np.ndarray, parameters: np.ndarray, workspace: np.ndarray, outputs: np.ndarray
) -> None:
    """Write scale sigma(s) and keep s."""
    total = 0.0
    for i in range(z.shape[0]):
        total += z[i]
    workspace[0] = total / sqrt(z.shape[0])
    activation(workspace, outputs)
    outputs[0] *= parameters[0]


@njit(error_model="numpy", inline="always")
def student_backward(
    z: np.ndarray,
    parameters: np.ndarray,
    workspace: np.ndarray,
    cotangent: np.ndarray,
    gradient: np.ndarray,
) -> None:
    """Write the same derivative scale sigma'(s) / sqrt(L) for every token."""
    activation_derivative(workspace, gradient)
    slope = cotangent[0] * parameters[0] * gradient[0] / sqrt(z.shape[0])
    for i in range(z.shape[0]):
        gradient[i] = slope
