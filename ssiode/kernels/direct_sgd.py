"""Direct SGD of one replica on d-dimensional vectors.

In units where tokens x have entries N(0, 1) and the weights u = w / sqrt(d) have norm 1, the
fields are z*_l = x_l.b and z_l = x_l.u + P_l.u + injected, and one step with learning rate gamma
is u <- u~ / |u~| with u~ = u - (gamma / d) sum_l g_l (x_l + P_l), averaged over the batch. The
rows P_l and the teacher b are given by their coordinates in r orthonormal directions.
"""

from __future__ import annotations

from collections import namedtuple
from math import isfinite, sqrt

import numpy as np
from numba import njit

from ssiode.kernels.interface import (
    loss_forward,
    student_backward,
    student_forward,
    target_outputs,
)
from ssiode.kernels.normals import fill_standard_normal

# Sums over d may be reordered for speed; checks for NaN must survive.
SUM_FLAGS = {"reassoc", "contract", "nsz", "arcp"}

# What stays the same for all replicas. Teacher: weights b of norm 1, shape (d,); directions, shape
# (r, d), are orthonormal; coordinates, shape (L + 1, r), are in them those of P_1, ..., P_L and b.
Model = namedtuple(
    "Model",
    "teacher directions coordinates injected parameters workspace_size n_outputs noise_std",
)

# The random numbers of one replica: uint64 arrays of shape (4,), advanced in place.
Streams = namedtuple("Streams", "tokens noise")

# Buffers that are overwritten by each sample.
Sample = namedtuple("Sample", "tokens z_star z labels noise outputs workspace cotangent gradient")


@njit(error_model="numpy")
def make_sample(model: Model) -> Sample:
    """Allocate the buffers of one sample."""
    length = model.injected.shape[0]
    return Sample(
        np.empty(length * model.teacher.shape[0]),
        np.empty(length),
        np.empty(length),
        np.empty(model.n_outputs),
        np.empty(model.n_outputs),
        np.empty(model.n_outputs),
        np.empty(model.workspace_size),
        np.empty(model.n_outputs),
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
def write_overlaps(weights: np.ndarray, model: Model, overlaps: np.ndarray) -> None:
    """Write (e_1, ..., e_L, m) of the weights."""
    overlaps[:] = 0.0
    for k in range(model.directions.shape[0]):
        component = dot_product(model.directions[k], weights)
        for i in range(overlaps.shape[0]):
            overlaps[i] += model.coordinates[i, k] * component


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
    given_label: np.ndarray,
    model: Model,
    sample: Sample,
) -> float:
    """Return the loss of the drawn tokens and leave its gradient in z behind."""
    d = weights.shape[0]
    for token in range(sample.z.shape[0]):
        row = sample.tokens[token * d : (token + 1) * d]
        sample.z[token] = dot_product(row, weights) + overlaps[token] + model.injected[token]
    if given_label.shape[0] > 0:
        for a in range(sample.labels.shape[0]):
            sample.labels[a] = given_label[a]
    else:
        target_outputs(sample.z_star, sample.labels)
    if model.noise_std > 0.0:
        fill_standard_normal(noise_stream, sample.noise)
        for a in range(sample.labels.shape[0]):
            sample.labels[a] += model.noise_std * sample.noise[a]
    student_forward(sample.z, model.parameters, sample.workspace, sample.outputs)
    loss = loss_forward(sample.labels, sample.outputs, sample.cotangent)
    student_backward(
        sample.z, model.parameters, sample.workspace, sample.cotangent, sample.gradient
    )
    return loss


@njit(error_model="numpy")
def add_sample_gradient(factor: float, model: Model, sample: Sample, out: np.ndarray) -> None:
    """Add factor * sum_l g_l (x_l + P_l) to out."""
    d = out.shape[0]
    length = sample.z.shape[0]
    for token in range(length):
        row = sample.tokens[token * d : (token + 1) * d]
        add_multiple(factor * sample.gradient[token], row, out)
    for k in range(model.directions.shape[0]):
        along = 0.0
        for token in range(length):
            along += sample.gradient[token] * model.coordinates[token, k]
        if along != 0.0:
            add_multiple(factor * along, model.directions[k], out)


@njit(error_model="numpy", nogil=True, cache=True)
def advance_replica(
    streams: Streams,
    weights: np.ndarray,
    update: np.ndarray,
    model: Model,
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
    streams : Streams
    weights : array of shape (d,)
        Student weights u of norm 1, updated in place.
    update : array of shape (d,)
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
    sample = make_sample(model)
    overlaps = np.empty(model.coordinates.shape[0])
    write_overlaps(weights, model, overlaps)
    for i in range(given_labels.shape[0]):
        draw_fields(streams.tokens, model, sample)
        evaluate_sample(streams.noise, weights, overlaps, given_labels[i], model, sample)
        add_sample_gradient(-step_size / batch, model, sample, update)
        steps, samples_of_next = divmod(samples_done + i + 1, batch)
        if samples_of_next > 0:
            continue
        add_multiple(1.0, update, weights)
        update[:] = 0.0
        norm = sqrt(dot_product(weights, weights))
        if not isfinite(norm) or norm == 0.0:
            return False
        for j in range(weights.shape[0]):
            weights[j] /= norm
        write_overlaps(weights, model, overlaps)
        if recovery_steps[0] < 0 and dot_product(overlaps, overlaps) >= threshold * threshold:
            recovery_steps[0] = steps
        if recovery_steps[1] < 0 and abs(overlaps[-1]) >= threshold:
            recovery_steps[1] = steps
    return True


@njit(error_model="numpy", nogil=True, cache=True)
def add_fresh_losses(
    streams: Streams,
    weights: np.ndarray,
    model: Model,
    given_labels: np.ndarray,
    total: float,
) -> float:
    """Total plus the losses, without their scale, of as many samples as there are given labels."""
    sample = make_sample(model)
    overlaps = np.empty(model.coordinates.shape[0])
    write_overlaps(weights, model, overlaps)
    for i in range(given_labels.shape[0]):
        draw_fields(streams.tokens, model, sample)
        total += evaluate_sample(streams.noise, weights, overlaps, given_labels[i], model, sample)
    return total


@njit(error_model="numpy", nogil=True, cache=True)
def teacher_fields(token_stream: np.ndarray, model: Model, fields: np.ndarray) -> None:
    """Write the teacher fields of the next samples of the stream, shape (n_samples, L)."""
    sample = make_sample(model)
    for i in range(fields.shape[0]):
        draw_fields(token_stream, model, sample)
        for token in range(fields.shape[1]):
            fields[i, token] = sample.z_star[token]
