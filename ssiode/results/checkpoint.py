"""Where a run stopped, with all that it needs to go on as if nothing had happened."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """State of all replicas of a run that is not finished.

    Attributes
    ----------
    planned_steps : integer array
        Steps of all records of the whole run.
    records_done : int
        How many of them are complete.
    samples_done : int
        Samples that every replica has seen; a step may be unfinished.
    weights, updates : arrays of shape (replicas, rows, ...)
        Of the method's kernel.
    streams, fresh_streams : uint64 arrays of shape (replicas, n, 4)
        Random numbers of the steps, and of the fresh samples.
    alive : boolean array of shape (replicas,)
        False where the weights are no longer finite.
    """

    planned_steps: np.ndarray
    records_done: int
    samples_done: int
    weights: np.ndarray
    updates: np.ndarray
    streams: np.ndarray
    fresh_streams: np.ndarray
    alive: np.ndarray
