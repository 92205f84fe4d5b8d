r"""Hermite coefficients of the target along the directions that a student sees.

For orthonormal directions U the coefficients are :math:`c_\alpha(g) = E[g(z_\star)
He_\alpha(U z_\star)]`. Along the tokens (U = 1) they are those of the target; along one direction u

.. math:: c_n = \sum_{|\alpha| = n} \frac{n!}{\alpha!}\, u^\alpha c_\alpha .
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ssiode.hermite.coefficient import Verdict
from ssiode.risk_landscape.at_origin.numbers import Number, total

if TYPE_CHECKING:
    import sympy

    from ssiode.hermite.sources import CoefficientSource

Alpha = tuple[int, ...]


class TeacherTerms:
    """The coefficients of all outputs of a target, order by order.

    Parameters
    ----------
    outputs : sequence of sympy.Expr
        g_a in the tokens.
    tokens : sequence of sympy.Symbol
    axes : sympy.Matrix
        The directions U: the identity, or one row.

    Examples
    --------
    >>> import sympy
    >>> z = sympy.symbols("z1 z2", real=True)
    >>> row = sympy.Matrix([[1, 1]]) / sympy.sqrt(2)
    >>> TeacherTerms([z[0] * z[1]], z, row).at_order(2)[0][(2,)].exact
    1
    """

    def __init__(
        self, outputs: Sequence[sympy.Expr], tokens: Sequence[sympy.Symbol], axes: sympy.Matrix
    ) -> None:
        self._outputs, self._tokens, self._axes = outputs, tokens, axes
        self._known: dict[int, list[dict[Alpha, Number]]] = {}

    @cached_property
    def sources(self) -> list[CoefficientSource]:
        """Where the coefficients along the tokens come from, by output."""
        from ssiode.hermite.sources import coefficient_source

        return [coefficient_source(output, self._tokens) for output in self._outputs]

    @property
    def is_along_tokens(self) -> bool:
        """Whether the student sees the tokens themselves."""
        return self._axes.rows == len(self._tokens)

    @property
    def highest_order(self) -> int | None:
        """Highest order of a non-zero coefficient, None if it is not known."""
        orders = [source.highest_order for source in self.sources]
        return None if None in orders else max(orders)

    @property
    def last_order(self) -> int | None:
        """Highest order that can be computed, None if there is no limit."""
        limits = [s.last_order for s in self.sources if s.highest_order is None]
        return min(limits, default=None)

    def at_order(self, order: int) -> list[dict[Alpha, Number]]:
        """Coefficients of one order that are not proved zero, by output."""
        if order not in self._known:
            self._known[order] = [self._of(source, order) for source in self.sources]
        return self._known[order]

    def is_proved_nonzero(self, order: int) -> bool:
        """Whether some coefficient along the tokens is proved not to be zero."""
        return any(source.verdict(order) is Verdict.NONZERO for source in self.sources)

    def _of(self, source: CoefficientSource, order: int) -> dict[Alpha, Number]:
        highest = source.highest_order
        if highest is not None and order > highest:
            return {}
        by_token = {c.alpha: Number.of_coefficient(c) for c in source.coefficients(order)}
        if self.is_along_tokens:
            return by_token
        parts = [number * self._share(alpha) for alpha, number in by_token.items()]
        along = total(parts)
        return {} if along.is_zero else {(order,): along}

    def _share(self, alpha: Alpha) -> Number:
        import sympy

        ways = sympy.Integer(math.factorial(sum(alpha)))
        for power, entry in zip(alpha, self._axes, strict=True):
            ways *= entry**power / math.factorial(power)
        return Number.of_exact(ways)
