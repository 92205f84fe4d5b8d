r"""The teacher's side of Mehler's series for targets with kinks and jumps: exact coefficients.

Piecewise polynomials have closed Hermite coefficients :math:`c_\alpha`, where no grid over the
tokens would be accurate. What the orders up to N leave out is known from exact norms,

.. math:: \sum_{|\alpha| > N} \frac{c_\alpha(G)^2}{\alpha!} =
          E\,G^2 - \sum_{|\alpha| \le N} \frac{c_\alpha(G)^2}{\alpha!},

and falls slowly, for a kink like :math:`N^{-3/2}` and for a jump like :math:`N^{-1/2}`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ssiode.errors import InputError
from ssiode.population_risk.mehler.teacher import (
    NoSeriesError,
    Table,
    Teacher,
    along_direction,
    along_tokens,
    averaged_tokens,
    pairs,
    rest_of_norm,
    root_of_factorials,
)

if TYPE_CHECKING:
    import sympy

    from ssiode.hermite.sources import CoefficientSource
    from ssiode.target import Target

_MOST_TOKENS = 3
# A coefficient takes a tenth of a millisecond.
_MOST_COEFFICIENTS = 6000


def closed_teacher(target: Target, axes: np.ndarray, order: int) -> Teacher:
    """Return the coefficients of a target that is not smooth, from their closed forms.

    Parameters
    ----------
    target : Target
    axes : array of shape (r, L)
        The directions U: the tokens (r = L), or one direction (r = 1).
    order : int
        The highest order wanted; fewer where coefficients are many.

    Raises
    ------
    NoSeriesError
        If there are no closed forms, or if there are too many tokens.

    Examples
    --------
    >>> from ssiode import Target
    >>> teacher = closed_teacher(Target("abs(z1)"), np.eye(1), 8)
    >>> (teacher.outputs[0] ** 2).round(4).tolist(), teacher.left_out.round(4).tolist()
    ([0.0, 0.0, 0.3183, 0.0, 0.0265, 0.0, 0.008, 0.0, 0.0036], [0.007, 0.0179])
    """
    tokens = averaged_tokens(target, axes)
    if target.expressions is None:
        raise NoSeriesError("the target is neither a polynomial nor known to be smooth")
    if len(tokens) > _MOST_TOKENS:
        raise NoSeriesError(
            f"the target has kinks and {len(tokens)} tokens; the series allows {_MOST_TOKENS}"
        )
    top = _affordable_order(order, len(tokens))
    try:
        return _teacher(target, axes, top)
    except InputError as error:
        if isinstance(error, NoSeriesError):
            raise
        raise NoSeriesError(f"the target has kinks and {error}") from error


def _affordable_order(order: int, n_tokens: int) -> int:
    from ssiode.hermite.closed_form.coefficients import MAX_ORDER

    top = min(order, MAX_ORDER)
    while math.comb(top + n_tokens, n_tokens) > _MOST_COEFFICIENTS:
        top -= 1
    return top


def _teacher(target: Target, axes: np.ndarray, top: int) -> Teacher:
    import sympy

    from ssiode.expression import token_symbols

    symbols = token_symbols(target.length)
    # Any constants near the means serve: what is left of a mean is a coefficient of order 0.
    means = [_mean(g, symbols) for g in target.expressions]
    h = [g - sympy.Rational(mean) for g, mean in zip(target.expressions, means, strict=True)]
    k = len(h)
    functions = [*h, *(h[a] * h[b] for a, b in pairs(k))]
    tables = [_normalised_table(_closed_source(function, symbols), top) for function in functions]
    norms = np.array([_mean(function**2, symbols) for function in functions])
    along = along_tokens if len(axes) == target.length else along_direction
    boxes = np.array([along(table, top, axes) for table in tables])
    # Along one direction no coefficient is larger than those of the tokens together.
    kept = [np.array(list(table.values())) for table in tables]
    left_out = [rest_of_norm(norm[None], c[None]) for norm, c in zip(norms, kept, strict=True)]
    return Teacher(
        mean=np.array(means),
        mixing=np.eye(k),
        outputs=boxes[:k],
        products=boxes[k:],
        square=float(norms[:k].sum()),
        left_out=np.concatenate(left_out),
        is_finite=False,
    )


def _closed_source(function: sympy.Expr, symbols: list[sympy.Symbol]) -> CoefficientSource:
    from ssiode.hermite.sources import coefficient_source

    source = coefficient_source(function, symbols)
    if source.is_numeric:
        raise NoSeriesError("the target has kinks and no closed form of its coefficients")
    return source


def _mean(function: sympy.Expr, symbols: list[sympy.Symbol]) -> float:
    return math.fsum(c.value for c in _closed_source(function, symbols).coefficients(0))


def _normalised_table(source: CoefficientSource, top: int) -> Table:
    """The c_alpha / sqrt(alpha!) up to an order, by pairs of token and power."""
    table = {}
    for n in range(min(top, source.last_order) + 1):
        for coefficient in source.coefficients(n):
            index = tuple((token, power) for token, power in enumerate(coefficient.alpha) if power)
            table[index] = coefficient.value / root_of_factorials(index)
    return table
