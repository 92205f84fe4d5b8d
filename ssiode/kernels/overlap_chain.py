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

import numpy as np
from numba import njit

from ssiode.kernels.chi_square import chi_square_width, next_chi_square
from ssiode.kernels.first_passage import note_recovery
from ssiode.kernels.interface import loss_forward, student_backward, student_forward
from ssiode.kernels.labels import write_labels
from ssiode.kernels.normals import fill_standard_normal
from ssiode.kernels.sizes_interface import LENGTH, OUTPUTS, RANK, ROWS

# What stays the same for all replicas: the coordinates of P_1, ..., P_L, shape (L, r), and of b,
# shape (r,), and the number of weight vectors; left_out = d - r - 1.
Model = namedtuple(
    "Model",
    "positions teacher n_rows left_out injected degrees products coefficients noise_std "
    "parameters workspace_size is_joint",
)

# Buffers that are overwritten by each sample.
Sample = namedtuple(
    "Sample",
    "normals z_star z overlaps values labels noise outputs workspace cotangent gradient",
)


@njit(error_model="numpy")
def make_sample(model: Model) -> Sample:
    """Allocate the buffers of one sample."""
    length, rank = model.positions.shape
    n_outputs = model.coefficients.shape[0]
    return Sample(
        np.empty(length * (rank + 1)),
        np.empty(length),
        np.empty(length),
        np.empty(length + model.n_rows),
        np.empty(model.coefficients.shape[1]),
        np.empty(n_outputs),
        np.empty(n_outputs),
        np.empty(n_outputs),
        np.empty(model.workspace_size),
        np.empty(n_outputs),
        np.empty(length),
    )


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
def draw_fields(
    token_stream: np.ndarray, weights: np.ndarray, model: Model, sample: Sample
) -> None:
    """Draw (A_l, c_l) of all tokens and write the fields of teacher and student."""
    fill_standard_normal(token_stream, sample.normals)
    rows, rank = weights.shape[0], model.teacher.shape[0]
    first = 0
    for token in range(sample.z.shape[0]):
        row = token if rows > 1 else 0
        teacher_field = 0.0
        student_field = weights[row, rank] * sample.normals[first + rank]
        for k in range(rank):
            teacher_field += sample.normals[first + k] * model.teacher[k]
            student_field += sample.normals[first + k] * weights[row, k]
        first += rank + 1
        sample.z_star[token] = teacher_field
        sample.z[token] = student_field + sample.overlaps[token] + model.injected[token]


@njit(error_model="numpy", inline="always")
def add_sample_gradient(factor: float, model: Model, sample: Sample, update: np.ndarray) -> None:
    """Add factor * g_l (A_l + p_l, c_l) for all tokens to their rows, and last (factor g_l)^2."""
    length, rank = model.positions.shape
    rows = update.shape[0]
    first = 0
    for token in range(length):
        row = token if rows > 1 else 0
        change = factor * sample.gradient[token]
        for k in range(rank):
            update[row, k] += change * (sample.normals[first + k] + model.positions[token, k])
        update[row, rank] += change * sample.normals[first + rank]
        update[row, rank + 1] += change * change
        first += rank + 1


