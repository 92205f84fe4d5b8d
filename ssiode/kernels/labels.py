"""Labels of one sample: given ones or those of the target, with their noise."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ssiode.kernels.interface import target_outputs
from ssiode.kernels.normals import fill_standard_normal


@njit(error_model="numpy", inline="always")
def write_labels(
    noise_stream: np.ndarray, given_labels: np.ndarray, i: int, model: Any, sample: Any
) -> None:
    """Write the labels of sample i: row i of the given ones, or g(z*) if these have no columns."""
    labels = sample.labels
    if given_labels.shape[1] > 0:
        for a in range(labels.shape[0]):
            labels[a] = given_labels[i, a]
    else:
        target_outputs(
            sample.z_star,
            model.degrees,
            model.products,
            model.coefficients,
            sample.values,
            labels,
        )
    if model.noise_std > 0.0:
        fill_standard_normal(noise_stream, sample.noise)
        for a in range(labels.shape[0]):
            labels[a] += model.noise_std * sample.noise[a]
