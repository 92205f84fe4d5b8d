"""Hitting times of the full ODE over the learning rate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ssiode.dynamics.drift import drift
from ssiode.population_risk import make_engine
from ssiode.weight_sharing.leading_order import fewest_steps

if TYPE_CHECKING:
    from ssiode.population_risk import RiskEngine
    from ssiode.problem import Problem

# Close to the largest learning rate times grow without end: longer ones than so many times that of
# gradient flow count as no recovery.
_LONGEST = 50.0
# Time of a gradient flow that is looked at, in units of that in which the gradient turns weights.
_LONGEST_FLOW = 1e5
_RTOL, _ATOL = 1e-8, 1e-5
_BISECTIONS = 40
_MOST_DOUBLINGS = 60


@dataclass(frozen=True, eq=False)
class OdePassage:
    """When the ODE of one problem reaches the threshold of weak recovery.

    Attributes
    ----------
    problem : Problem
    starts : array of shape (k, number of overlaps)
        States v, k odd; times are medians over them.
    threshold : float
        eta of |v| >= eta.

    Examples
    --------
    >>> from ssiode import Problem, Target, TiedNetwork
    >>> linear = Problem(Target("z1"), TiedNetwork("identity"))
    >>> passage = OdePassage(linear, linear.geometry.state(m=0.0)[None], 0.5)
    >>> bool(abs(passage.time(0.0) - np.arctanh(0.5) / 2) < 1e-7)
    True
    """

    problem: Problem
    starts: np.ndarray
    threshold: float

    @cached_property
    def _engine(self) -> RiskEngine:
        return make_engine(self.problem, v=self.starts[0])

    @cached_property
    def noise(self) -> float:
        """V of a sample at the start, of each weight vector."""
        return float(self._engine.moments(self.starts[:1])[0, -1])

    def time(self, gamma: float) -> float:
        """ODE time of the first passage, infinite if it does not come."""
        if gamma == 0:
            return self._flow_time
        return self._time(gamma, _LONGEST * self._flow_time)

    def steps(self, gamma: float) -> float:
        """Steps of the first passage, t d / gamma."""
        return self.time(gamma) * self.problem.sgd.d / gamma

    @cached_property
    def _flow_time(self) -> float:
        speed = np.sqrt(self.noise) / self.problem.geometry.n_rows
        return self._time(0.0, _LONGEST_FLOW / speed)

    def _time(self, gamma: float, longest: float) -> float:
        if not np.isfinite(longest):
            return np.inf
        times = [self._time_from(start, gamma, longest) for start in self.starts]
        return float(np.median(times))

    def _time_from(self, start: np.ndarray, gamma: float, longest: float) -> float:
        from scipy.integrate import solve_ivp

        geometry = self.problem.geometry
        if geometry.recovered(start) >= self.threshold:
            return 0.0

        def right_hand_side(_: float, v: np.ndarray) -> np.ndarray:
            return drift(self.problem, self._engine, gamma, v)

        def passed(_: float, v: np.ndarray) -> float:
            return float(geometry.recovered(v)) - self.threshold

        passed.terminal, passed.direction = True, 1
        if not np.any(right_hand_side(0.0, start)):
            return np.inf
        smallest = np.abs(start[start != 0]).min() if np.any(start) else 1.0
        found = solve_ivp(
            right_hand_side,
            (0.0, longest),
            start,
            "DOP853",
            events=passed,
            rtol=_RTOL,
            atol=_ATOL * min(smallest, 1e-3),
        )
        times = found.t_events[0]
        return float(times[0]) if len(times) else np.inf

    @cached_property
    def largest_gamma(self) -> float:
        """The largest learning rate at which the ODE recovers, to four digits; 0 if none does."""
        if not np.isfinite(self._flow_time):
            return 0.0
        # The rate at which noise turns the weights as fast as the flow.
        high = 2 / (self.noise * self._flow_time)
        low = 0.0
        for _ in range(_MOST_DOUBLINGS):
            if not np.isfinite(self.time(high)):
                break
            low, high = high, 2 * high
        else:
            return np.inf
        for _ in range(_BISECTIONS):
            if high - low <= 1e-4 * high:
                break
            middle = (low + high) / 2 if low else high / 4
            if np.isfinite(self.time(middle)):
                low = middle
            else:
                high = middle
        return low

    @cached_property
    def best_gamma(self) -> float | None:
        """The learning rate of the fewest steps; None if the ODE recovers at none."""
        return fewest_steps(self.time, self.largest_gamma)
