"""SymPy expressions as polynomials over the whole numbers, with their size checked first."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import sympy
from sympy import ZZ
from sympy.polys.rings import PolyElement, PolyRing
from sympy.polys.rings import ring as sympy_ring

from ssiode.expression.functions import He
from ssiode.hermite.polynomial.constants import Constant, ConstantBasis, NotPolynomialError, is_root
from ssiode.hermite.polynomial.monomials import Powers, hermite_terms, to_hermite
from ssiode.hermite.polynomial.sizes import Gauge, Size, check_width


class Polynomials:
    """Multiplies out polynomials in tokens, with the constants of one basis.

    A polynomial is kept as a common denominator and a polynomial over the whole numbers in the
    tokens followed by the generators of the constants.

    Parameters
    ----------
    basis : ConstantBasis
        The roots and powers of pi that occur.
    constant : callable
        Returns the value of an expression without tokens.
    """

    def __init__(self, basis: ConstantBasis, constant: Callable[[sympy.Expr], Constant]) -> None:
        self.basis = basis
        self.constant = constant
        self._values: dict[sympy.Expr, Constant] = {}

    def hermite(
        self, terms: Sequence[sympy.Expr], tokens: Sequence[sympy.Symbol]
    ) -> tuple[int, dict[Powers, int]]:
        """Return a denominator and the whole coefficients of a sum in the Hermite basis.

        Raises
        ------
        NotPolynomialError
            If a part is not a polynomial.
        InputError
            If the polynomial is too large.
        """
        walk = _Walk(self, tokens)
        total = walk.gauge.sum([walk.size(term) for term in terms])
        check_width(total.terms, len(tokens) + self.basis.size)
        monomials = walk.add(terms, total.denominator)
        walk.gauge.check_conversion(total, hermite_terms(monomials, len(tokens)))
        return total.denominator, to_hermite(monomials, len(tokens))

    def value(self, part: sympy.Expr) -> Constant:
        """Return a root, or the inverse of a constant to a whole power."""
        if part not in self._values:
            base, exponent = part.as_base_exp()
            if is_root(part):
                self._values[part] = self.basis.power(base, exponent)
            else:
                inverse = self.basis.inverse(self.constant(base ** (-exponent)))
                self._values[part] = inverse
        return self._values[part]


class _Walk:
    """Sizes, then polynomials, of the parts of one expression."""

    def __init__(self, polynomials: Polynomials, tokens: Sequence[sympy.Symbol]) -> None:
        self.source = polynomials
        self.basis = polynomials.basis
        self.tokens = {token: index for index, token in enumerate(tokens)}
        roots = None if self.basis.has_pi else self.basis.order ** len(self.basis.radicands)
        self.gauge = Gauge(len(tokens), roots)
        self.ring = _ring(max(1, len(tokens) + self.basis.size))
        self._sizes: dict[sympy.Expr, Size] = {}

    def size(self, part: sympy.Expr) -> Size:
        if part not in self._sizes:
            self._sizes[part] = self._size(part)
        return self._sizes[part]

    def _size(self, part: sympy.Expr) -> Size:
        if part.is_Rational:
            return Size(height=_log2(part.p) - math.log2(part.q), denominator=int(part.q))
        if part in self.tokens:
            return Size(degree=1)
        if part is sympy.pi:
            return Size(height=math.log2(math.pi))
        if part.is_Add:
            return self.gauge.sum([self.size(term) for term in part.args])
        if part.is_Mul:
            size = Size()
            for factor in part.args:
                size = self.gauge.product(size, self.size(factor))
            return size
        if isinstance(part, He) and part.args[0].is_Integer:
            return self.gauge.hermite(int(part.args[0]), self.size(part.args[1]))
        if part.is_Pow:
            return self._power_size(part)
        raise NotPolynomialError(f"{describe(part)} is not a polynomial in the tokens")

    def _power_size(self, part: sympy.Expr) -> Size:
        base, exponent = part.args
        if exponent.is_Integer and exponent >= 0:
            return self.gauge.power(self.size(base), int(exponent))
        if not is_root(part):
            if base.free_symbols or not exponent.is_Integer:
                raise NotPolynomialError(f"{describe(part)} is not a polynomial in the tokens")
            self.gauge.power(self.size(base), int(-exponent))
        return self._constant_size(self.source.value(part))

    def _constant_size(self, value: Constant) -> Size:
        rationals = list(value.values())
        denominator = math.lcm(*[int(q.denominator) for q in rationals])
        weight = max(math.log2(b) for b in (2, 4, *self.basis.radicands))
        height = max(_log2(q.numerator) - math.log2(q.denominator) for q in rationals)
        exponents = max(sum(map(abs, monomial)) for monomial in value) / self.basis.order
        return Size(
            terms=len(value),
            height=height + math.log2(len(value)) + exponents * weight,
            denominator=denominator,
        )

    def add(self, terms: Sequence[sympy.Expr], denominator: int) -> dict[Powers, int]:
        """Return the monomials of `denominator` times the sum of `terms`."""
        total: dict[Powers, int] = {}
        for term in terms:
            factor = denominator // self.size(term).denominator
            single = self._monomial(term)
            items = (single,) if single else self.polynomial(term).items()
            for powers, value in items:
                total[powers] = total.get(powers, 0) + factor * int(value)
        return total

    def _monomial(self, term: sympy.Expr) -> tuple[Powers, int] | None:
        """Return a rational times powers of tokens without any polynomial arithmetic."""
        powers, value = [0] * self.ring.ngens, 1
        for factor in sympy.Mul.make_args(term):
            base, exponent = factor.as_base_exp()
            if factor.is_Rational:
                value *= int(factor.p)
            elif base in self.tokens and exponent.is_Integer and exponent > 0:
                powers[self.tokens[base]] += int(exponent)
            else:
                return None
        return tuple(powers), value

    def polynomial(self, part: sympy.Expr) -> PolyElement:
        """Return a part, times the denominator that its size tells."""
        if part.is_Rational:
            return self.ring(int(part.p))
        if part in self.tokens:
            return self.ring.gens[self.tokens[part]]
        if part is sympy.pi:
            return self._from_constant(self.basis.power(sympy.pi, sympy.S.One), 1)
        if part.is_Add:
            return self.ring.from_dict(
                {k: v for k, v in self.add(part.args, self.size(part).denominator).items() if v}
            )
        if part.is_Mul:
            product = self.ring(1)
            for factor in part.args:
                product = self._reduced(product * self.polynomial(factor))
            return product
        if isinstance(part, He):
            return self._hermite(int(part.args[0]), part.args[1])
        base, exponent = part.args
        if exponent.is_Integer and exponent >= 0:
            return self._power(self.polynomial(base), int(exponent))
        return self._from_constant(self.source.value(part), self.size(part).denominator)

    def _power(self, base: PolyElement, exponent: int) -> PolyElement:
        return self._reduced(base**exponent) if exponent else self.ring(1)

    def _hermite(self, order: int, argument: sympy.Expr) -> PolyElement:
        """Return d^n He_n(x/d) of x/d by its recurrence."""
        x, scale = self.polynomial(argument), self.size(argument).denominator ** 2
        before, now = self.ring(0), self.ring(1)
        for n in range(order):
            before, now = now, self._reduced(x * now - n * scale * before)
        return now

    def _from_constant(self, value: Constant, denominator: int) -> PolyElement:
        tokens = (0,) * len(self.tokens)
        terms = {tokens + monomial: int(q * denominator) for monomial, q in value.items()}
        return self.ring.from_dict(terms)

    def _reduced(self, polynomial: PolyElement) -> PolyElement:
        """Replace full powers of roots, (b^(1/n))^n = b, which keeps their number small."""
        first, order = len(self.tokens), self.basis.order
        count = len(self.basis.radicands)
        if not count:
            return polynomial
        reduced: dict[Powers, Any] = {}
        for powers, value in polynomial.items():
            exponents = list(powers)
            for index, radicand in enumerate(self.basis.radicands, first):
                whole, exponents[index] = divmod(powers[index], order)
                value *= radicand**whole
            key = tuple(exponents)
            reduced[key] = reduced.get(key, 0) + value
        return self.ring.from_dict({key: value for key, value in reduced.items() if value})


def describe(part: sympy.Basic) -> str:
    """Return a part of a target as a short text.

    Examples
    --------
    >>> describe(sympy.exp(sympy.Symbol("z1")))
    'exp(z1)'
    """
    if part.count_ops() > 30:
        return f"a part made with {type(part).__name__}"
    text = str(part)
    return text if len(text) <= 60 else text[:57] + "..."


@lru_cache(maxsize=32)
def _ring(generators: int) -> PolyRing:
    return sympy_ring([f"x{index}" for index in range(generators)], ZZ)[0]


def _log2(value: Any) -> float:
    return math.log2(abs(int(value))) if value else 0.0
