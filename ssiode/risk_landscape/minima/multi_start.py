"""The search for minima from many starts."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ssiode.risk_landscape.minima.error_sums import SLOPE_ERRORS
from ssiode.risk_landscape.minima.projected_descent import (
    descend,
    polish,
    projected,
    residual,
    settle,
)
from ssiode.risk_landscape.minima.reduced_risk import ReducedRisk
from ssiode.risk_landscape.minima.stationary import StationaryPoint, examine

# Points of a regular grid along a diameter.
_GRID = {True: {1: 33, 2: 17}, False: {1: 9, 2: 5}}
_DESCENT, _NEWTON = {True: 200, False: 100}, {True: 60, False: 12}
# Steps with the engine itself after those with a rough one.
_SECOND_DESCENT, _MOST_POLISHED = 8, 6
# Of the differences that are the Hessian.
_NODES = {True: 7, False: 3}
# Ends of descents this close are polished as one; what is polished differs beyond the second.
_NEAR = {True: 1e-4, False: 1e-2}
_SAME = 1e-6
# Random points at which slopes are looked for.
_TESTED = {True: 16, False: 5}
_PUSH = 1e-3
_PUSHES = 4
_MOST_PLACES = 100
# Neighbours on a continuum are as close as this.
_LINK = 0.4
# Shifts of the fields beyond this saturate students; where the encoding reaches farther, some
# starts are drawn within.
_SATURATED = 4.0
_SAME_RISK = 1e-10
# A risk that changes by more than this part of it over the ball is not called flat.
_KNOWN = 1e-2
# Slopes of points that are taken for stationary, relative to the steepest start.
_CONVERGED = 1e-7


@dataclass(frozen=True, eq=False)
class Found:
    """Points without a slope, and how many starts ended at each.

    Attributes
    ----------
    points : tuple of StationaryPoint
    counts : tuple of int
    search_size : int
        Number of starts, of the grid and at random.
    steepest : float
        The largest slope at these.
    left_out : int
        Ends of descents that were not followed further, as evaluations are dear and others are
        lower.
    """

    points: tuple[StationaryPoint, ...]
    counts: tuple[int, ...]
    search_size: int
    steepest: float
    left_out: int = 0

    @property
    def count(self) -> int:
        """Number of points."""
        return len(self.points)

    @cached_property
    def minima(self) -> tuple[StationaryPoint, ...]:
        """The minima."""
        return tuple(point for point in self.points if point.is_minimum)

    @property
    def hits(self) -> tuple[int, ...]:
        """Starts that ended at each of the minima."""
        pairs = zip(self.points, self.counts, strict=True)
        return tuple(count for point, count in pairs if point.is_minimum)

    @property
    def soft_saddles(self) -> tuple[StationaryPoint, ...]:
        """Points that descend where a curvature is not known to differ from zero."""
        return tuple(p for p in self.points if not p.is_minimum and p.is_soft)

    def beside(self, risk: ReducedRisk, places: np.ndarray) -> Found:
        """Also what Newton steps find from places of shape (p, s) where something may be."""
        few = places[:: max(1, len(places) // _MOST_PLACES)]
        return self.extended(risk, few, descents=0)

    def extended(self, risk: ReducedRisk, starts: np.ndarray, descents: int | None = None) -> Found:
        """Also what is found from further starts of shape (p, s)."""
        points, counts, left_out = list(self.points), list(self.counts), self.left_out
        for _ in range(_PUSHES):
            if not len(starts):
                break
            starts, more = _add(risk, starts, points, counts, self, descents)
            descents, left_out = None, left_out + more
        found = dataclasses.replace(
            self, points=tuple(points), counts=tuple(counts), left_out=left_out
        )
        return _merged(risk, found)


def search(risk: ReducedRisk, starts: int, seed: int) -> Found:
    """Descend from a grid of dimension one or two and from random points of the ball."""
    points = np.concatenate(
        [
            _grid(risk.dimension, risk.is_tabulated),
            _unsaturated(risk, random_points(risk.dimension, starts, seed)),
        ]
    )
    steepest = float(np.linalg.norm(risk.gradient(points), axis=1).max())
    return Found((), (), len(points), steepest).extended(risk, points)


def without_slopes(risk: ReducedRisk, seed: int) -> str | None:
    """Why there is nothing to descend along: `flat`, `unknown`, or None if there is.

    The risk is flat if at some points neither its slopes nor its differences exceed their errors,
    and these are small beside R; else no slope is known.
    """
    count = _TESTED[risk.is_tabulated]
    points = np.concatenate(
        [_landmarks(risk.dimension), random_points(risk.dimension, count, seed)]
    )
    values, slopes = risk.value_and_gradient(points)
    value_errors, slope_errors = risk.errors(points)
    if np.any(np.abs(slopes) > SLOPE_ERRORS * slope_errors):
        return None
    differs = np.abs(values - values[0]) > SLOPE_ERRORS * (value_errors + value_errors[0])
    is_known = slope_errors.max() <= _KNOWN * np.abs(values).max()
    return "flat" if is_known and not differs.any() else "unknown"


def _landmarks(dimension: int) -> np.ndarray:
    """The origin, and m = 1 and m = -1 where the student is the teacher; shape (3, s).

    Where the encoding is so large that it saturates the student at random points, it does not here.
    """
    return np.outer([0.0, 1.0, -1.0], np.eye(dimension)[-1])


def random_points(dimension: int, count: int, seed: int) -> np.ndarray:
    """Points uniform in the unit ball, shape (count, dimension)."""
    generator = np.random.default_rng(seed)
    directions = generator.standard_normal((count, dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions * generator.random((count, 1)) ** (1.0 / dimension)


def _unsaturated(risk: ReducedRisk, points: np.ndarray) -> np.ndarray:
    """The points, every second one with positional overlaps of at most `_SATURATED`; (p, s)."""
    moved = points.copy()
    moved[::2] *= np.minimum(_SATURATED / risk.reach, 1.0)
    return moved


def _grid(dimension: int, is_tabulated: bool) -> np.ndarray:
    """A grid of at most two dimensions in the ball, with points on the sphere; else landmarks."""
    count = _GRID[is_tabulated].get(dimension)
    if count is None:
        return _landmarks(dimension)
    axis = np.linspace(-1.0, 1.0, count)
    points = np.stack(np.meshgrid(*[axis] * dimension, indexing="ij"), axis=-1)
    spacing = axis[1] - axis[0]
    points = points.reshape(-1, dimension)
    return projected(points[np.linalg.norm(points, axis=1) <= 1.0 + spacing / 2])


def _add(
    risk: ReducedRisk,
    starts: np.ndarray,
    points: list[StationaryPoint],
    counts: list[int],
    found: Found,
    descents: int | None,
) -> tuple[np.ndarray, int]:
    """Add to points and counts what the starts lead to.

    Returns starts beside new saddles, and the number of ends that were left out.
    """
    is_tabulated, steepest = risk.is_tabulated, found.steepest
    iterations = _DESCENT[is_tabulated] if descents is None else descents
    ends = descend(risk.rough, starts, iterations)
    _, first, places = _distinct(ends, _NEAR[is_tabulated])
    near, kept = ends[first], np.arange(len(first))
    if risk.rough is not risk:
        kept = np.argsort(risk.rough.value_and_gradient(near)[0], kind="stable")[:_MOST_POLISHED]
        near = descend(risk, near[kept], _SECOND_DESCENT)
    polished = polish(risk, near, _NEWTON[is_tabulated], _NODES[is_tabulated])
    slopes = np.linalg.norm(residual(polished, risk.gradient(polished)), axis=1)
    errors = np.linalg.norm(risk.errors(polished)[1], axis=1)
    converged = slopes <= np.maximum(_CONVERGED * steepest, errors)
    pushes = [np.zeros((0, risk.dimension))]
    for i, y in enumerate(polished):
        if not converged[i]:
            continue
        number = int(np.sum(places == kept[i]))
        same = [k for k, point in enumerate(points) if _is_same(point, y)]
        if same:
            counts[same[0]] += number
            continue
        point, ways = examine(risk, y, steepest)
        points.append(point)
        counts.append(number)
        pushes.append(projected(y + _PUSH * ways.reshape(-1, len(y))))
    return np.concatenate(pushes), len(first) - len(kept)


def _is_same(point: StationaryPoint, y: np.ndarray) -> bool:
    error = point.position_error if np.isfinite(point.position_error) else 0.0
    return bool(np.linalg.norm(point.y - y) <= max(_SAME, 2 * error))


def _distinct(y: np.ndarray, near: float) -> tuple[int, np.ndarray, np.ndarray]:
    """Group points with the first of those nearer than `near`: number, firsts, group of each."""
    firsts: list[int] = []
    places = np.zeros(len(y), dtype=int)
    for i, one in enumerate(y):
        distances = np.linalg.norm(y[firsts] - one, axis=1) if firsts else np.zeros(0)
        if len(distances) and distances.min() <= near:
            places[i] = int(np.argmin(distances))
        else:
            places[i] = len(firsts)
            firsts.append(i)
    return len(firsts), np.array(firsts, dtype=int), places


def _merged(risk: ReducedRisk, found: Found) -> Found:
    """Keep one point of each continuum of minima: of those that neighbours link by minima."""
    loose = [i for i, p in enumerate(found.points) if p.is_minimum and not p.is_isolated]
    if len(loose) < 2:
        return found
    group = {i: i for i in loose}

    def root(i: int) -> int:
        while group[i] != i:
            i = group[i]
        return i

    y = np.array([point.y for point in found.points])
    pairs = [
        (loose[i], loose[j])
        for i, j in _nearest_links(y[loose])
        if np.linalg.norm(y[loose[i]] - y[loose[j]]) <= _LINK
    ]
    if pairs:
        middles = projected(np.array([(y[a] + y[b]) / 2 for a, b in pairs]))
        ends = settle(risk, middles, found.steepest)
        values = risk.value_and_gradient(np.concatenate([y, ends]))[0]
        allowed = np.maximum(risk.errors(y)[0], _SAME_RISK * np.abs(values[: len(y)]))
        for k, (a, b) in enumerate(pairs):
            same = np.ptp(values[[a, b, len(y) + k]]) <= allowed[a] + allowed[b]
            between = np.linalg.norm(ends[k] - middles[k]) <= np.linalg.norm(y[a] - y[b]) / 2
            if same and between:
                group[root(b)] = root(a)
    points = [p for i, p in enumerate(found.points) if i not in group]
    counts = [count for i, count in enumerate(found.counts) if i not in group]
    for first in sorted({root(i) for i in loose}):
        members = [i for i in loose if root(i) == first]
        # Of a continuum through the origin it is the origin that stands for all.
        points.append(found.points[min(members, key=lambda i: np.linalg.norm(y[i]))])
        counts.append(sum(found.counts[i] for i in members))
    return dataclasses.replace(found, points=tuple(points), counts=tuple(counts))


def _nearest_links(y: np.ndarray) -> list[tuple[int, int]]:
    """The shortest n - 1 links that join n points (Prim 1957).

    >>> _nearest_links(np.array([[0.0], [3.0], [1.0]]))
    [(0, 2), (2, 1)]
    """
    links = []
    distance = np.linalg.norm(y - y[0], axis=1)
    nearest, joined = np.zeros(len(y), dtype=int), np.arange(len(y)) == 0
    for _ in range(len(y) - 1):
        new = int(np.argmin(np.where(joined, np.inf, distance)))
        links.append((int(nearest[new]), new))
        joined[new] = True
        others = np.linalg.norm(y - y[new], axis=1)
        nearest[others < distance] = new
        distance = np.minimum(distance, others)
    return links
