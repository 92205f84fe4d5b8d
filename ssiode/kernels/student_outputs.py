"""The student's outputs on many fields."""

from __future__ import annotations

import numpy as np
from numba import njit

from ssiode.kernels.interface import student_forward


@njit(error_model="numpy", nogil=True, cache=True)
def tabulate_outputs(
    fields: np.ndarray, parameters: np.ndarray, workspace: np.ndarray, values: np.ndarray
) -> None:
    """Write f(z) for each row z of `fields`, shape (n, L), into `values`, shape (n, k)."""
    z = np.empty(fields.shape[1])
    outputs = np.empty(values.shape[1])
    for i in range(fields.shape[0]):
        for token in range(z.shape[0]):
            z[token] = fields[i, token]
        student_forward(z, parameters, workspace, outputs)
        for a in range(outputs.shape[0]):
            values[i, a] = outputs[a]
