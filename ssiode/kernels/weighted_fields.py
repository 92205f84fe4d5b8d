"""Students that see a weighted sum of the fields: f = scale sigma(s), s = sum_l b_l z_l.

The activation sigma and its derivative are the functions `activation(s, out)` and
`activation_derivative(s, out)` of another piece; parameters are (scale, b_1, ..., b_L) with
|b| = 1.
"""

from __future__ import annotations

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
        total += parameters[1 + i] * z[i]
    workspace[0] = total
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
    """Write the derivative scale sigma'(s) b_l for every token."""
    activation_derivative(workspace, gradient)
    slope = cotangent[0] * parameters[0] * gradient[0]
    for i in range(z.shape[0]):
        gradient[i] = slope * parameters[1 + i]
