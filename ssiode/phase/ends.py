"""In which minimum SGD ends: replicas of the exact chain of one task, and who leads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.dynamics.chunks import advance_in_chunks, keep_only
from ssiode.dynamics.methods import Method
from ssiode.dynamics.pacing import Pace

if TYPE_CHECKING:
    from ssiode.problem import Problem

# Looks for replicas that have recovered, in ODE time.
_LOOK = 0.5
# Of one standard deviation of a Gaussian number.
_LEVEL = 0.6827


@dataclass(frozen=True)
class EndCounts:
    """Replicas of one task that ended on each side.

    Attributes
    ----------
    omega : float
    replicas : int
        That did not diverge.
    semantic : int
        With |m| > |e| at the end.
    recovered : int
        With e^2 + m^2 >= eta^2.
    diverged : int
    seed : int
        Of the run, which :func:`ssiode.run_chain` repeats.
    predicted : float or None
        P(|m| > |e|) of the linear regime, see :mod:`ssiode.phase.linear_regime`.
    """

    omega: float
    replicas: int
    semantic: int
    recovered: int
    diverged: int
    seed: int
    predicted: float | None

    @property
    def probability(self) -> float | None:
        """Part of the replicas that is semantic."""
        return self.semantic / self.replicas if self.replicas else None

    @cached_property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's interval of the probability, of one standard deviation: never of no width."""
        from scipy.stats import binomtest

        if not self.replicas:
            return None
        test = binomtest(self.semantic, self.replicas)
        found = test.proportion_ci(confidence_level=_LEVEL, method="wilson")
        return float(found.low), float(found.high)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        low, high = self.interval or (None, None)
        return {
            "omega": self.omega,
            "probability": self.probability,
            "low": low,
            "high": high,
            "replicas": self.replicas,
            "semantic": self.semantic,
            "recovered": self.recovered,
            "diverged": self.diverged,
            "seed": self.seed,
            "predicted": self.predicted,
        }


@dataclass(frozen=True, eq=False)
class Ends:
    """The last overlaps of replicas: arrays of shape (replicas,), NaN where one diverged."""

    e: np.ndarray
    m: np.ndarray


def run_to_end(
    problem: Problem,
    time: float,
    threshold: float | None,
    interrupted: Callable[[], bool],
) -> Ends | None:
    """Run the chain; None if it was interrupted.

    Parameters
    ----------
    problem : Problem
        Attention on two tokens with opposite rows.
    time : float
        Longest ODE time.
    threshold : float or None
        A replica whose (e, m) has this norm at a look, each half an ODE time, is done; None runs
        all replicas to the end.
    interrupted : callable
        Whether Ctrl-C came.
    """
    sgd = problem.sgd
    run = Method.known["chain"].start(problem, 1.0, 0, {})
    e, m = (np.empty(sgd.replicas) for _ in range(2))
    numbers = np.arange(sgd.replicas)  # of the replicas that still run
    steps_per_time = sgd.d / sgd.gamma
    last = max(1, round(time * steps_per_time))
    look = last if threshold is None else max(1, round(_LOOK * steps_per_time))
    pace = Pace()
    while len(numbers) and (done := run.state.steps_done) < last:
        if not advance_in_chunks(run, min(look, last - done), pace, interrupted):
            return None
        overlaps, semantic, _ = run.overlaps()
        e[numbers], m[numbers] = overlaps[:, 0], semantic[:, 0]
        if threshold is not None:
            going = np.hypot(e[numbers], m[numbers]) < threshold
            numbers = numbers[going]
            keep_only(run, going)
    return Ends(e, m)


def count_ends(
    omega: float, ends: Ends, eta: float, seed: int, predicted: float | None
) -> EndCounts:
    """Count the ends.

    >>> ends = Ends(np.array([0.1, 0.9, np.nan]), np.array([0.8, 0.2, np.nan]))
    >>> counts = count_ends(0.5, ends, 0.5, 0, None)
    >>> counts.replicas, counts.semantic, counts.recovered, counts.diverged
    (2, 1, 2, 1)
    """
    is_alive = np.isfinite(ends.e) & np.isfinite(ends.m)
    e, m = np.abs(ends.e[is_alive]), np.abs(ends.m[is_alive])
    return EndCounts(
        omega=omega,
        replicas=len(e),
        semantic=int((m > e).sum()),
        recovered=int((np.hypot(e, m) >= eta).sum()),
        diverged=int((~is_alive).sum()),
        seed=seed,
        predicted=predicted,
    )
