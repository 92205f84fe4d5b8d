r"""Minima on the boundary of the disc, the arc e^2 + m^2 = 1, where all minima lie.

For omega < 1 the risk falls in |m| at every e, as :math:`\partial C/\partial m^2 > 0` on the disc.
So no point inside is a minimum, and a point of the arc is one exactly if it is one along the arc:
at a zero of :math:`F'(x)` with :math:`F'' > 0`, :math:`F(x) = R(\sqrt x, \sqrt{1-x})`, or at an end
x = 0 (semantic) with :math:`F' \ge 0` or x = 1 (positional) with :math:`F' \le 0`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.polynomial import chebyshev

from ssiode.phase.polynomials import bound, derivative, evaluate
from ssiode.phase.table import PhaseTable
from ssiode.phase.task import Task

_LEVELS, _MOST = 30, 4000
_FIRST = 16
_NEWTON = 4
# Complex parts of roots that are real up to rounding, or nearly double.
_REAL = 1e-4


@dataclass(frozen=True)
class ArcMinima:
    """Minima of R on the quarter e, m >= 0 of the arc.

    Attributes
    ----------
    places : tuple of float
        x = e^2, ascending.
    errors : tuple of float
        Of these.
    is_certified : bool
        Whether it is proved that there are no others.
    reason : str
    """

    places: tuple[float, ...]
    errors: tuple[float, ...]
    is_certified: bool
    reason: str


def arc_minima(task: Task) -> ArcMinima:
    """Find all minima on the arc, with the proof that none is missed.

    Examples
    --------
    >>> found = arc_minima(Task.of(0.98, 0.76))
    >>> [round(x**0.5, 4) for x in found.places], found.is_certified
    ([0.9642], True)
    """
    slope, curvature = (np.tensordot(task.weights, f, axes=1) for f in task.table.arc[1:3])
    error = float(np.abs(task.weights) @ task.table.arc_error(1))
    roots = _roots(slope, curvature)
    places, errors = [], []
    if float(evaluate(slope, np.array(0.0))) >= 0:
        places, errors = [0.0], [0.0]
    for x in roots:
        rate = float(evaluate(curvature, np.array(x)))
        if rate > 0:
            places.append(x)
            errors.append(error / rate)
    if float(evaluate(slope, np.array(1.0))) <= 0:
        places.append(1.0)
        errors.append(0.0)
    reason = _objection(task, slope, len(roots))
    return ArcMinima(tuple(places), tuple(errors), not reason, reason or _PROOF)


_PROOF = "the risk falls in |m| on the disc, and its slope along the arc changes sign nowhere else"


def _objection(task: Task, slope: np.ndarray, n_roots: int) -> str:
    """What is missing for a proof; empty if nothing is."""
    fall = 2 * task.semantic_part * semantic_slope(task.table)
    if not 2 * fall > task.error(0, 1):
        return "omega is so close to 1 that the risk hardly depends on m"
    errors = [float(np.abs(task.weights) @ task.table.arc_error(k)) for k in (1, 2)]
    count = _sign_changes(slope, *errors)
    if count is None:
        return "the slope along the arc is too small to tell its sign, as where minima are born"
    return "" if count == n_roots else f"{count} changes of sign and {n_roots} roots"


def _roots(slope: np.ndarray, curvature: np.ndarray) -> list[float]:
    """Simple roots in (0, 1), by the colleague matrix and Newton steps."""
    kept = np.flatnonzero(np.abs(slope) > 1e-15 * np.abs(slope).max())
    if not len(kept) or kept[-1] == 0:
        return []
    found = chebyshev.chebroots(slope[: kept[-1] + 1])
    is_near = (np.abs(found.imag) < _REAL) & (np.abs(found.real) < 1 + _REAL)
    x = np.unique((1 + found.real[is_near]) / 2)
    for _ in range(_NEWTON):
        rates = evaluate(curvature, x)
        x = x - evaluate(slope, x) / np.where(rates == 0, np.inf, rates)
    x = np.sort(x[(x > 0) & (x < 1)])
    around = evaluate(slope, np.clip(x[:, None] + 1e-9 * np.array([-1, 1]), 0, 1))
    return x[around[:, 0] * around[:, 1] < 0].tolist()


def _sign_changes(slope: np.ndarray, error: float, rate_error: float) -> int | None:
    """Number of changes of sign over [0, 1], proved by intervals; None if it is not proved.

    On an interval the function keeps its sign or is monotonic, by a bound of its second derivative.
    """
    rate, second = derivative(slope), bound(derivative(slope, times=2))
    half = 1 / (2 * _FIRST)
    centres = half * (2 * np.arange(_FIRST) + 1)
    edges = [np.linspace(0, 1, _FIRST + 1)]
    for _ in range(_LEVELS):
        values, rates = evaluate(slope, centres), evaluate(rate, centres)
        keeps = np.abs(values) > np.abs(rates) * half + second * half**2 / 2 + error
        centres = centres[~keeps & ~(np.abs(rates) > second * half + rate_error)]
        if not len(centres):
            break
        edges.append(centres)
        half /= 2
        centres = (centres[:, None] + half * np.array([-1, 1])).ravel()
    else:
        return None
    values = evaluate(slope, np.unique(np.concatenate(edges)))
    if np.any(np.abs(values[[0, -1]]) <= error):
        return None
    signs = np.sign(values[np.abs(values) > error])
    return int(np.sum(signs[1:] != signs[:-1]))


@cache
def semantic_slope(table: PhaseTable) -> float:
    """A lower bound of dC/d(m^2) over the disc, proved by cells; positive.

    Examples
    --------
    >>> from ssiode.phase.table import phase_table
    >>> 0.001 < semantic_slope(phase_table()) < 0.0015
    True
    """
    first = table.derivative(0, 1)[1]
    slopes = [table.derivative(1, 1)[1], table.derivative(0, 2)[1]]
    seconds = bound(derivative(slopes[0])) + 2 * bound(derivative(slopes[1]))
    seconds += bound(derivative(slopes[1], axis=1))
    half, lowest = 1 / 16, np.inf
    axis = half * (2 * np.arange(8) + 1)
    cells = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    for _ in range(_LEVELS):
        # A cell beyond the arc holds no overlaps.
        cells = cells[cells.sum(axis=1) - 2 * half < 1]
        x, y = cells.T
        values = evaluate(first, x, y)
        change = sum(np.abs(evaluate(s, x, y)) for s in slopes) * half + seconds * half**2 / 2
        is_known = values - change > values / 2
        lowest = min(lowest, (values - change)[is_known].min(initial=np.inf))
        cells = cells[~is_known]
        if not len(cells):
            return float(lowest - table.derivative_error(0, 1)[1])
        if len(cells) > _MOST:
            break
        half /= 2
        moves = half * np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
        cells = (cells[:, None] + moves).reshape(-1, 2)
    return -np.inf
