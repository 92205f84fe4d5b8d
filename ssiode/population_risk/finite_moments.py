r"""Whether R and V exist, where that can be decided from the expressions.

For the squared loss R needs :math:`E|g|^2` and :math:`E f^2`, and V needs
:math:`E f'^2` and :math:`E (f f')^2` as well; for the Frobenius loss R needs :math:`E|g|` and
:math:`E|f|`, and V needs :math:`E f'^2`. The sum of the fields that an activation sees has unit
variance at every state, so growth and singular points of :math:`\sigma` decide.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ssiode.errors import InputError
from ssiode.loss import SquaredLoss

if TYPE_CHECKING:
    from collections.abc import Sequence

    import sympy

    from ssiode.hermite.numeric.integrability import InfiniteMomentError
    from ssiode.problem import Problem

# With more tokens a sum of products is not looked at as a whole.
_MOST_TOKENS = 8


@lru_cache(maxsize=8)
def check_finite_moments(problem: Problem) -> None:
    """Refuse a problem whose R or V is known to be infinite.

    What cannot be decided passes.

    Raises
    ------
    InputError
        If target or student has an infinite moment that the loss needs.
    """
    power = 2 if isinstance(problem.loss, SquaredLoss) else 1
    for expression in problem.target.expressions or ():
        if (found := _infinite_moment(expression, power)) is not None:
            raise InputError(f"the risk is infinite: {found}")
    if problem.student.activation_expression is None:
        return
    sigma, _ = problem.student.activation_expression
    slope = sigma.diff()
    needed = [("the risk", "f", sigma, power), ("V", "f'", slope, 2)]
    if power == 2:
        needed.append(("V", "f f'", sigma * slope, 2))
    for name, function, expression, highest in needed:
        if (found := _infinite_moment(expression, highest)) is not None:
            why = found.why.replace("the target", "the activation or its derivative")
            raise InputError(
                f"{name} is infinite: E|{function}|^{found.power} is not finite: {why}"
            )


def _infinite_moment(expression: sympy.Expr, power: int) -> InfiniteMomentError | None:
    """The reason why E|g|^p is infinite for a p <= `power`, None if it is not or is not known."""
    tokens = sorted(expression.free_symbols, key=str)
    if not tokens or expression.is_polynomial(*tokens):
        return None
    from ssiode.hermite.numeric.frames import split_terms

    terms = split_terms(expression)
    found = _first([factor for term in terms for factor in term.factors], power)
    if found is None or len(terms) == 1:
        return found
    # The infinite parts of two terms may cancel.
    return _first([expression], power) if len(tokens) <= _MOST_TOKENS else None


def _first(functions: Sequence[sympy.Expr], power: int) -> InfiniteMomentError | None:
    from ssiode.hermite.numeric.factor_averages import Factor
    from ssiode.hermite.numeric.integrability import InfiniteMomentError

    for function in functions:
        tokens = tuple(sorted(function.free_symbols, key=str))
        if not tokens:
            continue
        try:
            factor = Factor(function, tokens)
            factor.axis_rules(0)
            factor.check_curved(factor.reach(0))
        except InfiniteMomentError as error:
            if error.power <= power:
                return error
        except InputError:  # not real somewhere, or too involved: nothing is known
            continue
    return None
