"""Labels of one sample: given ones or those of the target, with their noise."""

from __future__ import annotations

import numpy as np
from numba import njit

from ssiode.kernels.interface import target_outputs
from ssiode.kernels.normals import fill_standard_normal


@njit(error_model="numpy", inline="always")
def write_labels(
    noise_stream: np.ndarray,
    given_labels: np.ndarray,
    i: int,
    z_star: np.ndarray,
    noise_std: float,
    noise: np.ndarray,
    labels: np.ndarray,
) -> None:
    """Write the labels of sample i: row i of the given ones, or g(z*) if these have no columns."""
    if given_labels.shape[1] > 0:
        for a in range(labels.shape[0]):
            labels[a] = given_labels[i, a]
    else:
        target_outputs(z_star, labels)
    if noise_std > 0.0:
        fill_standard_normal(noise_stream, noise)
        for a in range(labels.shape[0]):
            labels[a] += noise_std * noise[a]
