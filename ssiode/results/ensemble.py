"""Replicas of a stochastic run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.results.checkpoint import Checkpoint
from ssiode.results.provenance import provenance

if TYPE_CHECKING:
    from ssiode.problem import Problem


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Replicas of a stochastic run, recorded at common steps.

    Attributes
    ----------
    problem : Problem
        With the settings that were used.
    method : str
        `sgd` (direct) or `chain`.
    seed, first_replica : int
        Replica i of the run has the number first_replica + i; seed and number fix all that it does,
        whatever the number of replicas and threads.
    steps : integer array of shape (n,)
        Numbers of SGD steps done at the records.
    e, m, loss : arrays of shape (replicas, n, L), (replicas, n), (replicas, n)
        Overlaps, and the mean loss of fresh samples; NaN after a replica has diverged. An untied
        network of several tokens has m of shape (replicas, n, L).
    squared_norms : array of shape (replicas, n, L), or None
        |w_l|^2/d of an untied network with the joint constraint, which lets them move.
    recovery_steps, semantic_recovery_steps : integer arrays of shape (replicas,)
        Steps after which |v| (Euclidean) and |m| first reached eta, -1 where they did not. Of an
        untied network |m| is the root mean square of its rows, and |v|^2 = |e|^2 + |m|^2.
    threshold : float
        eta of weak recovery.
    fresh_samples : int
        Number of fresh samples in each loss.
    status : str
        `finished`; `interrupted`, or `unfinished` in a file of a run that was killed, when the last
        record is the last state that was reached; or `diverged`.
    message : str
        The status in words.
    seconds_per_step : float or None
        Time of one step of one replica on one thread, compilation and start-up left out; None when
        nothing was timed.
    options : mapping
        Settings of the method beside those of the problem.
    checkpoint : Checkpoint or None
        Where an interrupted run stopped; :func:`ssiode.resume_run` goes on from there.
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
    first_replica: int = 0
    squared_norms: np.ndarray | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    checkpoint: Checkpoint | None = None

    @property
    def t(self) -> np.ndarray:
        """ODE times gamma * steps / d of the records."""
        return self.problem.sgd.gamma * self.steps / self.problem.sgd.d

    @property
    def v(self) -> np.ndarray:
        """States (e, m), shape (replicas, n, L + 1), or (replicas, n, 2 L) for untied networks."""
        m = self.m if self.m.ndim == 3 else self.m[..., None]
        return np.concatenate([self.e, m], axis=-1)

    @property
    def semantic_norm(self) -> np.ndarray:
        """The |m| of weak recovery, shape (replicas, n)."""
        return np.abs(self.m) if self.m.ndim == 2 else np.sqrt(np.mean(self.m**2, axis=-1))

    @property
    def norm(self) -> np.ndarray:
        """The |v| of weak recovery, shape (replicas, n)."""
        return np.sqrt(np.sum(self.e**2, axis=-1) + self.semantic_norm**2)

    def save(self, path: str | Path) -> None:
        """Write the whole run, its problem and where it stopped, to one file.

        The file is replaced as a whole, so that there is always a complete one.

        Raises
        ------
        InputError
            If the file cannot be written, or the target is a Python function.
        """
        from ssiode.results.archive import save_ensemble

        save_ensemble(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Ensemble:
        """Read a run that :meth:`save` wrote.

        Raises
        ------
        InputError
            If the file cannot be read or holds something else.
        """
        from ssiode.results.archive import load_ensemble

        return load_ensemble(path)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: averages and spreads over replicas, and the final states."""
        replicas = len(self.m)
        root = np.sqrt(replicas)
        norms = self.squared_norms
        joint = {} if norms is None else {"squared_norms_mean": norms.mean(axis=0)}
        return (
            {
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
                "final": {"e": self.e[:, -1], "m": self.m[:, -1]},
                "recovery_steps": _or_none(self.recovery_steps),
                "semantic_recovery_steps": _or_none(self.semantic_recovery_steps),
                "threshold": self.threshold,
                "method": self.method,
                "replicas": replicas,
                "seed": self.seed,
                "first_replica": self.first_replica,
                "options": dict(self.options),
                "status": self.status,
                "message": self.message,
                "seconds_per_step": self.seconds_per_step,
            }
            | joint
            | provenance(self.problem)
        )


def spread(values: np.ndarray) -> np.ndarray:
    """Standard deviation over replicas; not a number for a single one."""
    if len(values) < 2:
        return np.full(values.shape[1:], np.nan)
    with np.errstate(invalid="ignore", over="ignore"):  # an infinite loss has no spread
        return values.std(axis=0, ddof=1)


def _or_none(steps: np.ndarray) -> list[int | None]:
    return [int(step) if step >= 0 else None for step in steps]
