"""Building the table of a series: rules, grids, and the errors of what they leave out."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ssiode.population_risk.mehler.closed_teacher import closed_teacher
from ssiode.population_risk.mehler.grid import (
    Axis,
    contract,
    is_negligible_on_sphere,
    needed_reach,
    product_points,
    total_order,
)
from ssiode.population_risk.mehler.positional import adapted_axes, positional_box
from ssiode.population_risk.mehler.still_axes import StillAverages
from ssiode.population_risk.mehler.student import StudentFunctions
from ssiode.population_risk.mehler.table import MehlerTable
from ssiode.population_risk.mehler.teacher import (
    NoSeriesError,
    Teacher,
    averaged_tokens,
    check_numeric,
    numeric_teacher,
    polynomial_teacher,
    rest_of_norm,
)
from ssiode.threads import one_blas_thread

if TYPE_CHECKING:
    from ssiode.problem import Problem

_LEVELS = {1: (3, 12), 2: (4, 9), 3: (3, 6), 4: (2, 4)}
_TOLERANCE = 1e-9
# In three dimensions another level costs seconds, in four half a minute.
_RULE_TOLERANCE = {1: 1e-9, 2: 1e-9, 3: 1e-6, 4: 1e-6}
# Weights e^(-x^2/2) are off by some x^2/2 units in the last place, and x reaches 8 for polynomials.
_ROUNDING = 32 * 2.0**-52
# Points on each axis at which the bound of what is left out is taken, and a margin between them.
_BOUND_POINTS, _BOUND_MARGIN = 5, 1.5
_MOST_POINTS = 99
# From so many axes on few outputs only.
_MANY_AXES, _MOST_OUTPUTS = 4, 3
# Differences of levels that are rounding do not fall at all.
_SLOWEST = 0.9
# From so many axes on levels are few: one difference can be small by chance, so the largest of all
# orders counts, and its fall by no more than this.
_COARSE_AXES, _FASTEST = 3, 0.1

TermsAt = Callable[[np.ndarray], np.ndarray]


class TableBuilder:
    """Computes the t_n at offsets, and the table from them.

    Parameters
    ----------
    problem : Problem
    order : int
        Highest order for targets that are no polynomials.
    """

    def __init__(self, problem: Problem, order: int) -> None:
        self._problem = problem
        self._order = order
        self._functions = StudentFunctions(problem)
        seen = problem.student.axes(problem.length)
        self.basis, self.half_widths = positional_box(problem, seen)
        self._axes = adapted_axes(self.basis, seen)
        self._exact_teacher = self._known_teacher()
        self._centre = self._axes @ problem.geometry.injected
        self._is_even = (
            problem.student.is_even(problem.length) and not problem.geometry.injected.any()
        )
        self._reach: float | None = None
        self._radius: float | None = None

    def _known_teacher(self) -> Teacher | None:
        """A teacher whose coefficients are known exactly; None for one of a grid."""
        target = self._problem.target
        if (found := polynomial_teacher(target, self._axes)) is not None:
            _check_outputs(found, len(self._axes))
            return found
        if not target.is_smooth:
            return closed_teacher(target, self._axes, self._order)
        check_numeric(target, self._axes)
        return None

    @one_blas_thread()
    def build(self) -> MehlerTable:
        """Refine rule and interpolation until they are accurate, and return the table."""
        terms_at, rule_error, left_out, teacher, level = self._accurate_rule()
        points = 11 + int(np.ceil(9 * self.half_widths.max(initial=0.0)))
        while True:
            values = self._on_grid(terms_at, points, teacher.top)
            coefficients = _chebyshev_coefficients(values, len(self.basis))
            scale = np.abs(values).reshape(*values.shape[:2], -1).max(axis=2)
            ends = _ends(coefficients, len(self.basis))
            if ends.max() <= _TOLERANCE * scale.max() or points >= _MOST_POINTS:
                break
            points = points * 3 // 2
        rounding = _ROUNDING * self._sizes(scale)[:, None] * teacher.weights_of_orders
        return MehlerTable(
            self.basis,
            self.half_widths,
            self._with_parity(coefficients),
            scale,
            rule_error + 2 * ends + rounding,
            left_out,
            teacher.is_finite,
            f"{teacher.top} orders, step 2^(-{level / 2:g}) on {len(self._axes)} axes, "
            f"{points if len(self.basis) else 1} points on {len(self.basis)} positional axes",
        )

    def _sizes(self, scale: np.ndarray) -> np.ndarray:
        """What is summed for each quantity, from the largest |t_n|."""
        # E |g_l| <= sqrt(V) bounds what is summed for a gradient that itself may vanish.
        sizes = np.maximum(scale.max(axis=1), np.sqrt(scale[-1].max()))
        sizes[[0, -1]] = scale[[0, -1]].max(axis=1)
        return sizes

    def _teacher(self, level: int) -> Teacher:
        if self._exact_teacher is not None:
            return self._exact_teacher
        return numeric_teacher(self._problem.target, self._axes, level, self._order)

    def _accurate_rule(self) -> tuple[TermsAt, np.ndarray, np.ndarray, Teacher, int]:
        """A rule that is accurate at probe offsets, and an error of each t_n there.

        Differences of levels, which fall by some factor for each quantity, are summed as a
        geometric series and doubled; those of the trapezoidal rule for analytic functions fall
        faster.
        """
        first, last = _LEVELS[len(self._axes)]
        if self._exact_teacher is None:
            tokens = averaged_tokens(self._problem.target, self._axes)
            last = min(last, _LEVELS[len(tokens)][1])
        corners = [1] if self._is_even else [1, -1]
        probes = np.outer([0, *corners], self.half_widths)
        before, step = None, None
        for level in range(first, last + 1):
            teacher = self._teacher(level)
            terms_at, left_out_at = self._tabulated(teacher, level)
            found = terms_at(probes)
            if before is None:
                ratio = np.ones(found.shape[1])
            else:
                error = np.abs(found - before).max(axis=0)
                if step is not None:
                    ratio = error.max(axis=1) / np.maximum(step, 1e-300)
                step = error.max(axis=1)
                if step.max() <= _RULE_TOLERANCE[len(self._axes)] * np.abs(found).max():
                    break
            before = found
        fastest = 0.0
        if len(self._axes) >= _COARSE_AXES:
            error, fastest = np.repeat(step[:, None], error.shape[1], axis=1), _FASTEST
        ratio = np.clip(ratio, fastest, _SLOWEST)[:, None]
        still_to_come = 2 * ratio / (1 - ratio)
        if len(self.basis):
            points = [np.linspace(-1, 1, _BOUND_POINTS)] * len(self.basis)
            probes = product_points(points) * self.half_widths
        left_out = _BOUND_MARGIN * left_out_at(probes)
        return terms_at, error * still_to_come, left_out, teacher, level

    def _tabulated(self, teacher: Teacher, level: int) -> tuple[TermsAt, TermsAt]:
        """Tabulate the student's functions, and return t_n as a function of the offset.

        The second function bounds what the series leaves out: by Cauchy-Schwarz the product of
        the norms of what the coefficients of teacher and student leave out.
        """
        q, top = len(self.basis), teacher.top
        if self._reach is None:
            self._reach = self._needed_reach(teacher)
            self._radius = self._ball_radius(teacher)
        reach = self._reach
        breaks = tuple(b for b in self._problem.student.break_points() if abs(b) < reach)
        grid = [Axis(level, reach, breaks)] * len(self._axes)
        is_even = self._problem.student.is_even(self._problem.length)
        alone, met = StillAverages(
            self._functions, teacher, self._axes, grid, self._centre, q, is_even, self._radius
        )()
        n_alone = self._functions.n_quantities
        orders = total_order(top, len(grid))

        @lru_cache(maxsize=q + 1)  # offsets on a grid share their first coordinate
        def averaged(*xi: float) -> tuple[np.ndarray, np.ndarray]:
            if not xi:
                return alone, met
            axis = len(xi) - 1
            means, coefficients = averaged(*xi[:-1])
            table = grid[axis].table(self._centre[axis] + xi[-1], top)
            return contract(table[:1], means, len(xi)), contract(table, coefficients, len(xi))

        def terms_at(offsets: np.ndarray) -> np.ndarray:
            """Values t_n at positional coordinates of shape (p, q); shape (p, L + 2, N + 1)."""
            terms = []
            for xi in offsets.tolist():
                means, coefficients = averaged(*xi)
                terms.append(self._terms(means[:n_alone].ravel(), coefficients, orders, teacher))
            return np.array(terms)

        def left_out_at(offsets: np.ndarray) -> np.ndarray:
            """Largest bounds over the offsets, shape (L + 2,)."""
            if teacher.is_finite:
                return np.zeros(len(terms_at(offsets[:1])[0]))
            bounds = []
            for xi in offsets.tolist():
                means, coefficients = averaged(*xi)
                kept = np.where(orders <= top, coefficients, 0.0)
                norms = np.sqrt(rest_of_norm(means[n_alone:].ravel(), kept))
                bounds.append(self._bounds(norms, teacher))
            return np.max(bounds, axis=0)

        return terms_at, left_out_at

    def _terms(
        self, means: np.ndarray, coefficients: np.ndarray, orders: np.ndarray, teacher: Teacher
    ) -> np.ndarray:
        """The t_n at one offset, shape (number of quantities, N + 1)."""
        top = teacher.top
        terms = np.zeros((len(means), top + 1))
        terms[:, 0] = means
        terms[0, 0] += self._constant(teacher)
        for row, products in zip(terms, _paired(coefficients, teacher), strict=True):
            sums = np.bincount(orders.ravel(), products.ravel(), minlength=top + 1)
            row += sums[: top + 1]
        return terms

    def _constant(self, teacher: Teacher) -> float:
        """What R has besides the averages of the student."""
        return teacher.square + self._problem.label_noise * self._problem.target.n_outputs

    def _bounds(self, norms: np.ndarray, teacher: Teacher) -> np.ndarray:
        """Bounds of what each quantity leaves out, from what the student's functions leave out."""
        return _bounded(norms, np.sqrt(teacher.left_out), self._functions.n_quantities)

    def _needed_reach(self, teacher: Teacher) -> float:
        reach = needed_reach(
            lambda x: self._functions(x @ self._axes, teacher),
            len(self._axes),
            teacher.top,
            float(self._largest_shift.max()),
        )
        if reach is None:
            raise NoSeriesError("the student grows too fast for its averages to be found")
        return reach

    @property
    def _largest_shift(self) -> np.ndarray:
        """How far the centre of averages moves on each axis."""
        shift = np.abs(self._centre)
        shift[: len(self.basis)] += self.half_widths
        return shift

    def _ball_radius(self, teacher: Teacher) -> float | None:
        """Radius of a ball that is enough on many axes; None for the whole grid."""
        n_axes, shift = len(self._axes), float(np.linalg.norm(self._largest_shift))
        radius = self._reach - float(self._largest_shift.max()) + shift
        is_enough = n_axes >= _MANY_AXES and is_negligible_on_sphere(
            lambda x: self._functions(x @ self._axes, teacher), n_axes, teacher.top, radius, shift
        )
        return radius if is_enough else None

    def _on_grid(self, terms_at: TermsAt, points: int, top: int) -> np.ndarray:
        """All t_n on the grid of Chebyshev points, shape (L + 2, N + 1, points, ...)."""
        q = len(self.basis)
        x = np.cos(np.pi * (np.arange(points) + 0.5) / points)[::-1]
        x = (x - x[::-1]) / 2
        offsets = product_points([x] * q) * self.half_widths if q else np.zeros((1, 0))
        computed = (len(offsets) + 1) // 2 if self._is_even else len(offsets)
        values = terms_at(offsets[:computed])
        if self._is_even:
            mirrored = self._signs(values.shape[1], top) * values[: len(offsets) - computed]
            values = np.concatenate([values, mirrored[::-1]])
        return np.moveaxis(values, 0, -1).reshape(*values.shape[1:], *[points] * q)

    def _signs(self, n_terms: int, top: int) -> np.ndarray:
        """t_n(-e) / t_n(e) for an even student: (-1)^n, and the opposite for dR/de."""
        signs = np.tile((-1.0) ** np.arange(top + 1), (n_terms, 1))
        signs[1:-1] *= -1
        return signs

    def _with_parity(self, coefficients: np.ndarray) -> np.ndarray:
        """Set to zero what the parity of an even student makes zero."""
        if not self._is_even:
            return coefficients
        degrees = sum(np.ogrid[tuple(map(slice, coefficients.shape[2:]))], start=np.zeros(1))
        fitting = (-1.0) ** degrees.reshape(coefficients.shape[2:])
        n_terms, n_orders = coefficients.shape[:2]
        signs = self._signs(n_terms, n_orders - 1)
        signs = signs.reshape(*signs.shape, *[1] * len(self.basis))
        return np.where(signs == fitting, coefficients, 0.0)


