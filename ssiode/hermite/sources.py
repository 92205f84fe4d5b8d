"""Hermite coefficients of any target, order by order: exact where there is a closed form."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import sympy
from sympy.core.evalf import PrecisionExhausted

from ssiode.errors import InputError
from ssiode.hermite.coefficient import Coefficient, Verdict
from ssiode.hermite.polynomial.constants import Constant
from ssiode.hermite.polynomial.exact import (
    HermiteExpansion,
    NotPolynomialError,
    SparseIndex,
    dense_index,
    hermite_expansion,
    sort_key,
)
from ssiode.hermite.polynomial.exact import order as order_of
from ssiode.hermite.polynomial.sizes import check_width

_DIGITS = 30
_NOT_TOLD_FROM_ZERO = 1e-60


class CoefficientSource(ABC):
    """The coefficients of one output g, by order.

    Attributes
    ----------
    last_order : int
        Highest order that can be computed.
    is_numeric : bool
        Whether coefficients are numbers with errors and not exact.
    """

    last_order: int
    is_numeric: bool = False

    @abstractmethod
    def coefficients(self, order: int) -> tuple[Coefficient, ...]:
        """Return the coefficients of one order; those left out are proved zero."""

    @property
    @abstractmethod
    def highest_order(self) -> int | None:
        """Highest order of a non-zero coefficient if it is known: then g is a polynomial."""

    @property
    def is_constant(self) -> bool:
        """Whether g is proved to be constant."""
        return self.highest_order == 0

    def verdict(self, order: int) -> Verdict:
        """Whether all coefficients of one order are zero, or one is not, or neither is proved."""
        verdicts = {coefficient.verdict for coefficient in self.coefficients(order)}
        for verdict in (Verdict.NONZERO, Verdict.UNDECIDED):
            if verdict in verdicts:
                return verdict
        return Verdict.ZERO


class PolynomialSource(CoefficientSource):
    """Coefficients of a polynomial, all known at once."""

    def __init__(self, expansion: HermiteExpansion, length: int) -> None:
        self._basis = expansion.basis
        self._length = length
        self._by_order: dict[int, list[tuple[SparseIndex, Constant]]] = {}
        for index, value in expansion.coefficients.items():
            self._by_order.setdefault(order_of(index), []).append((index, value))
        self.last_order = max(self._by_order, default=0)

    def coefficients(self, order: int) -> tuple[Coefficient, ...]:
        """See :meth:`CoefficientSource.coefficients`."""
        table = self._by_order.get(order, [])
        check_width(len(table), self._length)
        ordered = sorted(table, key=lambda item: sort_key(item[0]))
        return tuple(self._coefficient(index, value) for index, value in ordered)

    def _coefficient(self, index: SparseIndex, value: Constant) -> Coefficient:
        alpha, exact = dense_index(index, self._length), self._basis.expression(value)
        nearest, error = self._basis.nearest_float(value)
        return Coefficient(alpha, exact, nearest, error, Verdict.NONZERO, "exact value")

    def verdict(self, order: int) -> Verdict:
        """See :meth:`CoefficientSource.verdict`."""
        return Verdict.NONZERO if order in self._by_order else Verdict.ZERO

    @property
    def highest_order(self) -> int:
        """See :meth:`CoefficientSource.highest_order`."""
        return self.last_order


class ConstantSource(CoefficientSource):
    """A constant that is not algebraic, such as sigmoid(2)."""

    last_order = 0

    def __init__(self, constant: sympy.Expr, length: int) -> None:
        self._constant = constant
        self._length = length

    def coefficients(self, order: int) -> tuple[Coefficient, ...]:
        """See :meth:`CoefficientSource.coefficients`."""
        if order > 0:
            return ()
        try:
            value = float(self._constant.evalf(_DIGITS, strict=True))
            error = math.nextafter(2.0**-52 * abs(value), math.inf)
            verdict, reason = Verdict.NONZERO, "exact value"
        except PrecisionExhausted:  # after 100 digits of nothing
            value, error = 0.0, _NOT_TOLD_FROM_ZERO
            verdict, reason = Verdict.UNDECIDED, "no digit of it is seen, no proof of zero"
        alpha = (0,) * self._length
        return (Coefficient(alpha, self._constant, value, error, verdict, reason),)

    @property
    def highest_order(self) -> int:
        """See :meth:`CoefficientSource.highest_order`."""
        return 0


def coefficient_source(expression: sympy.Expr, tokens: Sequence[sympy.Symbol]) -> CoefficientSource:
    """Return the source that serves an output: closed forms if it has them, else numbers.

    Examples
    --------
    >>> z1 = sympy.Symbol("z1", real=True)
    >>> [type(coefficient_source(g, [z1])).__name__ for g in (z1, abs(z1), sympy.tanh(z1))]
    ['PolynomialSource', 'ExactSource', 'NumericSource']
    """
    try:
        return PolynomialSource(hermite_expansion(expression, tokens), len(tokens))
    except NotPolynomialError:
        pass
    if not expression.free_symbols:
        return ConstantSource(expression, len(tokens))
    from ssiode.hermite.function_sources import ExactSource, NumericSource

    try:
        return ExactSource.of(expression, tokens)
    except InputError:  # no closed form, or one that is too large
        return NumericSource(expression, tokens)


def has_constant_even_part(expression: sympy.Expr, tokens: Sequence[sympy.Symbol]) -> bool:
    """Whether g(z) + g(-z) is proved to be constant.

    Examples
    --------
    >>> z1 = sympy.Symbol("z1", real=True)
    >>> [has_constant_even_part(g, [z1]) for g in (sympy.tanh(z1) + 2, sympy.tanh(z1) ** 2)]
    [True, False]
    """
    mirrored = expression.xreplace({token: -token for token in tokens})
    return coefficient_source(expression + mirrored, tokens).is_constant
