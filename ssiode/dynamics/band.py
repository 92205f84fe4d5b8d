"""The Gaussian band around the ODE in which SGD at finite d moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ssiode.dynamics.drift import drift
from ssiode.dynamics.ode import ENGINE_TOLERANCE
from ssiode.errors import InputError, whole_number
from ssiode.population_risk import Fluctuations, RiskEngine, make_engine

if TYPE_CHECKING:
    from ssiode.results import Trajectory

# Of the path, and of the covariance, whose S is an average over samples.
_RTOL, _COVARIANCE_RTOL = 1e-8, 1e-4
# Central differences over 1e-5 have a truncation error of 1e-10 and a rounding error of 1e-10.
_STEP = 1e-5


@dataclass(frozen=True, eq=False)
class Band:
    """Fluctuations of SGD around the ODE, in the linear approximation.

    Attributes
    ----------
    d : int
        Token dimension.
    t : array of shape (n,)
        ODE times.
    covariance : array of shape (n, L + 1, L + 1)
        Of (e, m) over independent runs.
    deviation : array of shape (n, L + 1)
        Standard deviations of e_1, ..., e_L, m.
    deviation_error : array of shape (n, L + 1)
        Difference from the deviations by other nodes or samples of S.
    """

    d: int
    t: np.ndarray
    covariance: np.ndarray
    deviation: np.ndarray
    deviation_error: np.ndarray


def fluctuation_band(
    trajectory: Trajectory,
    d: int | None = None,
    *,
    initial_covariance: np.ndarray | None = None,
    order: int = 12,
    samples: int = 2**12,
    engine: RiskEngine | None = None,
) -> Band:
    r"""Covariance of (e, m) around a solution of the ODE.

    With J the Jacobian of the drift and S of :class:`ssiode.population_risk.Fluctuations`

    .. math:: \mathrm{Cov}(v) = \frac{\gamma}{b\,d}\,\Sigma(t),\qquad
              \dot\Sigma = J\,\Sigma + \Sigma\,J^T + S,

    the linearised diffusion (after Arnaboldi et al., arXiv 2506.02651). It holds while the band is
    narrow compared with the scale on which J changes.

    Parameters
    ----------
    trajectory : Trajectory
        Solution of the ODE; its learning rate is used.
    d : int, optional
        Token dimension; by default that of the problem.
    initial_covariance : array of shape (L + 1, L + 1), optional
        Of (e, m) at the first time; by default all runs start from the same overlaps. Uniform
        weights have the metric Gamma divided by d.
    order, samples : int
        Of :class:`ssiode.population_risk.Fluctuations`: the nodes of S for one or two tokens, and
        the samples for more.
    engine : RiskEngine, optional
        Engine of the drift; by default that of the trajectory.

    Raises
    ------
    InputError
        On numbers out of range, or a trajectory that reached no time.
    """
    problem = trajectory.problem
    d = whole_number("d", problem.sgd.d if d is None else d, minimum=3)
    if not len(trajectory.t):
        raise InputError(f"the trajectory has no times: {trajectory.message}")
    size = problem.length + 1
    start = np.zeros((size, size)) if initial_covariance is None else initial_covariance
    start = np.array(start, dtype=float)
    if start.shape != (size, size) or not np.all(np.isfinite(start)):
        raise InputError(f"initial_covariance must be a matrix of {size} x {size} finite numbers")
    v0 = trajectory.v[0]
    engine = engine or make_engine(problem, trajectory.engine, v0, tolerance=ENGINE_TOLERANCE)
    factor = trajectory.gamma / (problem.sgd.batch * d)
    covariances = [
        _covariances(trajectory, engine, fluctuations, start, factor)
        for fluctuations in (
            Fluctuations(problem, order, samples, problem.sgd.seed),
            Fluctuations(problem, order - 2, samples, problem.sgd.seed + 1),
        )
    ]
    first, second = (np.sqrt(np.diagonal(c, axis1=1, axis2=2).clip(0.0)) for c in covariances)
    return Band(d, trajectory.t, covariances[0], first, np.abs(first - second))


def _covariances(
    trajectory: Trajectory,
    engine: RiskEngine,
    fluctuations: Fluctuations,
    start: np.ndarray,
    factor: float,
) -> np.ndarray:
    """Solve for the covariance along the path, in orthonormal coordinates; (n, L + 1, L + 1)."""
    from scipy.integrate import solve_ivp

    problem, gamma = trajectory.problem, trajectory.gamma
    basis, coordinates = problem.geometry.basis, problem.geometry.coordinates
    size, rank = basis.shape
    v0 = trajectory.v[0]

    def both_sides(matrix: np.ndarray) -> np.ndarray:
        return coordinates(coordinates(matrix).T)

    def right_hand_side(t: float, y: np.ndarray) -> np.ndarray:
        v, sigma = y[:size], y[size:].reshape(rank, rank)
        steps = np.concatenate([np.zeros((1, size)), _STEP * basis.T, -_STEP * basis.T])
        velocities = drift(problem, engine, gamma, v + steps)
        above, below = velocities[1 : rank + 1], velocities[rank + 1 :]
        jacobian = coordinates((above - below) / (2 * _STEP)).T
        noise = both_sides(fluctuations.values(v[None], gamma, problem.sgd.batch)[0])
        change = jacobian @ sigma + sigma @ jacobian.T + factor * noise
        return np.concatenate([velocities[0], change.ravel()])

    times = trajectory.t
    inside = both_sides(start)
    sizes = (size, rank * rank)
    smallest = np.abs(v0[v0 != 0]).min(initial=1.0)
    rtol = np.repeat([_RTOL, _COVARIANCE_RTOL], sizes)
    atol = rtol * np.repeat([1e-3 * smallest, 1e-2 * (factor + np.abs(inside).max())], sizes)
    solution = solve_ivp(
        right_hand_side,
        (times[0], max(times[-1], times[0] + 1e-300)),
        np.concatenate([v0, inside.ravel()]),
        method="DOP853",
        t_eval=times if len(times) > 1 else times[:1],
        rtol=rtol,
        atol=np.maximum(atol, 1e-300),
    )
    if not solution.success:
        raise InputError(f"the band cannot be computed: {solution.message}")
    found = solution.y[size:].T.reshape(-1, rank, rank)
    return np.sum(
        basis[:, None, :, None] * basis[None, :, None, :] * found[:, None, None], axis=(3, 4)
    )
