"""Replicas at one dimension, run until enough of them recover to know their median."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.dynamics.checks import require_memory_for_records, started
from ssiode.dynamics.chunks import advance_in_chunks, keep_only
from ssiode.dynamics.methods import Method
from ssiode.dynamics.pacing import Pace

if TYPE_CHECKING:
    from ssiode.problem import Problem

# A run ends at the first look after the upper quartile of the counted replicas is known; looks are
# at fixed steps, each at most an eighth later, so that they depend on no clock.
_ENOUGH = 0.75
_FIRST_LOOK = 64
_RESAMPLES = 2000
_SEED_OF_RUN, _SEED_OF_BOOTSTRAP = 0, 1


def seed_at(seed: int, d: int, use: int = _SEED_OF_RUN) -> int:
    """Seed of one dimension, which no other dimension changes.

    >>> seed_at(0, 100) == seed_at(0, 100), seed_at(0, 100) == seed_at(0, 1000)
    (True, False)
    """
    sequence = np.random.SeedSequence(seed, spawn_key=(d, use))
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))


@dataclass(frozen=True, eq=False)
class RecoveryPoint:
    """Weak recovery at one dimension.

    Attributes
    ----------
    d, gamma, seed : int, float, int
        Dimension, learning rate and seed of the run, which :func:`ssiode.run_chain` repeats.
    recovery_steps : integer array of shape (replicas,)
        Steps of the first passages, -1 where there was none.
    start : array of shape (replicas,)
        Initial m; the root mean square over the rows of an untied network.
    is_counted : boolean array of shape (replicas,)
        Replicas whose median is taken: all but those that start at the wrong sign.
    diverged : boolean array of shape (replicas,)
        Replicas whose weights became infinite or NaN.
    steps_run : int
        Steps of the replicas that did not recover.
    status : str
        `measured` if more than half of the counted replicas recovered; else `censored` or
        `interrupted`. A point that was interrupted can be measured all the same.
    """

    d: int
    gamma: float
    seed: int
    recovery_steps: np.ndarray
    start: np.ndarray
    is_counted: np.ndarray
    diverged: np.ndarray
    steps_run: int
    status: str

    @property
    def passages(self) -> np.ndarray:
        """Sorted steps of the counted replicas, infinite for those that did not recover."""
        counted = self.recovery_steps[self.is_counted]
        return np.sort(np.where(counted < 0, np.inf, counted))

    def quantile(self, level: float) -> float | None:
        """Steps at which a part of the counted replicas has recovered; None if unknown."""
        passages = self.passages
        if not len(passages):
            return None
        place = level * (len(passages) - 1)
        pair = passages[[int(np.floor(place)), int(np.ceil(place))]]
        if not np.all(np.isfinite(pair)):
            return None
        return float(pair[0] + (place % 1) * (pair[1] - pair[0]))

    @property
    def median(self) -> float | None:
        """Median steps of the counted replicas; None unless more than half recovered."""
        return self.quantile(0.5)

    @property
    def log_error(self) -> float | None:
        """Standard error of the logarithm of the median, by bootstrap over the replicas.

        It is half of the distance between the 16th and the 84th percentile, which does not feel
        the few medians that are unknown.
        """
        passages = self.passages
        if not self.median or len(passages) < 2:
            return None
        generator = np.random.default_rng(seed_at(self.seed, self.d, _SEED_OF_BOOTSTRAP))
        draws = passages[generator.integers(len(passages), size=(_RESAMPLES, len(passages)))]
        draws.sort(axis=1)
        middle = (len(passages) - 1) // 2, len(passages) // 2
        medians = np.sort((draws[:, middle[0]] + draws[:, middle[1]]) / 2)
        low, high = medians[[int(0.16 * _RESAMPLES), int(0.84 * _RESAMPLES)]]
        if not np.isfinite(high) or low <= 0:
            return None
        rounding = 1 / (np.sqrt(12) * self.median)  # steps are whole
        return float(max(np.log(high / low) / 2, rounding))

    @property
    def wrong_sign(self) -> int:
        """Number of replicas that start at the sign from which overlaps shrink."""
        return int((~self.is_counted).sum())

    @property
    def wrong_sign_recovered(self) -> int:
        """Number of those that recovered within the steps of the run."""
        return int((self.recovery_steps[~self.is_counted] >= 0).sum())

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        recovered = int((self.recovery_steps[self.is_counted] >= 0).sum())
        return {
            "d": self.d,
            "gamma": self.gamma,
            "seed": self.seed,
            "median": self.median,
            "lower_quartile": self.quantile(0.25),
            "upper_quartile": self.quantile(0.75),
            "log_error": self.log_error,
            "replicas": len(self.recovery_steps),
            "counted": int(self.is_counted.sum()),
            "recovered": recovered,
            "wrong_sign": self.wrong_sign,
            "wrong_sign_recovered": self.wrong_sign_recovered,
            "diverged": int(self.diverged.sum()),
            "steps_run": self.steps_run,
            "status": self.status,
            "recovery_steps": [int(s) if s >= 0 else None for s in self.recovery_steps],
        }


@dataclass(frozen=True)
class Counting:
    """Which replicas count and when they have recovered.

    Attributes
    ----------
    threshold : float
        eta of |v| >= eta.
    column : int
        0 for the passages of |v|, 1 for those of |m|.
    sides : tuple of int or None
        Signs of the initial m that count; None for all replicas.
    """

    threshold: float
    column: int
    sides: tuple[int, ...] | None

    def counted(self, start: np.ndarray) -> np.ndarray:
        """Which replicas of these initial m count."""
        if not self.sides:
            return np.ones(len(start), dtype=bool)
        return np.isin(np.sign(start), self.sides)


def checked(problem: Problem, method: str) -> Problem:
    """Return the problem if it can be run.

    Raises
    ------
    InputError
        If d < L + 2, the target is not finite, or more memory is needed than there is.
    """
    problem = started(problem, None, None, {})
    require_memory_for_records(problem, 1, Method.known[method].entries(problem))
    return problem


def first_passages(
    problem: Problem,
    method: str,
    counting: Counting,
    limit: float,
    interrupted: Callable[[], bool],
    tell: Callable[[str], None],
) -> RecoveryPoint:
    """Run until the upper quartile of the replicas that count is known, or to the limit of steps.

    The steps of each replica depend on seed and dimension alone. A replica that recovered is not
    run further.
    """
    problem = checked(problem, method)
    way, sgd = Method.known[method], problem.sgd
    run = way.start(problem, counting.threshold, 0, {})
    _, m, _ = run.overlaps()
    start = m[:, 0] if m.shape[1] == 1 else np.sqrt(np.mean(m**2, axis=1))
    is_counted = counting.counted(start)
    steps = run.state.recovery_steps[:, counting.column].copy()
    diverged = np.zeros(len(steps), dtype=bool)
    numbers = np.arange(len(steps))  # of the replicas that still run
    pace, done, was_interrupted = Pace(), 0, False
    n_counted = int(is_counted.sum())
    needed = int(np.ceil(_ENOUGH * (n_counted - 1))) + 1 if n_counted else 0
    while True:
        steps[numbers] = run.state.recovery_steps[:, counting.column]
        diverged[numbers] = ~run.state.alive
        going = (steps[numbers] < 0) & run.state.alive
        numbers = numbers[going]
        keep_only(run, going)
        recovered = int((steps[is_counted] >= 0).sum())
        possible = recovered + int(is_counted[numbers].sum())
        if was_interrupted or not needed or recovered >= needed:
            break
        if done >= limit or 2 * possible <= n_counted:
            break
        look = int(min(max(_FIRST_LOOK, done + max(_FIRST_LOOK, done // 8)), np.ceil(limit)))
        tell(f"{recovered} of {n_counted} recovered, step {done:.2g}")
        was_interrupted = not advance_in_chunks(run, (look - done) * sgd.batch, pace, interrupted)
        done = run.state.steps_done
    point = RecoveryPoint(
        sgd.d, sgd.gamma, sgd.seed, steps, start, is_counted, diverged, done, "measured"
    )
    if point.median is None:
        point = dataclasses.replace(point, status="interrupted" if was_interrupted else "censored")
    return point
