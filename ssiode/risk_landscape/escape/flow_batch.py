"""Many states on their way along the ODE, each with time steps and an end of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ssiode.dynamics.drift import drift
from ssiode.risk_landscape.coordinates import FeasibleCoordinates
from ssiode.risk_landscape.escape.independent_steps import Step, first_sizes
from ssiode.risk_landscape.escape.saddles import distance_from_saddle
from ssiode.threads import one_blas_thread

if TYPE_CHECKING:
    from ssiode.population_risk import RiskEngine
    from ssiode.problem import Problem

_MOST_ROUNDS = 5000
# A state has settled if no overlap would move by more than this part of it in the whole time, or
# where speeds, of the largest on the way, and overlaps are nothing but rounding.
_SETTLED = 1e-8
_ROUNDING_OF_SPEED, _ROUNDING_OF_OVERLAPS = 1e-13, 1e-15
# Of a step, that the interpolation may be wrong at a crossing.
_LONGEST_REST = 0.01


@dataclass
class Batch:
    """The states of all starts, moved until each ends.

    Attributes
    ----------
    problem, engine, gamma, eta, t_max, rtol, starts
        See :func:`ssiode.risk_landscape.escape.flow.flow_from`.
    status, message : str
        `finished`, `failed` or `interrupted`, and what failed.
    states, times, crossings, outcomes
        See :class:`ssiode.risk_landscape.escape.flow.Flow`.
    """

    problem: Problem
    engine: RiskEngine
    gamma: float
    eta: float | None
    t_max: float
    rtol: float
    starts: np.ndarray
    status: str = "finished"
    message: str = ""
    states: np.ndarray = field(init=False)
    times: np.ndarray = field(init=False)
    crossings: np.ndarray = field(init=False)
    outcomes: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.starts)
        self.states = self.starts.copy()
        self.times = np.zeros(count)
        self.crossings = np.full(count, np.nan)
        self.outcomes = np.full(count, "moving", dtype="<U9")
        sizes = np.where(self.starts == 0, np.inf, np.abs(self.starts)).min(axis=1, initial=np.inf)
        smallest = np.where(np.isfinite(sizes), sizes, 1.0)
        self._absolute = np.maximum(1e-3 * smallest * min(1.0, self.rtol / 1e-4), 1e-300)
        self._coordinates = FeasibleCoordinates(self.problem.geometry)

    def field(self, v: np.ndarray) -> np.ndarray:
        """Velocities at states of shape (p, L + 1)."""
        return drift(self.problem, self.engine, self.gamma, v)

    def run(self) -> None:
        """Move all starts."""
        if self.eta is not None:
            beyond = np.sqrt(np.sum(self.starts**2, axis=1)) >= self.eta
            self.crossings[beyond], self.outcomes[beyond] = 0.0, "crossed"
        try:
            with one_blas_thread():
                self._move(np.flatnonzero(self.outcomes == "moving"))
        except KeyboardInterrupt:
            self.status = "interrupted"
        except FloatingPointError as error:
            self.status, self.message = "failed", str(error)

    def _move(self, going: np.ndarray) -> None:
        """Move the starts of these numbers, each until it ends."""
        if not len(going):
            return
        velocity = self.field(self.states[going])
        size = first_sizes(self.states[going], velocity, self._absolute[going], self.rtol)
        fastest = np.zeros(len(going))
        for _ in range(_MOST_ROUNDS):
            size = np.minimum(size, self.t_max - self.times[going])
            step = Step.take(self.field, self.states[going], velocity, size)
            error = step.error_norms(self._absolute[going], self.rtol)
            taken = error <= 1.0
            self._keep(going[taken], step.of(taken))
            velocity = np.where(taken[:, None], step.stages[-1], velocity)
            fastest = np.maximum(fastest, np.abs(velocity).max(axis=1))
            self._drop_rounding(going, velocity, fastest)
            self._settle(going, velocity, fastest)
            size = step.next_sizes(error)
            is_stuck = ~taken & (size <= 16 * np.spacing(self.times[going]))
            self.outcomes[going[is_stuck]] = "failed"
            remaining = (self.outcomes[going] == "moving") & (self.times[going] < self.t_max)
            going, velocity = going[remaining], velocity[remaining]
            size, fastest = size[remaining], fastest[remaining]
            if not len(going):
                return
        self.status = "failed"
        self.message = f"too stiff, stopped after {_MOST_ROUNDS} steps"

    def _keep(self, numbers: np.ndarray, step: Step) -> None:
        """Take the states after a step, or those at the threshold."""
        self.states[numbers] = step.after
        before = self.times[numbers]
        after = before + step.size
        # The last step ends at the end, and not a rounding before.
        self.times[numbers] = np.where(after >= self.t_max * (1 - 1e-15), self.t_max, after)
        if self.eta is None:
            return
        shares = step.first_crossings(self.eta)
        crossed = np.flatnonzero(np.isfinite(shares))
        if len(crossed):
            which = numbers[crossed]
            self.states[which], parts = self._at_threshold(step.of(crossed), shares[crossed])
            self.times[which] = before[crossed] + parts
            self.crossings[which], self.outcomes[which] = self.times[which], "crossed"

    def _at_threshold(self, step: Step, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """States at the threshold and their times in the step.

        A step to where the interpolation puts them, and Newton's for the rest of the way.
        """
        step = Step.take(self.field, step.before, step.stages[0], shares * step.size)
        v, velocity = step.after, step.stages[-1]
        norm = np.sqrt(np.sum(v**2, axis=1))
        rest = (self.eta - norm) * norm / np.sum(v * velocity, axis=1)
        # Where |v| just touches the threshold, Newton's method leads astray.
        rest = np.where(np.abs(rest) <= _LONGEST_REST * step.size, rest, 0.0)
        return v + rest[:, None] * velocity, step.size + rest

    def _drop_rounding(self, going: np.ndarray, velocity: np.ndarray, fastest: np.ndarray) -> None:
        """Put overlaps to zero that have decayed to rounding, and their velocities in place.

        Else those that decay fast would keep the steps small for ever.
        """
        v = self.states[going]
        tiny = np.minimum(_ROUNDING_OF_OVERLAPS, self._absolute[going, None])
        is_rounding = np.abs(v) <= tiny
        is_rounding &= np.abs(velocity) <= _ROUNDING_OF_SPEED * fastest[:, None]
        self.states[going] = np.where(is_rounding, 0.0, v)
        velocity[is_rounding] = 0.0

    def _settle(self, going: np.ndarray, velocity: np.ndarray, fastest: np.ndarray) -> None:
        """Mark the starts that have come to rest."""
        v = np.abs(self.states[going])
        size = np.maximum(v, self._absolute[going, None])
        allowed = np.maximum(_SETTLED * size / self.t_max, _ROUNDING_OF_SPEED * fastest[:, None])
        is_still = np.all(np.abs(velocity) <= allowed, axis=1)
        for i in np.flatnonzero(is_still & (self.outcomes[going] == "moving")):
            number = going[i]
            distance = distance_from_saddle(
                self.field, self._coordinates, self.states[number], velocity[i]
            )
            if distance is None:
                self.outcomes[number] = "converged"
            elif distance <= _ROUNDING_OF_OVERLAPS:
                self.outcomes[number] = "saddle"
