r"""The noise of SGD near the origin as a wider distribution of its starts.

Near the origin, where :math:`\nabla R(0) = 0`, the overlaps of SGD follow

.. math:: dv = J v\,dt + \sqrt{\tfrac{\gamma}{b d}}\,S^{1/2}\,dB,\qquad
          J = -\Gamma\,\nabla^2 R(0) - \tfrac{\gamma}{2b}\,V(0),

with S the covariance of what one step adds (:class:`ssiode.population_risk.Fluctuations`), b the
batch size and :math:`t = \gamma\tau/d`. Its solution is

.. math:: v(t) = e^{J t}\Big(v_0 + \sqrt{\tfrac{\gamma}{b d}} \int_0^t e^{-J s} S^{1/2} dB_s\Big).

In the orthonormal frame J is symmetric. Along its eigenvectors with :math:`\lambda_i > 0` the
integral comes to rest at a normal variable within :math:`1/\lambda_i`, long before v is of order
one; so SGD from :math:`v_0 \sim N(0, \Gamma/d)` escapes as the ODE does from :math:`v_0` of
covariance

.. math:: \frac1d\Big(\delta_{ij} + \frac\gamma b\, S_{ij}\,
          \frac{1 - e^{-(\lambda_i + \lambda_j) T}}{\lambda_i + \lambda_j}\Big),

at :math:`T \to \infty`. T is kept, as the time of the escape, for directions that grow so slowly
that their noise does not come to rest before. Directions that decay lead nowhere and get none.

Along a single direction the escape is earlier by
:math:`\frac1{2\lambda} \log(1 + \frac{\gamma S}{2 b \lambda})`. That is of order
:math:`1/\log d` of the time if the learning rate is a fixed part of the one at which noise stops
the growth, and less at smaller ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ssiode.dynamics.drift import drift
from ssiode.population_risk import Fluctuations, RiskEngine
from ssiode.risk_landscape.coordinates import FeasibleCoordinates
from ssiode.risk_landscape.escape.saddles import drift_derivatives

if TYPE_CHECKING:
    from ssiode.problem import Problem


def growth(problem: Problem, engine: RiskEngine, gamma: float) -> tuple[np.ndarray, np.ndarray]:
    """Rates lambda_i of the linear ODE at the origin, and its directions in the frame as columns.

    The rates rise; shapes (r,) and (r, r).

    >>> from ssiode import Problem, Target, TiedNetwork
    >>> from ssiode.population_risk import make_engine
    >>> square = Problem(Target("He2(z1)"), TiedNetwork("square"))
    >>> growth(square, make_engine(square), 0.0)[0].round(6).tolist()
    [8.0]
    """
    coordinates = FeasibleCoordinates(problem.geometry)
    derivatives = drift_derivatives(
        lambda v: drift(problem, engine, gamma, v), coordinates, np.zeros(problem.length + 1)
    )
    return np.linalg.eigh((derivatives + derivatives.T) / 2)


def noise_covariance(
    problem: Problem, engine: RiskEngine, gamma: float, time: float = np.inf
) -> np.ndarray:
    r"""What noise adds to :math:`d` times the covariance of the starts, in the frame, (r, r).

    Parameters
    ----------
    problem : Problem
    engine : RiskEngine
    gamma : float
        Learning rate >= 0.
    time : float
        T of the formula above.

    Examples
    --------
    >>> from ssiode import Problem, Target, TiedNetwork
    >>> from ssiode.population_risk import make_engine
    >>> square = Problem(Target("He2(z1)"), TiedNetwork("square"))
    >>> added = noise_covariance(square, make_engine(square), 0.01)
    >>> S, V = 208.0, 272.0
    >>> rate = 8.0 - 0.01 * V / 2
    >>> bool(abs(added[0, 0] - 0.01 * S / (2 * rate)) < 1e-6)
    True
    """
    batch, coordinates = problem.sgd.batch, FeasibleCoordinates(problem.geometry)
    rates, directions = growth(problem, engine, gamma)
    if gamma == 0 or not np.any(rates > 0):
        return np.zeros((len(rates), len(rates)))
    origin = np.zeros((1, problem.length + 1))
    (covariance,) = Fluctuations(problem, seed=problem.sgd.seed).values(origin, gamma, batch)
    inside = coordinates.coordinates(coordinates.coordinates(covariance).T)
    inside = directions.T @ ((inside + inside.T) / 2) @ directions
    grows = np.outer(rates > 0, rates > 0)
    sums = np.where(grows, np.add.outer(rates, rates), 1.0)
    added = np.where(grows, gamma / batch * inside * -np.expm1(-sums * time) / sums, 0.0)
    return directions @ added @ directions.T
