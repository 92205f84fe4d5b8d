"""Whether an exact constant is zero: proved, disproved, or neither, with a float and its error."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from ssiode.hermite.closed_form.enclosure import enclosure
from ssiode.hermite.closed_form.field import Constant, Field, NoClosedForm
from ssiode.hermite.coefficient import Verdict

PRECISIONS = (96, 192, 256, 512, 1024, 2048, 4096)
_NARROW = Fraction(1, 2**60)


class Judgement(NamedTuple):
    """What is known about a constant.

    Attributes
    ----------
    verdict : Verdict
        Whether it is zero.
    value, error : float
        A float and a bound of its distance from the constant.
    reason : str
        The proof in a few words.
    """

    verdict: Verdict
    value: float
    error: float
    reason: str


def judge(field: Field, constant: Constant) -> Judgement:
    """Decide whether a real constant is zero.

    It is if its normal form is empty, and is not if an interval that contains it leaves out 0 at
    some precision to 4096 bits.

    Examples
    --------
    >>> from ssiode.hermite.closed_form.field import add, rational, scale
    >>> field = Field()
    >>> third = field.exp(rational(1, 3))
    >>> judge(field, add(field.power(third, 3), scale(field.exp(rational(1)), -1))).verdict.value
    'zero'
    >>> judge(field, field.erf(rational(1)))[:2]
    (<Verdict.NONZERO: 'nonzero'>, 0.8427007929497149)
    """
    if not constant:
        return Judgement(Verdict.ZERO, 0.0, 0.0, "exact value")
    for bits in PRECISIONS:
        low, high = enclosure(field, constant, bits)
        if low * high > 0 and high - low <= _NARROW * abs(low):
            break
    value, error = nearest_float(low, high)
    if low * high > 0:
        return Judgement(Verdict.NONZERO, value, error, "exact value")
    reason = f"not told from 0 with {PRECISIONS[-1]} bits"
    return Judgement(Verdict.UNDECIDED, value, error, reason)


def sign(field: Field, constant: Constant) -> int:
    """Return the sign of a real constant, proved.

    Raises
    ------
    NoClosedForm
        If it is not known.

    Examples
    --------
    >>> from sympy import QQ
    >>> from ssiode.hermite.closed_form.field import add, rational
    >>> field = Field()
    >>> sign(field, add(field.root(QQ(2), 2), rational(-3, 2)))
    -1
    """
    if not constant:
        return 0
    if len(constant) == 1:
        (key, value), *_ = constant.items()
        if not (key[2] or key[3] or key[4]):
            return 1 if value > 0 else -1
    for bits in PRECISIONS:
        low, high = enclosure(field, constant, bits)
        if low * high > 0:
            return 1 if low > 0 else -1
    raise NoClosedForm("the sign of a constant of the target is not known")


def nearest_float(low: Fraction, high: Fraction) -> tuple[float, float]:
    """Return the float next to the middle of an interval and a bound of its error in it.

    Examples
    --------
    >>> nearest_float(Fraction(1, 2), Fraction(1, 2))
    (0.5, 0.0)
    """
    try:
        value = float((low + high) / 2)
    except OverflowError:
        return (math.inf if low > 0 else -math.inf), math.inf
    distance = max(high - Fraction(value), Fraction(value) - low)
    try:
        return value, math.nextafter(float(distance), math.inf) if distance else 0.0
    except OverflowError:
        return value, math.inf
