"""Polynomials in parameters, over the smallest field that holds their constants."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import QQ
from sympy.polys.rings import PolyElement, PolyRing

from ssiode.errors import InputError
from ssiode.hermite.polynomial.constants import Constant, ConstantBasis, Monomial

MAX_EXTENSION = 4

Polynomial = Mapping[tuple[int, ...], Constant]


@dataclass(frozen=True)
class ParameterRing:
    """The ring of polynomials in the parameters, and how to come to it.

    Attributes
    ----------
    ring : PolyRing
        Over QQ, a field of roots, or the fractions in one product of pi and roots.
    constants : dict
        What the symbols in the field stand for.
    values : dict
        Elements of the field by the products of roots and powers of pi that they are.
    """

    ring: PolyRing
    constants: dict[sympy.Symbol, sympy.Expr]
    values: dict[Monomial, Any]

    def element(self, polynomial: Polynomial) -> PolyElement:
        """Return a polynomial whose constants are in the field."""
        terms = {powers: self._number(value) for powers, value in polynomial.items()}
        return self.ring.from_dict({powers: value for powers, value in terms.items() if value})

    def _number(self, constant: Constant) -> Any:
        domain = self.ring.domain
        total = domain.zero
        for monomial, value in constant.items():
            total += domain.convert_from(value, QQ) * self.values[monomial]
        return total


def parameter_ring(
    polynomials: Iterable[Polynomial], basis: ConstantBasis, parameters: Sequence[sympy.Symbol]
) -> ParameterRing:
    """Return a ring for polynomials in the parameters.

    Raises
    ------
    InputError
        If the field is none of those that are dealt with.

    Examples
    --------
    >>> b = sympy.Symbol("b", real=True)
    >>> basis = ConstantBasis.of([sympy.sqrt(2)])
    >>> found = parameter_ring([{(1,): {(1,): QQ(3)}, (0,): {(0,): QQ(1)}}], basis, [b])
    >>> found.element({(1,): {(1,): QQ(3)}}).as_expr()
    3*sqrt(2)*b
    """
    used = {
        monomial
        for polynomial in polynomials
        for constant in polynomial.values()
        for monomial in constant
        if any(monomial)
    }
    if basis.has_pi and any(monomial[-1] for monomial in used):
        return _with_pi(used, basis, parameters)
    return _with_roots(used, basis, parameters)


def _with_roots(
    used: Iterable[Monomial], basis: ConstantBasis, parameters: Sequence[sympy.Symbol]
) -> ParameterRing:
    places = sorted({place for monomial in used for place, k in enumerate(monomial) if k})
    if basis.order ** len(places) > MAX_EXTENSION:
        raise InputError(
            f"constants of degree {basis.order ** len(places)} over the rationals are too many to "
            "solve for the parameters"
        )
    exponent = sympy.Rational(1, basis.order)
    numbers = [sympy.Integer(basis.radicands[place]) ** exponent for place in places]
    domain = QQ.algebraic_field(*numbers) if numbers else QQ
    roots = {p: domain.from_sympy(n) for p, n in zip(places, numbers, strict=True)}
    values = {
        monomial: math.prod(
            (roots[place] ** k for place, k in enumerate(monomial) if k), start=domain.one
        )
        for monomial in (*used, basis.one)
    }
    return ParameterRing(PolyRing(tuple(parameters), domain), {}, values)


def _with_pi(
    used: Iterable[Monomial], basis: ConstantBasis, parameters: Sequence[sympy.Symbol]
) -> ParameterRing:
    """Use fractions in one product of pi and roots, which is transcendental like pi."""
    unit = min(used, key=lambda monomial: (not monomial[-1], abs(monomial[-1]), monomial))
    symbol = sympy.Dummy("t", positive=True)
    domain = QQ.frac_field(symbol)
    (generator,) = domain.gens
    values = {basis.one: domain.one}
    for monomial in used:
        times, rest = divmod(monomial[-1], unit[-1])
        left = tuple(k - times * u for k, u in zip(monomial, unit, strict=True))
        factor, root = basis.reduce(left)
        if rest or any(root):
            raise InputError(
                "constants with roots and pi together are too many to solve for the parameters"
            )
        values[monomial] = domain.convert_from(factor, QQ) * generator**times
    constants = {symbol: basis.expression({unit: QQ(1)})}
    return ParameterRing(PolyRing(tuple(parameters), domain), constants, values)


def made_monic(polynomial: Polynomial, basis: ConstantBasis) -> dict[tuple[int, ...], Constant]:
    """Divide a polynomial by its leading coefficient if that is a single product of roots.

    This often leaves rationals alone, and makes equal polynomials equal up to factors.
    """
    lead = polynomial[max(polynomial)]
    if len(lead) > 1:
        return dict(polynomial)
    inverse = basis.inverse(lead)
    return {powers: basis.multiply(value, inverse) for powers, value in polynomial.items()}


def is_constant(polynomial: Polynomial) -> bool:
    """Whether a polynomial that is not 0 has no parameter in it."""
    return all(not any(powers) for powers in polynomial)
