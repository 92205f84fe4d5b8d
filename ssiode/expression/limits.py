"""Limits that keep the reading of an expression short, all checked before the costly step."""

from __future__ import annotations

import math
import numbers

import sympy

from ssiode.errors import InputError

MAX_TEXT = 100_000
MAX_DEPTH = 100
# Python's parser nests a chain as deep as it is long and gives up at about 2990 links.
MAX_CHAIN = 2500
MAX_NODES = 80_000
MAX_LENGTH = 1000
MAX_HERMITE_ORDER = 100
MAX_EXPONENT = 1000
MAX_BITS = 4096
MAX_DECIMAL_EXPONENT = 300

_LARGEST = 10**MAX_DECIMAL_EXPONENT
_NUMBER_RANGE = "numbers must be 0 or between 1e-300 and 1e300 in size"


def shorten(text: str, width: int = 40) -> str:
    """Return `text` quoted, in ASCII, on one line and cut to about `width` characters.

    Examples
    --------
    >>> print(shorten("z1  +  z2", width=6))
    'z1 ...'
    """
    joined = " ".join(text[: 4 * width].split())
    cut = joined if len(joined) <= width else joined[: width - 3] + "..."
    return ascii(cut)


def number_error(what: str) -> InputError:
    """Return the error for a number out of range.

    Examples
    --------
    >>> print(number_error("10**400"))
    10**400 is out of range; numbers must be 0 or between 1e-300 and 1e300 in size
    """
    return InputError(f"{what} is out of range; {_NUMBER_RANGE}")


def checked_rational(value: sympy.Rational, what: str = "a number in the expression") -> sympy.Expr:
    """Return `value` if its size and its digits are within the limits, else raise `InputError`.

    Examples
    --------
    >>> checked_rational(sympy.Rational(1, 3))
    1/3
    """
    size, divisor = abs(value.p), value.q
    if max(size.bit_length(), divisor.bit_length()) > MAX_BITS:
        raise InputError(f"{what} has more than {MAX_BITS} binary digits; use fewer digits")
    if size > _LARGEST * divisor or (size and size * _LARGEST < divisor):
        raise number_error(what)
    return value


def checked_length(length: object) -> int:
    """Return the number of tokens as an int if it is in range, else raise `InputError`.

    Examples
    --------
    >>> checked_length(2)
    2
    """
    is_whole = isinstance(length, numbers.Integral) and not isinstance(length, bool)
    if not is_whole or not 1 <= length <= MAX_LENGTH:
        # A very long integer cannot be printed, and NumPy's integers print their type.
        shown = "out of range" if is_whole and length > 10**9 else ascii(length)[:40]
        raise InputError(f"length is {shown}; it must be a whole number from 1 to {MAX_LENGTH}")
    return int(length)


def checked_float(value: float, what: str) -> float:
    """Return the size of a constant if it is in range, else raise `InputError`.

    Examples
    --------
    >>> checked_float(2.5, "x")
    2.5
    """
    if math.isnan(value) or abs(value) > 1e300 or 0 < abs(value) < 1e-300:
        raise number_error(what)
    return value


def check_power_size(base: sympy.Expr, exponent: sympy.Rational) -> None:
    """Refuse a power whose numbers would be too long to write down.

    Parameters
    ----------
    base : sympy.Expr
        The base; the numbers that multiply in it are what SymPy raises to the power at once.
    exponent : sympy.Rational
        The exponent.

    Raises
    ------
    InputError
        If the result would have more than `MAX_BITS` binary digits.

    Examples
    --------
    >>> check_power_size(sympy.Integer(3), sympy.Integer(10**6))
    Traceback (most recent call last):
    ...
    ssiode.errors.InputError: 3 to the power 1000000 has more than 4096 binary digits
    """
    bits = 0.0
    for factor in sympy.Mul.make_args(base):
        number = factor.base if factor.is_Pow else factor
        if number.is_Rational and number:
            bits += max(_log2(abs(number.p)), _log2(number.q))
    if bits * max(abs(exponent.p) / exponent.q, 1) > MAX_BITS:
        shown = f"{_short_number(base)} to the power {_short_number(exponent)}"
        raise InputError(f"{shown} has more than {MAX_BITS} binary digits")


def check_size(expression: sympy.Expr) -> sympy.Expr:
    """Return `expression` if its leading coefficients and exponents are within the limits.

    Examples
    --------
    >>> from sympy.abc import x
    >>> check_size(3 * x**2)
    3*x**2
    """
    for term in sympy.Add.make_args(expression):
        for factor in sympy.Mul.make_args(term):
            if factor.is_Rational:
                checked_rational(factor)
            elif factor.is_Pow and factor.exp.is_Rational and abs(factor.exp) > MAX_EXPONENT:
                raise InputError(
                    f"the exponent {_short_number(factor.exp)} is out of range; "
                    f"exponents lie between -{MAX_EXPONENT} and {MAX_EXPONENT}"
                )
    return expression


def _log2(value: int) -> float:
    # int.bit_length first: math.log2 of an int is exact enough at any length.
    return math.log2(value) if value > 0 else 0.0


def _short_number(value: sympy.Expr) -> str:
    if value.is_Rational and max(abs(value.p).bit_length(), value.q.bit_length()) > 100:
        return "a long number"
    return shorten(str(value))[1:-1] if value.is_Rational else "the base"
