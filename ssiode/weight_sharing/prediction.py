"""What the leading order predicts for one student at one length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ssiode.errors import InputError
from ssiode.population_risk import make_engine
from ssiode.weight_sharing.alignment import Alignment, alignment
from ssiode.weight_sharing.leading_order import LeadingFlow, LeadingLine, fewest_steps

if TYPE_CHECKING:
    from ssiode.problem import Problem

# Terms of the risk that are not above so many of their errors are no leading ones.
_ERRORS = 10.0


@dataclass(frozen=True, eq=False)
class Prediction:
    """Steps of weak recovery by the drift at small overlaps.

    Attributes
    ----------
    sign : int
        Sign of overlaps that grow at an odd order, 1 for shared weights that grow from both.
    line : LeadingLine or None
        Of shared weights.
    flow : LeadingFlow or None
        Of an untied network.
    alignment : Alignment or None
        Of networks of the sum of their fields.
    """

    sign: int
    line: LeadingLine | None
    flow: LeadingFlow | None
    alignment: Alignment | None

    def time(self, start: np.ndarray, length: int, threshold: float) -> Callable[[float], float]:
        """ODE time over the learning rate, from a state (e, m)."""
        if self.flow is not None:
            a = start[length:] / np.sqrt(length)
            return lambda gamma: self.flow.hitting_time(gamma, a, threshold)
        m = abs(float(start[-1]))
        return lambda gamma: self.line.hitting_time(gamma, m, threshold)

    def largest_gamma(self, start: np.ndarray, length: int, threshold: float) -> float:
        """A rate that is at least the largest one at which overlaps grow."""
        if self.flow is not None:
            return self.flow.largest_gamma(start[length:] / np.sqrt(length), threshold)
        at = threshold if self.line.order == 1 else abs(float(start[-1]))
        return self.line.largest_gamma(at)

    def steps(
        self, starts: np.ndarray, d: int, gamma: float | None, threshold: float, length: int
    ) -> float | None:
        """Median steps over starts, at a rate or, with None, at the best one; None for never."""
        times = [self.time(start, length, threshold) for start in starts]

        def median(rate: float) -> float:
            return float(np.median([time(rate) for time in times]))

        if gamma is None:
            largest = float(np.median([self.largest_gamma(s, length, threshold) for s in starts]))
            gamma = fewest_steps(median, largest)
        if gamma is None or not np.isfinite(found := median(gamma)):
            return None
        return found * d / gamma


def predict(problem: Problem) -> Prediction | None:
    """Return the leading order of a problem without encoding, or None if it is not known.

    The loss is the squared one.
    """
    noise = _noise(problem) if problem.loss.kind == "squared" else None
    if not noise or problem.geometry.rank != 1 or problem.geometry.injected.any():
        return None
    if problem.student.activation_expression is None:
        return _of_shared_weights(problem, noise)
    try:
        found = alignment(problem)
    except InputError:
        return None
    growth = found.strength * found.along.value
    sign = -1 if found.order % 2 and growth < 0 else 1
    if problem.geometry.n_rows > 1:
        flow = LeadingFlow(found.leading.tensor, found.strength, noise * problem.length)
        return Prediction(sign, None, flow, found)
    return Prediction(sign, LeadingLine(found.order, sign * growth, noise), None, found)


def _noise(problem: Problem) -> float | None:
    """V / b at zero overlap, of each weight vector."""
    origin = np.zeros((1, problem.geometry.n_overlaps))
    try:
        return float(make_engine(problem).moments(origin)[0, -1]) / problem.sgd.batch
    except InputError:
        return None


def _of_shared_weights(problem: Problem, noise: float) -> Prediction | None:
    """From the first power of m in the risk that is not zero."""
    from ssiode.population_risk import SeriesEngine

    try:
        engine = make_engine(problem, SeriesEngine.name)
    except InputError:
        return None
    if (polynomials := engine.polynomials_in_m()) is None:
        return None
    values, errors = (table[0] for table in polynomials)
    seen = [n for n in range(1, len(values)) if abs(values[n]) > _ERRORS * errors[n]]
    if not seen:
        return None
    order = seen[0]
    growth = -order * float(values[order])
    sign = -1 if order % 2 and growth < 0 else 1
    return Prediction(sign, LeadingLine(order, sign * growth, noise), None, None)
