r"""Exact constants as SymPy expressions and as intervals that contain them.

A constant is a sum of complex monomials whose imaginary parts cancel; both kinds of value are
computed as pairs of a real and an imaginary part, the latter None where it is exactly zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import sympy
from mpmath import iv

if TYPE_CHECKING:
    from ssiode.hermite.closed_form.field import Constant, Field, Key

_Pair = tuple[Any, Any]


class _Arithmetic(NamedTuple):
    """What numbers of one kind need."""

    rational: Callable[[int, int], Any]
    root: Callable[[int, int], Any]
    pi_power: Callable[[int], Any]
    exp: Callable[[Any], Any]
    cos: Callable[[Any], Any]
    sin: Callable[[Any], Any]
    erf: Callable[[Any], Any]


def as_expression(field: Field, constant: Constant) -> sympy.Expr:
    """Return a real constant as SymPy.

    Examples
    --------
    >>> from sympy import QQ
    >>> from ssiode.hermite.closed_form.field import Field, rational, scale
    >>> field = Field()
    >>> as_expression(field, scale(field.exp(rational(1, 2)), QQ(3)))
    3*exp(1/2)
    """
    return _Values(field, _SYMBOLIC).real(constant)


def enclosure(field: Field, constant: Constant, bits: int) -> tuple[Fraction, Fraction]:
    """Return two rationals between which a real constant lies.

    Examples
    --------
    >>> from ssiode.hermite.closed_form.field import Field, rational
    >>> field = Field()
    >>> low, high = enclosure(field, field.erf(rational(1)), 64)
    >>> round(float(low), 12), low < high
    (0.84270079295, True)
    """
    value = _interval(field, constant, bits)[0]
    return _fraction(value.a), _fraction(value.b)


def magnitude(field: Field, constant: Constant) -> tuple[float, float]:
    """Return upper bounds of the absolute real and imaginary parts.

    Examples
    --------
    >>> from ssiode.hermite.closed_form.field import Field, rational
    >>> magnitude(Field(), rational(-3))
    (3.0, 0.0)
    """
    bounds = []
    for part in _interval(field, constant, 53):
        largest = iv.mpf(0) if part is None else abs(part)
        try:
            bounds.append(float(largest.b))
        except OverflowError:
            bounds.append(math.inf)
    return bounds[0], bounds[1]


def _interval(field: Field, constant: Constant, bits: int) -> _Pair:
    before, iv.prec = iv.prec, bits
    try:
        return _Values(field, _INTERVALS).pair(constant)
    finally:
        iv.prec = before


class _Values:
    """Values of constants in one arithmetic, with those of the atoms remembered."""

    def __init__(self, field: Field, arithmetic: _Arithmetic) -> None:
        self.field = field
        self.arithmetic = arithmetic
        self._exponentials: dict[int, _Pair] = {}
        self._atoms: dict[tuple[str, int], Any] = {}

    def real(self, constant: Constant) -> Any:
        return self.pair(constant)[0]

    def pair(self, constant: Constant) -> _Pair:
        total, imaginary = self.arithmetic.rational(0, 1), None
        for key, value in sorted(constant.items()):
            size = self._size(key, value)
            real, other = self._exponential(key[3]) if key[3] else (1, None)
            if key[2]:
                real, other = None if other is None else -other, real
            if real is not None:
                total = total + size * real
            if other is not None:
                imaginary = size * other if imaginary is None else imaginary + size * other
        return total, imaginary

    def _size(self, key: Key, value: Any) -> Any:
        size = self.arithmetic.rational(int(value.numerator), int(value.denominator))
        if key[0]:
            size = size * self._atom("root", key[0])
        if key[1]:
            size = size * self._atom("pi", key[1])
        for argument in self.field.products[key[4]]:
            size = size * self._atom("erf", argument)
        return size

    def _atom(self, kind: str, number: int) -> Any:
        if (kind, number) not in self._atoms:
            self._atoms[kind, number] = self._new_atom(kind, number)
        return self._atoms[kind, number]

    def _new_atom(self, kind: str, number: int) -> Any:
        if kind == "root":
            return self.arithmetic.root(*self.field.roots[number])
        if kind == "pi":
            return self.arithmetic.pi_power(number)
        return self.arithmetic.erf(self.real(self.field.arguments[number]))

    def _exponential(self, number: int) -> _Pair:
        if number not in self._exponentials:
            real, imaginary = self.pair(self.field.exponents[number])
            growth = self.arithmetic.exp(real)
            self._exponentials[number] = (
                (growth, None)
                if imaginary is None
                else (
                    growth * self.arithmetic.cos(imaginary),
                    growth * self.arithmetic.sin(imaginary),
                )
            )
        return self._exponentials[number]


def _interval_root(radicand: int, order: int) -> Any:
    number = iv.mpf(radicand)
    return iv.sqrt(number) if order == 2 else iv.exp(iv.log(number) / order)


def _interval_pi_power(halves: int) -> Any:
    whole, half = divmod(halves, 2)
    return iv.pi**whole * iv.sqrt(iv.pi) if half else iv.pi**whole


def _interval_erf(x: Any) -> Any:
    r"""Enclose the error function by a series of positive terms.

    .. math:: \mathrm{erf}(x) = \frac{2x}{\sqrt\pi} e^{-x^2} \sum_n \frac{(2x^2)^n}{(2n+1)!!}
    """
    square = x**2
    smallest = square.a
    if smallest > 0.7 * iv.prec + 10:
        # 1 - erf(x) < exp(-x^2) for positive x, and exp decreases.
        near_one = iv.mpf([(1 - iv.exp(-smallest)).a, 1])
        return near_one if x > 0 else -near_one
    if square.b > 2 * iv.prec + 100:
        return iv.mpf([-1, 1])
    term, total, n = iv.mpf(1), iv.mpf(1), 0
    threshold = iv.mpf(2) ** (-iv.prec - 8)
    while True:
        ratio = 2 * square / (2 * n + 3)
        term, n = term * ratio, n + 1
        total = total + term
        # Once each term is less than half the one before, all that follow are less than it.
        if ratio.b < 0.5 and (term < threshold) is True:
            break
    total = total + iv.mpf([0, term.b])
    return 2 * x / iv.sqrt(iv.pi) * iv.exp(-square) * total


def _fraction(endpoint: Any) -> Fraction:
    sign, mantissa, exponent, _ = endpoint._mpi_[0]
    value = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return -value if sign else value


_SYMBOLIC = _Arithmetic(
    rational=sympy.Rational,
    root=lambda radicand, order: sympy.Integer(radicand) ** sympy.Rational(1, order),
    pi_power=lambda halves: sympy.pi ** sympy.Rational(halves, 2),
    exp=sympy.exp,
    cos=sympy.cos,
    sin=sympy.sin,
    erf=sympy.erf,
)
_INTERVALS = _Arithmetic(
    rational=lambda p, q: iv.mpf(p) / iv.mpf(q),
    root=_interval_root,
    pi_power=_interval_pi_power,
    exp=iv.exp,
    cos=iv.cos,
    sin=iv.sin,
    erf=_interval_erf,
)
