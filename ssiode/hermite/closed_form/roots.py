"""Real roots of polynomials in one variable, where they are exact constants."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key

import sympy
from sympy import QQ

from ssiode.errors import InputError
from ssiode.hermite.closed_form.field import (
    ONE,
    Constant,
    Field,
    NoClosedForm,
    add,
    rational,
    scale,
)
from ssiode.hermite.closed_form.verdict import sign

MAX_ROOT_DEGREE = 12
MAX_ROOT_BITS = 500

_X = sympy.Symbol("x")


def evaluate(field: Field, polynomial: Sequence[Constant], point: Constant) -> Constant:
    """Return the value of a polynomial with coefficients from the lowest power on.

    Examples
    --------
    >>> evaluate(Field(), [rational(1), rational(2)], rational(3)) == rational(7)
    True
    """
    total: Constant = {}
    for coefficient in reversed(polynomial):
        total = add(field.multiply(total, point), coefficient)
    return total


def ordered(field: Field, points: Sequence[Constant]) -> list[Constant]:
    """Return constants from the smallest to the largest, proved."""

    def compare(left: Constant, right: Constant) -> int:
        return sign(field, add(left, scale(right, -1)))

    return sorted(points, key=cmp_to_key(compare))


def real_roots(field: Field, polynomial: Sequence[Constant]) -> list[Constant]:
    """Return the real roots of a polynomial that is not zero, each once.

    Raises
    ------
    NoClosedForm
        If they are not roots of linear, quadratic and two-term factors.

    Examples
    --------
    >>> real_roots(Field(), [rational(-1), {}, rational(1)]) == [rational(-1), rational(1)]
    True
    """
    if len(polynomial) - 1 > MAX_ROOT_DEGREE:
        raise NoClosedForm(f"break points of a degree higher than {MAX_ROOT_DEGREE} are not exact")
    if all(set(coefficient) <= {ONE} for coefficient in polynomial):
        return ordered(field, _rational_roots(field, polynomial))
    zeros = [{}] if not polynomial[0] else []
    rest = list(polynomial)
    while not rest[0]:
        rest.pop(0)
    return ordered(field, zeros + _simple_roots(field, rest))


def _rational_roots(field: Field, polynomial: Sequence[Constant]) -> list[Constant]:
    values = [coefficient.get(ONE, QQ(0)) for coefficient in reversed(polynomial)]
    longest = max(int(q.numerator).bit_length() + int(q.denominator).bit_length() for q in values)
    if longest > MAX_ROOT_BITS:
        raise InputError(f"break points with more than {MAX_ROOT_BITS} binary digits; use fewer")
    found = []
    for factor, _ in sympy.Poly.from_list(values, _X, domain=QQ).factor_list()[1]:
        coefficients = [rational(int(c.p), int(c.q)) for c in reversed(factor.all_coeffs())]
        is_simple = len(coefficients) <= 3 or not any(coefficients[1:-1])
        if not is_simple and not factor.count_roots():
            continue
        found += _simple_roots(field, coefficients)
    return found


def _simple_roots(field: Field, polynomial: Sequence[Constant]) -> list[Constant]:
    degree = len(polynomial) - 1
    if degree == 0:
        return []
    lead = field.inverse(polynomial[-1])
    if not any(polynomial[1:-1]):
        return _two_term_roots(field, scale(field.multiply(polynomial[0], lead), -1), degree)
    if degree > 2:
        raise NoClosedForm("break points that are roots of a cubic or higher are not exact here")
    half = scale(field.multiply(polynomial[1], lead), QQ(-1, 2))
    product = field.multiply(polynomial[0], lead)
    return [
        add(half, root)
        for root in _two_term_roots(field, add(field.multiply(half, half), scale(product, -1)), 2)
    ]


def _two_term_roots(field: Field, value: Constant, degree: int) -> list[Constant]:
    """Return the real solutions of x^degree = value."""
    side = sign(field, value)
    if not side:
        return [{}]
    if degree == 1:
        return [value]
    if side < 0 and degree % 2 == 0:
        return []
    root = field.fractional_power(scale(value, side), sympy.Rational(1, degree))
    return [scale(root, -1), root] if degree % 2 == 0 else [scale(root, side)]
