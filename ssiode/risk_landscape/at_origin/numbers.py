"""Numbers that are exact where they can be, and otherwise floats with a bound of their error."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Self

from ssiode.hermite.coefficient import Coefficient, Verdict

if TYPE_CHECKING:
    import sympy

_ROUNDING = 4 * 2.0**-53
# Errors below half a unit of the sixth digit change nothing that is shown.
_SHOWN = 5e-7


@dataclass(frozen=True)
class Number:
    """A real number and what is known about its being zero.

    Attributes
    ----------
    value, error : float
        A float and a bound of its distance from the number.
    exact : sympy.Expr or None
        The number itself, if it is known.
    verdict : Verdict
    """

    value: float
    error: float
    exact: sympy.Expr | None
    verdict: Verdict

    @classmethod
    def of_exact(cls, exact: sympy.Expr) -> Self:
        """Judge an exact constant.

        >>> import sympy
        >>> Number.of_exact(sympy.sqrt(2) / 2 - 1 / sympy.sqrt(2)).verdict.value
        'zero'
        """
        return cls(*_judged(exact))

    @classmethod
    def of_float(cls, value: float, error: float) -> Self:
        """A number known up to an error: proved not to be zero if that leaves out zero.

        A zero without an error is the exact one.

        >>> Number.of_float(0.1, 0.2).verdict.value
        'undecided'
        """
        if value == error == 0:
            return zero()
        verdict = Verdict.NONZERO if abs(value) > error else Verdict.UNDECIDED
        return cls(float(value), float(error), None, verdict)

    @classmethod
    def of_coefficient(cls, coefficient: Coefficient) -> Self:
        """Take over a Hermite coefficient with its proof."""
        return cls(coefficient.value, coefficient.error, coefficient.exact, coefficient.verdict)

    @property
    def is_zero(self) -> bool:
        """Whether it is proved to be zero."""
        return self.verdict is Verdict.ZERO

    def __neg__(self) -> Number:
        """The opposite number."""
        exact = None if self.exact is None else -self.exact
        return Number(-self.value, self.error, exact, self.verdict)

    def __mul__(self, other: Number) -> Number:
        """The product, exact if both factors are."""
        if self.is_zero or other.is_zero:
            return zero()
        value = self.value * other.value
        error = abs(self.value) * other.error + abs(other.value) * self.error
        error += self.error * other.error + _ROUNDING * abs(value)
        both = self.verdict is other.verdict is Verdict.NONZERO
        verdict = Verdict.NONZERO if both else Verdict.UNDECIDED
        if self.exact is None or other.exact is None:
            return Number(value, error, None, verdict)
        return Number(value, error, self.exact * other.exact, verdict)


@cache
def zero() -> Number:
    """The exact zero."""
    import sympy

    return Number(0.0, 0.0, sympy.S.Zero, Verdict.ZERO)


def total(numbers: Iterable[Number]) -> Number:
    """The sum, exact if all terms are.

    >>> import sympy
    >>> third = Number.of_exact(sympy.Rational(1, 3))
    >>> total([third, third, Number.of_exact(sympy.Rational(-2, 3))]).is_zero
    True
    """
    terms = [number for number in numbers if not number.is_zero]
    if not terms:
        return zero()
    if all(term.exact is not None for term in terms):
        import sympy

        return Number.of_exact(sympy.Add(*(term.exact for term in terms)))
    if len(terms) == 1:
        return terms[0]
    value = math.fsum(term.value for term in terms)
    size = math.fsum(abs(term.value) for term in terms)
    return Number.of_float(value, math.fsum(t.error for t in terms) + _ROUNDING * size)


def number_text(value: float, error: float) -> str:
    """At most six digits of a number, those that its error leaves, and the error if it is seen.

    >>> number_text(0.56391355, 1e-13), number_text(1.750480, 0.0043)
    ('0.563914', '1.75 +- 0.0043')
    """
    if error <= _SHOWN * abs(value):
        return f"{value:.6g}"
    digits = 2 + math.floor(math.log10(abs(value) / error)) if abs(value) > error else 1
    # Rounded first: thousands are not written as powers of ten for want of digits.
    rounded = float(f"{value:.{min(max(digits, 1), 6)}g}"), float(f"{error:.2g}")
    return " +- ".join(f"{number:.6g}" for number in rounded)


@cache
def _judged(exact: sympy.Expr) -> tuple[float, float, sympy.Expr, Verdict]:
    import sympy

    from ssiode.hermite.sources import coefficient_source

    if exact.is_zero:
        return 0.0, 0.0, sympy.S.Zero, Verdict.ZERO
    found = coefficient_source(exact, [sympy.Symbol("z1", real=True)]).coefficients(0)
    if not found:
        return 0.0, 0.0, sympy.S.Zero, Verdict.ZERO
    (constant,) = found
    return constant.value, constant.error, exact, constant.verdict
