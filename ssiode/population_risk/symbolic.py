r"""The population risk of polynomial students and targets, exactly.

The student sees :math:`y = U z`, U with orthonormal rows. With the offsets
:math:`o = U(e + \text{injected})` and Mehler's formula, for polynomials G of the teacher's fields
and H of the student's,

.. math::

    E[G(z_\star)\,H(x + o)] = \sum_\alpha \frac{m^{|\alpha|}}{\alpha!}\, c_\alpha(G)
        \sum_\beta \frac{o^\beta}{\beta!}\, c_{\alpha+\beta}(H), \qquad
    c_\alpha(G) = E[G(z_\star)\, He_\alpha(U z_\star)],

a polynomial in (e, m) with exact coefficients (after Arnaboldi et al., arXiv 2506.02651). Without
encoding and for polynomial targets alone R is still a polynomial in m, whose coefficients are
averages of the student.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from ssiode.errors import InputError
from ssiode.expression import token_symbols
from ssiode.hermite.polynomial.exact import is_polynomial, polynomial_coefficients
from ssiode.population_risk.series import SeriesEngine

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ssiode.problem import Problem
    from ssiode.student import SymbolicForm

Coefficients = dict[tuple[int, ...], sympy.Expr]


@dataclass(frozen=True)
class SymbolicRisk:
    """R, its gradient and V as polynomials in the sufficient statistics.

    Attributes
    ----------
    e : tuple of sympy.Symbol
        e_1, ..., e_L.
    m : sympy.Symbol
    value : sympy.Expr
        R(e, m); the e that an encoding cannot reach are 0.
    gradient_e, gradient_m : tuple of sympy.Expr, sympy.Expr
        (dR/de_1, ..., dR/de_L) and dR/dm.
    second_moment : sympy.Expr
        V(e, m) of one sample.
    errors : tuple of float, optional
        Bounds of the errors of R, its derivative in m and V for all m, where coefficients are
        numbers; None where they are exact.
    """

    e: tuple[sympy.Symbol, ...]
    m: sympy.Symbol
    value: sympy.Expr
    gradient_e: tuple[sympy.Expr, ...]
    gradient_m: sympy.Expr
    second_moment: sympy.Expr
    errors: tuple[float, float, float] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the expressions as text, and whether they are exact."""
        return {
            "value": str(self.value),
            "gradient": {"e": [str(g) for g in self.gradient_e], "m": str(self.gradient_m)},
            "second_moment": str(self.second_moment),
            "exact": self.errors is None,
            "errors": self.errors,
        }


def symbolic_risk(problem: Problem) -> SymbolicRisk:
    """Return R, its gradient and V of polynomial problems as SymPy expressions.

    Decimals of the problem are taken as they are written: 0.1 is 1/10.

    Parameters
    ----------
    problem : Problem
        With the squared loss and a polynomial target, and either a student that is a polynomial or
        no encoding. In the second case coefficients are numbers with errors.

    Raises
    ------
    InputError
        If the risk is no polynomial.

    Examples
    --------
    >>> from ssiode import LinearAttention, Problem, Target
    >>> risk = symbolic_risk(Problem(Target("He2(z1) + He2(z2)"), LinearAttention()))
    >>> risk.value, risk.gradient_m
    (7 - 4*m**2, -8*m)
    """
    if problem.loss.kind != "squared":
        raise InputError(f"the {problem.loss.kind} loss has no polynomial risk; give squared")
    g, form = problem.target.expressions, problem.student.symbolic_form(problem.length)
    if not _are_polynomials(g, token_symbols(problem.length)):
        raise InputError("the target is no polynomial, so the risk is none")
    if form is not None and _are_polynomials(form.outputs, form.fields):
        return _Averages(problem, form).risk(g)
    return _with_numbers(problem)


def _are_polynomials(
    expressions: Sequence[sympy.Expr] | None, tokens: Sequence[sympy.Symbol]
) -> bool:
    return expressions is not None and all(is_polynomial(x, tokens) for x in expressions)


def _with_numbers(problem: Problem) -> SymbolicRisk:
    """The polynomials in m of a student that is none."""
    polynomials = SeriesEngine(problem).polynomials_in_m()
    if polynomials is None:
        raise InputError(
            "the student is no polynomial, so the risk is one only without encoding; give a "
            "polynomial student or encoding none"
        )
    coefficients, errors = polynomials
    m = sympy.Symbol("m", real=True)
    value, *gradient_e, second = (
        sympy.Add(*(_float(c, e) * m**n for n, (c, e) in enumerate(zip(*row, strict=True))))
        for row in zip(coefficients, errors, strict=True)
    )
    slope = float(sum(n * e for n, e in enumerate(errors[0])))
    return SymbolicRisk(
        e=_positional_symbols(problem.length),
        m=m,
        value=value,
        gradient_e=tuple(gradient_e),
        gradient_m=value.diff(m),
        second_moment=second,
        errors=(float(errors[0].sum()), slope, float(errors[-1].sum())),
    )


