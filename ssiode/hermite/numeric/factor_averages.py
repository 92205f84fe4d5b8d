r"""Averages :math:`E[h(u) He_\beta(u)]` of one factor of a target, with errors.

The error of an average is a bound in practice, not a theorem: the difference of the two finest
levels of a rule, times 2 where the differences fall fast and else 3 times the larger of the last
two, plus what rounding can do: the change of the sum under a shift of all points by some units in
the last place, and the distance of the values in double precision from those of mpmath at sample
points, times 4. Levels share no nodes, so that each checks the other.

Peaks and steps of one axis are looked for where the arguments of functions are zero or extremal,
and split at. A peak in two or more coupled tokens, and one on one axis elsewhere, is seen only if
some level has a node on it: steps are 1/64 on one axis, 1/8 on two, 1/3 on three and 1/2 on four.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import sympy
from mpmath import mp

from ssiode.errors import InputError
from ssiode.expression.code import array_function
from ssiode.hermite.numeric.axis_rules import MAX_BREAKS, AxisRule, hermite_table, roots_on_line
from ssiode.hermite.numeric.frames import (
    Frame,
    affine_form,
    choose_frame,
    directions_of,
    inner_arguments,
    kink_functions,
    singular_functions,
)
from ssiode.hermite.numeric.integrability import check_singular_points, growth_rate
from ssiode.hermite.numeric.precise import PreciseFunction

_EPS = 2.0**-52
_FARTHEST = 37.0
_SAMPLES = 24
_CENTRAL = 12.0
_MAX_ARGUMENTS = 12
_ANYWHERE = (-0.7351, 0.4142, 1.2773)
_MAX_CANDIDATES = 40


@dataclass
class Estimates:
    """Values and errors of averages by multi-index, or on a box of them."""

    values: np.ndarray
    errors: np.ndarray


@dataclass
class Factor:
    """A function of some tokens, ready to be averaged over its axes.

    Parameters
    ----------
    expression : sympy.Expr
        The factor.
    tokens : tuple of sympy.Symbol
        The tokens it depends on.
    """

    expression: sympy.Expr
    tokens: tuple[sympy.Symbol, ...]
    frame: Frame = field(init=False)

    def __post_init__(self) -> None:
        self.frame = choose_frame(self.expression, self.tokens)

    @cached_property
    def function(self) -> Any:
        """The factor on arrays of tokens."""
        return array_function([self.expression], self.tokens)

    @cached_property
    def precise(self) -> PreciseFunction:
        """The factor on mpmath numbers."""
        return PreciseFunction(self.expression, self.tokens)

    @cached_property
    def growth(self) -> float:
        """The rate r of growth like exp(r |u|^2)."""
        return growth_rate(self.precise, self.frame.matrix)

    def reach(self, top: int) -> float:
        """Return how far out the integrand with He_top matters."""
        return min((9.5 + 0.9 * math.sqrt(top)) / math.sqrt(1 - 2 * self.growth), _FARTHEST)

    @cached_property
    def kinks(self) -> tuple[list[list[sympy.Expr]], list[sympy.Expr]]:
        """Kink functions of one axis alone, by axis, and all others."""
        aligned: list[list[sympy.Expr]] = [[] for _ in range(self.frame.dimension)]
        curved = []
        for function in kink_functions(self.expression):
            axis = self._axis_of(function)
            (curved if axis is None else aligned[axis]).append(function)
        return aligned, curved

    def _axis_of(self, function: sympy.Expr) -> int | None:
        if self.frame.dimension == 1:
            return 0
        directions = directions_of(function, self.tokens)
        if len(directions) != 1:
            return None
        vector = np.array([float(entry) for entry in directions[0]])
        shares = np.abs(self.frame.matrix.T @ vector) / np.linalg.norm(vector)
        return int(shares.argmax()) if shares.max() > 1 - 1e-14 else None

    def axis_rules(self, top: int) -> list[AxisRule]:
        """Return the rule of each axis, split at its kinks.

        Raises
        ------
        InputError
            If E|g| or E[g^2] is not finite.
        """
        reach = self.reach(top)
        singular = set(singular_functions(self.expression))
        rules = []
        for axis, functions in enumerate(self.kinks[0]):
            breaks: set[float] = set()
            for function in functions:
                roots = self.roots(function, axis, reach, function in singular)
                breaks.update(roots)
                if function in singular:
                    self._check_singular(axis, roots, function)
            breaks.update(self.sharp_points[axis])
            if len(breaks) > MAX_BREAKS:
                raise InputError("the target has too many kinks or jumps to be integrated")
            rules.append(AxisRule(reach, tuple(sorted(breaks))))
        return rules

    @cached_property
    def sharp_points(self) -> list[list[float]]:
        """Centres of steps and peaks too narrow for a grid, by axis.

        They lie where the argument of a function is zero or extremal; those where the factor
        changes by a tenth of its size within 0.03 are taken.
        """
        found: list[list[float]] = [[] for _ in range(self.frame.dimension)]
        for function in inner_arguments(self.expression)[:_MAX_ARGUMENTS]:
            axis = self._axis_of(function)
            if axis is None:
                continue
            column = self.frame.matrix[:, axis]
            candidates = self.roots(function, axis, _CENTRAL, True)
            if affine_form(function, self.tokens) is None:
                slope = sympy.Add(
                    *[
                        sympy.Float(c) * function.diff(t)
                        for c, t in zip(column, self.tokens, strict=True)
                    ]
                )
                if slope.free_symbols and not slope.has(sympy.Derivative, sympy.DiracDelta):
                    candidates += self.roots(slope, axis, _CENTRAL, True)
            tried = candidates[:_MAX_CANDIDATES]
            is_sharp = self._are_sharp([*tried, *_ANYWHERE], axis)
            # A factor that is as steep anywhere oscillates, and needs a fine grid instead.
            if not all(is_sharp[len(tried) :]):
                found[axis] += itertools.compress(tried, is_sharp)
        return found

    def _are_sharp(self, centres: Sequence[float], axis: int) -> list[bool]:
        distances = 10.0 ** -np.arange(1.5, 9.5, 0.5)
        steps = np.concatenate([-distances, [0.0], distances[::-1]])
        base = np.random.default_rng(6).normal(size=(1, 4, self.frame.dimension))
        points = np.tile(base, (len(centres), len(steps), 1, 1))
        points[..., axis] = (np.array(centres)[:, None] + steps)[..., None]
        with np.errstate(all="ignore"):
            values = self.function(points @ self.frame.matrix.T)[..., 0]
            rises = np.abs(np.diff(values, axis=1)).max(axis=1)
            return [not row for row in (rises < 0.1 * np.abs(values).max(axis=(0, 1))).all(axis=1)]

    def roots(
        self, function: sympy.Expr, axis: int, reach: float, touching: bool = False
    ) -> list[float]:
        """Return the zeros of a function of one axis."""
        if (form := affine_form(function, self.tokens)) is not None:
            slope = math.fsum(
                float(entry) * self.frame.matrix[i, axis] for i, entry in enumerate(form)
            )
            root = -float(function.xreplace(dict.fromkeys(self.tokens, sympy.S.Zero))) / slope
            return [root + 0.0] if abs(root) < reach else []
        values = array_function([function], self.tokens)
        column = self.frame.matrix[:, axis]
        return roots_on_line(lambda u: values(u[:, None] * column)[..., 0], reach, touching)

    def check_curved(self, reach: float) -> None:
        """Refuse poles on curves, by lines that cross them.

        Raises
        ------
        InputError
            If E|g| or E[g^2] is not finite.
        """
        rng = np.random.default_rng(2)
        for function in set(singular_functions(self.expression)) & set(self.kinks[1]):
            values = array_function([function], self.tokens)
            for _ in range(4):
                start, step = rng.normal(size=(2, len(self.tokens)))
                line = _Line(self.precise, start, step)
                roots = roots_on_line(
                    lambda t, a=start, b=step, f=values: f(a + t[:, None] * b)[..., 0], reach, True
                )
                check_singular_points(line, roots[:6], lambda _, f=function: f"{str(f)[:60]} = 0")

    def tails(self, reach: float, top: int) -> np.ndarray:
        """Return a bound of what lies beyond the reach on one axis, by order of He/sqrt(n!)."""
        far = np.arange(reach, 38.5, 0.25)
        far = np.concatenate([-far, far])
        base = np.random.default_rng(5).normal(size=(6, self.frame.dimension))
        worst = np.zeros(top + 1)
        table = np.abs(hermite_table(far, top)) * np.exp(-far * far / 2)
        for axis in range(self.frame.dimension):
            points = np.repeat(base[:, None], len(far), axis=1)
            points[..., axis] = far
            sizes = np.abs(self.evaluate(points)).max(axis=0)
            worst = np.maximum(worst, (table * sizes).max(axis=1))
        return 4 * worst

    def _check_singular(self, axis: int, roots: Sequence[float], function: sympy.Expr) -> None:
        rng = np.random.default_rng(3)
        start = rng.normal(size=self.frame.dimension)
        start[axis] = 0.0
        line = _Line(self.precise, self.frame.matrix @ start, self.frame.matrix[:, axis])
        name = f"{str(function)[:60]} = 0"
        if len(self.tokens) == 1:
            check_singular_points(line, roots, lambda u: f"{self.tokens[0]} = {u + 0.0:.4g}")
        else:
            check_singular_points(line, roots, lambda _: name)

    def evaluate(self, u: np.ndarray) -> np.ndarray:
        """Return the values at points u of shape (..., axes).

        Raises
        ------
        InputError
            If a value is not a finite real number.
        """
        z = u if self.frame.is_plain else u @ self.frame.matrix.T
        with np.errstate(all="ignore"):
            values = np.array(self.function(z)[..., 0])
        bad = np.argwhere(~np.isfinite(values))
        if len(bad) > 2000:
            raise InputError("the target is not a finite real number everywhere")
        for index in map(tuple, bad):
            values[index] = self._rescued(z[index])
        return values

    def _rescued(self, z: np.ndarray) -> float:
        """Evaluate where doubles overflow on the way, as in exp(a)/(1 + exp(a))."""
        with mp.workdps(40):
            try:
                value = float(self.precise(*map(mp.mpf, map(float, z))))
            except ArithmeticError:
                value = math.nan
        if not math.isfinite(value):
            raise InputError("the target is not a finite real number everywhere")
        return value

    @cached_property
    def evaluation_error(self) -> float:
        """The largest distance of values in double precision from mpmath's at sample points."""
        points = np.random.default_rng(4).normal(size=(_SAMPLES, self.frame.dimension))
        z = points @ self.frame.matrix.T
        values = self.evaluate(points)
        distances = [0.0]
        with mp.workdps(50):
            for row, value in zip(z, values, strict=True):
                try:
                    exact = self.precise(*map(mp.mpf, map(float, row)))
                except ArithmeticError:
                    continue
                distances.append(float(abs(exact - mp.mpf(float(value)))))
        return 4 * max(distances)


