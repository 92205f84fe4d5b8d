r"""The learning rate of the fewest steps, from medians that are noisy.

Rates a factor 2 apart are tried until the best one lies between two that are worse. Between these
the logarithm of the median is measured at four more rates and fitted by a cubic in
:math:`\log\gamma`, and then at three about its minimum. The rate is where the cubic through the
medians close to the smallest one is smallest. All trials have the same starts and the same samples,
so that they differ by the rate more than by chance, and the error of the rate is a bootstrap over
the replicas.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ssiode.recovery_scaling.passages import seed_at

if TYPE_CHECKING:
    from ssiode.recovery_scaling.passages import RecoveryPoint

# Runs a trial at a rate, up to a limit of steps.
Trial = Callable[[float, float], "RecoveryPoint"]

_FACTOR = 2.0
_MOST_MOVES = 10
_BETWEEN = (-2 / 3, -1 / 3, 1 / 3, 2 / 3)
# Slower trials than so many times the best median are cut off.
_SLOWEST = 3.0
# About the minimum of the first fit; the last one takes medians up to this factor from the best.
_ABOUT = (0.75, 1.0, 1.33)
_FITTED_FIRST, _FITTED = 3.0, 1.6
_DEGREE, _FEWEST_POINTS = 3, 5
_RESAMPLES, _GRID = 400, 401
_SEED_OF_BOOTSTRAP = 3


@dataclass(frozen=True, eq=False)
class BestRate:
    """What a search has found.

    Attributes
    ----------
    gamma : float
        The learning rate of the smallest median.
    log_error : float
        Standard error of its logarithm.
    trials : tuple of RecoveryPoint
        All that was run, in order of the rate.
    """

    gamma: float
    log_error: float
    trials: tuple[RecoveryPoint, ...]


def best_rate(
    trial: Trial, start: float, limit: float, interrupted: Callable[[], bool]
) -> BestRate | None:
    """Search from a rate; None if no trial has a median.

    Parameters
    ----------
    trial : callable
        From a rate and a limit of steps to the passages.
    start : float
        Rate > 0 of the first trial.
    limit : float
        Most steps of the first trials.
    interrupted : callable
        Whether to stop with what has been found.
    """
    search = _Search(trial, limit, interrupted)
    search.bracket(start)
    return search.result()


@dataclass
class _Search:
    trial: Trial
    limit: float
    interrupted: Callable[[], bool]
    trials: dict[float, RecoveryPoint] = field(default_factory=dict)

    def median(self, gamma: float) -> float:
        """Median at a rate, which is run once; infinite if it has none."""
        if gamma not in self.trials:
            if self.interrupted():
                return np.inf
            limit = min(self.limit, _SLOWEST * self._smallest())
            self.trials[gamma] = self.trial(gamma, limit)
        found = self.trials[gamma].median
        return np.inf if found is None else max(found, 1.0)

    def _smallest(self) -> float:
        medians = [p.median for p in self.trials.values() if p.median]
        return min(medians, default=np.inf)

    def bracket(self, start: float) -> None:
        """Move to a rate whose neighbours are worse, and fill the gaps beside it."""
        centre, moves = start, 0
        while not np.isfinite(self.median(centre)) and moves < _MOST_MOVES:
            centre, moves = centre / _FACTOR, moves + 1
        if not np.isfinite(self.median(centre)):
            return
        while moves < _MOST_MOVES and not self.interrupted():
            best = min((centre, centre * _FACTOR, centre / _FACTOR), key=self.median)
            if best == centre:
                break
            centre, moves = best, moves + 1
        for share in _BETWEEN:
            self.median(centre * _FACTOR**share)
        rates, passages, errors = self._close_to_best(_FITTED_FIRST)
        if len(rates) >= _FEWEST_POINTS:
            lowest = float(np.exp(_lowest(rates, np.median(passages, axis=1), errors)))
            for share in _ABOUT:
                self.median(lowest * share)

    def _close_to_best(self, factor: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Logarithms of rates, passages, and errors of trials with medians up to a factor."""
        known = [self.trials[gamma] for gamma in sorted(self.trials)]
        known = [p for p in known if p.log_error is not None]
        smallest = min((p.median for p in known), default=0.0)
        fitted = [p for p in known if p.median <= factor * smallest]
        return (
            np.log([p.gamma for p in fitted]),
            np.array([_passages(p) for p in fitted]),
            np.array([p.log_error for p in fitted]),
        )

    def result(self) -> BestRate | None:
        """The fit, or the best trial where there are too few for one."""
        points = [self.trials[gamma] for gamma in sorted(self.trials)]
        rates, passages, errors = self._close_to_best(_FITTED)
        if not len(rates):
            return None
        medians = np.median(passages, axis=1)
        if len(rates) < _FEWEST_POINTS:
            best = float(np.exp(rates[np.argmin(medians)]))
            return BestRate(best, float(np.log(_FACTOR)), tuple(points))
        best = _lowest(rates, medians, errors)
        seed = seed_at(points[0].seed, points[0].d, _SEED_OF_BOOTSTRAP)
        generator = np.random.default_rng(seed)
        count = passages.shape[1]
        resampled = [
            _lowest(rates, np.median(passages[:, generator.integers(count, size=count)], 1), errors)
            for _ in range(_RESAMPLES)
        ]
        low, high = np.quantile([r for r in resampled if np.isfinite(r)], [0.16, 0.84])
        resolution = np.ptp(rates) / (_GRID - 1)
        return BestRate(
            float(np.exp(best)), float(max((high - low) / 2, resolution)), tuple(points)
        )


def _passages(point: RecoveryPoint) -> np.ndarray:
    """Steps of the counted replicas in their order, infinite for those that did not recover."""
    counted = point.recovery_steps[point.is_counted]
    return np.where(counted < 0, np.inf, counted)


def _lowest(rates: np.ndarray, medians: np.ndarray, errors: np.ndarray) -> float:
    """Where the cubic through logarithms of medians is smallest, within the rates.

    >>> rates = np.linspace(-1, 1, 7)
    >>> round(_lowest(rates, np.exp((rates - 0.2) ** 2), np.ones(7)), 2)
    0.2
    """
    is_known = np.isfinite(medians)
    if is_known.sum() < _FEWEST_POINTS:
        return float(rates[np.argmin(medians)])
    centre = rates.mean()
    polynomial = np.polynomial.Polynomial.fit(
        rates[is_known] - centre, np.log(medians[is_known]), _DEGREE, w=1 / errors[is_known]
    )
    grid = np.linspace(rates[is_known].min(), rates[is_known].max(), _GRID)
    return float(grid[np.argmin(polynomial(grid - centre))])
