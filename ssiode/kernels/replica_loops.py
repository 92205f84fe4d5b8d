"""Steps of SGD for the replicas of a block, by the functions of one method.

One call serves a whole block, so that no thread waits for the interpreter. Functions of one replica
are compiled without the counting of references to arrays (`_nrt=False`), which would take most of
the time of a short step; so they may allocate nothing, and the loops over replicas own the buffers.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
from numba import njit

from ssiode.kernels.first_passage import note_recovery
from ssiode.kernels.interface import loss_forward, student_backward, student_forward
from ssiode.kernels.labels import write_labels
from ssiode.kernels.step_interface import (
    add_sample_gradient,
    draw_fields,
    draw_teacher_fields,
    finish_step,
    has_linked_sizes,
    numbers_of_sample,
    squared_norm,
    write_overlaps,
)

# Buffers that are overwritten by each sample; what the numbers of its tokens are is the method's.
Sample = namedtuple(
    "Sample",
    "tokens z_star z overlaps values labels noise outputs workspace cotangent gradient",
)


@njit(error_model="numpy")
def make_sample(model: Any) -> Sample:
    """Allocate the buffers of one sample."""
    length, n_outputs = model.injected.shape[0], model.coefficients.shape[0]
    return Sample(
        np.empty(numbers_of_sample(model)),
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


@njit(error_model="numpy", _nrt=False)
def advance_replica(
    streams: np.ndarray,
    weights: np.ndarray,
    update: np.ndarray,
    model: Any,
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
    streams : uint64 array of shape (n, 4)
        Of tokens, label noise and what else the method draws; advanced in place.
    weights, update : arrays of shape (rows, ...)
        The weights, and sums over the samples of an unfinished step, which are 0 between two steps;
        updated in place.
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
    factor = -step_size / batch
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
        if not finish_step(weights, update, streams, model):
            return False
        write_overlaps(weights, model, sample.overlaps)
        note_recovery(sample.overlaps, sample.z.shape[0], threshold, steps, recovery_steps)
    return True


@njit(error_model="numpy", _nrt=False)
def fresh_losses(
    streams: np.ndarray,
    weights: np.ndarray,
    model: Any,
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
    token_stream: np.ndarray, model: Any, sample: Sample, fields: np.ndarray
) -> None:
    """Write the teacher fields of the next samples of the stream, shape (n_samples, L)."""
    for i in range(fields.shape[0]):
        draw_teacher_fields(token_stream, model, sample)
        for token in range(fields.shape[1]):
            fields[i, token] = sample.z_star[token]


@njit(error_model="numpy", _nrt=False)
def write_state(weights: np.ndarray, model: Any, state: np.ndarray) -> None:
    """Write (e_1, ..., e_L), and m and squared norm of each row, of one replica."""
    rows = weights.shape[0]
    first = state.shape[0] - rows
    write_overlaps(weights, model, state[:first])
    for row in range(rows):
        state[first + row] = squared_norm(weights[row])


@njit(error_model="numpy", nogil=True, cache=True)
def advance_replicas(
    streams: np.ndarray,
    weights: np.ndarray,
    updates: np.ndarray,
    model: Any,
    given_labels: np.ndarray,
    batch: int,
    step_size: float,
    threshold: float,
    samples_done: int,
    recovery_steps: np.ndarray,
    alive: np.ndarray,
) -> None:
    """Advance all replicas that are alive by as many samples as they are given labels.

    Each is worked on in buffers of the thread: where two threads write to neighbours in memory, a
    short step takes several times as long.
    """
    sample = make_sample(model)
    own_streams, own_steps = np.empty_like(streams[0]), np.empty_like(recovery_steps[0])
    own_weights, own_update = np.empty_like(weights[0]), np.empty_like(updates[0])
    for replica in range(weights.shape[0]):
        if not alive[replica]:
            continue
        own_streams[:] = streams[replica]
        own_weights[:] = weights[replica]
        own_update[:] = updates[replica]
        own_steps[:] = recovery_steps[replica]
        alive[replica] = advance_replica(
            own_streams,
            own_weights,
            own_update,
            model,
            sample,
            given_labels[replica],
            batch,
            step_size,
            threshold,
            samples_done,
            own_steps,
        )
        streams[replica] = own_streams
        weights[replica] = own_weights
        updates[replica] = own_update
        recovery_steps[replica] = own_steps


@njit(error_model="numpy", nogil=True, cache=True)
def add_fresh_losses(
    streams: np.ndarray,
    weights: np.ndarray,
    model: Any,
    given_labels: np.ndarray,
    alive: np.ndarray,
    totals: np.ndarray,
) -> None:
    """Add the losses of fresh samples to the totals of the replicas that are alive."""
    sample = make_sample(model)
    own_streams = np.empty_like(streams[0])
    for replica in range(weights.shape[0]):
        if not alive[replica]:
            continue
        own_streams[:] = streams[replica]
        totals[replica] = fresh_losses(
            own_streams,
            weights[replica],
            model,
            sample,
            given_labels[replica],
            totals[replica],
        )
        streams[replica] = own_streams


@njit(error_model="numpy", nogil=True, cache=True)
def write_teacher_fields(token_streams: np.ndarray, model: Any, fields: np.ndarray) -> None:
    """Write the teacher fields of the next samples of all streams."""
    sample = make_sample(model)
    for replica in range(fields.shape[0]):
        teacher_fields(token_streams[replica], model, sample, fields[replica])


@njit(error_model="numpy", nogil=True, cache=True)
def write_states(weights: np.ndarray, model: Any, states: np.ndarray) -> None:
    """Write the overlaps of all replicas, one row each."""
    for replica in range(weights.shape[0]):
        write_state(weights[replica], model, states[replica])
