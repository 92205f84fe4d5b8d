"""Coefficients of targets that are no polynomials, imported only when one is met."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Self

import sympy

from ssiode.errors import InputError
from ssiode.hermite.closed_form.coefficients import MAX_ORDER, ClosedForm
from ssiode.hermite.coefficient import Coefficient, Verdict
from ssiode.hermite.numeric.coefficients import NumericTarget
from ssiode.hermite.sources import CoefficientSource

_MAX_NUMERIC_ORDER = 12
_MAX_INDICES = 20_000


class ExactSource(CoefficientSource):
    """Coefficients from closed forms."""

    last_order = MAX_ORDER

    def __init__(self, form: ClosedForm) -> None:
        self._form = form
        self._known: dict[int, tuple[Coefficient, ...]] = {}

    @classmethod
    def of(cls, expression: sympy.Expr, tokens: Sequence[sympy.Symbol]) -> Self:
        """Read a target; raises `NoClosedForm` if it has none."""
        return cls(ClosedForm.of(expression, tokens))

    def coefficients(self, order: int) -> tuple[Coefficient, ...]:
        """See :meth:`CoefficientSource.coefficients`."""
        if order not in self._known:
            self._known[order] = tuple(self._form.coefficients(order).values())
        return self._known[order]

    @property
    def highest_order(self) -> int | None:
        """See :meth:`CoefficientSource.highest_order`."""
        return self._form.highest_order


class NumericSource(CoefficientSource):
    """Coefficients from quadrature; their zeros come from symmetries."""

    last_order = _MAX_NUMERIC_ORDER
    is_numeric = True

    def __init__(self, expression: sympy.Expr, tokens: Sequence[sympy.Symbol]) -> None:
        self._expression = expression
        self._tokens = tokens
        self._known: dict[int, tuple[Coefficient, ...]] = {}

    @cached_property
    def _target(self) -> NumericTarget:
        return NumericTarget(self._expression, self._tokens)

    def coefficients(self, order: int) -> tuple[Coefficient, ...]:
        """See :meth:`CoefficientSource.coefficients`."""
        if order not in self._known:
            length = len(self._tokens)
            count = math.comb(length + order - 1, order)
            if count > _MAX_INDICES:
                raise InputError(
                    f"order {order} has {count} coefficients with {length} tokens; at most "
                    f"{_MAX_INDICES} are computed numerically, lower --max-order or --length"
                )
            found = self._target.coefficients(multi_indices(length, order))
            kept = (c for c in found.values() if c.verdict is not Verdict.ZERO)
            self._known[order] = tuple(kept)
        return self._known[order]

    @property
    def highest_order(self) -> int | None:
        """Never known: no finite number of averages tells."""
        return None


def multi_indices(length: int, order: int) -> Iterator[tuple[int, ...]]:
    """Yield all alpha with |alpha| = `order`, those with high first entries first.

    Examples
    --------
    >>> list(multi_indices(2, 2))
    [(2, 0), (1, 1), (0, 2)]
    """
    if length == 1:
        yield (order,)
        return
    for first in range(order, -1, -1):
        for rest in multi_indices(length - 1, order - first):
            yield (first, *rest)
