"""Direct SGD of one replica on d-dimensional vectors.

In units where tokens x have entries N(0, 1) and the weights u = w / sqrt(d) have norm 1, the
fields are z*_l = x_l.b and z_l = x_l.u + P_l.u + injected, and one step with learning rate gamma
is u <- u~ / |u~| with u~ = u - (gamma / d) sum_l g_l (x_l + P_l), averaged over the batch. The
rows P_l and the teacher b are given by their coordinates in r orthonormal directions. There is one
row of weights for all tokens, or one for each.
"""

from __future__ import annotations

from collections import namedtuple
from math import isfinite, sqrt
from typing import Any

import numpy as np
from numba import njit

from ssiode.kernels.normals import fill_standard_normal

# Sums over d may be reordered for speed; checks for NaN must survive.
SUM_FLAGS = {"reassoc", "contract", "nsz", "arcp"}

# What stays the same for all replicas. Teacher: weights b of norm 1, shape (d,); directions, shape
# (r, d), are orthonormal; coordinates, shape (L + 1, r), are in them those of P_1, ..., P_L and b.
Model = namedtuple(
    "Model",
    "teacher directions coordinates n_rows injected degrees products coefficients noise_std "
    "parameters workspace_size is_joint",
)


@njit(error_model="numpy")
def numbers_of_sample(model: Model) -> int:
    """All entries of all tokens."""
    return model.injected.shape[0] * model.teacher.shape[0]


@njit(error_model="numpy")
def has_linked_sizes(model: Model, sample: Any, weights: np.ndarray, update: np.ndarray) -> bool:
    """True: the kernel is linked for all sizes."""
    return True


@njit(error_model="numpy", fastmath=SUM_FLAGS)
def dot_product(x: np.ndarray, y: np.ndarray) -> float:
    """Dot product of two vectors."""
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


@njit(error_model="numpy", fastmath=SUM_FLAGS)
def add_multiple(factor: float, x: np.ndarray, out: np.ndarray) -> None:
    """Add factor * x to out."""
    for i in range(x.shape[0]):
        out[i] += factor * x[i]


@njit(error_model="numpy")
def divide(x: np.ndarray, norm: float) -> bool:
    """Divide a vector by its norm; return False if that is 0 or not finite."""
    if not isfinite(norm) or norm == 0.0:
        return False
    for i in range(x.shape[0]):
        x[i] /= norm
    return True


@njit(error_model="numpy")
def write_overlaps(weights: np.ndarray, model: Model, overlaps: np.ndarray) -> None:
    """Write (e_1, ..., e_L, m) of one set of weights, with one m for each of its rows."""
    overlaps[:] = 0.0
    rows = weights.shape[0]
    length = overlaps.shape[0] - rows
    for k in range(model.directions.shape[0]):
        for row in range(rows):
            component = dot_product(model.directions[k], weights[row])
            for token in range(length) if rows == 1 else range(row, row + 1):
                overlaps[token] += model.coordinates[token, k] * component
            overlaps[length + row] += model.coordinates[length, k] * component


@njit(error_model="numpy")
def draw_teacher_fields(token_stream: np.ndarray, model: Model, sample: Any) -> None:
    """Draw the tokens x_l of one sample and write z*_l = x_l.b."""
    d = model.teacher.shape[0]
    fill_standard_normal(token_stream, sample.tokens)
    for token in range(sample.z.shape[0]):
        row = sample.tokens[token * d : (token + 1) * d]
        sample.z_star[token] = dot_product(row, model.teacher)


@njit(error_model="numpy")
def draw_fields(token_stream: np.ndarray, weights: np.ndarray, model: Model, sample: Any) -> None:
    """Draw the tokens of one sample and write z* and z."""
    draw_teacher_fields(token_stream, model, sample)
    rows, d = weights.shape
    for token in range(sample.z.shape[0]):
        own = weights[token if rows > 1 else 0]
        field = dot_product(sample.tokens[token * d : (token + 1) * d], own)
        sample.z[token] = field + sample.overlaps[token] + model.injected[token]


@njit(error_model="numpy")
def add_sample_gradient(factor: float, model: Model, sample: Any, update: np.ndarray) -> None:
    """Add factor * g_l (x_l + P_l) for all tokens to their rows."""
    rows, d = update.shape
    length = sample.z.shape[0]
    for token in range(length):
        tokens = sample.tokens[token * d : (token + 1) * d]
        add_multiple(factor * sample.gradient[token], tokens, update[token if rows > 1 else 0])
    for k in range(model.directions.shape[0]):
        for row in range(rows):
            along = 0.0
            for token in range(length) if rows == 1 else range(row, row + 1):
                along += sample.gradient[token] * model.coordinates[token, k]
            if along != 0.0:
                add_multiple(factor * along, model.directions[k], update[row])


@njit(error_model="numpy")
def finish_step(weights: np.ndarray, update: np.ndarray, streams: np.ndarray, model: Model) -> bool:
    """Add the update and normalise; return False if the weights are not finite."""
    rows = weights.shape[0]
    total = 0.0
    for row in range(rows):
        add_multiple(1.0, update[row], weights[row])
        update[row] = 0.0
        square = dot_product(weights[row], weights[row])
        total += square
        if not model.is_joint and not divide(weights[row], sqrt(square)):
            return False
    if model.is_joint:
        norm = sqrt(total / rows)
        for row in range(rows):
            if not divide(weights[row], norm):
                return False
    return True


@njit(error_model="numpy")
def squared_norm(row: np.ndarray) -> float:
    """|u|^2."""
    return dot_product(row, row)
