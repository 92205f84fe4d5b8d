"""How large a polynomial becomes when it is multiplied out, known before it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from ssiode.errors import InputError

MAX_DEGREE = 400
MAX_TERMS = 100_000
MAX_WORK = 5_000_000
MAX_CONVERSIONS = 2_000_000
MAX_BITS = 4096


class Size(NamedTuple):
    """Bounds on a polynomial.

    Attributes
    ----------
    degree, terms : int
        Total degree and number of monomials, at most.
    height : float
        Base-2 logarithm of the sum of the absolute coefficients, at most.
    denominator : int
        A common denominator of the coefficients.
    work : int
        Products of two terms that multiplying out takes, about.
    """

    degree: int = 0
    terms: int = 1
    height: float = 0.0
    denominator: int = 1
    work: int = 0


class Gauge:
    """Combines sizes, for polynomials in `variables` tokens and `roots` products of roots.

    `roots` is None if the number of constants has no bound by degree (powers of pi).

    Examples
    --------
    >>> gauge = Gauge(variables=2, roots=1)
    >>> gauge.power(gauge.sum([Size(degree=1), Size(degree=1)]), 3).terms
    4
    """

    def __init__(self, variables: int, roots: int | None) -> None:
        self.variables = variables
        self.roots = roots

    def sum(self, sizes: Sequence[Size]) -> Size:
        """Return the size of a sum."""
        top = max((size.height for size in sizes), default=0.0)
        spread = math.fsum(2.0 ** max(size.height - top, -1000.0) for size in sizes)
        return self._checked(
            degree=max((size.degree for size in sizes), default=0),
            terms=sum(size.terms for size in sizes),
            height=top + math.log2(max(spread, 1.0)),
            denominator=_common_multiple(sizes),
            work=sum(size.work for size in sizes),
        )

    def product(self, left: Size, right: Size) -> Size:
        """Return the size of a product."""
        return self._checked(
            degree=left.degree + right.degree,
            terms=left.terms * right.terms,
            height=left.height + right.height,
            denominator=left.denominator * right.denominator,
            work=left.work + right.work + left.terms * right.terms,
        )

    def power(self, base: Size, exponent: int) -> Size:
        """Return the size of a power with a whole exponent >= 0."""
        if exponent == 0:
            return Size()
        work = 0
        if exponent > 1 and base.terms > 1:
            # Repeated squaring; its last product costs most.
            work = self._power_terms(base, exponent // 2) ** 2
        return self._raised(base, exponent, base.height * exponent, base.work + work)

    def hermite(self, order: int, argument: Size) -> Size:
        """Return the size of He_n of a polynomial."""
        # One more term for the lower powers of x that come along.
        base = argument._replace(terms=argument.terms + 1)
        height = max(base.height, 0.0) * order + _hermite_height(order)
        self._check_degree(base, order)
        steps = sum(self._power_terms(base, n) for n in range(order))
        return self._raised(base, order, height, base.work + argument.terms * steps)

    def _raised(self, base: Size, exponent: int, height: float, work: int) -> Size:
        self._check_degree(base, exponent)
        if base.denominator.bit_length() * exponent > 2 * MAX_BITS:
            raise _too_long()
        return self._checked(
            degree=base.degree * exponent,
            terms=self._power_terms(base, exponent),
            height=height,
            denominator=base.denominator**exponent,
            work=work,
        )

    def _power_terms(self, base: Size, exponent: int) -> int:
        self._check_degree(base, exponent)
        return self._terms(base.degree * exponent, _multichoose(base.terms, exponent))

    def _check_degree(self, base: Size, exponent: int) -> None:
        # A large power of a constant is no better than a high degree.
        degree = max(base.degree, 1) * exponent
        if degree > MAX_DEGREE:
            raise _too_large("degree", degree, MAX_DEGREE)

    def _terms(self, degree: int, terms: int) -> int:
        if self.roots is None:
            return terms
        return min(terms, math.comb(degree + self.variables, self.variables) * self.roots)

    def check_conversion(self, size: Size, steps: int) -> None:
        """Refuse a change to the Hermite basis that takes `steps` steps if that is too many.

        Raises
        ------
        InputError
            If there are too many steps or too many terms after them.
        """
        if steps > MAX_CONVERSIONS:
            raise _too_large("number of terms in the Hermite basis", steps, MAX_CONVERSIONS)
        check_terms(self._terms(size.degree, steps))

    def _checked(self, degree: int, terms: int, height: float, denominator: int, work: int) -> Size:
        if degree > MAX_DEGREE:
            raise _too_large("degree", degree, MAX_DEGREE)
        if terms > MAX_TERMS:
            terms = self._terms(degree, terms)
        if terms > MAX_TERMS:
            raise _too_large("number of terms", terms, MAX_TERMS)
        if work > MAX_WORK:
            raise _too_large("number of products of terms", work, MAX_WORK)
        if max(height, 0.0) + denominator.bit_length() > 2 * MAX_BITS:
            raise _too_long()
        return Size(degree, terms, height, denominator, work)


def check_width(terms: int, variables: int) -> None:
    """Refuse a table of monomials that would not fit in memory.

    Raises
    ------
    InputError
        If there are too many terms for so many tokens.

    Examples
    --------
    >>> check_width(5050, 100)
    """
    if terms * variables > 100 * MAX_TERMS:
        raise InputError(
            f"the target has up to {terms} terms in {variables} tokens once it is multiplied out; "
            "use fewer tokens or a lower degree"
        )


def check_terms(terms: int) -> None:
    """Refuse an expansion with too many terms.

    Raises
    ------
    InputError
        If there are more than `MAX_TERMS`.

    Examples
    --------
    >>> check_terms(8008)
    """
    if terms > MAX_TERMS:
        raise _too_large("number of terms", terms, MAX_TERMS)


def _multichoose(terms: int, exponent: int) -> int:
    # Past 10^4 terms the answer is past every limit; do not compute its thousands of digits.
    if exponent > 1 and terms > 10_000:
        return terms * terms
    return math.comb(terms + exponent - 1, exponent)


@cache
def _hermite_height(order: int) -> float:
    """Log2 of the sum of the absolute coefficients of He_n, which obey a(n+1) = a(n) + n a(n-1)."""
    before, now = 1, 1
    for n in range(1, order):
        before, now = now, now + n * before
    return math.log2(now)


def _common_multiple(sizes: Sequence[Size]) -> int:
    multiple = 1
    for denominator in {size.denominator for size in sizes}:
        multiple = math.lcm(multiple, denominator)
        if multiple.bit_length() > 2 * MAX_BITS:
            raise _too_long()
    return multiple


def _too_large(what: str, found: int, most: int) -> InputError:
    shown = str(found) if found < 10**12 else "more than 10^12"
    return InputError(
        f"the {what} of the target is {shown} once it is multiplied out; at most {most} is exact"
    )


def _too_long() -> InputError:
    return InputError(
        f"the exact coefficients of the target have more than {2 * MAX_BITS} binary digits; "
        "use shorter numbers or a lower degree"
    )
