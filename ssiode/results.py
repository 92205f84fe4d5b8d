"""What a solve or a run returns: immutable, and knowing how it was made."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

import ssiode
from ssiode.errors import InputError

if TYPE_CHECKING:
    from ssiode.problem import Problem


def provenance(problem: Problem) -> dict[str, Any]:
    """Return the problem as tables, and the versions that computed it."""
    try:
        tables = problem.to_tables()
    except InputError:
        tables = {"target": repr(problem.target)}
    names = ("numpy", "scipy", "numba", "sympy")
    versions = {"python": platform.python_version(), "ssiode": ssiode.__version__}
    return {"problem": tables, "versions": versions | {name: version(name) for name in names}}


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Solution of the ODE on v = (e, m).

    Attributes
    ----------
    problem : Problem
    gamma : float
        Learning rate of the solve; 0 is gradient flow.
    t : array of shape (n,)
        ODE times, t = gamma * steps / d.
    e, m, risk : arrays of shape (n, L), (n,), (n,)
    e_error, m_error, risk_error : arrays of the same shapes, or None
        Estimates from a second solve with independent numerical errors.
    status : str
        `finished`, `failed` or `interrupted`; in the last two the arrays hold what was reached.
    message : str
        The status in words.
    threshold : float
        eta of weak recovery.
    recovery_time : float or None
        First time at which the Euclidean norm |v| reaches eta, None if it does not.
    engine, reason : str
        Engine of the right-hand side, and why that one.
    n_evaluations : int
        Number of evaluations of the right-hand side.
    """

    problem: Problem
    gamma: float
    t: np.ndarray
    e: np.ndarray
    m: np.ndarray
    risk: np.ndarray
    e_error: np.ndarray | None
    m_error: np.ndarray | None
    risk_error: np.ndarray | None
    status: str
    message: str
    threshold: float
    recovery_time: float | None
    engine: str
    reason: str
    n_evaluations: int

    @property
    def v(self) -> np.ndarray:
        """States (e, m), shape (n, L + 1)."""
        return np.column_stack([self.e, self.m])

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        names = ("gamma", "t", "e", "m", "risk", "e_error", "m_error", "risk_error", "status")
        names += ("message", "threshold", "recovery_time", "engine", "reason", "n_evaluations")
        return {name: getattr(self, name) for name in names} | provenance(self.problem)


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Replicas of a stochastic run, recorded at common steps.

    Attributes
    ----------
    problem : Problem
        With the settings that were used.
    method : str
        `sgd` (direct) or `chain`.
    seed : int
        Replica i is the same whatever the number of replicas and threads.
    steps : integer array of shape (n,)
        Numbers of SGD steps done at the records.
    e, m, loss : arrays of shape (replicas, n, L), (replicas, n), (replicas, n)
        Overlaps, and the mean loss of fresh samples; NaN after a replica has diverged.
    recovery_steps, semantic_recovery_steps : integer arrays of shape (replicas,)
        Steps after which |v| (Euclidean) and |m| first reached eta, -1 where they did not.
    threshold : float
        eta of weak recovery.
    fresh_samples : int
        Number of fresh samples in each loss.
    status : str
        `finished`, `interrupted` or `diverged`; records are kept up to that point.
    message : str
        The status in words.
    seconds_per_step : float or None
        Time of one step of one replica on one thread, compilation and start-up left out; None when
        nothing was timed.
    """

    problem: Problem
    method: str
    seed: int
    steps: np.ndarray
    e: np.ndarray
    m: np.ndarray
    loss: np.ndarray
    recovery_steps: np.ndarray
    semantic_recovery_steps: np.ndarray
    threshold: float
    fresh_samples: int
    status: str
    message: str
    seconds_per_step: float | None

    @property
    def t(self) -> np.ndarray:
        """ODE times gamma * steps / d of the records."""
        return self.problem.sgd.gamma * self.steps / self.problem.sgd.d

    @property
    def v(self) -> np.ndarray:
        """States (e, m), shape (replicas, n, L + 1)."""
        return np.concatenate([self.e, self.m[..., None]], axis=-1)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: averages and spreads over replicas, and the final states."""
        replicas = len(self.m)
        root = np.sqrt(replicas)
        return {
            "steps": self.steps,
            "t": self.t,
            "m_mean": self.m.mean(axis=0),
            "m_std": spread(self.m),
            "e_mean": self.e.mean(axis=0),
            "e_std": spread(self.e),
            "abs_m_mean": np.abs(self.m).mean(axis=0),
            "loss_mean": self.loss.mean(axis=0),
            "loss_error": spread(self.loss) / root,
            "fresh_samples": self.fresh_samples,
            "final": {"e": _last(self.e), "m": _last(self.m)},
            "recovery_steps": _or_none(self.recovery_steps),
            "semantic_recovery_steps": _or_none(self.semantic_recovery_steps),
            "threshold": self.threshold,
            "method": self.method,
            "replicas": replicas,
            "seed": self.seed,
            "status": self.status,
            "message": self.message,
            "seconds_per_step": self.seconds_per_step,
        } | provenance(self.problem)


def spread(values: np.ndarray) -> np.ndarray:
    """Standard deviation over replicas; not a number for a single one."""
    if len(values) < 2:
        return np.full(values.shape[1:], np.nan)
    with np.errstate(invalid="ignore", over="ignore"):  # an infinite loss has no spread
        return values.std(axis=0, ddof=1)


def _last(values: np.ndarray) -> np.ndarray | None:
    """Values at the last record; None when a run was interrupted before the first."""
    return values[:, -1] if values.shape[1] else None


def _or_none(steps: np.ndarray) -> list[int | None]:
    return [int(step) if step >= 0 else None for step in steps]
