r"""Mehler's series of the squared loss for networks with one weight vector for each token.

Such a network sees the sum :math:`s = \sum_l z_l/\sqrt L` alone. With
:math:`a_l = m_l/\sqrt L` and :math:`\bar e = \sum_l e_l/\sqrt L`

.. math:: s = \bar e + a\cdot z_\star + \sqrt{1 - |a|^2}\,\xi, \qquad
          E[G(z_\star)\,H(s)] = \sum_n \hat c_n(H(\cdot + \bar e))\,T_n(a),

under either constraint, as both keep :math:`\sum_l |w_l|^2 = L d`; :math:`T_n` is the homogeneous
polynomial of :class:`HomogeneousSums`. The gradient of the loss is the same for all fields,
:math:`g_l = \ell'(s)/\sqrt L`.
"""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ssiode.errors import whole_number
from ssiode.population_risk.finite_moments import check_finite_moments
from ssiode.population_risk.protocol import Estimate, RiskEngine, RiskEvaluation, check_finite
from ssiode.population_risk.series import largest_slopes, objection_to_errors
from ssiode.population_risk.untied.builder import RowTableBuilder

if TYPE_CHECKING:
    from ssiode.problem import Problem

_LARGEST_OVERLAP, _LARGEST_INJECTED = 6.0, 20.0
_ORDER = 32
# Rows of the table: what meets 1, h and h^2 for R, dR/ds and V.
_ALONE, _WITH_OUTPUT, _WITH_PRODUCT = slice(0, 3), slice(3, 6), 6


