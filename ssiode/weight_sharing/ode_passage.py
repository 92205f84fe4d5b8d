"""Hitting times of the full ODE over the learning rate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ssiode.dynamics.drift import drift
from ssiode.population_risk import SeriesEngine, make_engine
from ssiode.weight_sharing.invariant_line import InvariantLine
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
# A path ends where overlaps have shrunk to this part of their start, or would move by this part of
# themselves in the time of the gradient flow.
_SHRUNK, _STILL = 1e-3, 1e-4
_BISECTIONS, _RESOLUTION = 40, 1e-4
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

    @property
    def is_quick(self) -> bool:
        """Whether the risk is a series, so that many solves take seconds."""
        return self._engine.name == SeriesEngine.name

    @cached_property
    def _paths(self) -> list[_Path]:
        return [_Path(self.problem, self._engine, start, self.threshold) for start in self.starts]

    def time(self, gamma: float) -> float:
        """ODE time of the first passage, infinite if it does not come."""
        return float(np.median([path.time(gamma) for path in self._paths]))

    def steps(self, gamma: float) -> float:
        """Steps of the first passage, t d / gamma."""
        return self.time(gamma) * self.problem.sgd.d / gamma

    @cached_property
    def largest_gamma(self) -> float:
        """The largest learning rate at which the ODE recovers, to four digits; 0 if none does."""
        lines = [path.line for path in self._paths]
        if None not in lines:
            return float(np.median([line.largest_gamma() for line in lines]))
        flow = self.time(0.0)
        if not np.isfinite(flow):
            return 0.0
        # The rate at which noise turns the weights as fast as the flow.
        low, high = 0.0, 2 / max(self._paths[0].noise * flow, 1e-300)
        for _ in range(_MOST_DOUBLINGS):
            if not np.isfinite(self.time(high)):
                break
            low, high = high, 2 * high
        else:
            return np.inf
        for _ in range(_BISECTIONS):
            if high - low <= _RESOLUTION * high:
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


@dataclass(frozen=True, eq=False)
class _Path:
    """The ODE from one start."""

    problem: Problem
    engine: RiskEngine
    start: np.ndarray
    threshold: float

    @cached_property
    def line(self) -> InvariantLine | None:
        """The line that the ODE does not leave, if there is one."""
        if self._has_passed:
            return None
        return InvariantLine.through(self.problem, self.engine, self.start, self.threshold)

    @cached_property
    def noise(self) -> float:
        """V at the start, of each weight vector."""
        return float(self.engine.moments(self.start[None])[0, -1])

    @property
    def _has_passed(self) -> bool:
        return bool(self.problem.geometry.recovered(self.start) >= self.threshold)

    def time(self, gamma: float) -> float:
        """ODE time of the first passage."""
        if self._has_passed:
            return 0.0
        if self.line is not None:
            if gamma >= self.line.largest_gamma():
                return np.inf
            if self.line.is_regular(gamma):
                return self.line.time(gamma)
        if gamma == 0:
            return self._flow_time
        return self._integrated(gamma, _LONGEST * self._flow_time)

    @cached_property
    def _flow_time(self) -> float:
        if self.line is not None:
            return self.line.time(0.0)
        speed = np.sqrt(self.noise) / self.problem.geometry.n_rows
        return self._integrated(0.0, _LONGEST_FLOW / speed)

    def _integrated(self, gamma: float, longest: float) -> float:
        from scipy.integrate import solve_ivp

        if not np.isfinite(longest):
            return np.inf
        geometry, size = self.problem.geometry, _SHRUNK * np.linalg.norm(self.start)

        def right_hand_side(_: float, v: np.ndarray) -> np.ndarray:
            return drift(self.problem, self.engine, gamma, v)

        def passed(_: float, v: np.ndarray) -> float:
            return float(geometry.recovered(v)) - self.threshold

        def shrunk(_: float, v: np.ndarray) -> float:
            return float(np.linalg.norm(v) - size) if size else 1.0

        def still(t: float, v: np.ndarray) -> float:
            # Of the gradient flow itself no time is known.
            if gamma == 0:
                return 1.0
            speed = np.linalg.norm(right_hand_side(t, v)) * longest / _LONGEST
            return float(speed - _STILL * np.linalg.norm(v))

        for event in (passed, shrunk, still):
            event.terminal = True
        if not np.any(right_hand_side(0.0, self.start)):
            return np.inf
        moving = self.start[self.start != 0]
        smallest = float(np.abs(moving).min()) if len(moving) else 1.0
        # At absurd rates trial steps lead far out of the feasible set, and are refused.
        with np.errstate(over="ignore", invalid="ignore"):
            found = solve_ivp(
                right_hand_side,
                (0.0, longest),
                self.start,
                "DOP853",
                events=(passed, shrunk, still),
                rtol=_RTOL,
                atol=_ATOL * min(smallest, 1e-3),
            )
        times = found.t_events[0]
        return float(times[0]) if len(times) else np.inf
