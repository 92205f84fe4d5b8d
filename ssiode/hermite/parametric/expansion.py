r"""Hermite coefficients of polynomial targets with free parameters, as polynomials in these.

The parameters are expanded as if they were tokens, and the Hermite polynomials in them multiplied
out again:

.. math:: c_\alpha(b) = \sum_\beta \frac{He_\beta(b)}{\beta!} c_{\alpha\beta}

(for :math:`c_\alpha`: Arnaboldi et al., arXiv 2506.02651, section 3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import sympy
from sympy import QQ

from ssiode.errors import InputError
from ssiode.expression import ParsedExpression
from ssiode.expression.functions import hermite_powers
from ssiode.hermite.polynomial.constants import Constant, ConstantBasis, NotPolynomialError
from ssiode.hermite.polynomial.exact import (
    SparseIndex,
    dense_index,
    hermite_expansion,
    order,
    sort_key,
)

MAX_PARAMETERS = 4
MAX_TERMS = 200_000

Powers = tuple[int, ...]
Polynomial = dict[Powers, Constant]
Key = tuple[int, SparseIndex]


@dataclass(frozen=True)
class ParametricExpansion:
    """The coefficients of all outputs that are not 0 for all parameters.

    Attributes
    ----------
    length : int
        L.
    parameters : tuple of sympy.Symbol
        The free parameters.
    coefficients : mapping
        Polynomials in the parameters by output and sparse multi-index.
    basis : ConstantBasis
        What their constants are made of.
    """

    length: int
    parameters: tuple[sympy.Symbol, ...]
    coefficients: Mapping[Key, Polynomial]
    basis: ConstantBasis

    @cached_property
    def by_order(self) -> dict[int, dict[Key, Polynomial]]:
        """The coefficients by order |alpha|, lowest first."""
        found: dict[int, dict[Key, Polynomial]] = {}
        keys = sorted(self.coefficients, key=lambda key: (sort_key(key[1]), key[0]))
        for key in keys:
            found.setdefault(order(key[1]), {})[key] = self.coefficients[key]
        return found

    @property
    def degree(self) -> int:
        """The highest order with a coefficient."""
        return max(self.by_order, default=0)

    def at_order(self, n: int) -> list[tuple[int, tuple[int, ...], sympy.Expr]]:
        """Return output, alpha and coefficient as SymPy of one order.

        Examples
        --------
        >>> from ssiode.expression import parse_expression
        >>> parametric_expansion(parse_expression("z1^4 + b*z1^2")).at_order(2)
        [(0, (2,), 2*b + 12)]
        """
        return [
            (output, dense_index(index, self.length), self.expression(polynomial))
            for (output, index), polynomial in self.by_order.get(n, {}).items()
        ]

    def expression(self, polynomial: Mapping[Powers, Constant]) -> sympy.Expr:
        """Return a polynomial in the parameters as SymPy."""
        terms = [
            self.basis.expression(value)
            * sympy.Mul(*[b**k for b, k in zip(self.parameters, powers, strict=True)])
            for powers, value in polynomial.items()
        ]
        return sympy.Add(*terms)


def parametric_expansion(parsed: ParsedExpression) -> ParametricExpansion:
    """Expand a polynomial target whose parameters stay free.

    Parameters
    ----------
    parsed : ParsedExpression
        The outputs, tokens and parameters.

    Raises
    ------
    NotPolynomialError
        If an output is not a polynomial in the tokens and the parameters.
    InputError
        If there are too many parameters or terms.

    Examples
    --------
    >>> from ssiode.expression import parse_expression
    >>> found = parametric_expansion(parse_expression("[b*z1, z1*z2 + c]"))
    >>> sorted(found.coefficients)
    [(0, ((0, 1),)), (1, ()), (1, ((0, 1), (1, 1)))]
    """
    if len(parsed.parameters) > MAX_PARAMETERS:
        listed = ", ".join(map(str, parsed.parameters))
        raise InputError(
            f"the target has {len(parsed.parameters)} free parameters ({listed}); give values "
            f"until at most {MAX_PARAMETERS} are left (--param {parsed.parameters[0]}=2)"
        )
    # One variable per output keeps all constants in one basis; it is linear and so stays apart.
    marks = [sympy.Dummy(f"output{place}", real=True) for place in range(len(parsed.outputs))]
    total = sympy.Add(*[m * g for m, g in zip(marks, parsed.outputs, strict=True)])
    try:
        expansion = hermite_expansion(total, (*parsed.tokens, *parsed.parameters, *marks))
    except NotPolynomialError as error:
        raise NotPolynomialError(
            "a target with free parameters must be a polynomial in tokens and parameters: "
            f"{str(error).removesuffix(' in the tokens')}; give {parsed.parameters[0]} a value "
            f"(--param {parsed.parameters[0]}=2)"
        ) from error
    found: dict[Key, Polynomial] = {}
    first, last = parsed.length, parsed.length + len(parsed.parameters)
    terms = 0
    for index, value in expansion.coefficients.items():
        alpha = tuple((place, n) for place, n in index if place < first)
        beta = {place - first: n for place, n in index if first <= place < last}
        ((mark, _),) = [(place, n) for place, n in index if place >= last]
        polynomial = found.setdefault((mark - last, alpha), {})
        terms += _add_hermite(polynomial, beta, value, len(parsed.parameters))
        if terms > MAX_TERMS:
            raise InputError(
                f"the coefficients of the target have more than {MAX_TERMS} terms in the "
                "parameters; give values to some of them"
            )
    cleaned = {key: _cleaned(polynomial) for key, polynomial in found.items()}
    coefficients = {key: polynomial for key, polynomial in cleaned.items() if polynomial}
    return ParametricExpansion(parsed.length, parsed.parameters, coefficients, expansion.basis)


def _add_hermite(
    polynomial: Polynomial, beta: Mapping[int, int], value: Constant, count: int
) -> int:
    """Add value He_beta(b) / beta! and return the number of terms."""
    terms: dict[Powers, int] = {(0,) * count: 1}
    for place, n in beta.items():
        terms = {
            (*powers[:place], k, *powers[place + 1 :]): factor * c
            for powers, factor in terms.items()
            for k, c in hermite_powers(n).items()
        }
    divisor = math.prod(map(math.factorial, beta.values()))
    for powers, factor in terms.items():
        total = polynomial.setdefault(powers, {})
        for monomial, number in value.items():
            total[monomial] = total.get(monomial, QQ(0)) + number * QQ(factor, divisor)
    return len(terms)


def _cleaned(polynomial: Polynomial) -> Polynomial:
    nonzero = {p: {m: q for m, q in value.items() if q} for p, value in polynomial.items()}
    return {powers: value for powers, value in nonzero.items() if value}
