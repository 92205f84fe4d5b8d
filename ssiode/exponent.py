r"""The Sequence Information Exponent of a target.

.. math:: SIE(g) = \min\{n \ge 1 : C_n(g) = E[\nabla^n g] \ne 0\}

for several outputs the minimum over them (Arnaboldi et al., arXiv 2506.02651, section 3). The
entries of :math:`C_n` are the Hermite coefficients :math:`c_\alpha`, :math:`|\alpha| = n`. An order
counts as zero only if that is proved, by exact values or by a symmetry, and as non-zero only if an
exact value or a number beyond its error says so; anything else leaves the exponent undetermined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ssiode.complexity import SampleComplexity, restricted_complexity
from ssiode.errors import InputError, whole_number
from ssiode.hermite.coefficient import Coefficient, Verdict

if TYPE_CHECKING:
    from ssiode.expression import ParsedExpression
    from ssiode.hermite.sources import CoefficientSource

_LAST_NUMERIC_ORDER = 8
_LISTED_UNDETERMINED = 100


@dataclass(frozen=True)
class HermiteTerm:
    r"""One Hermite coefficient :math:`c_\alpha = E[g He_\alpha]`.

    Attributes
    ----------
    output : int
        Which output, from 0.
    alpha : tuple of int
        The multi-index, one order per token.
    coefficient : str or None
        The exact value as text; None if only numbers are known.
    value, error : float or None
        A float and a bound of its distance from the exact value; None with free parameters.
    proof : str
        Why the coefficient is not zero, such as "exact value" or "|value| > error".
    """

    output: int
    alpha: tuple[int, ...]
    coefficient: str | None
    value: float | None
    error: float | None
    proof: str

    @classmethod
    def of(cls, output: int, coefficient: Coefficient) -> HermiteTerm:
        """Show a coefficient of an output.

        >>> HermiteTerm.of(0, Coefficient((1,), None, 2.0, 0.5, Verdict.NONZERO, "seen")).proof
        'seen'
        """
        exact = None if coefficient.exact is None else str(coefficient.exact)
        numbers = (coefficient.value, coefficient.error)
        return cls(output, coefficient.alpha, exact, *numbers, coefficient.reason)


@dataclass(frozen=True)
class SequenceExponent:
    """The Sequence Information Exponent and what it rests on.

    Attributes
    ----------
    sie : int or None
        The exponent; None for a constant target or if it is not determined.
    status : str
        `proved`, `undetermined` or `constant`.
    length, outputs : int
        Numbers of tokens and of outputs.
    leading_terms : tuple of HermiteTerm
        All coefficients of the order `sie` that are proved not to be zero.
    sample_complexity : str or None
        Samples for weak recovery at the best learning rate, up to constants.
    learning_rate, time : str or None
        That learning rate, and the ODE time it takes (Theorem 1 of Arnaboldi et al.,
        arXiv 2506.02651).
    even_student : str or None
        What plain attention, which sees only the even part of the target, makes of it, if the
        leading order is odd.
    lower_bound, upper_bound : int or None
        The exponent is proved to lie between these.
    message : str
        The result and its proof in one line.
    undetermined : tuple of dict
        Coefficients up to `upper_bound` that are proved neither zero nor non-zero: `output`,
        `alpha` and a `bound` of their size; the first 100.
    special_parameters : tuple of dict
        Values of free parameters at which the exponent differs.
    output_exponents : tuple of int or None
        The exponent of each output, where it is proved.
    """

    sie: int | None
    status: str
    length: int
    outputs: int
    leading_terms: tuple[HermiteTerm, ...]
    sample_complexity: str | None
    learning_rate: str | None
    time: str | None
    even_student: str | None
    lower_bound: int | None
    upper_bound: int | None
    message: str
    undetermined: tuple[dict[str, Any], ...] = ()
    special_parameters: tuple[dict[str, Any], ...] = ()
    output_exponents: tuple[int | None, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return all fields by name, the leading terms as dictionaries too."""
        return asdict(self)


