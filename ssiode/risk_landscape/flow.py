"""The ODE of the overlaps from many starts at once, to a threshold or to where it ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.dynamics.ode import ENGINE_TOLERANCE, drift
from ssiode.errors import InputError, finite_number
from ssiode.memory import require_memory
from ssiode.population_risk import RiskEngine, make_engine
from ssiode.recovery import check_threshold
from ssiode.risk_landscape.coordinates import FeasibleCoordinates
from ssiode.risk_landscape.independent_steps import Step, first_sizes
from ssiode.threads import one_blas_thread

if TYPE_CHECKING:
    from ssiode.problem import Problem

_MOST_ROUNDS = 20_000
_RTOL_RANGE = (1e-10, 1e-3)
# A state has settled if no overlap would move by more than this part of it in the whole time, or
# where speeds and overlaps are nothing but rounding.
_SETTLED = 1e-8
_ROUNDING_OF_SPEED, _ROUNDING_OF_OVERLAPS = 1e-13, 1e-14
# Displacement for derivatives of the drift, and the part of the largest one that is growth.
_DISPLACEMENT, _GROWTH = 1e-6, 1e-4
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
        `crossed`; `converged`, at a state that is stationary and in which no direction grows;
        `moving`, if neither came before the end; or `failed`, where the vector field is not finite
        or too stiff.
    status, message : str
        `finished`, `failed` (some starts or the engine did) or `interrupted`; and in words.
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
    the threshold, if one is given, and when it has converged.

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
        engine = make_engine(problem, engine, tolerance=ENGINE_TOLERANCE)
    v = _checked(problem, starts)
    batch = _Batch(problem, engine, gamma, eta, t_max, float(rtol), v)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        batch.run()
    return batch.flow()


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


@dataclass
class _Batch:
    """The states of all starts, and what the next step of each needs."""

    problem: Problem
    engine: RiskEngine
    gamma: float
    eta: float | None
    t_max: float
    rtol: float
    starts: np.ndarray
    status: str = "finished"
    message: str = ""
    states: np.ndarray = field(init=False)
    times: np.ndarray = field(init=False)
    crossings: np.ndarray = field(init=False)
    outcomes: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.starts)
        self.states = self.starts.copy()
        self.times = np.zeros(count)
        self.crossings = np.full(count, np.nan)
        self.outcomes = np.full(count, "moving", dtype="<U9")
        sizes = np.where(self.starts == 0, np.inf, np.abs(self.starts)).min(axis=1, initial=np.inf)
        smallest = np.where(np.isfinite(sizes), sizes, 1.0)
        self._absolute = np.maximum(1e-3 * smallest * min(1.0, self.rtol / 1e-4), 1e-300)
        self._coordinates = FeasibleCoordinates(self.problem.geometry)

    def field(self, v: np.ndarray) -> np.ndarray:
        return drift(self.problem, self.engine, self.gamma, v)

    def run(self) -> None:
        if self.eta is not None:
            beyond = np.sqrt(np.sum(self.starts**2, axis=1)) >= self.eta
            self.crossings[beyond], self.outcomes[beyond] = 0.0, "crossed"
        try:
            with one_blas_thread():
                self._move(np.flatnonzero(self.outcomes == "moving"))
        except KeyboardInterrupt:
            self.status = "interrupted"
        except FloatingPointError as error:
            self.status, self.message = "failed", str(error)

    def _move(self, going: np.ndarray) -> None:
        """Move the starts of these numbers, each until it ends."""
        if not len(going):
            return
        velocity = self.field(self.states[going])
        size = first_sizes(self.states[going], velocity, self._absolute[going], self.rtol)
        fastest = np.zeros(len(going))
        for _ in range(_MOST_ROUNDS):
            size = np.minimum(size, self.t_max - self.times[going])
            step = Step.take(self.field, self.states[going], velocity, size)
            error = step.error_norms(self._absolute[going], self.rtol)
            taken = error <= 1.0
            self._keep(going[taken], step.of(taken))
            velocity = np.where(taken[:, None], step.stages[-1], velocity)
            size = step.next_sizes(error)
            fastest = np.maximum(fastest, np.abs(velocity).max(axis=1))
            self._settle(going, velocity, fastest)
            is_stuck = ~taken & (size <= 16 * np.spacing(self.times[going]))
            self.outcomes[going[is_stuck]] = "failed"
            remaining = (self.outcomes[going] == "moving") & (self.times[going] < self.t_max)
            going, velocity = going[remaining], velocity[remaining]
            size, fastest = size[remaining], fastest[remaining]
            if not len(going):
                return
        self.outcomes[going] = "failed"

    def _keep(self, numbers: np.ndarray, step: Step) -> None:
        """Take the states after a step, or those at the threshold."""
        self.states[numbers] = step.after
        before = self.times[numbers]
        after = before + step.size
        # The last step ends at the end, and not a rounding before.
        self.times[numbers] = np.where(after >= self.t_max * (1 - 1e-15), self.t_max, after)
        if self.eta is None:
            return
        shares = step.first_crossings(self.eta)
        crossed = np.flatnonzero(np.isfinite(shares))
        if len(crossed):
            which = numbers[crossed]
            self.states[which] = step.of(crossed).at(shares[crossed])
            self.times[which] = before[crossed] + shares[crossed] * step.size[crossed]
            self.crossings[which], self.outcomes[which] = self.times[which], "crossed"

    def _settle(self, going: np.ndarray, velocity: np.ndarray, fastest: np.ndarray) -> None:
        """Mark the starts that have converged."""
        v = np.abs(self.states[going])
        size = np.maximum(v, self._absolute[going, None])
        allowed = np.maximum(_SETTLED * size / self.t_max, _ROUNDING_OF_SPEED * fastest[:, None])
        is_still = (np.abs(velocity) <= allowed) | (v <= _ROUNDING_OF_OVERLAPS)
        still = np.flatnonzero(is_still.all(axis=1) & (self.outcomes[going] == "moving"))
        # What has never moved, as a start exactly at a saddle, never will.
        for i in still:
            if fastest[i] == 0.0 or not self._grows(self.states[going[i]]):
                self.outcomes[going[i]] = "converged"

    def _grows(self, v: np.ndarray) -> bool:
        """Whether some direction grows at a stationary state, so that it is a saddle."""
        derivatives = drift_derivatives(self.field, self._coordinates, v)
        largest = np.abs(derivatives).max()
        return bool(np.linalg.eigvals(derivatives).real.max() > _GROWTH * largest)

    def flow(self) -> Flow:
        counts = {name: int(np.sum(self.outcomes == name)) for name in np.unique(self.outcomes)}
        told = ", ".join(f"{number} {name}" for name, number in counts.items()) or "no starts"
        if self.status == "finished" and counts.get("failed"):
            self.status = "failed"
        reason = f"{self.message}: " if self.message else ""
        reason = "interrupted: " if self.status == "interrupted" else reason
        return Flow(
            problem=self.problem,
            gamma=self.gamma,
            threshold=self.eta,
            t_max=self.t_max,
            starts=self.starts,
            states=self.states,
            times=self.times,
            crossing_times=self.crossings,
            outcomes=self.outcomes,
            status=self.status,
            message=f"{reason}{told}",
            engine=self.engine.name,
        )


def drift_derivatives(field: Any, coordinates: FeasibleCoordinates, v: np.ndarray) -> np.ndarray:
    """Derivatives of the drift in the orthonormal frame at a state v, shape (r, r).

    Central differences, around a point moved by 2e-6 towards the origin so as to stay feasible.

    >>> from ssiode import Encoding
    >>> frame = FeasibleCoordinates(Encoding("opposite").geometry(2))
    >>> drift_derivatives(lambda v: -2 * v, frame, np.array([0.6, -0.6, 0.8])).round(6).tolist()
    [[-2.0, 0.0], [0.0, -2.0]]
    """
    center = (1 - 2 * _DISPLACEMENT) * coordinates.coordinates(v)
    shifts = _DISPLACEMENT * np.eye(coordinates.dimension)
    around = coordinates.overlaps(np.concatenate([center + shifts, center - shifts]))
    ahead, behind = np.split(coordinates.coordinates(field(around)), 2)
    return ((ahead - behind) / (2 * _DISPLACEMENT)).T + 0.0
