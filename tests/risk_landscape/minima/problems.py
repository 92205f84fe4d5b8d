"""Problems of two overlaps, and a risk that is given as a table."""

import numpy as np
from numpy.polynomial import chebyshev

from ssiode import Attention, Encoding, Problem, Target
from ssiode.loss import SquaredLoss
from ssiode.population_risk.protocol import Estimate, RiskEngine, RiskEvaluation, RiskTable

ROUNDING = 1e-14
HE2, HE4 = "He2(z1) + He2(z2)", "He4(z1) + He4(z2)"


def trace(target=HE2, encoding="opposite", **settings):
    return Problem(Target(target), Attention("trace"), Encoding(encoding, **settings))


def along_the_teacher():
    """Opposite rows of norm 1/2 along the teacher: e = (m, -m) / 2."""
    gram = ((0.25, -0.25), (-0.25, 0.25))
    return trace(encoding="gram", matrix=gram, teacher_overlap=(0.5, -0.5))


def positional_semantic(omega, a=1.0):
    target = Target.named("positional-semantic", omega=omega, a=a)
    student = Attention("identity")
    return Problem(target, student, Encoding("opposite"), SquaredLoss(scale=0.5))


class TabulatedRisk(RiskEngine):
    """R = sum_n m^n f_n(x) with x = slope (e_1 - e_2), known up to rounding."""

    def __init__(self, *functions, degree=40, problem=None, slope=0.5):
        self.problem, self.name, self.slope = problem or trace(), "tabulated", slope
        rows = np.array([chebyshev.chebinterpolate(f, degree) for f in functions])
        # High derivatives would blow rounding up.
        self.rows = np.where(np.abs(rows) > 1e-14, rows, 0.0)

    @classmethod
    def objection(cls, problem):
        return None

    @property
    def settings(self):
        return "by hand"

    def tabulated_risk(self):
        slopes = np.pad(chebyshev.chebder(self.rows, axis=1), [(0, 0), (0, 1)])
        along = self.slope * slopes
        projection = self.slope * np.array([[1.0, -1.0]])
        return RiskTable(np.array([self.rows, along, -along]), projection)

    def moments(self, v):
        x, m = self.slope * (v[:, 0] - v[:, 1]), v[:, 2]
        powers = m[:, None] ** np.arange(len(self.rows))
        derived = np.arange(len(self.rows)) * m[:, None] ** np.maximum(
            np.arange(len(self.rows)) - 1, 0
        )
        values = chebyshev.chebval(x, self.rows.T).T
        slopes = chebyshev.chebval(x, chebyshev.chebder(self.rows, axis=1).T).T
        along = np.sum(powers * slopes, axis=1) * self.slope
        columns = [np.sum(powers * values, axis=1), along, -along, np.sum(derived * values, axis=1)]
        return np.column_stack([*columns, np.zeros(len(v))])

    def estimates(self, v):
        moments = self.moments(v)
        return Estimate(moments, np.full_like(moments, ROUNDING))

    def evaluate(self, v):
        (moments,), (errors,) = self.estimates(v[None])
        return RiskEvaluation.of(moments, errors, np.ones(5), self.name, self.description)

    def companion(self):
        return self