@njit(error_model="numpy", inline="always")
def finish_step(
    weights: np.ndarray,
    update: np.ndarray,
    stream: np.ndarray,
    width: float,
    model: Model,
) -> bool:
    """Add the update and normalise; return False if the weights are not finite."""
    rows, entries = weights.shape
    total = 0.0
    for row in range(rows):
        beyond = update[row, entries] * next_chi_square(stream, model.left_out, width)
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
def has_linked_sizes(model: Model, sample: Sample, weights: np.ndarray, update: np.ndarray) -> bool:
    """Whether all arrays have the sizes that the kernel was linked for, if it was for some.

    A comparison is all that the compiler needs to unroll every loop over them.
    """
    return LENGTH == 0 or (
        sample.z.shape[0] == LENGTH
        and sample.z_star.shape[0] == LENGTH
        and sample.gradient.shape[0] == LENGTH
        and sample.overlaps.shape[0] == LENGTH + ROWS
        and sample.normals.shape[0] == LENGTH * (RANK + 1)
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


@njit(error_model="numpy", _nrt=False)
def advance_replica(
    streams: np.ndarray,
    weights: np.ndarray,
    update: np.ndarray,
    model: Model,
    sample: Sample,
    given_labels: np.ndarray,
    batch: int,
    step_size: float,
    threshold: float,
    samples_done: int,
    recovery_steps: np.ndarray,
) -> bool:
    """Advance one replica by some samples; return False once its weights are not finite.

    A step ends with the last sample of its batch, so a call may begin and end inside of a step.

    Parameters
    ----------
    streams : uint64 array of shape (3, 4)
        Of tokens, label noise and what is left out; advanced in place.
    weights : array of shape (rows, r + 1)
        (u, rho) of each row, updated in place.
    update : array of shape (rows, r + 2)
        Sums over the samples of an unfinished step, 0 between two steps, updated in place: of the
        update of (u, rho), and last of (gamma / d)^2 g_l^2.
    given_labels : array of shape (n_samples, k) or (n_samples, 0)
        Labels to use; with no columns the target computes them.
    step_size : float
        gamma * loss scale / d.
    samples_done : int
        Samples of the run before this call.
    recovery_steps : int64 array of shape (2,)
        Steps after which |(e, m)| and |m| first reached the threshold; -1 until then.
    """
    if not has_linked_sizes(model, sample, weights, update):
        return False
    write_overlaps(weights, model, sample.overlaps)
    factor, width = -step_size / batch, chi_square_width(model.left_out)
    steps, in_batch = divmod(samples_done, batch)
    for i in range(given_labels.shape[0]):
        draw_fields(streams[0], weights, model, sample)
        write_labels(streams[1], given_labels, i, model, sample)
        student_forward(sample.z, model.parameters, sample.workspace, sample.outputs)
        loss_forward(sample.labels, sample.outputs, sample.cotangent)
        student_backward(
            sample.z, model.parameters, sample.workspace, sample.cotangent, sample.gradient
        )
        add_sample_gradient(factor, model, sample, update)
        in_batch += 1
        if in_batch < batch:
            continue
        in_batch = 0
        steps += 1
        if not finish_step(weights, update, streams[2], width, model):
            return False
        write_overlaps(weights, model, sample.overlaps)
        note_recovery(sample.overlaps, sample.z.shape[0], threshold, steps, recovery_steps)
    return True


@njit(error_model="numpy", _nrt=False)
def fresh_losses(
    streams: np.ndarray,
    weights: np.ndarray,
    model: Model,
    sample: Sample,
    given_labels: np.ndarray,
    total: float,
) -> float:
    """Total plus the losses, without their scale, of as many samples as there are labels."""
    write_overlaps(weights, model, sample.overlaps)
    for i in range(given_labels.shape[0]):
        draw_fields(streams[0], weights, model, sample)
        write_labels(streams[1], given_labels, i, model, sample)
        student_forward(sample.z, model.parameters, sample.workspace, sample.outputs)
        total += loss_forward(sample.labels, sample.outputs, sample.cotangent)
    return total


@njit(error_model="numpy", _nrt=False)
def teacher_fields(
    token_stream: np.ndarray, model: Model, sample: Sample, fields: np.ndarray
) -> None:
    """Write the teacher fields of the next samples of the stream, shape (n_samples, L)."""
    length, rank = model.positions.shape
    for i in range(fields.shape[0]):
        fill_standard_normal(token_stream, sample.normals)
        for token in range(length):
            field = 0.0
            for k in range(rank):
                field += sample.normals[token * (rank + 1) + k] * model.teacher[k]
            fields[i, token] = field


@njit(error_model="numpy", _nrt=False)
def write_state(weights: np.ndarray, model: Model, state: np.ndarray) -> None:
    """Write (e_1, ..., e_L), and m and squared norm of each row, of one replica."""
    overlaps = state[: state.shape[0] - model.n_rows]
    write_overlaps(weights, model, overlaps)
    for row in range(model.n_rows):
        square = 0.0
        for k in range(weights.shape[1]):
            square += weights[row, k] * weights[row, k]
        state[overlaps.shape[0] + row] = square
