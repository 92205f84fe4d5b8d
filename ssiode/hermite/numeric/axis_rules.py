r"""Quadrature rules for one axis, :math:`E[f(u)] \approx \sum_i w_i f(u_i)`, u standard normal.

Analytic functions: the trapezoidal rule on the whole line, whose error falls like
:math:`e^{-2\pi a/h}` with the step h for functions analytic in a strip of half-width a. Functions
with kinks or singular points: between those the double exponential rule

.. math:: u = a + (b - a)\,q(t), \qquad q(t) = \frac{1}{1 + e^{-\pi \sinh t}},

again with the trapezoidal rule in t. Each level has a step smaller by sqrt 2 and its own offset, so
that no two levels share nodes and aliasing does not repeat.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpmath import mp

from ssiode.errors import InputError

_GOLDEN = (math.sqrt(5) - 1) / 2
_LAST_T = 3.7
MAX_BREAKS = 1500


@dataclass(frozen=True)
class AxisRule:
    """Nodes by level on one axis.

    Attributes
    ----------
    reach : float
        Nodes lie in [-reach, reach].
    breaks : tuple of float
        Kinks and singular points inside, ascending.
    """

    reach: float
    breaks: tuple[float, ...] = ()

    def nodes(self, level: int) -> tuple[np.ndarray, np.ndarray]:
        """Return nodes and weights, the normal density included.

        Examples
        --------
        >>> nodes, weights = AxisRule(10.0).nodes(4)
        >>> round(float(weights @ nodes**4), 12)
        3.0
        >>> nodes, weights = AxisRule(10.0, (0.0,)).nodes(7)
        >>> round(float(weights @ abs(nodes)) / math.sqrt(2 / math.pi), 12)
        1.0
        """
        step = 2.0 ** (-level / 2)
        shift = (level + 1) * _GOLDEN % 1
        if not self.breaks:
            first = math.floor(-self.reach / step)
            nodes = (np.arange(first, -first) + shift) * step
            return nodes, step * _density(nodes)
        last = math.ceil(_LAST_T / step)
        t = (np.arange(-last, last) + shift) * step
        with np.errstate(over="ignore"):
            left, right = (1 / (1 + np.exp(s * np.pi * np.sinh(t))) for s in (-1, 1))
        edges = np.array([-self.reach, *self.breaks, self.reach])
        start, width = edges[:-1, None], np.diff(edges)[:, None]
        nodes = np.where(t < 0, start + width * left, start + width - width * right)
        weights = step * np.pi * np.cosh(t) * left * right * width * _density(nodes)
        return nodes.ravel(), weights.ravel()

    def precise_nodes(self, level: int, breaks: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return nodes and weights as mpmath numbers, `breaks` given to its precision."""
        step = mp.mpf(2) ** (mp.mpf(-level) / 2)
        shift = mp.mpf((level + 1) * _GOLDEN % 1)
        if not breaks:
            first = math.floor(-self.reach / step)
            nodes = [(i + shift) * step for i in range(first, -first)]
            return nodes, [step * mp.npdf(x) for x in nodes]
        # As many digits as mpmath works with are left at the ends of the pieces.
        last = math.ceil(float(mp.asinh(mp.log(10) * mp.dps / mp.pi) + 0.4) / step)
        ts = [(i + shift) * step for i in range(-last, last)]
        edges = [mp.mpf(-self.reach), *breaks, mp.mpf(self.reach)]
        nodes, weights = [], []
        shares = [(t, 1 / (1 + mp.exp(-mp.pi * mp.sinh(t)))) for t in ts]
        for start, end in itertools.pairwise(edges):
            for t, left in shares:
                right = 1 / (1 + mp.exp(mp.pi * mp.sinh(t)))
                width = end - start
                x = start + width * left if t < 0 else end - width * right
                nodes.append(x)
                weights.append(step * mp.pi * mp.cosh(t) * left * right * width * mp.npdf(x))
        return nodes, weights


