r"""How many samples weak recovery takes, for any student and for students that are even.

With n the Sequence Information Exponent, the best learning rate :math:`\gamma`, the time t of the
ODE and the number of samples :math:`\tau = t\,d/\gamma` scale as

.. math:: \gamma \sim 1,\ \frac{1}{\log d},\ d^{1 - n/2}, \qquad
          t \sim 1,\ \log d,\ d^{n/2 - 1}, \qquad \tau \sim d,\ d \log^2 d,\ d^{n - 1}

for n = 1, n = 2 and n >= 3 (Arnaboldi et al., arXiv 2506.02651, Theorem 1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from ssiode.errors import InputError, whole_number
from ssiode.hermite.coefficient import Verdict

VerdictOf = Callable[[int], Verdict | str] | Mapping[int, Verdict | str]

_BLIND = "attention without positional encoding or injection sees only the even part of the target"


@dataclass(frozen=True)
class SampleComplexity:
    """Scales of weak recovery in the dimension d, up to constants.

    Attributes
    ----------
    exponent : int
        The Sequence Information Exponent n.
    samples : str
        Number of samples tau.
    learning_rate : str
        The best learning rate gamma.
    time : str
        Time t of the ODE, gamma tau / d.

    Examples
    --------
    >>> SampleComplexity.of(3)
    SampleComplexity(exponent=3, samples='d^2', learning_rate='d^(-1/2)', time='d^(1/2)')
    """

    exponent: int
    samples: str
    learning_rate: str
    time: str

    @classmethod
    def of(cls, exponent: int) -> SampleComplexity:
        """Return the scales at an exponent.

        Raises
        ------
        InputError
            If the exponent is not a whole number >= 1.
        """
        n = whole_number("exponent", exponent, minimum=1)
        time = "log d" if n == 2 else _power(max(Fraction(n, 2) - 1, Fraction(0)))
        rate = "1/log d" if n == 2 else _power(min(1 - Fraction(n, 2), Fraction(0)))
        samples = {1: "d", 2: "d log^2 d"}.get(n, f"d^{n - 1}")
        return cls(n, samples, rate, time)


@dataclass(frozen=True)
class RestrictedComplexity:
    """What a student that is even in the tokens makes of a target.

    Attributes
    ----------
    status : str
        `proved`; `constant`, if the even part of the target is; or `undetermined`.
    exponent : int or None
        Lowest even order with a coefficient that is not zero, if it is proved.
    at_least : int or None
        The exponent is proved to be at least this; None if the even part is constant.
    complexity : SampleComplexity or None
        The scales at the exponent.
    sentence : str
        The result in words.
    """

    status: str
    exponent: int | None
    at_least: int | None
    complexity: SampleComplexity | None
    sentence: str


def restricted_complexity(
    verdicts: VerdictOf, last_order: int, *, is_last: bool = False
) -> RestrictedComplexity:
    r"""Return the complexity for a student with f(-z) = f(z), such as plain attention.

    The overlap of f and g in the risk is
    :math:`\sum_\alpha m^{|\alpha|} c_\alpha(f) c_\alpha(g) / \alpha!`, and :math:`c_\alpha(f) = 0`
    for odd :math:`|\alpha|`: of g only even orders are seen (Arnaboldi et al., arXiv 2506.02651,
    section 3).

    Parameters
    ----------
    verdicts : callable or mapping
        Whether all coefficients of an order, of all outputs, are proved zero (`zero`), one is
        proved not to be (`nonzero`), or neither (`undecided`). Orders that a mapping leaves out
        are undecided.
    last_order : int
        Highest order to look at.
    is_last : bool
        Whether all orders above are zero: the target is a polynomial of this degree.

    Raises
    ------
    InputError
        If an order or a verdict is not one.

    Examples
    --------
    >>> found = restricted_complexity({1: "nonzero", 2: "nonzero"}, 2)
    >>> found.exponent, found.complexity.samples
    (2, 'd log^2 d')
    >>> restricted_complexity({1: "nonzero"}, 1, is_last=True).status
    'constant'
    """
    top = whole_number("last_order", last_order, minimum=0)
    leading = _leading(verdicts, range(1, top + 1))
    even = _leading(verdicts, range(2, top + 1, 2))
    subject = _subject(leading)
    if even is None:
        if is_last:
            outcome = "which is constant: it learns nothing from it"
            return RestrictedComplexity("constant", None, None, None, f"{subject}, {outcome}")
        at_least = 2 * (top // 2) + 2
    else:
        order, verdict = even
        if verdict is Verdict.NONZERO:
            sentence = f"{subject}, whose exponent is {order}"
            scales = SampleComplexity.of(order)
            return RestrictedComplexity("proved", order, order, scales, sentence)
        at_least = order
    sentence = f"{subject}, whose exponent is not determined: it is at least {at_least}"
    return RestrictedComplexity("undetermined", None, at_least, None, sentence)


def _leading(verdicts: VerdictOf, orders: range) -> tuple[int, Verdict] | None:
    """Return the first order that is not proved zero, and its verdict."""
    for order in orders:
        verdict = _verdict(verdicts, order)
        if verdict is not Verdict.ZERO:
            return order, verdict
    return None


def _verdict(verdicts: VerdictOf, order: int) -> Verdict:
    if isinstance(verdicts, Mapping):
        given = verdicts.get(order, Verdict.UNDECIDED)
    else:
        given = verdicts(order)
    try:
        return Verdict(given)
    except ValueError as error:
        allowed = ", ".join(verdict.value for verdict in Verdict)
        raise InputError(
            f"the verdict of order {order} is {given!r}; allowed: {allowed}"
        ) from error


def _subject(leading: tuple[int, Verdict] | None) -> str:
    if leading is None or leading[1] is not Verdict.NONZERO:
        return _BLIND
    parity = "odd" if leading[0] % 2 else "even"
    return f"the leading order {leading[0]} is {parity}: {_BLIND}"


def _power(exponent: Fraction) -> str:
    """Return d to a power as text."""
    if exponent == 0:
        return "1"
    if exponent == 1:
        return "d"
    whole_and_positive = exponent.denominator == 1 and exponent > 0
    return f"d^{exponent}" if whole_and_positive else f"d^({exponent})"
