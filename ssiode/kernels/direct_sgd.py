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

import numpy as np
from numba import njit

from ssiode.kernels.first_passage import note_recovery
from ssiode.kernels.interface import loss_forward, student_backward, student_forward
from ssiode.kernels.labels import write_labels
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

# Buffers that are overwritten by each sample.
Sample = namedtuple(
    "Sample", "tokens z_star z overlaps values labels noise outputs workspace cotangent gradient"
)


@njit(error_model="numpy")
def make_sample(model: Model) -> Sample:
    """Allocate the buffers of one sample."""
    length, n_outputs = model.injected.shape[0], model.coefficients.shape[0]
    return Sample(
        np.empty(length * model.teacher.shape[0]),
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
def draw_fields(token_stream: np.ndarray, model: Model, sample: Sample) -> None:
    """Draw the tokens of one sample and write their teacher fields."""
    d = model.teacher.shape[0]
    fill_standard_normal(token_stream, sample.tokens)
    for token in range(sample.z.shape[0]):
        row = sample.tokens[token * d : (token + 1) * d]
        sample.z_star[token] = dot_product(row, model.teacher)


@njit(error_model="numpy")
def evaluate_sample(
    noise_stream: np.ndarray,
    weights: np.ndarray,
    overlaps: np.ndarray,
    given_labels: np.ndarray,
    i: int,
    model: Model,
    sample: Sample,
) -> float:
    """Return the loss of the drawn tokens and leave its gradient in z behind."""
    rows, d = weights.shape
    for token in range(sample.z.shape[0]):
        own = weights[token if rows > 1 else 0]
        field = dot_product(sample.tokens[token * d : (token + 1) * d], own)
        sample.z[token] = field + overlaps[token] + model.injected[token]
    write_labels(noise_stream, given_labels, i, model, sample)
    student_forward(sample.z, model.parameters, sample.workspace, sample.outputs)
    loss = loss_forward(sample.labels, sample.outputs, sample.cotangent)
    student_backward(
        sample.z, model.parameters, sample.workspace, sample.cotangent, sample.gradient
    )
    return loss


@njit(error_model="numpy")
def add_sample_gradient(factor: float, model: Model, sample: Sample, update: np.ndarray) -> None:
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
def finish_step(weights: np.ndarray, update: np.ndarray, is_joint: bool) -> bool:
    """Add the update and normalise; return False if the weights are not finite."""
    rows = weights.shape[0]
    total = 0.0
    for row in range(rows):
        add_multiple(1.0, update[row], weights[row])
        update[row] = 0.0
        square = dot_product(weights[row], weights[row])
        total += square
        if not is_joint and not divide(weights[row], sqrt(square)):
            return False
    if is_joint:
        norm = sqrt(total / rows)
        for row in range(rows):
            if not divide(weights[row], norm):
                return False
    return True


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
    streams : uint64 array of shape (2, 4)
        Of tokens and label noise; advanced in place.
    weights : array of shape (rows, d)
        Student weights u, updated in place.
    update : array of shape (rows, d)
        Sum over the samples of an unfinished step, 0 between two steps; updated in place.
    given_labels : array of shape (n_samples, k) or (n_samples, 0)
        Labels to use; with no columns the target computes them.
    step_size : float
        gamma * loss scale / d.
    samples_done : int
        Samples of the run before this call.
    recovery_steps : int64 array of shape (2,)
        Steps after which |(e, m)| and |m| first reached the threshold; -1 until then.
    """
    overlaps, length = sample.overlaps, sample.z.shape[0]
    write_overlaps(weights, model, overlaps)
    for i in range(given_labels.shape[0]):
        draw_fields(streams[0], model, sample)
        evaluate_sample(streams[1], weights, overlaps, given_labels, i, model, sample)
        add_sample_gradient(-step_size / batch, model, sample, update)
        steps, samples_of_next = divmod(samples_done + i + 1, batch)
        if samples_of_next > 0:
            continue
        if not finish_step(weights, update, model.is_joint):
            return False
        write_overlaps(weights, model, overlaps)
        note_recovery(overlaps, length, threshold, steps, recovery_steps)
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
    overlaps = sample.overlaps
    write_overlaps(weights, model, overlaps)
    for i in range(given_labels.shape[0]):
        draw_fields(streams[0], model, sample)
        total += evaluate_sample(streams[1], weights, overlaps, given_labels, i, model, sample)
    return total


@njit(error_model="numpy", _nrt=False)
def teacher_fields(
    token_stream: np.ndarray, model: Model, sample: Sample, fields: np.ndarray
) -> None:
    """Write the teacher fields of the next samples of the stream, shape (n_samples, L)."""
    for i in range(fields.shape[0]):
        draw_fields(token_stream, model, sample)
        for token in range(fields.shape[1]):
            fields[i, token] = sample.z_star[token]


@njit(error_model="numpy", _nrt=False)
def write_state(weights: np.ndarray, model: Model, state: np.ndarray) -> None:
    """Write (e_1, ..., e_L), and m and squared norm of each row, of one replica."""
    rows = weights.shape[0]
    write_overlaps(weights, model, state[: state.shape[0] - rows])
    for row in range(rows):
        state[state.shape[0] - rows + row] = dot_product(weights[row], weights[row])
