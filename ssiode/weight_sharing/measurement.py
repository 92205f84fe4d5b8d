"""One student at one length: its learning rate and its median steps of weak recovery."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.recovery_scaling.passages import Counting, RecoveryPoint, first_passages, seed_at
from ssiode.weight_sharing.ode_passage import OdePassage
from ssiode.weight_sharing.prediction import Prediction, predict
from ssiode.weight_sharing.rate_search import BestRate, best_rate
from ssiode.weight_sharing.starts import ode_starts

if TYPE_CHECKING:
    from ssiode.problem import Problem

# Most steps of a replica, in units of what the ODE needs.
_ODE_TIMES = 30.0
_LONGEST_UNKNOWN = {"chain": 4e9, "sgd": 1e7}
# Uses of the seed beside those of other parts; students take turns.
_FIRST_USE, _USES = 16, 2
_FINAL, _SEARCH = 0, 1


@dataclass(frozen=True, eq=False)
class Measurement:
    """Steps of one student at one length.

    Attributes
    ----------
    gamma : float or None
        Learning rate; None if there is none at which it recovers.
    gamma_error : float or None
        Standard error of a rate that was searched with noise.
    steps, error : float or None
        Median steps and their standard error (0 for the ODE); None if the student does not
        recover, and no error of too few replicas.
    steps_run : int
        Steps of the replicas that did not recover; 0 for the ODE.
    recovered, counted : int
        So many of the counted replicas recovered; 1 or 0 of 1 for the ODE.
    ode_steps : float or None
        Steps of the ODE at the same rate; None if it does not recover, or is not solved.
    predicted_steps : float or None
        Steps of the leading order under the same policy, infinite if it does not recover; None if
        it is not known.
    largest_gamma, best_gamma : float or None
        The largest rate at which the ODE recovers, and its rate of the fewest steps; None where
        the risk is no series, as this takes many solves.
    trials : tuple of RecoveryPoint
        The search of the rate.
    """

    gamma: float | None
    gamma_error: float | None
    steps: float | None
    error: float | None
    steps_run: int
    recovered: int
    counted: int
    ode_steps: float | None
    predicted_steps: float | None
    largest_gamma: float | None
    best_gamma: float | None
    trials: tuple[RecoveryPoint, ...] = ()

    @property
    def log_error(self) -> float | None:
        """Standard error of the logarithm of the steps."""
        return None if not self.steps or self.error is None else self.error / self.steps

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        data = {name: value for name, value in vars(self).items() if name != "trials"}
        if data["predicted_steps"] == np.inf:
            data["predicted_steps"] = None
        data["trials"] = [
            {"gamma": p.gamma, "median": p.median, "log_error": p.log_error} for p in self.trials
        ]
        return data


@dataclass(frozen=True, eq=False)
class Runner:
    """Measures one student at one length.

    Attributes
    ----------
    problem : Problem
        With the start, the dimension, the batch and the seed of the runs.
    index : int
        Place of the student among those measured, of which its samples depend.
    method : str
        `ode`, `chain` or `sgd`.
    threshold : float
    max_steps : int or None
    interrupted : callable
        Whether to stop.
    tell : callable
        Takes what is going on in words.
    """

    problem: Problem
    index: int
    method: str
    threshold: float
    max_steps: int | None
    interrupted: Callable[[], bool]
    tell: Callable[[str], None]

    @cached_property
    def prediction(self) -> Prediction | None:
        """The leading order."""
        return predict(self.problem)

    @cached_property
    def _starts(self) -> np.ndarray:
        order = 0 if self.prediction is None or self.prediction.line is None else self._order
        sign = self.prediction.sign if order >= 3 and order % 2 else 0
        return ode_starts(self.problem, sign)

    @property
    def _order(self) -> int:
        return self.prediction.line.order

    @cached_property
    def passage(self) -> OdePassage:
        """The ODE from the same starts."""
        return OdePassage(self.problem, self._starts, self.threshold)

    @cached_property
    def has_ode(self) -> bool:
        """Whether the ODE is solved: beside runs only where its risk is a series."""
        return self.method == "ode" or self.passage.is_quick

    @cached_property
    def ode_recovers(self) -> bool:
        """Whether gradient flow leads to the threshold, as far as that is known."""
        return not self.has_ode or bool(np.isfinite(self.passage.time(0.0)))

    def at(self, gamma: float, hopeless_limit: float) -> Measurement:
        """Measure at a given rate; where the ODE does not recover up to a limit of steps."""
        return self._measured(gamma, None, (), hopeless_limit)

    def at_best(self, hopeless_gamma: float, hopeless_limit: float) -> Measurement:
        """Search the rate of the fewest steps and measure there, with samples of their own."""
        start = self.passage.best_gamma if self.has_ode else self.problem.sgd.gamma
        if start is None:
            return self._measured(hopeless_gamma, None, (), hopeless_limit)
        if self.method == "ode":
            return self._measured(start, None, (), hopeless_limit, is_best=True)
        found = self._searched(start)
        if found is None:
            return self._measured(start, None, (), hopeless_limit, is_best=True)
        error = found.gamma * found.log_error
        return self._measured(found.gamma, error, found.trials, hopeless_limit, is_best=True)

    def _searched(self, start: float) -> BestRate | None:
        limit = self._limit(start, np.inf)
        return best_rate(
            lambda gamma, most: self._run(gamma, min(limit, most), _SEARCH),
            start,
            limit,
            self.interrupted,
        )

    def _measured(
        self,
        gamma: float,
        gamma_error: float | None,
        trials: tuple[RecoveryPoint, ...],
        hopeless_limit: float,
        is_best: bool = False,
    ) -> Measurement:
        ode = self.passage.steps(gamma) if self.has_ode else np.inf
        ode_steps = float(ode) if np.isfinite(ode) else None
        sgd, length = self.problem.sgd, self.problem.length
        predicted = None
        if self.prediction is not None:
            rate = None if is_best else gamma
            found = self.prediction.steps(self._starts, sgd.d, rate, self.threshold, length)
            predicted = np.inf if found is None else found
        rates = {"largest_gamma": None, "best_gamma": None}
        if self.passage.is_quick:
            rates = {name: getattr(self.passage, name) for name in rates}
        common = {"gamma": gamma, "gamma_error": gamma_error, "ode_steps": ode_steps} | rates
        common |= {"predicted_steps": predicted, "trials": trials}
        if self.method == "ode":
            recovered = int(ode_steps is not None)
            error = None if ode_steps is None else 0.0
            return Measurement(
                steps=ode_steps, error=error, steps_run=0, recovered=recovered, counted=1, **common
            )
        point = self._run(gamma, self._limit(gamma, hopeless_limit), _FINAL)
        log_error = point.log_error
        return Measurement(
            steps=point.median,
            error=None if log_error is None else point.median * log_error,
            steps_run=point.steps_run,
            recovered=int(np.isfinite(point.passages).sum()),
            counted=len(point.passages),
            **common,
        )

    def _limit(self, gamma: float, hopeless_limit: float) -> float:
        if self.max_steps is not None:
            return self.max_steps
        unknown = _LONGEST_UNKNOWN[self.method] / self.problem.sgd.replicas
        expected = self.passage.steps(gamma) if self.has_ode else np.inf
        if np.isfinite(expected):
            return max(_ODE_TIMES * expected, 1000.0)
        return min(hopeless_limit, unknown)

    def _run(self, gamma: float, limit: float, use: int) -> RecoveryPoint:
        sgd, length = self.problem.sgd, self.problem.length
        seed = seed_at(sgd.seed, length, _FIRST_USE + _USES * self.index + use)
        problem = self.problem.replace(gamma=gamma, seed=seed)
        counting = Counting(self.threshold, 0, self._sides)
        return first_passages(
            problem,
            self.method,
            counting,
            limit,
            self.interrupted,
            lambda text: self.tell(f"L = {length}, gamma = {gamma:.3g}: {text}"),
        )

    @property
    def _sides(self) -> tuple[int, ...] | None:
        """The sign of random starts that counts, where a single m grows from one sign alone."""
        if self.prediction is None or self.prediction.line is None:
            return None
        return (self.prediction.sign,) if self._order >= 3 and self._order % 2 else None
