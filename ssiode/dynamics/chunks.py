"""Replicas that run in chunks, so that Ctrl-C is seen soon and those that are done are dropped."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

import numpy as np

from ssiode.dynamics.methods import Run
from ssiode.dynamics.pacing import Pace

_FLOATS_PER_CHUNK = 2**21


def keep_only(run: Run, going: np.ndarray) -> None:
    """Drop the replicas that need not run further, so that threads share the others evenly."""
    if going.all():
        return
    names = ("weights", "updates", "streams", "fresh_streams", "recovery_steps", "alive")
    kept = {name: getattr(run.state, name)[going] for name in names}
    run.state = dataclasses.replace(run.state, **kept)


def advance_in_chunks(
    run: Run, n_samples: int, pace: Pace, interrupted: Callable[[], bool]
) -> bool:
    """Advance by samples, in chunks; return False if Ctrl-C came before the end."""
    problem = run.state.problem
    floats = (problem.length + problem.target.n_outputs) * len(run.state.weights)
    most = max(1, _FLOATS_PER_CHUNK // floats)
    while n_samples > 0:
        if interrupted():
            return False
        chunk = pace.chunk(min(n_samples, most))
        start = time.perf_counter()
        run.advance(chunk)
        pace.over(chunk, time.perf_counter() - start)
        n_samples -= chunk
    return True
