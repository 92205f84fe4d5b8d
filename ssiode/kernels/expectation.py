"""Gaussian averages of the loss and its gradient over weighted nodes."""

from __future__ import annotations

import numpy as np
from numba import njit

from ssiode.kernels.interface import loss_forward, student_backward, student_forward


@njit(error_model="numpy", nogil=True, cache=True)
def accumulate_averages(
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
    with_jacobian: bool,
    averages: np.ndarray,
) -> None:
    """Add the averages over groups `first` to `last` of nodes to the rows of `averages`.

    A group is the product of A teacher nodes z* and B orthogonal nodes xi, and the student fields
    are z = m z* + s xi + offset with s = sqrt(1 - m^2).

    Parameters
    ----------
    z_star, labels, star_weights : arrays of shape (n_groups, A, L), (n_groups, A, k), (n_groups, A)
        Teacher fields, labels and weights.
    noise, noise_weights : arrays of shape (n_noise_groups, B, L), (n_noise_groups, B)
        Orthogonal fields; group i uses row i modulo n_noise_groups.
    noise_counts : integer array of shape (n_groups,)
        How many of the B orthogonal nodes the group uses, from the first on.
    offset : array of shape (L,)
        Positional overlaps e plus the injected constant.
    averages : array of shape (1, L + 5) or (last - first, L + 5)
        One row for all groups, or one for each:
        E l, E g_1..g_L, E sum g_l z*_l, E sum g_l xi_l, E sum g_l^2 and E |grad f|^2, where
        g_l = dl/dz_l; the last one only `with_jacobian`.
    """
    length = z_star.shape[2]
    n_outputs = labels.shape[2]
    z = np.empty(length)
    gradient = np.empty(length)
    # Summed group by group: the rounding error of a sum grows with the number of its terms.
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
            for j in range(noise_counts[group]):
                weight = star_weights[group, i] * noise_weights[noise_group, j]
                for token in range(length):
                    z[token] = (
                        semantic_overlap * z_star[group, i, token]
                        + orthogonal_overlap * noise[noise_group, j, token]
                        + offset[token]
                    )
                student_forward(z, parameters, workspace, outputs)
                loss = loss_forward(label, outputs, cotangent)
                student_backward(z, parameters, workspace, cotangent, gradient)
                along_teacher = along_noise = square = 0.0
                for token in range(length):
                    along_teacher += gradient[token] * z_star[group, i, token]
                    along_noise += gradient[token] * noise[noise_group, j, token]
                    square += gradient[token] * gradient[token]
                    sums[1 + token] += weight * gradient[token]
                sums[0] += weight * loss
                sums[length + 1] += weight * along_teacher
                sums[length + 2] += weight * along_noise
                sums[length + 3] += weight * square
                if with_jacobian:
                    square = 0.0
                    for a in range(n_outputs):
                        cotangent[:] = 0.0
                        cotangent[a] = 1.0
                        student_backward(z, parameters, workspace, cotangent, gradient)
                        for token in range(length):
                            square += gradient[token] * gradient[token]
                    sums[length + 4] += weight * square
        row = averages[(group - first) % averages.shape[0]]
        for i in range(length + 5):
            row[i] += sums[i]
