r"""The Sequence Information Exponent of a target.

.. math:: SIE(g) = \min\{n \ge 1 : C_n(g) = E[\nabla^n g] \ne 0\}

for several outputs the minimum over them (Arnaboldi et al., arXiv 2506.02651, section 3). The
entries of :math:`C_n` are the Hermite coefficients :math:`c_\alpha`, :math:`|\alpha| = n`; they
are exact here, so both what is zero and what is not is proved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ssiode.errors import InputError, whole_number

if TYPE_CHECKING:
    from ssiode.expression import ParsedExpression
    from ssiode.hermite.constants import Constant, ConstantBasis
    from ssiode.hermite.exact import HermiteExpansion, SparseIndex


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
        The exact value as text.
    value, error : float
        The nearest float and a bound of its distance from the exact value.
    """

    output: int
    alpha: tuple[int, ...]
    coefficient: str | None
    value: float
    error: float


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
        All non-zero coefficients of the order `sie`.
    sample_complexity : str or None
        Samples for weak recovery at the best learning rate, up to constants (Theorem 1 of
        Arnaboldi et al., arXiv 2506.02651).
    lower_bound : int or None
        The exponent is proved to be at least this.
    message : str
        The result in one line.
    undetermined : tuple of dict
        Coefficients that are proved neither zero nor non-zero: `alpha` and a `bound`.
    special_parameters : tuple of dict
        Values of free parameters at which the exponent differs.
    """

    sie: int | None
    status: str
    length: int
    outputs: int
    leading_terms: tuple[HermiteTerm, ...]
    sample_complexity: str | None
    lower_bound: int | None
    message: str
    undetermined: tuple[dict[str, Any], ...] = ()
    special_parameters: tuple[dict[str, Any], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return all fields by name, the leading terms as dictionaries too."""
        return asdict(self)


def sie(
    target: Any,
    length: int | None = None,
    max_order: int | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> SequenceExponent:
    """Return the Sequence Information Exponent of a polynomial target, proved.

    Parameters
    ----------
    target : str, sympy.Expr, list of them, or Target
        The target g in the tokens z1, ..., zL.
    length : int, optional
        L; by default the highest token that is used.
    max_order : int, optional
        Highest order to look at, >= 1.
    parameters : mapping, optional
        Values of the free names of the target.

    Returns
    -------
    SequenceExponent
        The exponent with its leading coefficients.

    Raises
    ------
    InputError
        If the target cannot be read, is not a polynomial or is too large.

    Examples
    --------
    >>> sie("He1(z1)*He4(z2) + He2(z3)*He2(z4)").sie
    4
    >>> sie("(z1 + z2)^3 - 6*(z1 + z2)").sample_complexity
    'd^2'
    """
    if max_order is not None:
        max_order = whole_number("max_order", max_order, minimum=1)
    parsed = _read(target, length, parameters)
    expansions = _expansions(parsed)
    leading = [expansion.leading() for expansion in expansions]
    lowest = min((_order(table) for table in leading if table), default=None)
    if lowest is None:
        message = "the target is constant: it has no exponent"
        return _result(parsed, None, "constant", message)
    if max_order is not None and lowest > max_order:
        message = f"every order up to {max_order} is zero: the exponent is at least {max_order + 1}"
        return _result(parsed, None, "undetermined", message, lower_bound=max_order + 1)
    terms = tuple(
        term
        for output, table in enumerate(leading)
        if table and _order(table) == lowest
        for term in _terms(output, table, expansions[output].basis, parsed.length)
    )
    message = f"the Sequence Information Exponent is {lowest}, proved by exact coefficients"
    return _result(parsed, lowest, "proved", message, terms, lowest)


def sample_complexity(exponent: int) -> str:
    """Return how many samples weak recovery takes at this exponent, up to constants.

    Arnaboldi et al., arXiv 2506.02651, Theorem 1: O(d) for 1, O(d log^2 d) for 2, O(d^(n-1)) for
    n >= 3.

    Examples
    --------
    >>> [sample_complexity(n) for n in (1, 2, 3, 4)]
    ['d', 'd log^2 d', 'd^2', 'd^3']
    """
    whole_number("exponent", exponent, minimum=1)
    return {1: "d", 2: "d log^2 d"}.get(exponent, f"d^{exponent - 1}")


def _read(
    target: Any, length: int | None, parameters: Mapping[str, Any] | None
) -> ParsedExpression:
    from ssiode.expression.adopt import adopt_expressions, read_definition

    if not hasattr(target, "expressions"):
        return read_definition(target, length, parameters)
    if target.expressions is None:
        raise InputError("a target given as a Python function has no exact expansion; give text")
    if length not in (None, target.length):
        raise InputError(f"length is {length!r}; the target has {target.length} tokens")
    return adopt_expressions(target.expressions, target.length, parameters)


def _expansions(parsed: ParsedExpression) -> list[HermiteExpansion]:
    from ssiode.hermite.constants import NotPolynomialError
    from ssiode.hermite.exact import hermite_expansion

    if parsed.parameters:
        name = parsed.parameters[0]
        raise NotPolynomialError(f"parameter {name} has no value; give it (--param {name}=2)")
    try:
        return [hermite_expansion(output, parsed.tokens) for output in parsed.outputs]
    except NotPolynomialError as error:
        raise NotPolynomialError(
            f"only polynomial targets have an exponent here: {error}"
        ) from error


def _order(table: Mapping[SparseIndex, Constant]) -> int:
    from ssiode.hermite.exact import order

    return order(next(iter(table)))


def _terms(
    output: int, table: Mapping[SparseIndex, Constant], basis: ConstantBasis, length: int
) -> Iterator[HermiteTerm]:
    from ssiode.hermite.exact import dense_index, sort_key
    from ssiode.hermite.sizes import check_width

    check_width(len(table), length)
    # Symmetric targets repeat few coefficients many times.
    known: dict[frozenset[Any], tuple[str, float, float]] = {}
    for index in sorted(table, key=sort_key):
        constant = table[index]
        key = frozenset(constant.items())
        if key not in known:
            known[key] = (str(basis.expression(constant)), *basis.nearest_float(constant))
        yield HermiteTerm(output, dense_index(index, length), *known[key])


def _result(
    parsed: ParsedExpression,
    exponent: int | None,
    status: str,
    message: str,
    terms: tuple[HermiteTerm, ...] = (),
    lower_bound: int | None = None,
) -> SequenceExponent:
    return SequenceExponent(
        sie=exponent,
        status=status,
        length=parsed.length,
        outputs=len(parsed.outputs),
        leading_terms=terms,
        sample_complexity=sample_complexity(exponent) if exponent else None,
        lower_bound=lower_bound,
        message=message,
    )
