"""Minima, steepest direction and flow of one task by grids and a general solver."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

from ssiode.phase.task import Task

ANGLES = np.linspace(0, np.pi / 2, 4001)
NAMES = {0: "semantic", len(ANGLES) - 1: "positional"}


def arc_minima(task: Task) -> dict[int, float]:
    """Numbers of the angles with a risk below that of both neighbours, and the risk."""
    risk = task.risk(np.sin(ANGLES), np.cos(ANGLES))
    padded = np.concatenate([[np.inf], risk, [np.inf]])
    is_lowest = (risk < padded[:-2]) & (risk < padded[2:])
    return {int(i): float(risk[i]) for i in np.flatnonzero(is_lowest)}


def flow_end(task: Task, is_positional: bool, places: list[int]) -> int:
    """The minimum nearest to the end of gradient flow."""

    def velocity(t, v):
        gradient = task.gradient(v[0], v[1])
        return v * (v @ gradient) - gradient

    start = [1e-2, 1e-5] if is_positional else [1e-5, 1e-2]
    found = solve_ivp(velocity, (0, 2e4), start, "LSODA", rtol=1e-7, atol=1e-12)
    angle = np.arctan2(*np.abs(found.y[:, -1]))
    return min(places, key=lambda i: abs(ANGLES[i] - angle))


def region(omega: float, a: float) -> str:
    """Name of the region."""
    task = Task.of(omega, a)
    minima = arc_minima(task)
    kinds = {i: NAMES.get(i, "mixed") for i in minima}
    lowest = min(minima, key=minima.get)
    step = 1e-3
    is_positional = bool(task.risk(step, 0.0) < task.risk(0.0, step))
    if len(minima) == 1:
        misled = kinds[lowest] != "mixed" and is_positional != (kinds[lowest] == "positional")
        return f"unique {kinds[lowest]}" + (", misaligned" if misled else "")
    others = " and ".join(kinds[i] for i in minima if i != lowest)
    end = flow_end(task, is_positional, list(minima))
    dynamics = "" if end == lowest else f", {kinds[end]} dynamics"
    return f"global {kinds[lowest]} beside {others}{dynamics}"
