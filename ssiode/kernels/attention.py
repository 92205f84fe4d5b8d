"""Softmax attention with tied weights: A = softmax over rows of z z^T."""

from __future__ import annotations

from math import exp

import numpy as np
from numba import njit


@njit(error_model="numpy", inline="always")
def write_row_of_two(difference: float, own: int, other: int, matrix: np.ndarray) -> None:
    """Write a row of two weights from the difference of their scores, with no branch to mispredict.

    Where the branch goes would be a matter of chance.
    """
    ratio = exp(-abs(difference))
    large = 1.0 / (1.0 + ratio)
    small = ratio * large
    matrix[own] = large if difference >= 0.0 else small
    matrix[other] = small if difference >= 0.0 else large


@njit(error_model="numpy", inline="always")
def attention_matrix(z: np.ndarray, matrix: np.ndarray) -> None:
    """Write the L x L matrix A row by row into `matrix` (L*L entries)."""
    length = z.shape[0]
    if length == 2:
        write_row_of_two(z[0] * (z[0] - z[1]), 0, 1, matrix)
        write_row_of_two(z[1] * (z[1] - z[0]), 3, 2, matrix)
        return
    low = high = z[0]
    for j in range(1, length):
        low = min(low, z[j])
        high = max(high, z[j])
    for i in range(length):
        # The largest score of row i is at the largest or the smallest z, by the sign of z_i.
        largest = z[i] * (high if z[i] >= 0.0 else low)
        total = 0.0
        for j in range(length):
            score = z[i] * z[j]
            weight = exp(score - largest) if score != largest else 1.0
            matrix[i * length + j] = weight
            total += weight
        inverse = 1.0 / total
        for j in range(length):
            matrix[i * length + j] *= inverse


@njit(error_model="numpy", inline="always")
def attention_pullback(
    z: np.ndarray, matrix: np.ndarray, cotangent: np.ndarray, scale: float, gradient: np.ndarray
) -> None:
    """Write sum_ij scale cotangent_ij dA_ij/dz_l, from dA_ij = A_ij (ds_ij - sum_k A_ik ds_ik)."""
    length = z.shape[0]
    for i in range(length):
        gradient[i] = 0.0
    for i in range(length):
        mean = 0.0
        for j in range(length):
            mean += matrix[i * length + j] * cotangent[i * length + j]
        for j in range(length):
            score = scale * matrix[i * length + j] * (cotangent[i * length + j] - mean)
            gradient[i] += score * z[j]
            gradient[j] += score * z[i]
