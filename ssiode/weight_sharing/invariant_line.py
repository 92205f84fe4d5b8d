r"""The ODE on a line that it does not leave: times are integrals over one overlap.

On states v = r u with a fixed direction u

.. math:: \dot r = D(r) - \frac{\gamma}{2b} V(r)\, r, \qquad
          t = \int_{r_0}^{r_1} \frac{dr}{D - \gamma V r/2b},

so that one call of the engine serves all learning rates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from ssiode.dynamics.drift import drift

if TYPE_CHECKING:
    from ssiode.population_risk import RiskEngine
    from ssiode.problem import Problem

_PANELS, _NODES = 80, 8
# A drift beside the line that is larger than this part of it leads away.
_STRAIGHT = 1e-9
# Where noise takes more of the drift somewhere the integral is nearly singular.
_REGULAR = 0.98
# Drifts that are no larger than this part of risk and slopes are rounding.
_ROUNDING = 1e-15


@dataclass(frozen=True, eq=False)
class InvariantLine:
    """Drift and noise on a line from a start to a threshold.

    Attributes
    ----------
    radius, weights : arrays of shape (n,)
        Nodes and weights of the integral over r; the two ends are nodes of weight 0.
    growth : array of shape (n,)
        D.
    noise : array of shape (n,)
        V r / 2b.

    Examples
    --------
    >>> from ssiode import Problem, Target, TiedNetwork
    >>> from ssiode.population_risk import make_engine
    >>> linear = Problem(Target("z1"), TiedNetwork("identity"))
    >>> start = linear.geometry.state(m=0.1)
    >>> line = InvariantLine.through(linear, make_engine(linear), start, 0.5)
    >>> bool(abs(line.time(0.0) - (np.arctanh(0.5) - np.arctanh(0.1)) / 2) < 1e-12)
    True
    """

    radius: np.ndarray
    weights: np.ndarray
    growth: np.ndarray
    noise: np.ndarray

    @classmethod
    def through(
        cls, problem: Problem, engine: RiskEngine, start: np.ndarray, threshold: float
    ) -> Self | None:
        """The line through a start below the threshold; None if the ODE leaves it."""
        geometry = problem.geometry
        first = float(geometry.recovered(start))
        if first == 0:
            return None
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        edges = np.linspace(np.log(first), np.log(threshold), _PANELS + 1)
        half = np.diff(edges)[:, None] / 2
        inside = np.exp(edges[:-1, None] + half * (1 + nodes)).ravel()
        radius = np.concatenate([[first], inside, [threshold]])
        spread = np.concatenate([[0.0], (half * weights).ravel() * inside, [0.0]])
        unit = start / first
        states = radius[:, None] * unit
        flow = drift(problem, engine, 0.0, states)
        along = flow @ unit / (unit @ unit)
        beside = np.abs(flow - along[:, None] * unit).max(axis=1)
        if np.any(beside > _STRAIGHT * np.abs(flow).max(axis=1)):
            return None
        moments = engine.moments(states)
        second = np.maximum(moments[:, -1], 0.0)
        rounding = _ROUNDING * (np.abs(moments[:, 0]) + np.sqrt(second))
        along[np.abs(along) <= rounding] = 0.0
        return cls(radius, spread, along, second * radius / (2 * problem.sgd.batch))

    def largest_gamma(self) -> float:
        """The learning rate up to which the threshold is reached; 0 if it never is."""
        if np.any(self.growth <= 0):
            return 0.0
        with np.errstate(divide="ignore"):
            return float(np.min(self.growth / self.noise))

    def is_regular(self, gamma: float) -> bool:
        """Whether noise leaves enough of the drift everywhere for the integral to be accurate."""
        return bool(np.all(gamma * self.noise <= _REGULAR * self.growth))

    def time(self, gamma: float) -> float:
        """ODE time from the start to the threshold."""
        return float(np.sum(self.weights / (self.growth - gamma * self.noise)))