def _float(value: float, error: float) -> sympy.Expr:
    """A number with the digits that its error leaves; 0 where a parity makes it vanish."""
    if value == 0:
        return sympy.S.Zero
    digits = int(np.clip(np.log10(abs(value) / max(error, 1e-300)), 1, 15))
    return sympy.Float(value, digits)


def _positional_symbols(length: int) -> tuple[sympy.Symbol, ...]:
    return tuple(sympy.Symbol(f"e{i + 1}", real=True) for i in range(length))


class _Averages:
    """Exact Gaussian averages for the student, the encoding and the loss of one problem."""

    def __init__(self, problem: Problem, form: SymbolicForm) -> None:
        self.tokens = token_symbols(problem.length)
        self.form = form
        self.e = _positional_symbols(problem.length)
        self.m = sympy.Symbol("m", real=True)
        self.scale = exact(problem.loss.scale)
        self.noise = exact(problem.label_noise)
        injected = map(exact, problem.geometry.injected.tolist())
        shifts = sympy.Matrix([e + shift for e, shift in zip(self.e, injected, strict=True)])
        self.offsets = list(form.axes * shifts)
        unreached = problem.geometry.gram.diagonal() == 0
        self.zeros = {e: 0 for e, is_zero in zip(self.e, unreached, strict=True) if is_zero}

    def risk(self, g: Sequence[sympy.Expr]) -> SymbolicRisk:
        f, fields = self.form.outputs, self.form.fields
        slopes = sympy.Matrix([[output.diff(y) for y in fields] for output in f])
        s = sympy.Matrix([f]) * slopes
        value = sum(self.average(g_a**2, 1) + self.average(1, f_a**2) for g_a, f_a in _both(g, f))
        value -= 2 * sum(self.average(g_a, f_a) for g_a, f_a in _both(g, f))
        value += self.noise * len(f)
        second = self.average(1, s.dot(s)) + self.noise * self.average(1, slopes.dot(slopes))
        for a, g_a in enumerate(g):
            second -= 2 * self.average(g_a, s.dot(slopes.row(a)))
            for b, g_b in enumerate(g):
                second += self.average(g_a * g_b, slopes.row(a).dot(slopes.row(b)))
        value *= self.scale
        return SymbolicRisk(
            e=self.e,
            m=self.m,
            value=self._shown(value),
            gradient_e=tuple(self._shown(value.diff(e)) for e in self.e),
            gradient_m=self._shown(value.diff(self.m)),
            second_moment=self._shown(4 * self.scale**2 * second),
        )

    def average(self, teacher: Any, student: Any) -> sympy.Expr:
        """E[G(z*) H(x + o)] as a polynomial in e and m."""
        of_student = polynomial_coefficients(sympy.sympify(student), self.form.fields)
        terms = []
        for alpha, c in self._of_teacher(teacher).items():
            factor = c * self.m ** sum(alpha) / math.prod(map(math.factorial, alpha))
            shifted = [
                other * self._monomial([b - a for b, a in _both(beta, alpha)])
                for beta, other in of_student.items()
                if all(b >= a for b, a in _both(beta, alpha))
            ]
            terms.append(factor * sympy.Add(*shifted))
        return sympy.Add(*terms)

    def _of_teacher(self, function: Any) -> Coefficients:
        """Coefficients along the axes of the student: the tokens, or one direction."""
        by_token = polynomial_coefficients(sympy.sympify(function), self.tokens)
        if self.form.axes == sympy.eye(len(self.tokens)):
            return by_token
        along: Coefficients = {}
        for alpha, c in by_token.items():
            n = sum(alpha)
            share = sympy.Mul(*(u**k / math.factorial(k) for u, k in _both(self.form.axes, alpha)))
            along[(n,)] = along.get((n,), 0) + math.factorial(n) * share * c
        return along

    def _monomial(self, beta: list[int]) -> sympy.Expr:
        return sympy.Mul(*(o**b / math.factorial(b) for o, b in _both(self.offsets, beta)))

    def _shown(self, expression: sympy.Expr) -> sympy.Expr:
        return sympy.expand(expression.subs(self.zeros))


def _both(first: Iterable[Any], second: Iterable[Any]) -> Iterable[tuple[Any, Any]]:
    return zip(first, second, strict=True)


def exact(number: float) -> sympy.Rational:
    """The decimal that a float is written as.

    >>> exact(0.1)
    1/10
    """
    return sympy.Rational(repr(number))
