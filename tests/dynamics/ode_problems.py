"""Problems whose ODE has a closed form, and an engine that is one."""

import numpy as np

from ssiode import Problem, Target, TiedNetwork
from ssiode.population_risk.protocol import RiskEngine, RiskEvaluation

# Exact for polynomials of degree 11 in each field; the companion rule, of order 6 / 4, is exact
# for all that the linear and the quadratic problem need.
EXACT = {"engine": "quadrature", "order": 6}
QUICK = {**EXACT, "estimate_error": False}


def linear_problem(length=1, **parts):
    """f = s and y = s*: R = 2 (1 - m) + (sum e)^2 / L + noise, V = 4 R."""
    target = Target(lambda z: z.sum(axis=-1) / np.sqrt(length), length=length)
    return Problem(target, TiedNetwork("identity"), **parts)


def quadratic_problem(**parts):
    """f = s^2 and y = He2(z1*) + He2(z2*)."""
    return Problem(Target("He2(z1) + He2(z2)"), TiedNetwork("square"), **parts)


class FormulaEngine(RiskEngine):
    """R = -slope m^power / power + R(0) and a constant V, so that the flow has a closed form."""

    def __init__(self, problem, power=2, second_moment=0.0, before=None):
        self.problem, self.power, self.second_moment = problem, power, second_moment
        self.name = "formula"
        self.before = before or (lambda calls: None)
        self.calls = 0

    objection = None
    settings = "a formula"

    def moments(self, v):
        self.calls += 1
        self.before(self.calls)
        m = v[:, -1]
        rows = np.zeros((len(v), v.shape[1] + 2))
        rows[:, 0] = 1.0 - m**self.power / self.power
        rows[:, -2] = -(m ** (self.power - 1))
        rows[:, -1] = self.second_moment
        return rows

    def evaluate(self, v):
        (row,) = self.moments(v[None])
        gradient = row[1:-1]
        return RiskEvaluation(row[0], 0.0, gradient, 0 * gradient, row[-1], 0.0, "formula", "")

    def companion(self):
        return FormulaEngine(self.problem, self.power, self.second_moment)
