"""The Markov chain that the overlaps of spherical SGD follow, one replica.

Of the weights u = w / sqrt(d) only the r coordinates in the span of encoding and teacher and the
length rho of the rest are kept; of a token only its r coordinates A there and its component c along
that rest. The fields are z*_l = A_l.b and z_l = A_l.u + rho c_l + p_l.u + injected, and a step is

    u~ = u - (gamma / d) sum_l g_l (A_l + p_l),   rho~ = rho - (gamma / d) sum_l g_l c_l,
    |w~|^2 / d = |u~|^2 + rho~^2 + (gamma / d)^2 sum_l g_l^2 K,

averaged over the batch, with one chi-square number K of d - r - 1 degrees of freedom: in the
directions left out the update is a Gaussian vector, of which only the length matters.
"""

from __future__ import annotations

from collections import namedtuple
from math import isfinite, sqrt

import numpy as np
from numba import njit

from ssiode.kernels.chi_square import next_chi_square
from ssiode.kernels.interface import (
    loss_forward,
    student_backward,
    student_forward,
    target_outputs,
)
from ssiode.kernels.normals import fill_standard_normal

# What stays the same for all replicas: coordinates, shape (L + 1, r), of P_1, ..., P_L and b, and
# the number of directions that are left out.
Model = namedtuple(
    "Model", "coordinates left_out injected parameters workspace_size n_outputs noise_std"
)

# The random numbers of one replica: uint64 arrays of shape (4,), advanced in place.
Streams = namedtuple("Streams", "tokens noise left_out")

# Buffers that are overwritten by each sample.
Sample = namedtuple(
    "Sample", "normals z_star z e labels noise outputs workspace cotangent gradient"
)


@njit(error_model="numpy")
def make_sample(model: Model) -> Sample:
    """Allocate the buffers of one sample."""
    length, rank = model.injected.shape[0], model.coordinates.shape[1]
    return Sample(
        np.empty(length * (rank + 1)),
        np.empty(length + 1),
        np.empty(length),
        np.empty(length),
        np.empty(model.n_outputs),
        np.empty(model.n_outputs),
        np.empty(model.n_outputs),
        np.empty(model.workspace_size),
        np.empty(model.n_outputs),
        np.empty(length),
    )


# References to arrays of a tuple are counted at each use, which costs more than the arithmetic: the
# loops below take the arrays one by one, and are inlined.
@njit(error_model="numpy", inline="always")
def write_overlaps(weights: np.ndarray, coordinates: np.ndarray, overlaps: np.ndarray) -> None:
    """Write (e_1, ..., e_L, m)."""
    for i in range(overlaps.shape[0]):
        total = 0.0
        for k in range(coordinates.shape[1]):
            total += coordinates[i, k] * weights[k]
        overlaps[i] = total


@njit(error_model="numpy", inline="always")
def write_fields(
    normals: np.ndarray,
    weights: np.ndarray,
    overlaps: np.ndarray,
    coordinates: np.ndarray,
    injected: np.ndarray,
    z_star: np.ndarray,
    z: np.ndarray,
) -> None:
    """Write the fields of teacher and student of tokens with the entries (A_l, c_l)."""
    length, rank = injected.shape[0], coordinates.shape[1]
    for token in range(length):
        first = token * (rank + 1)
        teacher_field = 0.0
        student_field = weights[rank] * normals[first + rank]
        for k in range(rank):
            teacher_field += normals[first + k] * coordinates[length, k]
            student_field += normals[first + k] * weights[k]
        z_star[token] = teacher_field
        z[token] = student_field + overlaps[token] + injected[token]


@njit(error_model="numpy", inline="always")
def write_labels(
    stream: np.ndarray,
    given_labels: np.ndarray,
    row: int,
    z_star: np.ndarray,
    noise_std: float,
    noise: np.ndarray,
    labels: np.ndarray,
) -> None:
    """Write the labels of one sample, given or of the target, with their noise."""
    if given_labels.shape[1] > 0:
        for a in range(labels.shape[0]):
            labels[a] = given_labels[row, a]
    else:
        target_outputs(z_star, labels)
    if noise_std > 0.0:
        fill_standard_normal(stream, noise)
        for a in range(labels.shape[0]):
            labels[a] += noise_std * noise[a]


@njit(error_model="numpy", inline="always")
def add_sample_gradient(
    factor: float,
    gradient: np.ndarray,
    normals: np.ndarray,
    coordinates: np.ndarray,
    update: np.ndarray,
) -> None:
    """Add factor * g_l (A_l + p_l, c_l) for all tokens, and last (factor g_l)^2."""
    rank = coordinates.shape[1]
    for token in range(gradient.shape[0]):
        first = token * (rank + 1)
        change = factor * gradient[token]
        for k in range(rank):
            update[k] += change * (normals[first + k] + coordinates[token, k])
        update[rank] += change * normals[first + rank]
        update[rank + 1] += change * change


