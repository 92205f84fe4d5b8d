"""A sample of first-passage times, some of which are only known to be late."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ssiode.risk_landscape.escape.flow import Flow

_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, eq=False)
class PassageTimes:
    """First times at which |v| reaches a threshold, one for each start.

    Attributes
    ----------
    times : array of shape (p,)
        ODE times; infinite where the threshold was not reached.
    known_until : float
        Times up to this one are all in the sample; infinite if no start was left moving.
    never : int
        Number of starts that came to rest below the threshold.
    undecided : int
        Number of starts that were still below it at the last time, or failed.

    Examples
    --------
    >>> sample = PassageTimes(np.array([3.0, 1.0, np.inf, 2.0]), np.inf, 1, 0)
    >>> sample.quantile(0.25), sample.median, sample.quantile(0.95), sample.escaped
    (1.75, 2.5, None, 0.75)
    """

    times: np.ndarray
    known_until: float
    never: int
    undecided: int

    @classmethod
    def of(cls, flow: Flow) -> PassageTimes:
        """Take the times of a flow to a threshold."""
        crossed = flow.outcomes == "crossed"
        is_at_rest = np.isin(flow.outcomes, ("converged", "saddle"))
        left = flow.times[~crossed & ~is_at_rest]
        return cls(
            times=np.where(crossed, flow.crossing_times, np.inf),
            known_until=float(left.min(initial=np.inf)),
            never=int(is_at_rest.sum()),
            undecided=len(left),
        )

    @property
    def escaped(self) -> float:
        """Fraction of the starts that reached the threshold."""
        return float(np.mean(np.isfinite(self.times)))

    @property
    def escaped_error(self) -> float:
        """Standard error of that fraction, with one start added to either side."""
        share = (np.isfinite(self.times).sum() + 1) / (len(self.times) + 2)
        return float(np.sqrt(share * (1 - share) / len(self.times)))

    @property
    def median(self) -> float | None:
        """Median time; None unless more than half of the starts escape."""
        return self.quantile(0.5)

    def quantile(self, level: float) -> float | None:
        """Time at which this part of the starts has escaped; None if it is not known."""
        return self._at(level * (len(self.times) - 1))

    def interval(self, level: float) -> tuple[float | None, float | None]:
        """Order statistics one standard error of the level below and above, which bracket it."""
        error = np.sqrt(level * (1 - level) / len(self.times))
        places = (level + side * error for side in (-1, 1))
        low, high = (self._at(min(max(p, 0.0), 1.0) * (len(self.times) - 1)) for p in places)
        return low, high

    def error(self, level: float = 0.5) -> float | None:
        """Standard error of a quantile from the finite number of starts; None if not known."""
        low, high = self.interval(level)
        return None if low is None or high is None else (high - low) / 2

    def _at(self, place: float) -> float | None:
        """The sorted times at a place between 0 and p - 1."""
        ordered = np.sort(self.times)
        pair = ordered[[int(np.floor(place)), int(np.ceil(place))]]
        if not np.all(np.isfinite(pair)) or pair[1] > self.known_until:
            return None
        return float(pair[0] + (place % 1) * (pair[1] - pair[0]))

    def as_dict(self, steps_per_time: float | None) -> dict[str, Any]:
        """Return plain data for JSON: quantiles with their errors, in time and in steps."""

        def scaled(times: dict[str, float | None], factor: float | None) -> dict[str, Any]:
            return {
                name: None if value is None or factor is None else value * factor
                for name, value in times.items()
            }

        names = [f"{level:g}" for level in _LEVELS]
        quantiles = {n: self.quantile(level) for n, level in zip(names, _LEVELS, strict=True)}
        errors = {n: self.error(level) for n, level in zip(names, _LEVELS, strict=True)}
        return {
            "times": quantiles,
            "times_error": errors,
            "steps": scaled(quantiles, steps_per_time),
            "steps_error": scaled(errors, steps_per_time),
            "escaped": self.escaped,
            "escaped_error": self.escaped_error,
            "never": self.never,
            "undecided": self.undecided,
        }