def sie(
    target: Any,
    length: int | None = None,
    max_order: int | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> SequenceExponent:
    """Return the Sequence Information Exponent of a target with its proof.

    Parameters
    ----------
    target : str, sympy.Expr, list of them, or Target
        The target g in the tokens z1, ..., zL, or the name of one, "positional-semantic".
    length : int, optional
        L; by default the highest token that is used.
    max_order : int, optional
        Highest order to look at, >= 1. By default the degree of a polynomial, 40 where
        coefficients have a closed form, and 8 where they are numbers.
    parameters : mapping, optional
        Values of free names of the target. Names without a value stay symbolic, in polynomials:
        the exponent holds for almost all values, and `special_parameters` says where it differs.

    Returns
    -------
    SequenceExponent
        The exponent with its leading coefficients.

    Raises
    ------
    InputError
        If the target cannot be read, is not square-integrable or is too large.

    Examples
    --------
    >>> sie("He1(z1)*He4(z2) + He2(z3)*He2(z4)").sie
    4
    >>> sie("(z1 + z2)^3 - 6*(z1 + z2)").sample_complexity
    'd^2'
    >>> sie("tanh(z1)*abs(z2)").sie
    1
    >>> [(s["condition"], s["sie"]) for s in sie("z1^4 + b*z1^2").special_parameters]
    [('b = -6', 4)]
    """
    from ssiode.hermite.sources import coefficient_source

    if max_order is not None:
        max_order = whole_number("max_order", max_order, minimum=1)
    parsed = _parsed(target, length, parameters)
    if parsed.parameters:
        return _parametric(parsed)
    sources = [coefficient_source(output, parsed.tokens) for output in parsed.outputs]
    return _report(parsed, sources, _Search.over(sources, max_order), max_order)


def read_target(
    target: Any,
    length: int | None,
    parameters: Mapping[str, Any] | None,
    *,
    keep_free: bool = False,
) -> ParsedExpression:
    """Return the outputs of a target given as text, as SymPy or as a Target.

    With `keep_free` parameters may stay without a value.

    Raises
    ------
    InputError
        If it cannot be read, is a Python function, or has a parameter without a value.

    Examples
    --------
    >>> read_target("b*z1", None, {"b": 2}).outputs
    (2*z1,)
    """
    parsed = _parsed(target, length, parameters)
    if parsed.parameters and not keep_free:
        name = parsed.parameters[0]
        raise InputError(f"parameter {name} has no value; give it (--param {name}=2)")
    return parsed


def _parsed(
    target: Any, length: int | None, parameters: Mapping[str, Any] | None
) -> ParsedExpression:
    from ssiode.expression.adopt import adopt_expressions, read_definition
    from ssiode.named_targets import NAMED_TARGETS, read_named_target

    if isinstance(target, str) and target.strip() in NAMED_TARGETS:
        return read_named_target(target.strip(), length, parameters)
    if not hasattr(target, "expressions"):
        return read_definition(target, length, parameters)
    if target.expressions is None:
        raise InputError("a target given as a Python function has no exact expansion; give text")
    if length not in (None, target.length):
        raise InputError(f"length is {length!r}; the target has {target.length} tokens")
    return adopt_expressions(target.expressions, target.length, parameters)


@dataclass(frozen=True)
class _Search:
    """Result of going up the orders until one is proved not to be zero.

    `found` is that order, `doubtful` the lower ones that are not proved zero, and `last` the
    highest order looked at; `is_exhausted` if all orders above are proved zero.
    """

    found: int | None
    doubtful: tuple[int, ...]
    last: int
    is_exhausted: bool

    @classmethod
    def over(cls, sources: Sequence[CoefficientSource], max_order: int | None) -> _Search:
        highest = [source.highest_order for source in sources]
        is_polynomial = None not in highest
        last = max(_last_order(source) for source in sources)
        if max_order is not None:
            is_polynomial = is_polynomial and max_order >= last
            last = min(last, max_order) if is_polynomial else max_order
        doubtful = []
        for order in range(1, last + 1):
            verdict = total_verdict(sources, order)
            if verdict is Verdict.NONZERO:
                return cls(order, tuple(doubtful), order, False)
            if verdict is Verdict.UNDECIDED:
                doubtful.append(order)
        return cls(None, tuple(doubtful), last, is_polynomial and not doubtful)


def _last_order(source: CoefficientSource) -> int:
    if source.highest_order is not None:
        return source.highest_order
    return min(source.last_order, _LAST_NUMERIC_ORDER) if source.is_numeric else source.last_order


def total_verdict(sources: Sequence[CoefficientSource], order: int) -> Verdict:
    """Whether all coefficients of an order are zero, for all outputs together."""
    verdict = Verdict.ZERO
    for source in sources:
        one = source.verdict(order)
        if one is Verdict.NONZERO:
            return one
        if one is Verdict.UNDECIDED:
            verdict = one
    return verdict


def _report(
    parsed: ParsedExpression,
    sources: Sequence[CoefficientSource],
    search: _Search,
    max_order: int | None,
) -> SequenceExponent:
    is_proved = search.found is not None and not search.doubtful
    exponent = search.found if is_proved else None
    status = "proved" if is_proved else "constant" if search.is_exhausted else "undetermined"
    scales = None if exponent is None else SampleComplexity.of(exponent)
    terms = [] if exponent is None else _leading_terms(sources, exponent)
    is_odd = exponent is not None and exponent % 2 == 1
    return SequenceExponent(
        sie=exponent,
        status=status,
        length=parsed.length,
        outputs=len(parsed.outputs),
        leading_terms=tuple(terms),
        sample_complexity=None if scales is None else scales.samples,
        learning_rate=None if scales is None else scales.learning_rate,
        time=None if scales is None else scales.time,
        even_student=_even(parsed, sources, exponent) if is_odd else None,
        lower_bound=None if status == "constant" else _lower_bound(search),
        upper_bound=search.found,
        message=_message(search, status, terms),
        undetermined=() if is_proved else tuple(_doubts(sources, search)),
        output_exponents=tuple(_own_exponent(source, max_order) for source in sources),
    )


def _parametric(parsed: ParsedExpression) -> SequenceExponent:
    """The exponent for almost all values of the parameters, and where it differs."""
    from ssiode.hermite.parametric.exponent import parametric_exponent

    found = parametric_exponent(parsed)
    scales = None if found.sie is None else SampleComplexity.of(found.sie)
    return SequenceExponent(
        sie=found.sie,
        status=found.status,
        length=parsed.length,
        outputs=len(parsed.outputs),
        leading_terms=tuple(
            HermiteTerm(output, alpha, str(value), None, None, "exact value")
            for output, alpha, value in found.leading_terms
        ),
        sample_complexity=None if scales is None else scales.samples,
        learning_rate=None if scales is None else scales.learning_rate,
        time=None if scales is None else scales.time,
        even_student=None,
        lower_bound=found.sie,
        upper_bound=found.sie,
        message=found.message,
        special_parameters=tuple(asdict(special) for special in found.special_parameters),
    )


def _lower_bound(search: _Search) -> int:
    if search.doubtful:
        return search.doubtful[0]
    return search.last + 1 if search.found is None else search.found


def _message(search: _Search, status: str, terms: Sequence[HermiteTerm]) -> str:
    if status == "constant":
        return "the target is constant: it has no exponent"
    low = _lower_bound(search)
    if status == "undetermined" and search.found is None:
        seen = (
            f"every order up to {search.last} is zero"
            if not search.doubtful
            else (f"order {low} is proved neither zero nor non-zero")
        )
        return f"{seen}: the exponent is at least {low}"
    if status == "undetermined":
        return (
            f"order {low} is proved neither zero nor non-zero: the exponent is between {low} and "
            f"{search.found}"
        )
    if all(term.coefficient for term in terms):
        proof = "exact coefficients"
    elif search.found == 1:
        proof = "numbers beyond their errors"
    else:
        proof = "symmetry below it and numbers beyond their errors at it"
    return f"the Sequence Information Exponent is {search.found}, proved by {proof}"


def _leading_terms(sources: Sequence[CoefficientSource], order: int) -> list[HermiteTerm]:
    return [
        HermiteTerm.of(output, coefficient)
        for output, source in enumerate(sources)
        for coefficient in source.coefficients(order)
        if coefficient.verdict is Verdict.NONZERO
    ]


def _doubts(sources: Sequence[CoefficientSource], search: _Search) -> list[dict[str, Any]]:
    doubts = [
        {"output": output, "alpha": c.alpha, "bound": abs(c.value) + c.error}
        for order in search.doubtful
        for output, source in enumerate(sources)
        for c in source.coefficients(order)
        if c.verdict is Verdict.UNDECIDED
    ]
    return doubts[:_LISTED_UNDETERMINED]


def _own_exponent(source: CoefficientSource, max_order: int | None) -> int | None:
    search = _Search.over([source], max_order)
    return search.found if not search.doubtful else None


def _even(parsed: ParsedExpression, sources: Sequence[CoefficientSource], exponent: int) -> str:
    """What an even student makes of a target whose leading order is odd."""
    from ssiode.hermite.sources import has_constant_even_part

    is_last = all(source.highest_order is not None for source in sources)
    is_last = is_last or all(has_constant_even_part(g, parsed.tokens) for g in parsed.outputs)
    last = max(_last_order(source) for source in sources)
    known: dict[int, Verdict] = dict.fromkeys(range(1, exponent), Verdict.ZERO)
    known[exponent] = Verdict.NONZERO
    for order in range(exponent + 1, last + 1, 2):
        known[order] = total_verdict(sources, order)
        if known[order] is not Verdict.ZERO:
            break
    # Odd orders beyond the leading one are not asked for.
    known = {order: known.get(order, Verdict.ZERO) for order in range(1, max(known) + 1)}
    return restricted_complexity(known, max(known), is_last=is_last).sentence
