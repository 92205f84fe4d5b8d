"""The student's functions that Mehler's series of the squared loss averages."""

from __future__ import annotations

import numpy as np
from numba import njit

from ssiode.kernels.interface import student_backward, student_forward


@njit(error_model="numpy", nogil=True, cache=True)
def tabulate_series_functions(
    fields: np.ndarray,
    parameters: np.ndarray,
    workspace: np.ndarray,
    mean: np.ndarray,
    mixing: np.ndarray,
    label_noise: float,
    values: np.ndarray,
) -> None:
    """Write one column for each row of `fields`; the rows are the functions of `StudentFunctions`.

    Parameters
    ----------
    fields : array of shape (n, L)
    mean, mixing : arrays of shape (k,), (k, k')
        Outputs of the target are mean + mixing @ h.
    values : array of shape (L + 2 + (L + 2) k' + k' (k' + 1) / 2, n)
    """
    n_outputs, n_mixed = mixing.shape
    length = fields.shape[1]
    outputs = np.empty(n_outputs)
    gradient = np.empty(length)
    cotangent = np.zeros(n_outputs)
    z = np.empty(length)
    s = np.empty(length)
    mixed = np.empty(n_mixed)
    slopes = np.empty((n_mixed, length))
    for i in range(fields.shape[0]):
        for token in range(length):
            z[token] = fields[i, token]
        student_forward(z, parameters, workspace, outputs)
        s[:] = 0.0
        mixed[:] = 0.0
        slopes[:] = 0.0
        square = 0.0
        jacobian_square = 0.0
        for a in range(n_outputs):
            cotangent[a] = 1.0
            student_backward(z, parameters, workspace, cotangent, gradient)
            cotangent[a] = 0.0
            centred = outputs[a] - mean[a]
            square += centred * centred
            for token in range(length):
                slope = gradient[token]
                s[token] += centred * slope
                jacobian_square += slope * slope
                for b in range(n_mixed):
                    slopes[b, token] += mixing[a, b] * slope
            for b in range(n_mixed):
                mixed[b] += mixing[a, b] * centred
        values[0, i] = square
        step_square = label_noise * jacobian_square
        for token in range(length):
            values[1 + token, i] = 2.0 * s[token]
            step_square += s[token] * s[token]
        values[length + 1, i] = 4.0 * step_square
        row = length + 2
        for b in range(n_mixed):
            values[row + b, i] = -2.0 * mixed[b]
            along = 0.0
            for token in range(length):
                values[row + (1 + token) * n_mixed + b, i] = -2.0 * slopes[b, token]
                along += s[token] * slopes[b, token]
            values[row + (1 + length) * n_mixed + b, i] = -8.0 * along
        row += (length + 2) * n_mixed
        for b in range(n_mixed):
            for c in range(b, n_mixed):
                product = 0.0
                for token in range(length):
                    product += slopes[b, token] * slopes[c, token]
                values[row, i] = (4.0 if b == c else 8.0) * product
                row += 1
