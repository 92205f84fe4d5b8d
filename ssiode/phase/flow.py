"""Gradient flow on the disc from the origin's steepest direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ssiode.phase.polynomials import evaluate
from ssiode.phase.task import Task

_START, _BESIDE = 1e-4, 1e-7
_NEAR_ARC = 1e-7
_LONGEST = 1e6
_RTOL, _ATOL = 1e-8, 1e-14


@dataclass(frozen=True)
class FlowEnd:
    """Where gradient flow ends.

    Attributes
    ----------
    place : float or None
        x = e^2 of the minimum of the arc; None if the flow had not reached the arc at the end.
    time : float
        ODE time at which it reached the arc.
    path : tuple of (float, float)
        Some (e, m) on the way.
    """

    place: float | None
    time: float
    path: tuple[tuple[float, float], ...]


def flow_end(task: Task, direction: tuple[float, float], minima: tuple[float, ...]) -> FlowEnd:
    r"""Integrate :math:`\dot v = -(1 - v v^T) \nabla R` from the origin along a direction.

    The start has a little of the other overlap, so that a saddle on an axis is left. The arc is
    invariant and attracts: a flow that comes close moves along it, down to the next minimum.

    Parameters
    ----------
    task : Task
    direction : pair of floats
        (e, m), of length 1.
    minima : tuple of float
        All x = e^2 of minima on the arc.
    """
    from scipy.integrate import solve_ivp

    slopes = [np.tensordot(task.weights, task.table.derivative(*k), 1) for k in ((1, 0), (0, 1))]
    stacked, orders = np.array(slopes), np.arange(max(slopes[0].shape))

    def velocity(t: float, v: np.ndarray) -> np.ndarray:
        # T_n(cos(phi)) = cos(n phi), for one point faster than recurrences.
        angles = np.arccos(np.clip(2 * v * v - 1, -1, 1))
        in_x, in_y = np.cos(np.outer(angles, orders))
        gradient = 2 * v * (stacked @ in_y[: stacked.shape[2]] @ in_x[: stacked.shape[1]])
        return v * (v @ gradient) - gradient

    def distance(t: float, v: np.ndarray) -> float:
        return 1 - v @ v - _NEAR_ARC

    distance.terminal = True
    start = _START * np.array(direction) + _START * _BESIDE * np.array(direction)[::-1]
    found = solve_ivp(
        velocity, (0, _LONGEST), start, "DOP853", rtol=_RTOL, atol=_ATOL, events=distance
    )
    path = tuple(map(tuple, found.y.T.tolist()))
    time = float(found.t[-1])
    if found.status != 1:
        return FlowEnd(None, time, path)
    e, m = found.y[:, -1]
    return FlowEnd(_next_minimum(task, e * e / (e * e + m * m), minima), time, path)


def _next_minimum(task: Task, x: float, minima: tuple[float, ...]) -> float | None:
    """The minimum down the arc from x."""
    slope = np.tensordot(task.weights, task.table.arc[1], axes=1)
    rises = float(evaluate(slope, np.array(x))) > 0
    beyond = [place for place in minima if (place <= x if rises else place >= x)]
    return min(beyond, key=lambda place: abs(place - x), default=None)
