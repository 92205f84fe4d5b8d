r"""Exact arithmetic with the constants of polynomial targets: roots of rationals and powers of pi.

A constant is a sum of rationals times products of :math:`b_i^{k_i/n}` (:math:`0 \le k_i < n`) and
:math:`\pi^{k/n}`. The :math:`b_i` are pairwise coprime whole numbers and no p-th powers for a
prime p that divides n, so these products are linearly independent over the rationals (Besicovitch
1940; pi is transcendental): a constant is zero if and only if all its rationals are. Finding
coprime :math:`b_i` takes greatest common divisors alone, nothing is ever factored into primes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import sympy
from mpmath import iv
from sympy import QQ

from ssiode.errors import InputError

MAX_ORDER = 60
MAX_ROOTS = 64
_MAX_CONJUGATES = 6

Monomial = tuple[int, ...]
Constant = dict[Monomial, Any]


class NotPolynomialError(InputError):
    """A target is not a polynomial with exact coefficients; the message names the part."""


@dataclass(frozen=True)
class ConstantBasis:
    """The independent roots and powers of pi that occur in some expressions.

    Attributes
    ----------
    radicands : tuple of int
        The b_i.
    order : int
        n, so that the generators are b_i^(1/n) and pi^(1/n).
    has_pi : bool
        Whether pi is a generator; it is the last one.

    Examples
    --------
    >>> basis = ConstantBasis.of([sympy.sqrt(6) + sympy.sqrt(2)])
    >>> basis.radicands, basis.order
    ((2, 3), 2)
    """

    radicands: tuple[int, ...] = ()
    order: int = 1
    has_pi: bool = False

    @classmethod
    def of(cls, expressions: Iterable[sympy.Expr]) -> ConstantBasis:
        """Find the basis for all constants in `expressions`.

        Raises
        ------
        NotPolynomialError
            If a root has too high an order or there are too many independent roots.
        """
        numbers: set[int] = set()
        order, has_pi = 1, False
        for part in _distinct_parts(expressions):
            has_pi = has_pi or part is sympy.pi
            if not is_root(part):
                continue
            order = math.lcm(order, int(part.exp.q))
            if order > MAX_ORDER:
                raise NotPolynomialError(f"{part} is a root of too high an order to be exact here")
            if part.base.is_Rational:
                numbers |= {int(part.base.p), int(part.base.q)}
        radicands = tuple(sorted(_without_powers(b, order) for b in coprime_base(numbers)))
        if len(radicands) > MAX_ROOTS:
            raise NotPolynomialError(
                f"the target has {len(radicands)} independent roots; at most {MAX_ROOTS} are exact"
            )
        return cls(radicands, order, has_pi)

    @property
    def size(self) -> int:
        """Number of generators."""
        return len(self.radicands) + self.has_pi

    @cached_property
    def one(self) -> Monomial:
        """The monomial of a rational."""
        return (0,) * self.size

    def reduce(self, monomial: Monomial) -> tuple[Any, Monomial]:
        """Return the rational and the monomial that `monomial` is, by b = (b^(1/n))^n."""
        factor, reduced = QQ(1), list(monomial)
        for index, radicand in enumerate(self.radicands):
            whole, reduced[index] = divmod(monomial[index], self.order)
            if whole:
                factor *= QQ(radicand) ** whole
        return factor, tuple(reduced)

    def power(self, base: sympy.Expr, exponent: sympy.Rational) -> Constant:
        """Return a power of a positive rational or of pi.

        Examples
        --------
        >>> root = sympy.sqrt(2)
        >>> basis = ConstantBasis.of([root])
        >>> basis.expression(basis.power(sympy.Integer(2), sympy.Rational(-1, 2)))
        sqrt(2)/2
        """
        steps = int(exponent * self.order)
        if base is sympy.pi:
            return {(*self.one[:-1], steps): QQ(1)}
        monomial = list(self.one)
        for index, radicand in enumerate(self.radicands):
            count = _multiplicity(int(base.p), radicand) - _multiplicity(int(base.q), radicand)
            monomial[index] = steps * count
        factor, reduced = self.reduce(tuple(monomial))
        return {reduced: factor}

    def multiply(self, left: Constant, right: Constant) -> Constant:
        """Return the product of two constants."""
        product: Constant = {}
        for a, p in left.items():
            for b, q in right.items():
                factor, monomial = self.reduce(tuple(i + j for i, j in zip(a, b, strict=True)))
                product[monomial] = product.get(monomial, QQ(0)) + p * q * factor
        return {monomial: value for monomial, value in product.items() if value}

    def inverse(self, constant: Constant) -> Constant:
        """Return 1/constant.

        Raises
        ------
        InputError
            If the constant is zero.
        NotPolynomialError
            If the inverse is not a sum of such products, or is too long.
        """
        if not constant:
            raise InputError("division by zero in the target")
        numerator, rest = {self.one: QQ(1)}, constant
        if len(rest) > 1:
            self._check_invertible(constant)
            for index in range(len(self.radicands)):
                conjugate = {m: -q if m[index] % 2 else q for m, q in rest.items()}
                if conjugate != rest:
                    numerator = self.multiply(numerator, conjugate)
                    rest = self.multiply(rest, conjugate)
        ((monomial, value),) = rest.items()
        factor, monomial = self.reduce(tuple(-exponent for exponent in monomial))
        return self.multiply(numerator, {monomial: factor / value})

    def _check_invertible(self, constant: Constant) -> None:
        shown = str(self.expression(constant))[:40]
        is_mixed = self.has_pi and len({monomial[-1] for monomial in constant}) > 1
        if is_mixed or self.order > 2 or len(self.radicands) > _MAX_CONJUGATES:
            raise NotPolynomialError(f"1/({shown}) is not exact here; multiply the target by it")

    def expression(self, constant: Constant) -> sympy.Expr:
        """Return a constant as SymPy."""
        bases = [*map(sympy.Integer, self.radicands), *([sympy.pi] if self.has_pi else [])]
        terms = []
        for monomial, value in sorted(constant.items()):
            roots = [
                b ** sympy.Rational(k, self.order) for b, k in zip(bases, monomial, strict=True)
            ]
            terms.append(
                sympy.Mul(sympy.Rational(int(value.numerator), int(value.denominator)), *roots)
            )
        return sympy.Add(*terms)

    def nearest_float(self, constant: Constant) -> tuple[float, float]:
        """Return the float next to a constant and a bound of its rounding error.

        Too large a constant gives an infinite value with an infinite error.

        Examples
        --------
        >>> ConstantBasis().nearest_float({(): QQ(1, 2)})
        (0.5, 0.0)
        """
        if set(constant) <= {self.one}:
            value = constant.get(self.one, QQ(0))
            exact = Fraction(int(value.numerator), int(value.denominator))
            return _round(exact, exact)
        bits = 128
        while True:
            low, high = self._enclosure(constant, bits)
            # A non-zero constant leaves zero at some precision, so this ends.
            if low * high > 0 and high - low <= abs(low) / 2**60:
                return _round(low, high)
            bits *= 2

    def _enclosure(self, constant: Constant, bits: int) -> tuple[Fraction, Fraction]:
        before, iv.prec = iv.prec, bits
        try:
            bases = [*map(iv.mpf, self.radicands), *([iv.pi] if self.has_pi else [])]
            total = iv.mpf(0)
            for monomial, value in constant.items():
                term = iv.mpf(int(value.numerator)) / iv.mpf(int(value.denominator))
                for base, exponent in zip(bases, monomial, strict=True):
                    if exponent:
                        term *= iv.exp(iv.log(base) * exponent / self.order)
                total += term
            return _fraction(total.a), _fraction(total.b)
        finally:
            iv.prec = before


def is_root(part: sympy.Basic) -> bool:
    """Tell whether `part` is a fractional power of a positive rational or of pi.

    Examples
    --------
    >>> is_root(sympy.sqrt(2)), is_root(sympy.sqrt(1 + sympy.sqrt(2)))
    (True, False)
    """
    if not (part.is_Pow and part.exp.is_Rational and not part.exp.is_Integer):
        return False
    return part.base is sympy.pi or (part.base.is_Rational and part.base > 0)


def coprime_base(numbers: Iterable[int]) -> set[int]:
    """Return pairwise coprime whole numbers of which all `numbers` are products of powers.

    Examples
    --------
    >>> sorted(coprime_base([12, 18]))
    [2, 3]
    """
    base: set[int] = set()
    pending = list(numbers)
    while pending:
        number = pending.pop()
        if number <= 1 or number in base:
            continue
        for other in base:
            common = math.gcd(number, other)
            if common > 1:
                base.remove(other)
                pending += [common, other // common, number // common]
                break
        else:
            base.add(number)
    return base


def _distinct_parts(expressions: Iterable[sympy.Expr]) -> Iterable[sympy.Basic]:
    pending, seen = list(expressions), set()
    while pending:
        part = pending.pop()
        if part not in seen:
            seen.add(part)
            pending.extend(part.args)
            yield part


def _without_powers(number: int, order: int) -> int:
    for prime in sympy.primefactors(order):
        while True:
            root, is_exact = sympy.integer_nthroot(number, prime)
            if not is_exact:
                break
            number = int(root)
    return int(number)


def _multiplicity(number: int, factor: int) -> int:
    count = 0
    while number % factor == 0:
        number, count = number // factor, count + 1
    return count


def _fraction(endpoint: Any) -> Fraction:
    sign, mantissa, exponent, _ = endpoint._mpi_[0]
    value = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return -value if sign else value


def _round(low: Fraction, high: Fraction) -> tuple[float, float]:
    try:
        value = float((low + high) / 2)
    except OverflowError:
        return (math.inf if low > 0 else -math.inf), math.inf
    distance = max(high - Fraction(value), Fraction(value) - low)
    return value, math.nextafter(float(distance), math.inf) if distance else 0.0
