"""Tables of the student's coefficients along the sum of its fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ssiode.encoding import Encoding
from ssiode.population_risk.mehler.builder import TableBuilder
from ssiode.population_risk.untied.teacher import row_teacher
from ssiode.problem import Problem
from ssiode.target import Target

if TYPE_CHECKING:
    from ssiode.population_risk.untied.teacher import RowTeacher


class RowTableBuilder(TableBuilder):
    """Computes the coefficients of the student that meet 1, h and h^2, each for itself.

    The rows of the table are those of :class:`StudentFunctions` for R, dR/ds and V of the student
    of one token: three that meet 1 and have the order 0 alone, three that meet h, and one that
    meets h^2.

    Parameters
    ----------
    problem : Problem
        Of an untied network.
    order : int
        Highest order for targets that are no polynomials.
    """

    def __init__(self, problem: Problem, order: int) -> None:
        self.teacher = row_teacher(problem.target, order)
        super().__init__(_problem_of_the_sum(problem), order)

    def _known_teacher(self) -> RowTeacher:
        return self.teacher

    def _sizes(self, scale: np.ndarray) -> np.ndarray:
        return scale.max(axis=1)

    def _terms(
        self, means: np.ndarray, coefficients: np.ndarray, orders: np.ndarray, teacher: RowTeacher
    ) -> np.ndarray:
        alone = np.zeros((len(means), teacher.top + 1))
        alone[:, 0] = means
        alone[0, 0] += self._constant(teacher)
        return np.concatenate([alone, coefficients])

    def _bounds(self, norms: np.ndarray, teacher: RowTeacher) -> np.ndarray:
        return np.concatenate([np.zeros(self._functions.n_quantities), norms])

    def _signs(self, n_terms: int, top: int) -> np.ndarray:
        parities = self._functions.parities(self.teacher)
        return np.multiply.outer(parities, (-1.0) ** np.arange(top + 1))


def _problem_of_the_sum(problem: Problem) -> Problem:
    """The student of one token whose field is the sum s = sum_l z_l / sqrt(L)."""
    geometry, root = problem.geometry, np.sqrt(problem.length)
    norms = np.sqrt(np.diag(geometry.shared.gram))
    reach = np.linalg.norm(norms) if geometry.is_joint else norms.sum() / root
    injected = [float(geometry.injected.sum() / root)]
    return Problem(
        Target("z1"),
        problem.student,
        Encoding("gram", matrix=[[float(reach) ** 2]], injected=injected),
        problem.loss,
        problem.label_noise,
    )