@njit(error_model="numpy", inline="always")
def finish_step(weights: np.ndarray, update: np.ndarray, chi_square: float) -> bool:
    """Add the update and normalise; return False if the weights are not finite."""
    rank = weights.shape[0] - 1
    left_out = update[rank + 1] * chi_square
    square = left_out
    for k in range(rank + 1):
        weights[k] += update[k]
        square += weights[k] * weights[k]
    update[:] = 0.0
    norm = sqrt(square)
    if not isfinite(norm) or norm == 0.0:
        return False
    weights[rank] = sqrt(weights[rank] * weights[rank] + left_out)
    for k in range(rank + 1):
        weights[k] /= norm
    return True


@njit(error_model="numpy", inline="always")
def note_recovery(
    overlaps: np.ndarray, threshold: float, steps: int, recovery_steps: np.ndarray
) -> None:
    """Note the first passages of |(e, m)| and |m|."""
    if recovery_steps[0] < 0:
        square = 0.0
        for i in range(overlaps.shape[0]):
            square += overlaps[i] * overlaps[i]
        if square >= threshold * threshold:
            recovery_steps[0] = steps
    if recovery_steps[1] < 0 and abs(overlaps[-1]) >= threshold:
        recovery_steps[1] = steps


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
    weights : array of shape (r + 1,)
        (u, rho) of norm 1, updated in place.
    update : array of shape (r + 2,)
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
    normals, overlaps, z_star, z, labels, noise, outputs, workspace, cotangent, gradient = (
        make_sample(model)
    )
    coordinates, left_out, injected, parameters, _, _, noise_std = model
    tokens_stream, noise_stream, left_out_stream = streams
    scratch = np.empty(1)
    write_overlaps(weights, coordinates, overlaps)
    factor = -step_size / batch
    steps, in_batch = divmod(samples_done, batch)
    for i in range(given_labels.shape[0]):
        fill_standard_normal(tokens_stream, normals)
        write_fields(normals, weights, overlaps, coordinates, injected, z_star, z)
        write_labels(noise_stream, given_labels, i, z_star, noise_std, noise, labels)
        student_forward(z, parameters, workspace, outputs)
        loss_forward(labels, outputs, cotangent)
        student_backward(z, parameters, workspace, cotangent, gradient)
        add_sample_gradient(factor, gradient, normals, coordinates, update)
        in_batch += 1
        if in_batch < batch:
            continue
        in_batch = 0
        steps += 1
        chi_square = next_chi_square(left_out_stream, left_out, scratch)
        if not finish_step(weights, update, chi_square):
            return False
        write_overlaps(weights, coordinates, overlaps)
        note_recovery(overlaps, threshold, steps, recovery_steps)
    return True


@njit(error_model="numpy", nogil=True, cache=True)
def add_fresh_losses(
    streams: Streams, weights: np.ndarray, model: Model, given_labels: np.ndarray, total: float
) -> float:
    """Total plus the losses, without their scale, of as many samples as there are given labels."""
    normals, overlaps, z_star, z, labels, noise, outputs, workspace, cotangent, _ = make_sample(
        model
    )
    coordinates, injected = model.coordinates, model.injected
    write_overlaps(weights, coordinates, overlaps)
    for i in range(given_labels.shape[0]):
        fill_standard_normal(streams.tokens, normals)
        write_fields(normals, weights, overlaps, coordinates, injected, z_star, z)
        write_labels(streams.noise, given_labels, i, z_star, model.noise_std, noise, labels)
        student_forward(z, model.parameters, workspace, outputs)
        total += loss_forward(labels, outputs, cotangent)
    return total


@njit(error_model="numpy", nogil=True, cache=True)
def teacher_fields(token_stream: np.ndarray, model: Model, fields: np.ndarray) -> None:
    """Write the teacher fields of the next samples of the stream, shape (n_samples, L)."""
    normals, overlaps, z_star, z, _, _, _, _, _, _ = make_sample(model)
    weights = np.zeros(model.coordinates.shape[1] + 1)
    overlaps[:] = 0.0
    for i in range(fields.shape[0]):
        fill_standard_normal(token_stream, normals)
        write_fields(normals, weights, overlaps, model.coordinates, model.injected, z_star, z)
        for token in range(fields.shape[1]):
            fields[i, token] = z_star[token]