def _check_outputs(teacher: Teacher, n_axes: int) -> None:
    """Refuse what would take gigabytes and minutes on four axes."""
    if n_axes >= _MANY_AXES and len(teacher.outputs) > _MOST_OUTPUTS:
        raise NoSeriesError(
            f"the target has {len(teacher.outputs)} outputs that are not constant, and the series "
            f"allows {_MOST_OUTPUTS} where the student sees {n_axes} directions"
        )


def _paired(coefficients: np.ndarray, teacher: Teacher) -> np.ndarray:
    """Products of the student's and the teacher's coefficients, summed over functions."""
    k = len(teacher.outputs)
    n_products = len(teacher.products)
    met = coefficients[:-n_products].reshape(-1, k, *coefficients.shape[1:])
    products = (met * teacher.outputs).sum(axis=1)
    products[-1] += (coefficients[-n_products:] * teacher.products).sum(axis=0)
    return products


def _bounded(student: np.ndarray, teacher: np.ndarray, n_quantities: int) -> np.ndarray:
    """Products of norms, summed over the functions of each quantity."""
    # There are k teachers h_a and k (k + 1) / 2 products.
    k = (len(student) - len(teacher)) // (n_quantities - 1)
    bounds = student[: n_quantities * k].reshape(n_quantities, k) @ teacher[:k]
    bounds[-1] += student[n_quantities * k :] @ teacher[k:]
    return bounds


def _chebyshev_coefficients(values: np.ndarray, dimension: int) -> np.ndarray:
    for axis in range(2, 2 + dimension):
        points = values.shape[axis]
        angles = np.pi * (np.arange(points)[::-1] + 0.5) / points
        transform = np.cos(np.arange(points)[:, None] * angles) * 2 / points
        transform[0] /= 2
        values = np.moveaxis(np.tensordot(transform, values, axes=(1, axis)), 0, axis)
    return values


def _ends(coefficients: np.ndarray, dimension: int) -> np.ndarray:
    """Sizes of the last two coefficients on every axis, which the next ones do not exceed."""
    ends = np.zeros(coefficients.shape[:2])
    for axis in range(2, 2 + dimension):
        last = np.abs(np.take(coefficients, [-2, -1], axis=axis)).reshape(*ends.shape, -1)
        ends += last.max(axis=2)
    return ends
