"""The Markov chain that the overlaps of spherical SGD follow.

Of each weight vector w / sqrt(d) only its r coordinates u in the span of encoding and teacher and
the length rho of the rest are kept; of a token only its r coordinates A there and its component c
along that rest. The fields are z*_l = A_l.b and z_l = A_l.u + rho c_l + p_l.u + injected, and a
step is

    u~ = u - (gamma / d) sum_l g_l (A_l + p_l),   rho~ = rho - (gamma / d) sum_l g_l c_l,
    |w~|^2 / d = |u~|^2 + rho~^2 + (gamma / d)^2 sum_l g_l^2 K,

averaged over the batch, with one chi-square number K of d - r - 1 degrees of freedom: in the
directions left out the update is a Gaussian vector, of which only the length matters. The sums run
over the tokens that the weight vector sees: all, or one where every token has its own.
"""

from __future__ import annotations

from collections import namedtuple
from math import inf, sqrt
from typing import Any

import numpy as np
from numba import njit

from ssiode.kernels.chi_square import next_chi_square
from ssiode.kernels.normals import fill_standard_normal
from ssiode.kernels.sizes_interface import LENGTH, OUTPUTS, RANK, ROWS

# What stays the same for all replicas: the coordinates of P_1, ..., P_L, shape (L, r), and of b,
# shape (r,), and the number of weight vectors; left_out = d - r - 1. Weights have the shape
# (rows, r + 1), of (u, rho), and updates (rows, r + 2): their last entry sums (gamma / d)^2 g_l^2.
Model = namedtuple(
    "Model",
    "positions teacher n_rows left_out chi_square_width injected degrees products coefficients "
    "noise_std parameters workspace_size is_joint",
)


@njit(error_model="numpy", inline="always")
def numbers_of_sample(model: Model) -> int:
    """(A_l, c_l) of all tokens."""
    length, rank = model.positions.shape
    return length * (rank + 1)


@njit(error_model="numpy", inline="always")
def write_overlaps(weights: np.ndarray, model: Model, overlaps: np.ndarray) -> None:
    """Write (e_1, ..., e_L) and m, one for each row of the weights."""
    length, rank = model.positions.shape
    rows = weights.shape[0]
    for token in range(length):
        row = token if rows > 1 else 0
        total = 0.0
        for k in range(rank):
            total += model.positions[token, k] * weights[row, k]
        overlaps[token] = total
    for row in range(rows):
        total = 0.0
        for k in range(rank):
            total += model.teacher[k] * weights[row, k]
        overlaps[length + row] = total


@njit(error_model="numpy", inline="always")
def draw_teacher_fields(token_stream: np.ndarray, model: Model, sample: Any) -> None:
    """Draw (A_l, c_l) of all tokens and write z*_l = A_l.b."""
    fill_standard_normal(token_stream, sample.tokens)
    length, rank = model.positions.shape
    for token in range(length):
        field = 0.0
        for k in range(rank):
            field += sample.tokens[token * (rank + 1) + k] * model.teacher[k]
        sample.z_star[token] = field


@njit(error_model="numpy", inline="always")
def draw_fields(token_stream: np.ndarray, weights: np.ndarray, model: Model, sample: Any) -> None:
    """Draw (A_l, c_l) of all tokens and write the fields of teacher and student."""
    fill_standard_normal(token_stream, sample.tokens)
    rows, rank = weights.shape[0], model.teacher.shape[0]
    first = 0
    for token in range(sample.z.shape[0]):
        row = token if rows > 1 else 0
        teacher_field = 0.0
        student_field = weights[row, rank] * sample.tokens[first + rank]
        for k in range(rank):
            teacher_field += sample.tokens[first + k] * model.teacher[k]
            student_field += sample.tokens[first + k] * weights[row, k]
        first += rank + 1
        sample.z_star[token] = teacher_field
        sample.z[token] = student_field + sample.overlaps[token] + model.injected[token]


@njit(error_model="numpy", inline="always")
def add_sample_gradient(factor: float, model: Model, sample: Any, update: np.ndarray) -> None:
    """Add factor * g_l (A_l + p_l, c_l) for all tokens to their rows, and last (factor g_l)^2."""
    length, rank = model.positions.shape
    rows = update.shape[0]
    first = 0
    for token in range(length):
        row = token if rows > 1 else 0
        change = factor * sample.gradient[token]
        for k in range(rank):
            update[row, k] += change * (sample.tokens[first + k] + model.positions[token, k])
        update[row, rank] += change * sample.tokens[first + rank]
        update[row, rank + 1] += change * change
        first += rank + 1


@njit(error_model="numpy", inline="always")
def finish_step(weights: np.ndarray, update: np.ndarray, streams: np.ndarray, model: Model) -> bool:
    """Add the update and normalise; return False if the weights are not finite."""
    rows, entries = weights.shape
    total = 0.0
    for row in range(rows):
        beyond = update[row, entries] * next_chi_square(
            streams[2], model.left_out, model.chi_square_width
        )
        square = beyond
        for k in range(entries):
            weights[row, k] += update[row, k]
            square += weights[row, k] * weights[row, k]
            update[row, k] = 0.0
        update[row, entries] = 0.0
        rest = weights[row, entries - 1]
        weights[row, entries - 1] = sqrt(rest * rest + beyond)
        total += square
        if model.is_joint:
            continue
        inverse = 1.0 / sqrt(square)
        if not 0.0 < inverse < inf:
            return False
        for k in range(entries):
            weights[row, k] *= inverse
    if model.is_joint:
        inverse = 1.0 / sqrt(total / rows)
        if not 0.0 < inverse < inf:
            return False
        for row in range(rows):
            for k in range(entries):
                weights[row, k] *= inverse
    return True


@njit(error_model="numpy", inline="always")
def has_linked_sizes(model: Model, sample: Any, weights: np.ndarray, update: np.ndarray) -> bool:
    """Whether all arrays have the sizes that the kernel was linked for, if it was for some.

    A comparison is all that the compiler needs to unroll every loop over them.
    """
    return LENGTH == 0 or (
        sample.z.shape[0] == LENGTH
        and sample.z_star.shape[0] == LENGTH
        and sample.gradient.shape[0] == LENGTH
        and sample.overlaps.shape[0] == LENGTH + ROWS
        and sample.tokens.shape[0] == LENGTH * (RANK + 1)
        and model.positions.shape[0] == LENGTH
        and model.positions.shape[1] == RANK
        and model.teacher.shape[0] == RANK
        and model.degrees.shape[0] == LENGTH
        and model.coefficients.shape[0] == OUTPUTS
        and sample.labels.shape[0] == OUTPUTS
        and sample.outputs.shape[0] == OUTPUTS
        and sample.cotangent.shape[0] == OUTPUTS
        and weights.shape[0] == ROWS
        and weights.shape[1] == RANK + 1
        and update.shape[0] == ROWS
        and update.shape[1] == RANK + 2
    )


@njit(error_model="numpy", inline="always")
def squared_norm(row: np.ndarray) -> float:
    """|u|^2 + rho^2."""
    total = 0.0
    for k in range(row.shape[0]):
        total += row[k] * row[k]
    return total
