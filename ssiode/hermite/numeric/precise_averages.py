"""One-dimensional averages with 40 digits, for coefficients that doubles cannot tell from zero."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import sympy
from mpmath import mp

from ssiode.hermite.numeric.axis_rules import AxisRule
from ssiode.hermite.numeric.factor_averages import Factor
from ssiode.hermite.numeric.precise import PreciseFunction

Alpha = tuple[int, ...]

_DIGITS = 45
_TRUSTED = 36
_LEVELS = (6, 7, 8, 9, 10, 11, 12, 13)
_MAX_VALUES = 4000
_MAX_BREAKS = 12


def precise_averages(
    factor: Factor, rule: AxisRule, orders: Sequence[Alpha]
) -> dict[Alpha, tuple[float, float]]:
    """Return E[h He_n] with errors of about 36 digits, or nothing if that would take long.

    Parameters
    ----------
    factor : Factor
        A factor of one axis.
    rule : AxisRule
        Its rule in double precision.
    orders : sequence of (int,)
        The n.

    Examples
    --------
    >>> x = sympy.Symbol("x", real=True)
    >>> factor = Factor(sympy.tanh(x) ** 2 + x / 10**20, (x,))
    >>> value, error = precise_averages(factor, factor.axis_rules(1)[0], [(1,)])[(1,)]
    >>> abs(value * 1e20 - 1) < 1e-9, error < 1e-30
    (True, True)
    """
    if not orders or len(rule.breaks) > _MAX_BREAKS:
        return {}
    with mp.workdps(_DIGITS):
        line = _OnAxis(factor)
        try:
            wide = AxisRule(1.5 * rule.reach)
            breaks = line.breaks(wide)
            return _refined(line, wide, breaks, [n for (n,) in orders])
        except ArithmeticError:
            return {}


class _OnAxis:
    """Functions of the tokens along the axis, on mpmath numbers."""

    def __init__(self, factor: Factor) -> None:
        self.factor = factor
        exact = factor.frame.exact or (sympy.S.One,)
        self.column = [entry.evalf(_DIGITS + 5)._to_mpmath(mp.prec) for entry in exact]

    def value(self, function: PreciseFunction, u: Any) -> Any:
        """Return the value at a point of the axis."""
        return function(*[u * entry for entry in self.column])

    def breaks(self, rule: AxisRule) -> list[Any]:
        """Return the kinks to all digits."""
        found: list[Any] = []
        for expression in self.factor.kinks[0][0]:
            function = PreciseFunction(expression, self.factor.tokens)
            roots = self.factor.roots(expression, 0, rule.reach, touching=True)
            found += [self._polished(function, root) for root in roots]
        # Sharp points need no polishing: the factor is smooth there.
        found += [mp.mpf(point) for point in self.factor.sharp_points[0]]
        found.sort()
        return [x for i, x in enumerate(found) if not i or x - found[i - 1] > mp.mpf(10) ** -30]

    def _polished(self, function: PreciseFunction, root: float) -> Any:
        """Secant steps from the root in double precision."""
        first, second = mp.mpf(root), mp.mpf(root) + mp.mpf(10) ** -12
        below, above = self.value(function, first), self.value(function, second)
        for _ in range(8):
            if not below or above == below:
                break
            step = below * (second - first) / (above - below)
            if abs(step) > 1e-6:
                return mp.mpf(root)
            second, above = first, below
            first = first - step
            below = self.value(function, first)
        return first


def _refined(
    line: _OnAxis, rule: AxisRule, breaks: list[Any], orders: Sequence[int]
) -> dict[Alpha, tuple[float, float]]:
    levels: list[list[Any]] = []
    spreads: list[Any] = []
    for level in _LEVELS:
        nodes, weights = rule.precise_nodes(level, breaks)
        if len(nodes) > _MAX_VALUES and len(levels) > 1:
            break
        values = [
            w * line.value(line.factor.precise, x) for x, w in zip(nodes, weights, strict=True)
        ]
        table = _hermite_columns(nodes, max(orders))
        levels.append([mp.fdot(values, table[n]) for n in orders])
        spreads = [
            mp.fsum(abs(v * h) for v, h in zip(values, table[n], strict=True)) for n in orders
        ]
        if len(levels) > 1 and _agree(levels, spreads):
            break
    found = {}
    tails = line.factor.tails(rule.reach, max(orders))
    for index, order in enumerate(orders):
        value = levels[-1][index]
        last = abs(value - levels[-2][index])
        noise = spreads[index] * mp.mpf(10) ** -_TRUSTED
        error = float(3 * last + noise) + 2.0**-51 * abs(float(value))
        error += math.sqrt(math.factorial(order)) * float(tails[order])
        found[(order,)] = float(value), math.nextafter(error, math.inf)
    return found


def _agree(levels: list[list[Any]], spreads: list[Any]) -> bool:
    return all(
        abs(a - b) <= s * mp.mpf(10) ** -_TRUSTED
        for a, b, s in zip(levels[-1], levels[-2], spreads, strict=True)
    )


def _hermite_columns(nodes: Sequence[Any], top: int) -> list[list[Any]]:
    table = [[mp.one] * len(nodes), list(nodes)]
    for n in range(1, top):
        before, now = table[-2], table[-1]
        table.append([x * b - n * a for x, a, b in zip(nodes, before, now, strict=True)])
    return table
