"""Loops over the replicas of a block, in one call so that no thread waits for the interpreter.

The functions of one replica are those of `direct_sgd` or `overlap_chain`, by the linker. These
are compiled without the counting of references to arrays (`_nrt=False`), which would take most of
the time of a short step; so they may allocate nothing, and the loops here own their buffers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ssiode.kernels.overlap_chain import (
    advance_replica,
    fresh_losses,
    make_sample,
    teacher_fields,
    write_state,
)


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
    """Advance all replicas that are alive by as many samples as they are given labels."""
    sample = make_sample(model)
    for replica in range(weights.shape[0]):
        if alive[replica]:
            alive[replica] = advance_replica(
                streams[replica],
                weights[replica],
                updates[replica],
                model,
                sample,
                given_labels[replica],
                batch,
                step_size,
                threshold,
                samples_done,
                recovery_steps[replica],
            )


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
    for replica in range(weights.shape[0]):
        if alive[replica]:
            totals[replica] = fresh_losses(
                streams[replica],
                weights[replica],
                model,
                sample,
                given_labels[replica],
                totals[replica],
            )


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
