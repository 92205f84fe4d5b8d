"""The ODE of the overlaps from many starts at once, to a threshold or to where it ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.dynamics.drift import drift
from ssiode.errors import InputError, finite_number
from ssiode.memory import require_memory
from ssiode.population_risk import RiskEngine, make_engine
from ssiode.recovery import check_threshold
from ssiode.risk_landscape.escape.flow_batch import Batch

if TYPE_CHECKING:
    from ssiode.problem import Problem

_RTOL_RANGE = (1e-10, 1e-3)
_FEASIBLE = 1e-9
_LONGEST, _RESTING = 1e4, 1e-12


@dataclass(frozen=True, eq=False)
class Flow:
    """Where p starts were taken.

    Attributes
    ----------
    problem : Problem
    gamma : float
        Learning rate; 0 is gradient flow.
    threshold : float or None
        eta: a start that reaches |v| >= eta is stopped there.
    t_max : float
        Last ODE time.
    starts, states : arrays of shape (p, L + 1)
        First and last states v = (e, m).
    times : array of shape (p,)
        ODE times of the last states.
    crossing_times : array of shape (p,)
        First times at which |v| >= eta; NaN where it was not reached.
    outcomes : array of p texts
        `crossed`; `converged`, at a stationary state where no direction grows; `saddle`, at one
        which the flow does not leave though a direction grows, as from a start on its ridge;
        `moving`, if none of these came before the end; or `failed`, where the vector field is not
        finite.
    status, message : str
        `finished`; `failed`, if a start or the engine did or the ODE is too stiff; or
        `interrupted`; and in words.
    engine : str
        Name of the engine.
    """

    problem: Problem
    gamma: float
    threshold: float | None
    t_max: float
    starts: np.ndarray
    states: np.ndarray
    times: np.ndarray
    crossing_times: np.ndarray
    outcomes: np.ndarray
    status: str
    message: str
    engine: str

    def count(self, outcome: str) -> int:
        """Number of starts with this outcome."""
        return int(np.sum(self.outcomes == outcome))


def flow_from(
    problem: Problem,
    engine: RiskEngine | str | None,
    gamma: float,
    starts: Any,
    *,
    t_max: float,
    threshold: float | None = None,
    rtol: float = 1e-6,
) -> Flow:
    r"""Integrate dv/dt = -(Gamma - v v^T) grad R - (gamma / 2b) V v from many starts.

    The equation is that of :func:`ssiode.solve_ode` (Arnaboldi et al., arXiv 2506.02651). Each
    start has time steps of its own, so a result does not depend on the starts beside it but for the
    last digits of an engine that sums differently for many states. A start ends when |v| reaches
    the threshold, if one is given, and when it has come to rest.

    Parameters
    ----------
    problem : Problem
    engine : RiskEngine, str or None
        Engine of the right-hand side, its name, or None to choose one.
    gamma : float
        Learning rate >= 0; 0 is gradient flow.
    starts : array of shape (p, L + 1)
        Feasible states v = (e, m).
    t_max : float
        Last ODE time, > 0.
    threshold : float, optional
        eta in (0, 1] of |v| >= eta, in the Euclidean norm.
    rtol : float
        Relative tolerance of each overlap in a step, in [1e-10, 1e-3]. The absolute one is at most
        a thousandth of the smallest overlap of the start that is not zero, as a saddle forgets
        nothing.

    Returns
    -------
    Flow
        After Ctrl-C with status `interrupted` and what was reached.

    Raises
    ------
    InputError
        On states that are infeasible or of the wrong shape, or a number out of range.

    Examples
    --------
    The linear problem m' = 2 (1 - m^2) reaches 1/2 at (1/2) artanh(1/2), and ends at 1:

    >>> from ssiode import Problem, Target, TiedNetwork
    >>> linear = Problem(Target("z1"), TiedNetwork("identity"))
    >>> flow = flow_from(linear, None, 0.0, [[0.0, 0.0]], t_max=20.0, threshold=0.5)
    >>> bool(abs(flow.crossing_times[0] - np.arctanh(0.5) / 2) < 1e-6)
    True
    >>> flow = flow_from(linear, None, 0.0, [[0.0, 0.0]], t_max=20.0)
    >>> flow.outcomes.tolist(), bool(abs(flow.states[0, 1] - 1.0) < 1e-8)
    (['converged'], True)
    """
    gamma = finite_number("gamma", gamma, minimum=0)
    t_max = finite_number("t_max", t_max, minimum=0)
    if t_max == 0:
        raise InputError("t_max is 0; it must be > 0")
    low, high = _RTOL_RANGE
    if not low <= finite_number("rtol", rtol) <= high:
        raise InputError(f"rtol is {rtol!r}; it must be between {low:g} and {high:g}")
    eta = None if threshold is None else check_threshold(threshold)
    if not isinstance(engine, RiskEngine):
        engine = make_engine(problem, engine)
    v = _checked(problem, starts)
    batch = Batch(problem, engine, gamma, eta, t_max, float(rtol), v)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        batch.run()
    return _flow(batch)


def _flow(batch: Batch) -> Flow:
    names, numbers = np.unique(batch.outcomes, return_counts=True)
    told = ", ".join(f"{n} {name}" for n, name in zip(numbers, names, strict=True)) or "no starts"
    status = "failed" if "failed" in names and batch.status == "finished" else batch.status
    reason = "interrupted" if status == "interrupted" else batch.message
    return Flow(
        problem=batch.problem,
        gamma=batch.gamma,
        threshold=batch.eta,
        t_max=batch.t_max,
        starts=batch.starts,
        states=batch.states,
        times=batch.times,
        crossing_times=batch.crossings,
        outcomes=batch.outcomes,
        status=status,
        message=f"{reason}: {told}" if reason else told,
        engine=batch.engine.name,
    )


def long_time(problem: Problem, engine: RiskEngine, gamma: float, starts: np.ndarray) -> float:
    """Long enough for most starts to end: 10^4 times |v_i / (dv_i/dt)| of a median start.

    The slowest overlap of each start counts.

    >>> from ssiode import Problem, Target, TiedNetwork
    >>> square = Problem(Target("He2(z1)"), TiedNetwork("square"))
    >>> round(long_time(square, make_engine(square), 0.0, np.array([[0.0, 1e-4]])))
    1250
    """
    v, velocity = np.abs(starts), np.abs(drift(problem, engine, gamma, starts))
    moves = velocity > _RESTING * velocity.max(axis=1, keepdims=True)
    own = np.divide(v, velocity, out=np.zeros_like(v), where=moves)
    typical = float(np.median(own.max(axis=1))) if len(v) else 0.0
    return _LONGEST * (typical if typical > 0 else 1.0)


def _checked(problem: Problem, starts: Any) -> np.ndarray:
    size = problem.length + 1
    try:
        v = np.array(starts, dtype=float)
    except (TypeError, ValueError):
        v = np.array(np.nan)
    if v.ndim != 2 or v.shape[1] != size or not np.all(np.isfinite(v)):
        raise InputError(f"starts must be finite states (e, m) of shape (p, {size})")
    require_memory({"starts": 30.0 * v.size})
    geometry = problem.geometry
    for state in v[np.abs(v).max(axis=1) > 1e100]:
        geometry.check_feasible(state)
    scales = np.sqrt(np.diag(geometry.metric))
    rest = np.abs(v - geometry.coordinates(v) @ geometry.basis.T).max(axis=1)
    suspect = (geometry.squared_length(v) > 1 + _FEASIBLE) | (rest > _FEASIBLE * scales.min())
    for state in v[suspect]:
        geometry.check_feasible(state)
    return v
