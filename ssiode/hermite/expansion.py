r"""Hermite expansions up to an order, and how much of the target they leave out.

.. math:: g = \sum_\alpha \frac{c_\alpha}{\alpha!} He_\alpha, \qquad
          \Big\|g - \sum_{|\alpha| \le N}\Big\|^2 = E[g^2] - \sum_{|\alpha|\le N} c_\alpha^2/\alpha!
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sympy

from ssiode.errors import whole_number
from ssiode.expression import ParsedExpression
from ssiode.hermite.coefficient import Coefficient, Verdict
from ssiode.hermite.sources import CoefficientSource, coefficient_source

_SHOWN_DIGITS = 6


@dataclass(frozen=True)
class ExpansionTerm:
    r"""A coefficient :math:`c_\alpha` of one output.

    Attributes
    ----------
    output : int
        Which output, from 0.
    alpha : tuple of int
        One order per token.
    coefficient : str or None
        The exact value as text; None if only numbers are known.
    value, error : float or None
        A float and a bound of its distance from the exact value; None with free parameters.
    verdict : str
        `nonzero`, which with free parameters means for almost all of them, or `undecided` if it may
        be zero; proved zeros are left out.
    latex : str
        The term :math:`c_\alpha/\alpha!\,He_\alpha` in LaTeX.
    """

    output: int
    alpha: tuple[int, ...]
    coefficient: str | None
    value: float | None
    error: float | None
    verdict: str
    latex: str


@dataclass(frozen=True)
class Expansion:
    """A target up to an order.

    Attributes
    ----------
    order, length, outputs : int
        N, the number of tokens L and the number of outputs k.
    terms : tuple of ExpansionTerm
        All coefficients with |alpha| <= N that are not proved zero, by output and order.
    left_out_norm, left_out_error : tuples of k floats
        L2 norm of what is left out of each output, and the error of that; None with free
        parameters.
    left_out_squared : tuple of k str
        Its exact square as a polynomial in free parameters; None without any.
    """

    order: int
    length: int
    outputs: int
    terms: tuple[ExpansionTerm, ...]
    left_out_norm: tuple[float | None, ...]
    left_out_error: tuple[float | None, ...]
    left_out_squared: tuple[str | None, ...]

    def latex(self, output: int = 0) -> str:
        r"""Return one output in LaTeX, with dots if something is left out.

        >>> print(hermite_coefficients("z1^2*z2", order=1).latex())
        \mathrm{He}_{1}(z_{2}) + \dots
        """
        terms = [term.latex for term in self.terms if term.output == output]
        norm, error = self.left_out_norm[output], self.left_out_error[output]
        is_cut = self.left_out_squared[output] != "0" if norm is None else norm > error
        if is_cut:
            terms.append(r"\dots")
        return " + ".join(terms).replace("+ -", "- ") or "0"

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        data = asdict(self)
        data["coefficients"] = data.pop("terms")
        data["latex"] = [self.latex(output) for output in range(self.outputs)]
        return data


def hermite_coefficients(
    target: Any,
    order: int,
    length: int | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Expansion:
    """Expand a target in Hermite polynomials up to an order.

    Parameters
    ----------
    target : str, sympy.Expr, list of them, or Target
        The target g in the tokens z1, ..., zL, or the name of one, "positional-semantic".
    order : int
        N >= 0, at most 40 where coefficients have a closed form and 12 where they are numbers;
        any for polynomials.
    length : int, optional
        L; by default the highest token that is used.
    parameters : mapping, optional
        Values of the free names of the target. Names without a value stay symbolic, in polynomials.

    Raises
    ------
    InputError
        If the target cannot be read, is not square-integrable, or the order is too high.

    Examples
    --------
    >>> found = hermite_coefficients("abs(z1)", order=2)
    >>> [(term.alpha, term.coefficient) for term in found.terms]
    [((0,), 'sqrt(2)/sqrt(pi)'), ((2,), 'sqrt(2)/sqrt(pi)')]
    >>> round(found.left_out_norm[0], 6)
    0.212298
    >>> found = hermite_coefficients("z1^4 + b*z1^2", order=2)
    >>> [(term.alpha, term.coefficient) for term in found.terms]
    [((0,), 'b + 3'), ((2,), '2*b + 12')]
    """
    from ssiode.exponent import read_target

    order = whole_number("order", order, minimum=0)
    parsed = read_target(target, length, parameters, keep_free=True)
    if parsed.parameters:
        return _with_parameters(parsed, order)
    terms, norms = [], []
    for output, expression in enumerate(parsed.outputs):
        source = coefficient_source(expression, parsed.tokens)
        kept = [c for n in range(order + 1) for c in source.coefficients(n)]
        terms += [_term(output, coefficient) for coefficient in kept]
        norms.append(_left_out(expression, parsed.tokens, source, order))
    return Expansion(
        order=order,
        length=parsed.length,
        outputs=len(parsed.outputs),
        terms=tuple(terms),
        left_out_norm=tuple(norm for norm, _ in norms),
        left_out_error=tuple(error for _, error in norms),
        left_out_squared=(None,) * len(norms),
    )


def _with_parameters(parsed: ParsedExpression, order: int) -> Expansion:
    """Expand a polynomial target whose parameters stay free."""
    from ssiode.hermite.parametric.expansion import parametric_expansion

    expansion = parametric_expansion(parsed)
    outputs = len(parsed.outputs)
    terms, left_out = [], [sympy.S.Zero] * outputs
    for n in range(expansion.degree + 1):
        for output, alpha, exact in expansion.at_order(n):
            if n > order:
                left_out[output] += exact**2 / _factorial(alpha)
            else:
                latex = _latex(alpha, exact)
                terms.append(ExpansionTerm(output, alpha, str(exact), None, None, "nonzero", latex))
    return Expansion(
        order=order,
        length=parsed.length,
        outputs=outputs,
        terms=tuple(sorted(terms, key=lambda term: term.output)),
        left_out_norm=(None,) * outputs,
        left_out_error=(None,) * outputs,
        left_out_squared=tuple(str(sympy.expand(square)) for square in left_out),
    )


def _left_out(
    expression: sympy.Expr,
    tokens: Sequence[sympy.Symbol],
    source: CoefficientSource,
    order: int,
) -> tuple[float, float]:
    highest = source.highest_order
    if highest is None:
        from ssiode.hermite.numeric.coefficients import truncation_norm

        return truncation_norm(expression, tokens, order)
    squares = [
        (c.value**2 / _factorial(c.alpha), 2 * abs(c.value) * c.error / _factorial(c.alpha))
        for n in range(order + 1, highest + 1)
        for c in source.coefficients(n)
    ]
    total = math.fsum(square for square, _ in squares)
    norm = math.sqrt(total)
    rounding = math.fsum(error for _, error in squares) + 4e-16 * total
    return norm, rounding / norm if norm else 0.0


def _term(output: int, coefficient: Coefficient) -> ExpansionTerm:
    exact = coefficient.exact
    return ExpansionTerm(
        output=output,
        alpha=coefficient.alpha,
        coefficient=None if exact is None else str(exact),
        value=coefficient.value,
        error=coefficient.error,
        verdict=(
            "undecided" if coefficient.verdict is Verdict.UNDECIDED else coefficient.verdict.value
        ),
        latex=_latex(coefficient.alpha, exact, coefficient.value),
    )


def _latex(alpha: tuple[int, ...], exact: sympy.Expr | None, value: float = 0.0) -> str:
    factorial = _factorial(alpha)
    if exact is None:
        factor = f"{value / factorial:.{_SHOWN_DIGITS}g}"
    else:
        shown = exact / factorial
        text = sympy.latex(shown)
        factor = rf"\left({text}\right)" if shown.is_Add else text
    powers = [(token, power) for token, power in enumerate(alpha, 1) if power]
    polynomials = [rf"\mathrm{{He}}_{{{power}}}(z_{{{token}}})" for token, power in powers]
    product = " ".join(polynomials)
    if not product:
        return factor
    sign = {"1": "", "-1": "-"}.get(factor)
    return f"{factor} {product}" if sign is None else f"{sign}{product}"


def _factorial(alpha: tuple[int, ...]) -> int:
    return math.prod(map(math.factorial, alpha))
