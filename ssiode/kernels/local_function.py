"""Students given by expressions: f = scale * local_outputs(z), with their Jacobian.

Parameters are (scale,); the workspace holds df_a/dz_l row by row.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ssiode.kernels.local_function_interface import local_jacobian, local_outputs


@njit(error_model="numpy", inline="always")
def student_forward(
    z: np.ndarray, parameters: np.ndarray, workspace: np.ndarray, outputs: np.ndarray
) -> None:
    """Write the outputs; the Jacobian needs nothing of them."""
    local_outputs(z, outputs)
    for a in range(outputs.shape[0]):
        outputs[a] *= parameters[0]


@njit(error_model="numpy", inline="always")
def student_backward(
    z: np.ndarray,
    parameters: np.ndarray,
    workspace: np.ndarray,
    cotangent: np.ndarray,
    gradient: np.ndarray,
) -> None:
    """Evaluate the Jacobian and multiply the cotangent by it."""
    local_jacobian(z, workspace)
    length = z.shape[0]
    for token in range(length):
        total = 0.0
        for a in range(cotangent.shape[0]):
            total += cotangent[a] * workspace[a * length + token]
        gradient[token] = parameters[0] * total
