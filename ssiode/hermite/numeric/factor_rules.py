"""Which rule averages a factor: tensor rules, rules split at curved kinks, or random points."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ssiode.hermite.numeric.axis_rules import AxisRule, hermite_table, panels
from ssiode.hermite.numeric.factor_averages import Estimates, Factor, combine_levels, tensor_level
from ssiode.hermite.numeric.frames import factorials
from ssiode.hermite.numeric.precise_averages import precise_averages

Alpha = tuple[int, ...]

_TENSOR_AXES = 4
_SPLIT_AXES = 3
# Three levels at least, so that nothing as wide as the last step is missed.
_FIRST_LEVEL = {1: 8, 2: 4, 3: 1, 4: 0}
_FIRST_SPLIT_LEVEL = 4
_LAST_LEVEL = 20
_REPLICATES = 16
# Student's t with 15 degrees of freedom exceeds this with probability 1e-6.
_STUDENT = 7.7


def averages(
    factor: Factor, alphas: Sequence[Alpha], rtol: float, budget: int, precise: bool = True
) -> dict[Alpha, tuple[float, float]]:
    """Return E[h He_alpha] with errors for multi-indices in the tokens of a factor.

    Averages on one axis that miss `rtol` are repeated with 40 digits if `precise`.

    Examples
    --------
    >>> import sympy
    >>> x, y = sympy.symbols("x y", real=True)
    >>> found = averages(Factor(abs(x - y), (x, y)), [(0, 0), (1, 1)], 1e-9, 10**6)
    >>> [round(value * math.sqrt(math.pi), 9) for value, _ in found.values()]
    [2.0, -1.0]
    """
    top = max(map(sum, alphas))
    weights = {alpha: factor.frame.weights(alpha) for alpha in alphas}
    betas = list(dict.fromkeys(beta for row in weights.values() for beta in row))
    rules = factor.axis_rules(top)
    dimension = factor.frame.dimension
    if dimension <= _SPLIT_AXES and factor.kinks[1]:
        found = _from_box(_split(factor, rules, top, rtol, budget), betas)
    elif dimension <= _TENSOR_AXES and not factor.kinks[1]:
        found = _from_box(_tensor(factor, rules, top, betas, rtol, budget), betas)
    else:
        found = _random(factor, betas, budget)
    if dimension == 1 and precise:
        doubtful = [b for b in betas if found[b][1] > rtol * abs(found[b][0])]
        for beta, (value, error) in precise_averages(factor, rules[0], doubtful).items():
            if error < found[beta][1]:
                found[beta] = value, error
    result = {}
    for alpha, row in weights.items():
        value = math.fsum(weight * found[beta][0] for beta, weight in row.items())
        error = math.fsum(abs(weight) * found[beta][1] for beta, weight in row.items())
        if not factor.frame.is_plain:
            spread = math.fsum(abs(weight * found[beta][0]) for beta, weight in row.items())
            error += 2.0**-51 * (1 + sum(alpha)) * spread
        result[alpha] = value, error
    return result


def _from_box(box: Estimates, betas: Sequence[Alpha]) -> dict[Alpha, tuple[float, float]]:
    found = {}
    for beta in betas:
        scale = math.sqrt(factorials(beta))
        value, error = scale * float(box.values[beta]), scale * float(box.errors[beta])
        found[beta] = value, error + 2.0**-50 * abs(value)
    return found


def _tensor(
    factor: Factor,
    rules: Sequence[AxisRule],
    top: int,
    betas: Sequence[Alpha],
    rtol: float,
    budget: int,
) -> Estimates:
    """Refine tensor rules until all averages are accurate or the budget is spent."""
    dimension = len(rules)
    levels: list[np.ndarray] = []
    tail = _tail(factor, rules[0].reach, top)
    where = tuple(np.array(betas).T)
    estimates = None
    is_split = any(rule.breaks for rule in rules)
    first = min(_FIRST_LEVEL[dimension], _FIRST_SPLIT_LEVEL if is_split else _LAST_LEVEL)
    for level in range(first, _LAST_LEVEL, 2 if dimension == 1 else 1):
        budget -= math.prod(len(rule.nodes(level)[0]) for rule in rules)
        if budget < 0 and len(levels) > 1:
            break
        values, noise = tensor_level(factor, rules, level, top)
        levels.append(values)
        if len(levels) > 1:
            estimates = combine_levels(levels, noise + tail)
        if len(levels) > 2:
            enough = np.maximum(rtol * np.abs(estimates.values), 3 * (noise + tail))
            if (estimates.errors <= enough)[where].all():
                break
    return estimates


def _tail(factor: Factor, reach: float, top: int) -> np.ndarray:
    one = factor.tails(reach, top)
    total = one
    for _ in range(factor.frame.dimension - 1):
        total = np.maximum(total[..., None], one)
    return factor.frame.dimension * total


def _split(
    factor: Factor, rules: Sequence[AxisRule], top: int, rtol: float, budget: int
) -> Estimates:
    """Integrate one axis between the kinks found for each point of the others.

    What is left to the outer rule has kinks where the inner ones meet, so that its errors fall
    like a power of the number of points: nothing is taken for exponentially small.
    """
    inner = _SplitAxis(factor, rules, top)
    levels: list[np.ndarray] = []
    tail = _tail(factor, rules[0].reach, top)
    estimates = None
    for step in range(12):
        count = 4 * 2**step if len(rules) == 2 else 3 * 2**step
        values, noise, cost = inner.average(count, 20 + 6 * step)
        levels.append(values)
        budget -= cost
        if len(levels) > 1:
            estimates = combine_levels(levels, noise + tail, is_fast=False)
        if len(levels) > 2:
            enough = np.maximum(rtol * np.abs(estimates.values), 3 * (noise + tail))
            if (estimates.errors <= enough).all() or budget < 2 ** (len(rules) - 1) * cost:
                break
    return estimates


class _SplitAxis:
    """Averages over all axes, one of which is split at curved kinks."""

    def __init__(self, factor: Factor, rules: Sequence[AxisRule], top: int) -> None:
        from ssiode.expression.code import array_function

        self.factor = factor
        self.rules = rules
        self.top = top
        curved = factor.kinks[1]
        self.kink = array_function(curved, factor.tokens)
        # The axis on which most of the kinks depend.
        touched = [sum(bool(f.free_symbols & {token}) for f in curved) for token in factor.tokens]
        plain = factor.frame.is_plain
        self.axis = int(np.argmax(touched)) if plain else factor.frame.dimension - 1

    def average(self, count: int, order: int) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the box of averages, its rounding errors and how many values it took."""
        others = [i for i in range(len(self.rules)) if i != self.axis]
        axes = [panels(self.rules[i].reach, self.rules[i].breaks, count) for i in others]
        grids = np.meshgrid(*[nodes for nodes, _ in axes], indexing="ij")
        outer = np.stack([grid.ravel() for grid in grids], axis=-1)
        edges = self._edges(outer, others)
        base, base_weights = np.polynomial.legendre.leggauss(order)
        half = np.diff(edges, axis=1)[..., None] / 2
        nodes = (edges[:, :-1, None] + half * (1 + base)).reshape(len(outer), -1)
        weights = (half * base_weights).reshape(len(outer), -1)
        weights = weights * np.exp(-(nodes**2) / 2) / math.sqrt(2 * math.pi)
        points = self._points(outer, others, nodes)
        values = self.factor.evaluate(points)
        table = hermite_table(nodes.ravel(), self.top).reshape(self.top + 1, *nodes.shape)
        inner = np.einsum("nij,ij->in", table, weights * values)
        spread = np.einsum("nij,ij->in", np.abs(table), weights * np.abs(values))
        shape = [len(nodes) for nodes, _ in axes]
        tables = [hermite_table(nodes, self.top) * w for nodes, w in axes]
        total = self._outer(inner.reshape(*shape, -1), tables)
        noise = self._outer(spread.reshape(*shape, -1), [np.abs(table) for table in tables])
        noise = 32 * 2.0**-52 * noise + self.factor.evaluation_error * (noise > 0)
        return total, noise, values.size

    def _outer(self, values: np.ndarray, tables: Sequence[np.ndarray]) -> np.ndarray:
        for table in tables:
            values = np.tensordot(values, table, axes=(0, 1))
        # The inner axis is in front now; put it where it belongs.
        return np.moveaxis(values, 0, self.axis)

    def _edges(self, outer: np.ndarray, others: Sequence[int]) -> np.ndarray:
        rule = self.rules[self.axis]
        grid = np.linspace(-rule.reach, rule.reach, 162) + 1e-3
        with np.errstate(all="ignore"):
            signs = np.sign(self._kinks(outer, others, np.tile(grid, (len(outer), 1))))
        rows, places, which = np.nonzero(signs[:, 1:] * signs[:, :-1] < 0)
        low, high = grid[places], grid[places + 1]
        start = signs[rows, places, which]
        for _ in range(54):
            middle = (low + high) / 2
            with np.errstate(all="ignore"):
                values = self._kinks(outer[rows], others, middle[:, None])[:, 0]
            same = np.sign(values[np.arange(len(rows)), which]) == start
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        counts = np.bincount(rows, minlength=len(outer))
        columns = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        edges = np.full((len(outer), max(counts.max(initial=0), 0)), rule.reach)
        edges[rows, columns] = high
        fixed = np.tile([-rule.reach, 0.0, *rule.breaks, rule.reach], (len(outer), 1))
        return np.sort(np.concatenate([edges, fixed], axis=1), axis=1)

    def _kinks(self, outer: np.ndarray, others: Sequence[int], inner: np.ndarray) -> np.ndarray:
        return self.kink(self._points(outer, others, inner) @ self.factor.frame.matrix.T)

    def _points(self, outer: np.ndarray, others: Sequence[int], inner: np.ndarray) -> np.ndarray:
        points = np.empty((*inner.shape, len(self.rules)))
        points[..., self.axis] = inner
        for column, axis in enumerate(others):
            points[..., axis] = outer[:, column, None]
        return points