class _Line:
    """A factor along a line of tokens, on mpmath numbers."""

    def __init__(self, function: PreciseFunction, start: np.ndarray, step: np.ndarray) -> None:
        self.function = function
        self.start = [mp.mpf(float(x)) for x in start]
        self.step = [mp.mpf(float(x)) for x in step]

    def __call__(self, t: Any) -> Any:
        return self.function(*[a + t * b for a, b in zip(self.start, self.step, strict=True)])


def combine_levels(
    levels: Sequence[np.ndarray], noise: np.ndarray, is_fast: bool = True
) -> Estimates:
    """Return the finest level with its error from the differences of the last levels.

    Parameters
    ----------
    levels : sequence of numpy.ndarray
        Averages by level, at least two.
    noise : numpy.ndarray
        What rounding can do.
    is_fast : bool
        Whether exponential convergence may be believed.

    Examples
    --------
    >>> levels = [np.array([1.0]), np.array([1.1]), np.array([1.101])]
    >>> float(combine_levels(levels, np.zeros(1)).errors[0].round(6))
    0.002
    """
    last = np.abs(levels[-1] - levels[-2])
    before = np.abs(levels[-2] - levels[-3]) if len(levels) > 2 else np.full_like(last, np.inf)
    slow = 3 * np.maximum(last, np.where(np.isfinite(before), before, 10 * last))
    fast = (last <= 0.05 * before) & is_fast
    # Differences of the size of rounding say nothing about convergence.
    fast |= np.maximum(last, np.where(np.isfinite(before), before, np.inf)) <= 4 * noise
    return Estimates(levels[-1], np.where(fast, 2 * last, slow) + noise)


