"""The task omega = 1, whose target does not depend on the tokens and whose risk not on m."""

from __future__ import annotations

import numpy as np

from ssiode.phase.polynomials import derivative, evaluate
from ssiode.phase.task import Task


def minima_without_tokens(task: Task) -> tuple[float, float]:
    r"""The minimum of :math:`S_2(e) - 2 B S_1(e)` over x = e^2 in [0, 1], and the error of x.

    Examples
    --------
    >>> minima_without_tokens(Task.of(1.0, 1.0))
    (1.0, 0.0)
    """
    from scipy.optimize import brentq

    risk = task.weights[0] * task.table.second + task.weights[2] * task.table.first
    slope, curvature = derivative(risk), derivative(risk, times=2)

    def at(x: float) -> float:
        return float(evaluate(slope, np.array(x)))

    if at(0.0) >= 0:
        return 0.0, 0.0
    if at(1.0) <= 0:
        return 1.0, 0.0
    x = brentq(at, 0.0, 1.0, xtol=1e-15)
    return x, task.error(1, 0) / abs(float(evaluate(curvature, np.array(x))))
