r"""The Taylor expansion of the population risk at the origin of the overlaps, from coefficients.

For the squared loss and Gaussian fields (after Arnaboldi et al., arXiv 2506.02651, section 3, with
Mehler's formula), along the directions U that the student sees and with o = U e,

.. math::

    R(e, m) = E|g|^2 + \sum_\beta \frac{o^\beta}{\beta!}\Big[ c_\beta(|f|^2)
        - 2 \sum_a \sum_\alpha \frac{m^{|\alpha|}}{\alpha!}\, c_\alpha(g_a)\, c_{\alpha+\beta}(f_a)
        \Big] .

Each order is a form in the independent overlaps of the encoding, of which all others are sums.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ssiode.errors import InputError
from ssiode.hermite.coefficient import Verdict
from ssiode.risk_landscape.at_origin.forms import HomogeneousForm
from ssiode.risk_landscape.at_origin.numbers import Number, total
from ssiode.risk_landscape.at_origin.polynomials import Polynomial, Powers, product
from ssiode.risk_landscape.at_origin.student_terms import SQUARE, Key, StudentTerms, student_terms
from ssiode.risk_landscape.at_origin.teacher_terms import TeacherTerms
from ssiode.risk_landscape.seen_overlaps import SeenOverlaps

if TYPE_CHECKING:
    import sympy

    from ssiode.problem import Problem

# Relative error of overlaps that are sums of others with weights known as floats.
_WEIGHT_ERROR = 1e-12


@dataclass(frozen=True, eq=False)
class TaylorExpansion:
    """The forms of R at the origin, order by order.

    Parameters
    ----------
    problem : Problem
        With the squared loss and a target given by expressions.

    Raises
    ------
    InputError
        For other losses and targets, and untied weights of several tokens.

    Examples
    --------
    >>> from ssiode import LinearAttention, Problem, Target
    >>> expansion = TaylorExpansion(Problem(Target("He2(z1) + He2(z2)"), LinearAttention()))
    >>> str(expansion.form(1)), str(expansion.form(2))
    ('0', '-4 m^2')
    """

    problem: Problem

    def __post_init__(self) -> None:
        problem = self.problem
        if problem.loss.kind != "squared":
            raise InputError(
                f"the {problem.loss.kind} loss has no expansion in Hermite coefficients; take the "
                "squared loss"
            )
        if problem.target.expressions is None:
            raise InputError(
                "a target given as a Python function has no exact coefficients; give text"
            )
        if problem.geometry.n_rows > 1:
            raise InputError(
                "the landscape is that of one weight vector for all tokens; an untied network has "
                f"{problem.geometry.n_rows}: take a tied one"
            )

    @cached_property
    def seen(self) -> SeenOverlaps:
        """The overlaps that the student sees, in which the forms are written."""
        return SeenOverlaps(self.problem)

    @cached_property
    def student(self) -> StudentTerms:
        """Coefficients of the student."""
        return student_terms(self.problem)

    @cached_property
    def teacher(self) -> TeacherTerms:
        """Coefficients of the target along the directions that the student sees."""
        from ssiode.expression import token_symbols

        target = self.problem.target
        return TeacherTerms(target.expressions, token_symbols(target.length), self.student.axes)

    @property
    def last_order(self) -> int:
        """Highest order that can be computed."""
        limits = [self.student.last_order, self.teacher.last_order]
        return min(limit for limit in limits if limit is not None)

    @property
    def highest_order(self) -> int | None:
        """Highest order at which R can depend on the overlaps, None if there is no such."""
        student, teacher = self.student.highest_order, self.teacher.highest_order
        if any(self._offsets):
            return None if student is None else 2 * student
        orders = [order for order in (student, teacher) if order is not None]
        return min(orders, default=None)

    @property
    def is_independent_of_m(self) -> bool:
        """Whether R is proved not to depend on m: the target is constant, and e does not move m."""
        is_shared = any(powers[-1] for offset in self._offsets for powers in offset)
        return self.teacher.highest_order == 0 and not is_shared

    def form(self, order: int) -> HomogeneousForm:
        """The part of R of one order >= 1 in the overlaps."""
        if order not in self._known:
            self._known[order] = self._form(order)
        return self._known[order]

    @cached_property
    def _known(self) -> dict[int, HomogeneousForm]:
        return {}

    def _form(self, order: int) -> HomogeneousForm:
        weights: defaultdict[Powers, defaultdict[Key, list[Number]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for n in range(order + 1):
            for beta in multi_indices(self.student.axes.rows, order - n):
                expanded = self._monomial(beta, n)
                combination = self._combination(beta, n) if expanded else {}
                for powers, factor in expanded.items():
                    for key, number in combination.items():
                        weights[powers][key].append(number * factor)
        terms = {powers: self._evaluated(parts) for powers, parts in weights.items()}
        kept = {powers: terms[powers] for powers in sorted(terms, reverse=True)}
        kept = {powers: number for powers, number in kept.items() if not number.is_zero}
        return HomogeneousForm(order, self.seen.names, kept)

    def _combination(self, beta: Powers, n: int) -> dict[Key, Number]:
        """The coefficient of o^beta m^n as a sum over coefficients of the student."""
        parts: defaultdict[Key, list[Number]] = defaultdict(list)
        if n == 0:
            self._add(parts, SQUARE, beta, self._share(1, beta))
        for a, coefficients in enumerate(self.teacher.at_order(n)):
            for alpha, number in coefficients.items():
                index = [x + y for x, y in zip(alpha, beta, strict=True)]
                self._add(parts, a, index, number * self._share(-2, alpha, beta))
        return {key: total(numbers) for key, numbers in parts.items()}

    def _add(
        self, parts: Mapping[Key, list[Number]], function: int, index: Sequence[int], share: Number
    ) -> None:
        key, sign = self.student.key(function, index)
        if sign:
            parts[key].append(share if sign > 0 else -share)

    def _share(self, factor: int, *indices: Powers) -> Number:
        import sympy

        factorials = math.prod(math.factorial(power) for index in indices for power in index)
        return Number.of_exact(self._scale * sympy.Rational(factor, factorials))

    @cached_property
    def _scale(self) -> sympy.Expr:
        from ssiode.population_risk.symbolic import exact

        return exact(self.problem.loss.scale)

    def _evaluated(self, parts: Mapping[Key, list[Number]]) -> Number:
        """Sum of weights times coefficients; a weight that cancels needs no coefficient."""
        weights = {key: total(numbers) for key, numbers in parts.items()}
        return total(
            weight * self.student.number(key)
            for key, weight in weights.items()
            if not weight.is_zero
        )

    def _monomial(self, beta: Powers, n: int) -> Polynomial:
        """o^beta m^n as a polynomial in the independent overlaps."""
        result: Polynomial = {self._unit_of_m(n): self._share(1, ())}
        for axis, power in enumerate(beta):
            for _ in range(power):
                result = product(result, self._offsets[axis])
                if not result:
                    return result
        return result

    def _unit_of_m(self, n: int) -> Powers:
        return (*[0] * (self.seen.dimension - 1), n)

    @cached_property
    def _offsets(self) -> list[Polynomial]:
        """Each o as a linear form in the independent overlaps."""
        expansion = self.seen.coordinates.expansion[:-1]
        units = [tuple(column) for column in np.eye(expansion.shape[1], dtype=int).tolist()]
        return [
            {u: _weight(w) for u, w in zip(units, row, strict=True) if w != 0}
            for row in expansion.tolist()
        ]


def multi_indices(length: int, order: int) -> Iterator[Powers]:
    """All multi-indices of one order.

    >>> list(multi_indices(2, 1))
    [(1, 0), (0, 1)]
    """
    for places in itertools.combinations_with_replacement(range(length), order):
        yield tuple(places.count(i) for i in range(length))


def _weight(weight: float) -> Number:
    """Whole numbers are meant as such; others are floats."""
    import sympy

    if weight == round(weight):
        return Number.of_exact(sympy.Integer(int(weight)))
    return Number(weight, _WEIGHT_ERROR * abs(weight), None, Verdict.NONZERO)