def _random(
    factor: Factor, betas: Sequence[Alpha], budget: int
) -> dict[Alpha, tuple[float, float]]:
    """Average over scrambled Sobol points, with the spread of independent scramblings."""
    from scipy.special import ndtri
    from scipy.stats.qmc import Sobol

    exponent = max(8, min(16, int(math.log2(max(budget / _REPLICATES, 1)))))
    sums = np.empty((_REPLICATES, len(betas)))
    top = max(map(sum, betas))
    for replicate in range(_REPLICATES):
        sobol = Sobol(factor.frame.dimension, rng=np.random.default_rng([7, replicate]))
        uniform = np.clip(sobol.random_base2(exponent), 1e-12, 1 - 1e-12)
        points = ndtri(uniform)
        values = factor.evaluate(points)
        tables = [hermite_table(points[:, axis], top) for axis in range(points.shape[1])]
        for index, beta in enumerate(betas):
            product = values
            for table, order in zip(tables, beta, strict=True):
                product = product * table[order] if order else product
            sums[replicate, index] = product.mean()
    found = {}
    for index, beta in enumerate(betas):
        scale = math.sqrt(factorials(beta))
        mean, spread = sums[:, index].mean(), sums[:, index].std(ddof=1)
        error = _STUDENT * spread / math.sqrt(_REPLICATES) + 1e-12 * abs(mean)
        found[beta] = scale * float(mean), scale * float(error)
    return found
