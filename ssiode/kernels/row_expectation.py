"""Gaussian averages for students of the sum of their fields, with a weight vector each token."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import njit

from ssiode.kernels.interface import loss_forward, student_backward, student_forward


@njit(error_model="numpy", nogil=True, cache=True)
def accumulate_row_averages(
    first: int,
    last: int,
    z_star: np.ndarray,
    labels: np.ndarray,
    star_weights: np.ndarray,
    noise: np.ndarray,
    noise_weights: np.ndarray,
    noise_counts: np.ndarray,
    offset: float,
    direction: np.ndarray,
    orthogonal_overlap: float,
    parameters: np.ndarray,
    workspace: np.ndarray,
    with_jacobian: bool,
    averages: np.ndarray,
) -> None:
    """Add the averages over groups `first` to `last` of nodes to the rows of `averages`.

    The sum of the student's fields is s = offset + a.z* + rho xi. Its fields are all taken as
    s / sqrt(L), which has this sum, and the gradient g_l = g is the same for all.

    Parameters
    ----------
    first, last, z_star, labels, star_weights, noise_weights, noise_counts, parameters, workspace,
    with_jacobian
        See `accumulate_averages` of the piece `expectation`.
    noise : array of shape (n_noise_groups, B, 1)
    offset : float
    direction : array of shape (L,)
        The a of s.
    orthogonal_overlap : float
        The rho of s.
    averages : array of shape (1, L + 5) or (last - first, L + 5)
        E l, E g, E g z*_1..z*_L, E g xi, E g^2 and E |df/dz_1|^2, the last one only
        `with_jacobian`.
    """
    length = z_star.shape[2]
    n_outputs = labels.shape[2]
    z = np.empty(length)
    gradient = np.empty(length)
    sums = np.empty(length + 5)
    label = np.empty(n_outputs)
    outputs = np.empty(n_outputs)
    cotangent = np.empty(n_outputs)
    for group in range(first, last):
        noise_group = group % noise.shape[0]
        sums[:] = 0.0
        for i in range(z_star.shape[1]):
            for a in range(n_outputs):
                label[a] = labels[group, i, a]
            along = offset
            for token in range(length):
                along += direction[token] * z_star[group, i, token]
            for j in range(noise_counts[group]):
                weight = star_weights[group, i] * noise_weights[noise_group, j]
                xi = noise[noise_group, j, 0]
                z[:] = (along + orthogonal_overlap * xi) / sqrt(length)
                student_forward(z, parameters, workspace, outputs)
                sums[0] += weight * loss_forward(label, outputs, cotangent)
                student_backward(z, parameters, workspace, cotangent, gradient)
                slope = weight * gradient[0]
                sums[1] += slope
                for token in range(length):
                    sums[2 + token] += slope * z_star[group, i, token]
                sums[length + 2] += slope * xi
                sums[length + 3] += slope * gradient[0]
                if with_jacobian:
                    for a in range(n_outputs):
                        cotangent[:] = 0.0
                        cotangent[a] = 1.0
                        student_backward(z, parameters, workspace, cotangent, gradient)
                        sums[length + 4] += weight * gradient[0] * gradient[0]
        row = averages[(group - first) % averages.shape[0]]
        for i in range(length + 5):
            row[i] += sums[i]
