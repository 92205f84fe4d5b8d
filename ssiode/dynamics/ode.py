"""Integration of the ODE on the sufficient statistics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.dynamics.drift import drift
from ssiode.errors import InputError, finite_number, whole_number
from ssiode.memory import require_memory
from ssiode.population_risk import RiskEngine, make_engine
from ssiode.recovery import DEFAULT_THRESHOLD, check_threshold
from ssiode.results import Trajectory

if TYPE_CHECKING:
    from ssiode.problem import Problem

_MAX_STEPS = 20_000
_STEPS_BEFORE_PROJECTION = 500
_RTOL_RANGE = (1e-11, 1e-2)
# Between two steps DOP853 interpolates, with errors some hundred times those of its steps.
_STEP_MARGIN = 1e-2
# Fewest steps of a solve, and of the one that estimates its error.
_FEWEST_STEPS, _FEWEST_COMPANION_STEPS = 20, 14
_GRADIENT_FLOW_TIME = 20.0
ENGINE_TOLERANCE = 1e-1


def solve_ode(
    problem: Problem,
    gamma: float | None = None,
    t_max: float | None = None,
    e: Any = None,
    m: float | None = None,
    *,
    points: int = 201,
    times: np.ndarray | None = None,
    threshold: float = DEFAULT_THRESHOLD,
    engine: str | RiskEngine | None = None,
    rtol: float | None = None,
    estimate_error: bool = True,
    **engine_options: Any,
) -> Trajectory:
    r"""Solve dv/dt = -(Gamma - v v^T) grad R - (gamma / 2b) V v from the initial overlaps.

    The solver is DOP853, stepped by hand so that a solve that fails or is interrupted keeps what
    it reached. Its absolute tolerance is a thousandth of the smallest initial overlap that is not
    zero, because the escape from a saddle forgets nothing that was lost there.

    Parameters
    ----------
    problem : Problem
    gamma : float, optional
        Learning rate >= 0; by default that of the problem. 0 is gradient flow.
    t_max : float, optional
        Last ODE time; by default that of the problem's steps, gamma * steps / d, and 20 for
        gradient flow.
    e, m : optional
        Initial overlaps; by default those of the problem's initial condition.
    points : int
        Number of equidistant times, >= 2.
    times : array, optional
        Increasing times >= 0 instead of these.
    threshold : float
        eta in (0, 1] of weak recovery, |v| >= eta in the Euclidean norm; of the m of an untied
        network it takes the root mean square.
    engine : str or RiskEngine, optional
        Engine of the right-hand side; chosen if not given. Its samples or nodes are fixed, so the
        right-hand side is a function.
    rtol : float, optional
        Relative tolerance of the solution in [1e-11, 1e-2]; by default a tenth of the engine's
        relative error at the start, between 1e-9 and 1e-4: more would resolve the engine's noise.
    estimate_error : bool
        Solve once more with an engine of independent errors and a ten times larger tolerance; the
        difference is the error.
    **engine_options
        Arguments of the engine, such as `order`, or `samples` and `seed`.

    Raises
    ------
    InputError
        On an infeasible initial state or a number out of range.

    Examples
    --------
    The linear problem m' = 2 (1 - m^2) has the solution tanh(2 t):

    >>> from ssiode import Problem, Target, TiedNetwork
    >>> linear = Problem(Target("z1"), TiedNetwork("identity"))
    >>> solution = solve_ode(linear, gamma=0.0, t_max=1.0, m=0.0)
    >>> bool(abs(solution.m[-1] - np.tanh(2.0)) < 1e-8)
    True
    """
    gamma = finite_number("gamma", problem.sgd.gamma if gamma is None else gamma, minimum=0)
    eta = check_threshold(threshold)
    v0 = problem.initial_state(e, m)
    grid = _time_grid(problem, gamma, t_max, points, times)
    if not isinstance(engine, RiskEngine):
        engine_options.setdefault("tolerance", ENGINE_TOLERANCE)
        engine = make_engine(problem, engine, v0, **engine_options)
    relative = _relative_tolerance(engine, v0) if rtol is None else _check_rtol(rtol)
    solve = _Solve(problem, engine, gamma, grid, eta, relative)
    solve.run(v0)
    errors = _errors(solve, v0) if estimate_error and solve.status == "finished" else None
    return solve.trajectory(errors)


def _time_grid(
    problem: Problem, gamma: float, t_max: float | None, points: int, times: Any
) -> np.ndarray:
    if times is not None:
        try:
            grid = np.array(times, dtype=float)
        except (TypeError, ValueError):
            grid = np.array(np.nan)
        is_list = grid.ndim == 1 and grid.size > 0 and bool(np.all(np.isfinite(grid)))
        if not is_list or grid[0] < 0 or not np.all(np.diff(grid) > 0):
            raise InputError("times must be increasing finite numbers >= 0")
        return grid
    if t_max is None:
        t_max = problem.replace(gamma=gamma).sgd.ode_time if gamma > 0 else _GRADIENT_FLOW_TIME
    t_max = finite_number("t_max", t_max, minimum=0)
    if t_max == 0:
        raise InputError("t_max is 0; it must be > 0")
    points = whole_number("points", points, minimum=2)
    require_memory({"points": float(points) * (4 * problem.length + 32)})
    return np.linspace(0.0, t_max, points)


def _check_rtol(rtol: float) -> float:
    low, high = _RTOL_RANGE
    if not low <= finite_number("rtol", rtol) <= high:
        raise InputError(f"rtol is {rtol!r}; it must be between {low:g} and {high:g}")
    return float(rtol)


def _relative_tolerance(engine: RiskEngine, v0: np.ndarray) -> float:
    result = engine.evaluate(v0)
    scale = float(np.abs(result.gradient).max())
    error = float(result.gradient_error.max())
    return float(np.clip(0.1 * error / scale if scale > 0 else 0.0, 1e-9, 1e-4))


@dataclass
class _Solve:
    """One integration, with what it has reached so far."""

    problem: Problem
    engine: RiskEngine
    gamma: float
    grid: np.ndarray
    eta: float
    rtol: float
    fewest_steps: int = _FEWEST_STEPS
    states: list[np.ndarray] = field(default_factory=list)
    recovery_time: float | None = None
    status: str = "finished"
    message: str = "reached the last time"
    n_evaluations: int = 0

    def right_hand_side(self, t: float, v: np.ndarray) -> np.ndarray:
        self.n_evaluations += 1
        velocity = drift(self.problem, self.engine, self.gamma, v)
        if not np.all(np.isfinite(velocity)):
            raise FloatingPointError(f"the vector field is not finite at t = {t:.6g}")
        return velocity

    def run(self, v0: np.ndarray) -> None:
        if self.problem.geometry.recovered(v0) >= self.eta:
            self.recovery_time = 0.0
        if self.problem.geometry.is_joint:
            v0 = np.append(v0, np.ones(self.problem.length))
        if self.grid[0] == 0:
            self.states.append(v0)
        smallest = np.abs(v0[v0 != 0]).min() if np.any(v0) else 1.0
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                self._integrate(v0, max(1e-3 * smallest * min(1.0, self.rtol / 1e-4), 1e-300))
        except FloatingPointError as error:
            self.stop("failed", str(error))
        except KeyboardInterrupt:
            self.stop("interrupted", "interrupted; times up to there are kept")

    def _integrate(self, v0: np.ndarray, atol: float) -> None:
        from scipy.integrate import DOP853

        end = self.grid[-1]
        max_step = max(end / self.fewest_steps, 1e-12)
        solver = DOP853(
            self.right_hand_side, 0.0, v0, end, max_step, _STEP_MARGIN * self.rtol, atol
        )
        steps = 0
        while solver.status == "running":
            message = solver.step()
            if solver.status == "failed":
                self.stop("failed", f"the solver stopped at t = {solver.t:.6g}: {message}")
                return
            self._record(solver.t_old, solver.t, solver.dense_output())
            steps += 1
            # Stability fixes the step of a stiff ODE; then there is no use in going on.
            to_come = (end - solver.t) / (solver.t - solver.t_old)
            is_hopeless = steps >= _STEPS_BEFORE_PROJECTION and to_come > 10 * _MAX_STEPS
            if solver.status == "running" and (is_hopeless or steps >= _MAX_STEPS):
                self.stop(
                    "failed",
                    f"stopped at t = {solver.t:.6g} after {steps} steps: the ODE is stiff here; "
                    "lower gamma or t_max",
                )
                return

    def stop(self, status: str, message: str) -> None:
        """End the solve early, with the reason."""
        self.status, self.message = status, message

    def _record(self, start: float, end: float, interpolant: Callable[[float], np.ndarray]) -> None:
        for t in self.grid[len(self.states) :]:
            if t > end:
                break
            self.states.append(interpolant(t))
        if self.recovery_time is None:
            self.recovery_time = self._first_crossing(start, end, interpolant)

    def _first_crossing(
        self, start: float, end: float, interpolant: Callable[[float], np.ndarray]
    ) -> float | None:
        """First time in a step at which |v| reaches eta, looked for between nine points."""
        from scipy.optimize import brentq

        geometry = self.problem.geometry

        def excess(t: float) -> float:
            return float(geometry.recovered(interpolant(t)[: geometry.n_overlaps]) - self.eta)

        times = np.linspace(start, end, 9)
        for left, right in pairwise(times):
            if excess(left) < 0 <= excess(right):
                return float(brentq(excess, left, right, xtol=1e-12))
        return None

    def trajectory(self, errors: np.ndarray | None) -> Trajectory:
        risks = self.risks()
        geometry, length = self.problem.geometry, self.problem.length
        states = np.array(self.states).reshape(len(self.states), -1)

        def split(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            m = columns[:, length : geometry.n_overlaps]
            return columns[:, :length], m if geometry.n_rows > 1 else m[:, 0]

        e, m = split(states)
        e_error, m_error = (None, None) if errors is None else split(errors)
        return Trajectory(
            problem=self.problem,
            gamma=self.gamma,
            t=self.grid[: len(states)],
            e=e,
            m=m,
            squared_norms=states[:, geometry.n_overlaps :] if geometry.is_joint else None,
            risk=risks,
            e_error=e_error,
            m_error=m_error,
            risk_error=None if errors is None else errors[:, -1],
            status=self.status,
            message=self.message,
            threshold=self.eta,
            recovery_time=self.recovery_time,
            engine=self.engine.name,
            reason=self.engine.description,
            n_evaluations=self.n_evaluations,
        )

    def risks(self) -> np.ndarray:
        """Risks at the states, not a number for those that an interruption left out."""
        risks = np.full(len(self.states), np.nan)
        try:
            for i, state in enumerate(self.states):
                v = state[None, : self.problem.geometry.n_overlaps]
                risks[i] = self.engine.moments(v)[0, 0]
        except KeyboardInterrupt:
            self.stop("interrupted", "interrupted while the risks were computed")
        return risks


def _errors(solve: _Solve, v0: np.ndarray) -> np.ndarray | None:
    """Differences of (e, m, risk) from the companion solve, or None if that fails."""
    # With the same tolerance and steps the solver's own errors would cancel.
    other = _Solve(
        solve.problem,
        solve.engine.companion(),
        solve.gamma,
        solve.grid,
        solve.eta,
        min(10 * solve.rtol, _RTOL_RANGE[1]),
        _FEWEST_COMPANION_STEPS,
    )
    other.run(v0)
    if other.status == "interrupted":
        solve.stop("interrupted", "interrupted while the error was estimated; all times are kept")
    if other.status != "finished":
        return None
    states = np.abs(np.array(solve.states) - np.array(other.states))
    return np.column_stack([states, np.abs(solve.risks() - other.risks())])
