"""Second moments of what one sample adds to the overlaps, over weighted nodes."""

from __future__ import annotations

import numpy as np
from numba import njit

from ssiode.kernels.interface import loss_forward, student_backward, student_forward


@njit(error_model="numpy", nogil=True, cache=True)
def accumulate_field_moments(
    first: int,
    last: int,
    z_star: np.ndarray,
    labels: np.ndarray,
    star_weights: np.ndarray,
    noise: np.ndarray,
    noise_weights: np.ndarray,
    noise_counts: np.ndarray,
    offset: np.ndarray,
    semantic_overlap: float,
    orthogonal_overlap: float,
    parameters: np.ndarray,
    workspace: np.ndarray,
    means: np.ndarray,
    moments: np.ndarray,
) -> None:
    """Add E h and E h h^T over groups of nodes, h = (g_1, ..., g_L, sum g z*, sum g xi, sum g^2).

    Parameters
    ----------
    first, last, z_star, labels, star_weights, noise, noise_weights, noise_counts, offset,
    semantic_overlap, orthogonal_overlap, parameters, workspace
        See `accumulate_averages` of the piece `expectation`.
    means : array of shape (L + 3,)
    moments : array of shape (L + 3, L + 3)
    """
    length, n_outputs = z_star.shape[2], labels.shape[2]
    z, gradient = np.empty(length), np.empty(length)
    h = np.empty(length + 3)
    outputs, cotangent = np.empty(n_outputs), np.empty(n_outputs)
    for group in range(first, last):
        noise_group = group % noise.shape[0]
        for i in range(z_star.shape[1]):
            fields = z_star[group, i]
            for j in range(noise_counts[group]):
                weight = star_weights[group, i] * noise_weights[noise_group, j]
                orthogonal = noise[noise_group, j]
                for token in range(length):
                    z[token] = (
                        semantic_overlap * fields[token]
                        + orthogonal_overlap * orthogonal[token]
                        + offset[token]
                    )
                student_forward(z, parameters, workspace, outputs)
                loss_forward(labels[group, i], outputs, cotangent)
                student_backward(z, parameters, workspace, cotangent, gradient)
                h[length:] = 0.0
                for token in range(length):
                    h[token] = gradient[token]
                    h[length] += gradient[token] * fields[token]
                    h[length + 1] += gradient[token] * orthogonal[token]
                    h[length + 2] += gradient[token] * gradient[token]
                for k in range(length + 3):
                    means[k] += weight * h[k]
                    for n in range(length + 3):
                        moments[k, n] += weight * h[k] * h[n]
