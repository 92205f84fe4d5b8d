"""Mehler's series of the squared loss: integrals over L fields once, power series in m after."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ssiode.errors import whole_number
from ssiode.population_risk.finite_moments import check_finite_moments
from ssiode.population_risk.mehler.builder import TableBuilder
from ssiode.population_risk.mehler.positional import positional_box
from ssiode.population_risk.mehler.truncation import tail_estimate
from ssiode.population_risk.protocol import (
    Estimate,
    RiskEngine,
    RiskEvaluation,
    RiskTable,
    check_finite,
)

if TYPE_CHECKING:
    from ssiode.problem import Problem

_MOST_AXES = 4
# A third moved axis of three, or a second of four, multiplies the table by a hundred.
_MOST_POSITIONAL_AXES = {1: 1, 2: 2, 3: 2, 4: 1}
# Beyond these sizes the table needs too many points, and weights overflow.
_LARGEST_OVERLAP, _LARGEST_INJECTED = 6.0, 20.0
_ORDERS = {1: 200, 2: 96, 3: 24, 4: 24}
# A series that knows R or V to one digit at most has been cut off too early to be of use.
_LARGEST_RELATIVE_ERROR = 0.1
_NEGLIGIBLE = 1e-9


class SeriesEngine(RiskEngine):
    """The risk, its gradient and V as power series in m with tabulated coefficients.

    Polynomial targets end the series, so that nothing but rounding and quadrature is in the error;
    for others the error holds an estimate of what is cut off, which is largest at abs(m) = 1.
    Targets with kinks or jumps enter by exact coefficients up to order 40; for them what is cut
    off falls slowly with the order. Attention over four tokens, the most that a grid serves, takes
    seconds to tabulate.

    Parameters
    ----------
    problem : Problem
    order : int, optional
        Highest order N of the series for targets that are no polynomials.

    Raises
    ------
    InputError
        If the loss is not squared, the student sees too many directions, or there are no
        coefficients of the target.
    """

    name: ClassVar[str] = "series"
    rank: ClassVar[int] = 0
    suits: ClassVar[str] = "squared loss"

    def __init__(self, problem: Problem, order: int | None = None) -> None:
        self.check(problem)
        check_finite_moments(problem)
        self.problem = problem
        default = _ORDERS[len(problem.student.axes(problem.length))]
        order = default if order is None else order
        self.order = whole_number("order", order, minimum=4, maximum=400)
        self._table = TableBuilder(problem, self.order).build()
        self._powers = np.arange(self._table.coefficients.shape[1])

    @classmethod
    def objection(cls, problem: Problem) -> str | None:
        """Only the squared loss separates; many directions make the integrals too large."""
        if problem.loss.kind != "squared":
            return f"the {problem.loss.kind} loss has no series"
        axes = problem.student.axes(problem.length)
        if len(axes) > _MOST_AXES:
            return (
                f"the student sees {len(axes)} directions and the series allows {_MOST_AXES}: "
                f"a grid over them has 10^{2 * len(axes)} points"
            )
        basis, widths = positional_box(problem, axes)
        if widths.max(initial=0.0) > _LARGEST_OVERLAP:
            return (
                f"positional overlaps reach {widths.max():.3g} and the series allows "
                f"{_LARGEST_OVERLAP:g}; lower the norm of the encoding"
            )
        injected = np.abs(problem.geometry.injected).max()
        if injected > _LARGEST_INJECTED:
            return f"injected reaches {injected:.3g} and the series allows {_LARGEST_INJECTED:g}"
        n_positional, allowed = len(basis), _MOST_POSITIONAL_AXES[len(axes)]
        if n_positional > allowed:
            return (
                f"the encoding moves the fields in {n_positional} directions and the series "
                f"allows {allowed} where the student sees {len(axes)}"
            )
        return None

    def objection_at(self, v: np.ndarray) -> str | None:
        """See :meth:`RiskEngine.objection_at`: an error as large as R or V."""
        return objection_to_errors(self.evaluate(v))

    @property
    def settings(self) -> str:
        """The sizes of the table."""
        return self._table.settings

    def moments(self, v: np.ndarray) -> np.ndarray:
        """See :meth:`RiskEngine.moments`."""
        return self._table.sums(v, self._units)

    def evaluate(self, v: np.ndarray) -> RiskEvaluation:
        """See :meth:`RiskEngine.evaluate`."""
        moments, errors = (array[0] for array in self._estimates(v[None]))
        return RiskEvaluation.of(moments, errors, self._units, self.name, self.description)

    def estimates(self, v: np.ndarray) -> Estimate:
        """See :meth:`RiskEngine.estimates`; one call of the kernel for all states."""
        found = self._estimates(v)
        with np.errstate(over="ignore", invalid="ignore"):
            moments, errors = found.value * self._units, found.error * self._units
        check_finite(moments)
        return Estimate(moments, errors)

    def _estimates(self, v: np.ndarray) -> Estimate:
        """Moments and errors of the loss of scale 1."""
        return Estimate(self._table.sums(v, np.ones(v.shape[1] + 2)), self._errors(v[:, -1]))

    @cached_property
    def _units(self) -> np.ndarray:
        units = np.full(self.problem.length + 3, self.problem.loss.scale)
        with np.errstate(over="ignore"):  # an infinite risk is refused by name
            units[-1] = np.square(units[-1])
        return units

    def polynomials_in_m(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Coefficients of R, dR/de_1, ..., dR/de_L, V in powers of m, and their errors.

        Two arrays of shape (L + 2, N + 1), or None if these depend on e or are no polynomials.
        """
        table = self._table
        if len(table.basis) or not table.is_finite:
            return None
        units = np.delete(self._units, -2)[:, None]
        return table.coefficients * units, table.term_errors * units

    def tabulated_risk(self) -> RiskTable:
        """See :meth:`RiskEngine.tabulated_risk`."""
        table = self._table
        projection = table.basis / table.half_widths[:, None]
        return RiskTable(table.coefficients[:-1] * self.problem.loss.scale, projection)

    def companion(self) -> SeriesEngine:
        """Return the series with every term moved by its error."""
        other = copy(self)
        other._table = self._table.perturbed()
        return other

    def _errors(self, m: np.ndarray) -> np.ndarray:
        """Errors of (R, dR/de, dR/dm, V) of the loss of scale 1 at each m; shape (p, L + 3)."""
        table, n, m = self._table, self._powers, np.abs(m)
        powers = m[:, None] ** n
        slopes = np.zeros_like(powers)
        slopes[:, 1:] = n[1:] * powers[:, :-1]
        rows = [*range(self.problem.length + 1), 0, -1]
        # Unlike a matrix product, row by row the same for one state and for many.
        errors = np.einsum("pn,rn->pr", powers, table.term_errors[rows])
        errors[:, -2] = np.einsum("pn,n->p", slopes, table.term_errors[0])
        if table.is_finite:
            return errors
        top, bounds = n[-1], table.left_out[rows]
        with np.errstate(invalid="ignore"):
            beyond = bounds * m[:, None] ** (top + 1)
            slope = bounds[-2] * largest_slopes(top, m)
        # A bound that overflows tells nothing, but at m = 0 no term is left out.
        beyond = np.where(m[:, None] == 0, 0.0, np.nan_to_num(beyond, nan=np.inf, posinf=np.inf))
        # No bound holds for the derivative at |m| = 1: there the decay of the terms tells.
        estimate = tail_estimate(table.largest[0] * slopes, errors[:, -2])
        slope = np.where(m == 0, 0.0, np.nan_to_num(slope, nan=np.inf, posinf=np.inf))
        beyond[:, -2] = np.minimum(slope, np.maximum(estimate, 2 * (top + 1) * bounds[-2]))
        return errors + beyond


def objection_to_errors(result: RiskEvaluation) -> str | None:
    """Why a series that knows R or V to one digit at most is not chosen, or None."""
    for name, value, error in (
        ("R", result.value, result.value_error),
        ("V", result.second_moment, result.second_moment_error),
    ):
        if error > max(_LARGEST_RELATIVE_ERROR * abs(value), _NEGLIGIBLE):
            return f"its error of {name} is {error:.1g} here"
    return None


def largest_slopes(top: int, m: np.ndarray) -> np.ndarray:
    """Largest n m^(n - 1) over n > top for each m in [0, 1], infinite at m = 1.

    >>> largest_slopes(1, np.array([0.0, 0.5, 1.0])).tolist()
    [0.0, 1.0, inf]
    """
    with np.errstate(divide="ignore"):
        n = np.maximum(top + 1.0, -1.0 / np.log(m))
    inside = m < 1.0
    slopes = np.full(m.shape, np.inf)
    slopes[inside] = n[inside] * m[inside] ** (n[inside] - 1)
    return slopes