class RowSeriesEngine(RiskEngine):
    """The risk, its gradient and V as homogeneous polynomials in (m_1, ..., m_L).

    Polynomial targets end the series, so that nothing but rounding and quadrature over the one sum
    of the fields is in the error. Other targets may be sums of functions of up to three tokens
    each; for them the error holds a bound of what is cut off, which falls like
    :math:`|a|^N`, and no bound of the gradient is known at :math:`|a| = 1`.

    Parameters
    ----------
    problem : Problem
    order : int, optional
        Highest order N of the series for targets that are no polynomials.

    Raises
    ------
    InputError
        If the loss is not squared, the encoding is too large, or there are no coefficients of the
        target.
    """

    name: ClassVar[str] = "series"
    serves_rows: ClassVar[bool] = True
    rank: ClassVar[int] = 0
    suits: ClassVar[str] = "squared loss"

    def __init__(self, problem: Problem, order: int | None = None) -> None:
        self.check(problem)
        check_finite_moments(problem)
        self.problem = problem
        order = _ORDER if order is None else order
        builder = RowTableBuilder(problem, whole_number("order", order, minimum=4, maximum=200))
        self._teacher, self._table = builder.teacher, builder.build()
        self._root = float(np.sqrt(problem.length))

    @classmethod
    def objection(cls, problem: Problem) -> str | None:
        """Only the squared loss separates; far shifts of the sum need too many points."""
        if problem.loss.kind != "squared":
            return f"the {problem.loss.kind} loss has no series"
        geometry = problem.geometry
        reach = float(np.sqrt(np.diag(geometry.shared.gram).sum()))
        if reach > _LARGEST_OVERLAP:
            return (
                f"positional overlaps reach {reach:.3g} and the series allows "
                f"{_LARGEST_OVERLAP:g}; lower the norm of the encoding"
            )
        injected = abs(float(geometry.injected.sum() / np.sqrt(problem.length)))
        if injected > _LARGEST_INJECTED:
            return f"injected reaches {injected:.3g} and the series allows {_LARGEST_INJECTED:g}"
        return None

    def objection_at(self, v: np.ndarray) -> str | None:
        """See :meth:`RiskEngine.objection_at`: an error as large as R or V."""
        return objection_to_errors(self.evaluate(v))

    @property
    def settings(self) -> str:
        """The sizes of the table and of the target's coefficients."""
        teacher = self._teacher
        counts = f"{len(teacher.output.factors)} and {len(teacher.product.factors)}"
        return f"{self._table.settings}, {counts} coefficients of g and g^2"

    def moments(self, v: np.ndarray) -> np.ndarray:
        """See :meth:`RiskEngine.moments`."""
        return self._sums(v) * self._units

    def _sums(self, v: np.ndarray) -> np.ndarray:
        """Moments of the loss of scale 1."""
        length = self.problem.length
        a = v[:, length:] / self._root
        student = self._student_coefficients(v[:, :length].sum(axis=1) / self._root)
        values, slopes = self._teacher.output(a)
        squares = self._teacher.product.values(a)
        # Sums state by state, so that one does not depend on those beside it.
        risk, shift, second = student[:, _ALONE, 0].T + np.einsum(
            "pqn,pn->qp", student[:, _WITH_OUTPUT], values
        )
        second = second + np.einsum("pn,pn->p", student[:, _WITH_PRODUCT], squares)
        moments = np.empty((len(v), 2 * length + 2))
        moments[:, 0] = risk
        moments[:, 1 : 1 + length] = (shift / self._root)[:, None]
        moments[:, 1 + length : -1] = (
            np.einsum("pn,pln->pl", student[:, _WITH_OUTPUT.start], slopes) / self._root
        )
        moments[:, -1] = second / length
        return moments

    def _student_coefficients(self, shift: np.ndarray) -> np.ndarray:
        """Coefficients of the student's functions at shifts of the sum, shape (p, 7, N + 1)."""
        table = self._table
        if not len(table.basis):
            return np.broadcast_to(table.coefficients, (len(shift), *table.coefficients.shape))
        x = shift / table.half_widths[0]
        degrees = np.arange(table.coefficients.shape[2])
        polynomials = np.cos(degrees * np.arccos(np.clip(x, -1.0, 1.0))[:, None])
        return np.einsum("qnk,pk->pqn", table.coefficients, polynomials)

    def evaluate(self, v: np.ndarray) -> RiskEvaluation:
        """See :meth:`RiskEngine.evaluate`."""
        moments, errors = self._sums(v[None])[0], self._errors(v[None])[0]
        return RiskEvaluation.of(moments, errors, self._units, self.name, self.description)

    def estimates(self, v: np.ndarray) -> Estimate:
        """See :meth:`RiskEngine.estimates`; all states together."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = Estimate(self.moments(v), self._errors(v) * self._units)
        check_finite(found.value)
        return found

    @cached_property
    def _units(self) -> np.ndarray:
        units = np.full(2 * self.problem.length + 2, self.problem.loss.scale)
        with np.errstate(over="ignore"):  # an infinite risk is refused by name
            units[-1] = np.square(units[-1])
        return units

    def companion(self) -> RowSeriesEngine:
        """Return the series with every coefficient of the student moved by its error."""
        other = copy(self)
        other._table = self._table.perturbed()
        return other

    def _errors(self, v: np.ndarray) -> np.ndarray:
        """Errors of the moments of the loss of scale 1, in their shape."""
        length = self.problem.length
        a = v[:, length:] / self._root
        radius = np.minimum(np.linalg.norm(a, axis=1), 1.0)
        values, slopes = (np.abs(found) for found in self._teacher.output(a))
        main = self._errors_of_sums(values, np.abs(self._teacher.product.values(a)), radius)
        errors = np.empty((len(v), 2 * length + 2))
        errors[:, 0] = main[:, 0]
        errors[:, 1 : 1 + length] = main[:, 1:2] / self._root
        errors[:, 1 + length : -1] = self._errors_of_slopes(slopes, radius) / self._root
        errors[:, -1] = main[:, 2] / length
        return errors

    def _errors_of_sums(
        self, values: np.ndarray, squares: np.ndarray, radius: np.ndarray
    ) -> np.ndarray:
        """Errors of R, dR/ds and V of the sum, from |T_n| of h and of h^2; shape (p, 3)."""
        table, teacher = self._table, self._teacher
        beyond = radius ** (teacher.top + 1)
        # Errors of the student's coefficients, those of the target's, and what both leave out.
        errors = table.term_errors[_ALONE, 0] + np.einsum(
            "qn,pn->pq", table.term_errors[_WITH_OUTPUT], values
        )
        errors += self._sizes[_WITH_OUTPUT] * teacher.errors[0]
        errors += table.left_out[_WITH_OUTPUT] * teacher.left_out[0] * beyond[:, None]
        errors[:, 2] += np.einsum("n,pn->p", table.term_errors[_WITH_PRODUCT], squares)
        errors[:, 2] += self._sizes[_WITH_PRODUCT] * teacher.errors[1]
        errors[:, 2] += table.left_out[_WITH_PRODUCT] * teacher.left_out[1] * beyond
        return errors

    def _errors_of_slopes(self, slopes: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Errors of dR/da_l from the |dT_n/da_l| of h, shape (p, L)."""
        table, teacher, row = self._table, self._teacher, _WITH_OUTPUT.start
        steepest = np.linalg.norm(np.arange(teacher.top + 1) * table.largest[row])
        cut = table.left_out[row] * teacher.left_out[0]
        with np.errstate(invalid="ignore"):
            steep = np.where(radius == 0, 0.0, cut * largest_slopes(teacher.top, radius))
        # Infinite slopes of nothing are nothing.
        steep = np.nan_to_num(steep, nan=0.0 if cut == 0 else np.inf, posinf=np.inf)
        errors = np.einsum("n,pln->pl", table.term_errors[row], slopes)
        return errors + steepest * teacher.errors[0] + steep[:, None]

    @cached_property
    def _sizes(self) -> np.ndarray:
        """Norms of the student's coefficients, those left out among them."""
        return np.linalg.norm(self._table.largest, axis=1) + self._table.left_out
