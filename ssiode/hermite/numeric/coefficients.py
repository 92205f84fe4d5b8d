r"""Numeric Hermite coefficients with errors, for targets without a closed form.

.. math:: c_\alpha = E[g(z) He_\alpha(z)]

The target is split into sums of products over separate tokens, each factor is averaged in as few
dimensions as it depends on (`frames`), by rules that are split at kinks (`axis_rules`).
One-dimensional averages that stay undecided in double precision are repeated with 40 digits. What
the errors mean is said in `factor_averages`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import sympy

from ssiode.errors import InputError
from ssiode.hermite.coefficient import Coefficient, Verdict
from ssiode.hermite.grouping import by_shared_symbols
from ssiode.hermite.numeric.factor_averages import Factor
from ssiode.hermite.numeric.factor_rules import averages
from ssiode.hermite.numeric.frames import split_terms
from ssiode.hermite.symmetry.proofs import Symmetry

Alpha = tuple[int, ...]
DEFAULT_BUDGET = 4_000_000
_MAX_ORDER = 60
_MAX_ALPHAS = 200_000


def numeric_coefficients(
    expression: sympy.Expr,
    tokens: Sequence[sympy.Symbol],
    alphas: Iterable[Alpha],
    rtol: float = 1e-10,
    budget: int = DEFAULT_BUDGET,
) -> dict[Alpha, Coefficient]:
    r"""Return coefficients with errors; zeros are proved by symmetry or not at all.

    Parameters
    ----------
    expression : sympy.Expr
        The target g.
    tokens : sequence of sympy.Symbol
        z1, ..., zL.
    alphas : iterable of tuple of int
        The multi-indices, of order at most 60.
    rtol : float
        Relative error to aim at.
    budget : int
        How many values of one factor may be computed, some million a second.

    Returns
    -------
    dict
        By multi-index. A coefficient is NONZERO if |value| > error, ZERO if a symmetry of g, or of
        each of its terms, proves it, and UNDECIDED otherwise.

    Raises
    ------
    InputError
        If E|g| or E[g^2] is not finite, or g is not real.

    Examples
    --------
    >>> from ssiode.expression import token_symbols
    >>> z = token_symbols(1)
    >>> found = numeric_coefficients(sympy.tanh(z[0]), z, [(1,), (2,)])
    >>> [(round(c.value, 6), c.verdict.value, c.reason) for c in found.values()]
    [(0.605706, 'nonzero', '|value| > error'), (0.0, 'zero', 'odd in z1')]
    """
    return NumericTarget(expression, tokens).coefficients(alphas, rtol, budget)


class NumericTarget:
    """A target checked once, whose coefficients are asked for again and again.

    Parameters and errors are those of :func:`numeric_coefficients`.

    Examples
    --------
    >>> from ssiode.expression import token_symbols
    >>> z = token_symbols(1)
    >>> [c.verdict.value for c in NumericTarget(sympy.cos(z[0]), z).coefficients([(1,)]).values()]
    ['zero']
    """

    def __init__(self, expression: sympy.Expr, tokens: Sequence[sympy.Symbol]) -> None:
        self._parts = _Parts(expression, tokens)
        self._parts.check()
        self._symmetry = Symmetry.of(expression, tokens)

    def coefficients(
        self, alphas: Iterable[Alpha], rtol: float = 1e-10, budget: int = DEFAULT_BUDGET
    ) -> dict[Alpha, Coefficient]:
        """Return the coefficients by multi-index."""
        wanted = _checked(alphas, len(self._parts.tokens))
        found: dict[Alpha, Coefficient] = {}
        needed: dict[Alpha, list[tuple[Alpha, int]]] = {}
        for alpha in wanted:
            if (reason := self._symmetry.zero_reason(alpha)) is not None:
                found[alpha] = Coefficient(alpha, sympy.S.Zero, 0.0, 0.0, Verdict.ZERO, reason)
            else:
                first, sign = self._symmetry.representative(alpha)
                needed.setdefault(first, []).append((alpha, sign))
        for first, estimate in self._parts.estimates(list(needed), rtol, budget).items():
            for alpha, sign in needed[first]:
                found[alpha] = _coefficient(alpha, sign, estimate)
        return {alpha: found[alpha] for alpha in wanted}


def numeric_estimates(
    expression: sympy.Expr,
    tokens: Sequence[sympy.Symbol],
    alphas: Iterable[Alpha],
    rtol: float = 1e-10,
    budget: int = DEFAULT_BUDGET,
    precise: bool = True,
) -> dict[Alpha, tuple[float, float]]:
    """Return values and errors by quadrature alone, without any symmetry.

    With `precise` False all is done in double precision.

    Examples
    --------
    >>> from ssiode.expression import token_symbols
    >>> z = token_symbols(1)
    >>> value, error = numeric_estimates(sympy.tanh(z[0]), z, [(2,)])[(2,)]
    >>> abs(value) <= error < 1e-15
    True
    """
    wanted = _checked(alphas, len(tokens))
    parts = _Parts(expression, tokens, use_symmetry=False, precise=precise)
    parts.check()
    found = parts.estimates(wanted, rtol, budget)
    return {alpha: (estimate.value, estimate.error) for alpha, estimate in found.items()}


def truncation_norm(
    expression: sympy.Expr,
    tokens: Sequence[sympy.Symbol],
    max_order: int,
    rtol: float = 1e-10,
    budget: int = DEFAULT_BUDGET,
) -> tuple[float, float]:
    r"""Return the L2 norm of what an expansion up to an order leaves out, and its error.

    .. math:: \sqrt{E[g^2] - \sum_{|\alpha| \le N} c_\alpha^2/\alpha!}

    Parts of g over separate tokens are orthogonal but for their means, so each is done apart.

    Parameters
    ----------
    expression : sympy.Expr
        The target g.
    tokens : sequence of sympy.Symbol
        z1, ..., zL.
    max_order : int
        N.
    rtol, budget
        As for :func:`numeric_coefficients`.

    Raises
    ------
    InputError
        If E[g^2] is not finite, or there are too many coefficients up to this order.

    Examples
    --------
    >>> from ssiode.expression import token_symbols
    >>> z = token_symbols(1)
    >>> left_out, error = truncation_norm(sympy.exp(z[0] / 2), z, 1)
    >>> abs(left_out - math.sqrt(math.exp(0.5) - 1.25 * math.exp(0.25))) <= error < 1e-12
    True
    """
    square = error = 0.0
    terms = [sympy.Mul(*term.factors) for term in split_terms(expression)]
    for group in by_shared_symbols(terms):
        part = sympy.Add(*group)
        used = tuple(token for token in tokens if token in part.free_symbols)
        if not used:
            continue
        alphas = _up_to(len(used), max_order)
        parts = _Parts(part, used)
        parts.check()
        zero = (0,) * len(used)
        total = _Parts(_squared(part), used).estimates([zero], rtol, budget)[zero]
        square, error = square + total.value, error + total.error
        found = numeric_coefficients(part, used, alphas, rtol, budget)
        for alpha, coefficient in found.items():
            size, doubt = abs(coefficient.value), coefficient.error
            weight = 1 / math.prod(map(math.factorial, alpha))
            square -= weight * size * size
            error += weight * doubt * (2 * size + doubt)
        error += 4e-16 * len(found) * total.value
    value = math.sqrt(max(square, 0.0))
    low, high = math.sqrt(max(square - error, 0.0)), math.sqrt(max(square + error, 0.0))
    return value, max(value - low, high - value)


def _squared(part: sympy.Expr) -> sympy.Expr:
    if part.is_Mul:
        return sympy.Mul(*[factor**2 for factor in part.args])
    return sympy.Pow(part, 2)


class Estimate(NamedTuple):
    """A value with its error, and whether it is proved to be zero."""

    value: float
    error: float
    is_zero: bool


class _Parts:
    """A target as a sum of products of factors in separate tokens."""

    def __init__(
        self,
        expression: sympy.Expr,
        tokens: Sequence[sympy.Symbol],
        use_symmetry: bool = True,
        precise: bool = True,
    ) -> None:
        strangers = sorted(map(str, expression.free_symbols - set(tokens)))
        if strangers:
            raise InputError(f"{strangers[0]} has no value; give it (--param {strangers[0]}=2)")
        self.tokens = tuple(tokens)
        self.terms = [
            _Term(term.factors, self.tokens, use_symmetry, precise)
            for term in split_terms(expression)
        ]

    def check(self) -> None:
        """Refuse targets without an expansion before anything is averaged."""
        for term in self.terms:
            for factor in term.factors:
                factor.axis_rules(0)
                factor.check_curved(factor.reach(0))

    def estimates(self, alphas: Sequence[Alpha], rtol: float, budget: int) -> dict[Alpha, Estimate]:
        """Return values and errors."""
        if not alphas:
            return {}
        tables = [term.estimates(alphas, rtol, budget) for term in self.terms]
        found = {}
        for alpha in alphas:
            entries = [table[alpha] for table in tables]
            value = math.fsum(entry.value for entry in entries)
            error = math.fsum(entry.error for entry in entries)
            error += 2.0**-53 * abs(value) * (len(entries) > 1)
            is_zero = all(entry.is_zero for entry in entries)
            # Underflow may have left nothing of a value that is not zero.
            error = error if is_zero else math.nextafter(error, math.inf)
            found[alpha] = Estimate(value, error, is_zero)
        return found


class _Term:
    """A product of factors in separate tokens."""

    def __init__(
        self,
        factors: Sequence[sympy.Expr],
        tokens: tuple[sympy.Symbol, ...],
        use_symmetry: bool,
        precise: bool,
    ) -> None:
        self.tokens = tokens
        self.precise = precise
        self.constant = 1.0
        self.factors: list[Factor] = []
        self.positions: list[tuple[int, ...]] = []
        self.use_symmetry = use_symmetry
        for factor in factors:
            used = tuple(i for i, token in enumerate(tokens) if token in factor.free_symbols)
            if not used:
                self.constant = float(factor.evalf(30))
                continue
            self.factors.append(Factor(factor, tuple(tokens[i] for i in used)))
            self.positions.append(used)

    @cached_property
    def symmetries(self) -> list[Symmetry]:
        """The symmetries of each factor."""
        return [Symmetry.of(factor.expression, factor.tokens) for factor in self.factors]

    def estimates(self, alphas: Sequence[Alpha], rtol: float, budget: int) -> dict[Alpha, Estimate]:
        """Return values and errors, exact zeros where a factor proves them."""
        used = set(itertools.chain.from_iterable(self.positions))
        found = {alpha: Estimate(0.0, 0.0, True) for alpha in alphas}
        wanted = [a for a in alphas if all(i in used for i, order in enumerate(a) if order)]
        if self.use_symmetry:
            wanted = [alpha for alpha in wanted if not self._is_zero(alpha)]
        if not wanted:
            return found
        tables = []
        for factor, places in zip(self.factors, self.positions, strict=True):
            own = list(dict.fromkeys(tuple(alpha[i] for i in places) for alpha in wanted))
            tables.append(averages(factor, own, rtol, budget, self.precise))
        for alpha in wanted:
            value, outer = self.constant, abs(self.constant)
            for table, places in zip(tables, self.positions, strict=True):
                middle, error = table[tuple(alpha[i] for i in places)]
                value, outer = value * middle, outer * (abs(middle) + error)
            rounding = 4 * 2.0**-53 * abs(value) * len(tables)
            found[alpha] = Estimate(value, max(outer - abs(value), 0.0) + rounding, False)
        return found

    def _is_zero(self, alpha: Alpha) -> bool:
        return any(
            symmetry.zero_reason(tuple(alpha[i] for i in places)) is not None
            for symmetry, places in zip(self.symmetries, self.positions, strict=True)
        )


def _coefficient(alpha: Alpha, sign: int, estimate: Estimate) -> Coefficient:
    value, error = sign * estimate.value, estimate.error
    if estimate.is_zero:
        reason = "every term vanishes by symmetry"
        return Coefficient(alpha, sympy.S.Zero, 0.0, 0.0, Verdict.ZERO, reason)
    if abs(value) > error:
        return Coefficient(alpha, None, value, error, Verdict.NONZERO, "|value| > error")
    reason = "|value| <= error, no proof of zero"
    return Coefficient(alpha, None, value, error, Verdict.UNDECIDED, reason)


def _checked(alphas: Iterable[Alpha], length: int) -> list[Alpha]:
    wanted = list(dict.fromkeys(tuple(map(int, alpha)) for alpha in alphas))
    for alpha in wanted:
        if len(alpha) != length or min(alpha, default=0) < 0:
            raise InputError(f"a multi-index has {len(alpha)} entries; there are {length} tokens")
        if sum(alpha) > _MAX_ORDER:
            raise InputError(f"a multi-index has order {sum(alpha)}; at most {_MAX_ORDER} is done")
    return wanted


def _up_to(length: int, order: int) -> list[Alpha]:
    count = math.comb(length + order, order)
    if count > _MAX_ALPHAS:
        raise InputError(f"there are {count} coefficients up to order {order}; lower the order")
    orders = itertools.product(range(order + 1), repeat=length)
    return [alpha for alpha in orders if sum(alpha) <= order]
