"""The right-hand side of the ODE of a problem, with the risk of an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ssiode.dynamics.vector_field import norm_drift, vector_field

if TYPE_CHECKING:
    from ssiode.population_risk import RiskEngine
    from ssiode.problem import Problem

# What vanishes by symmetry is below 1e-17 sqrt(V) in the engines, but a saddle amplifies that.
_ROUNDING = 1e-15


def drift(problem: Problem, engine: RiskEngine, gamma: float, v: np.ndarray) -> np.ndarray:
    """Right-hand side dv/dt at states v, in the same shape.

    What vanishes by symmetry is exactly zero.

    Parameters
    ----------
    problem : Problem
    engine : RiskEngine
    gamma : float
        Learning rate >= 0.
    v : array of shape (..., L + 1), or (..., 2 L) for an untied network
        With the joint constraint it may go on with the squared norms q_1, ..., q_L of the weight
        vectors, shape (..., 3 L).

    Examples
    --------
    >>> from ssiode import Problem, Target, TiedNetwork
    >>> from ssiode.population_risk import make_engine
    >>> linear = Problem(Target("z1"), TiedNetwork("identity"))
    >>> drift(linear, make_engine(linear), 0.0, np.array([0.0, 0.5])).round(12).tolist()
    [0.0, 1.5]
    """
    geometry = problem.geometry
    v, squared_norms = v[..., : geometry.n_overlaps], v[..., geometry.n_overlaps :]
    moments = engine.moments(v.reshape(-1, v.shape[-1])).reshape(*v.shape[:-1], -1)
    # V rounds to below zero where the student is perfect.
    gradient, second_moment = moments[..., 1:-1], np.maximum(moments[..., -1:], 0.0)
    per_row = second_moment if geometry.n_rows > 1 else second_moment[..., 0]
    rows, slopes, batch = geometry.by_rows(v), geometry.by_rows(gradient), problem.sgd.batch
    velocity = geometry.flat(
        vector_field(rows, geometry.metric, slopes, per_row, gamma, batch, geometry.is_joint)
    )
    rounding = _ROUNDING * np.sqrt(second_moment) * np.abs(geometry.metric).max()
    velocity[(v == 0) & (np.abs(velocity) <= rounding)] = 0.0
    if not squared_norms.shape[-1]:
        return velocity
    of_norms = norm_drift(rows, squared_norms, slopes, per_row, gamma, batch)
    return np.concatenate([velocity, of_norms], axis=-1)
