r"""How far the finite steps of SGD carry its mean from the ODE, to first order in gamma/d.

Two effects of a step :math:`h = \gamma/d` are of that order. The path is followed by Euler steps,
whose error is linear in h. And the part of the gradient along the weights, at most
:math:`\sqrt{L V}` by Cauchy-Schwarz for fields of unit variance, changes their norm, and with it
the angle that the step turns them by: time runs faster or slower by a factor of at most
:math:`1 + h \sqrt{L V}`. Large batches make the fluctuations small, and these effects seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ssiode.dynamics.drift import drift

if TYPE_CHECKING:
    from ssiode.population_risk import RiskEngine
    from ssiode.results import Trajectory


def step_error(trajectory: Trajectory, engine: RiskEngine) -> np.ndarray:
    """Estimate of the mean of SGD minus the ODE, at the times of the trajectory.

    Parameters
    ----------
    trajectory : Trajectory
        Solution at increasing times.
    engine : RiskEngine
        Engine of the right-hand side.

    Returns
    -------
    array of the shape of the states, (n, L + 1)
    """
    step = trajectory.gamma / trajectory.problem.sgd.d
    return step * (_error_of_euler(trajectory, engine) + _change_of_time(trajectory, engine))


def _error_of_euler(trajectory: Trajectory, engine: RiskEngine) -> np.ndarray:
    """Error of Euler steps from one time to the next, divided by their length."""
    states, steps = trajectory.v, np.diff(trajectory.t)
    errors = np.zeros_like(states)
    euler = states[:1].sum(axis=0)
    for i, step in enumerate(steps, start=1):
        euler = euler + step * drift(trajectory.problem, engine, trajectory.gamma, euler)
        if not np.linalg.norm(euler) < 2:  # steps too coarse to follow the path: no estimate
            break
        errors[i] = np.abs(euler - states[i])
    return errors / steps.max(initial=trajectory.gamma / trajectory.problem.sgd.d)


def _change_of_time(trajectory: Trajectory, engine: RiskEngine) -> np.ndarray:
    """Speed of the ODE times the integral of sqrt(L V)."""
    problem, gamma, states = trajectory.problem, trajectory.gamma, trajectory.v
    speed = np.array([drift(problem, engine, gamma, v) for v in states]).reshape(states.shape)
    second_moments = engine.moments(states)[:, -1] if len(states) else np.zeros(0)
    radial = np.sqrt(problem.length * np.maximum(second_moments, 0.0))
    longest = np.maximum.accumulate(radial) * trajectory.t
    return np.abs(speed) * longest[:, None]