def panels(reach: float, breaks: Sequence[float], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return composite Gauss-Legendre nodes and weights, the normal density included.

    Examples
    --------
    >>> nodes, weights = panels(9.0, [0.5], 8)
    >>> round(float(weights.sum()), 12)
    1.0
    """
    base, base_weights = np.polynomial.legendre.leggauss(10)
    edges = np.unique([*np.linspace(-reach, reach, count + 1), *breaks])
    half = np.diff(edges)[:, None] / 2
    nodes = (edges[:-1, None] + half + half * base).ravel()
    return nodes, (half * base_weights).ravel() * _density(nodes)


def roots_on_line(
    function: Callable[[np.ndarray], np.ndarray], reach: float, touching: bool = False
) -> list[float]:
    """Return the points in (-reach, reach) where a function changes sign.

    Parameters
    ----------
    function : callable
        From an array of points to the array of values.
    reach : float
        Where to look.
    touching : bool
        Whether points where it touches zero count too.

    Raises
    ------
    InputError
        If there are more than can be split at.

    Examples
    --------
    >>> [round(x, 9) for x in roots_on_line(lambda x: x**2 - 2, 10.0)]
    [-1.414213562, 1.414213562]
    """
    grid = np.linspace(-reach, reach, 8009) + 1e-4 * _GOLDEN
    with np.errstate(all="ignore"):
        values = function(grid)
        found = list(grid[values == 0.0])
        changes = np.flatnonzero(values[:-1] * values[1:] < 0)
        if len(changes) > MAX_BREAKS:
            raise InputError("the target has too many kinks or jumps to be integrated")
        found += list(_bisected(function, grid[changes], grid[changes + 1]))
        if touching:
            found += _touched(function, grid, np.abs(values))
    return sorted(float(x) for x in found if abs(x) < reach)


def _bisected(
    function: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    at_low = np.sign(function(low)) if len(low) else low
    for _ in range(70):
        middle = (low + high) / 2
        same = np.sign(function(middle)) == at_low if len(low) else np.zeros(0, dtype=bool)
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    # A root at a short decimal is meant to be there: 0 rather than 1e-17.
    middle = (low + high) / 2
    rounded = np.round(middle, 12)
    return np.where(np.abs(middle - rounded) < 2e-15, rounded + 0.0, middle)


def _touched(
    function: Callable[[np.ndarray], np.ndarray], grid: np.ndarray, sizes: np.ndarray
) -> list[float]:
    inner = sizes[1:-1]
    dips = 1 + np.flatnonzero((inner < sizes[:-2]) & (inner < sizes[2:]))
    low, high = grid[dips - 1], grid[dips + 1]
    for _ in range(60):
        first, second = low + (high - low) * 0.382, high - (high - low) * 0.382
        left = np.abs(function(first)) < np.abs(function(second)) if len(low) else low > high
        low, high = np.where(left, low, first), np.where(left, second, high)
    middle = (low + high) / 2
    deep = np.abs(function(middle)) < 1e-9 * sizes[dips] if len(dips) else dips > 0
    return list(np.where(np.abs(middle) < 1e-7, 0.0, middle)[deep])


def hermite_table(nodes: np.ndarray, top: int) -> np.ndarray:
    """Return He_n(x)/sqrt(n!) for n = 0, ..., top, of shape (top + 1, points).

    Examples
    --------
    >>> hermite_table(np.array([2.0]), 2)[:, 0] * np.sqrt([1, 1, 2])
    array([1., 2., 3.])
    """
    roots = np.sqrt(np.arange(top + 1))
    table = np.empty((top + 1, len(nodes)))
    table[0] = 1.0
    if top:
        table[1] = nodes
    # In place: short rows cost only calls.
    for n in range(1, top):
        row = np.multiply(nodes, table[n], out=table[n + 1])
        row -= roots[n] * table[n - 1]
        row /= roots[n + 1]
    return table


def _density(x: np.ndarray) -> np.ndarray:
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