def tensor_level(
    factor: Factor, rules: Sequence[AxisRule], level: int, top: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return E[h He_beta]/sqrt(beta!) on the box beta <= top, and its rounding errors."""
    axes = [rule.nodes(level) for rule in rules]
    tables = [hermite_table(nodes, top) * weights for nodes, weights in axes]
    total = absolute = 0.0
    rest = [nodes for nodes, _ in axes[1:]]
    block = max(1, 200_000 // math.prod([1, *map(len, rest)]))
    for start in range(0, len(axes[0][0]), block):
        part = slice(start, start + block)
        grid = np.stack(np.meshgrid(axes[0][0][part], *rest, indexing="ij"), axis=-1)
        values = factor.evaluate(grid)
        shaken = np.abs(factor.evaluate(grid * (1 + 3 * _EPS)) - values) + 8 * _EPS * np.abs(values)
        first = tables[0][:, part]
        total = total + _contract(values, [first, *tables[1:]])
        absolute = absolute + _contract(shaken, [np.abs(first), *map(np.abs, tables[1:])])
    sizes = [np.abs(table).sum(axis=1) for table in tables]
    spread = sizes[0]
    for size in sizes[1:]:
        spread = spread[..., None] * size
    return total, absolute + factor.evaluation_error * spread


def _contract(values: np.ndarray, tables: Sequence[np.ndarray]) -> np.ndarray:
    for table in tables:
        # The axis in front is summed, its order goes to the end.
        values = np.tensordot(values, table, axes=(0, 1))
    return values
