"""The solution of an ODE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.results.provenance import provenance

if TYPE_CHECKING:
    from ssiode.dynamics.band import Band
    from ssiode.problem import Problem


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
        For an untied network m has the shape (n, L).
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
    squared_norms : array of shape (n, L), or None
        |w_l|^2/d of an untied network with the joint constraint, which lets them move.
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
    squared_norms: np.ndarray | None = None

    @property
    def v(self) -> np.ndarray:
        """States (e, m), shape (n, L + 1), or (n, 2 L) for an untied network."""
        return np.column_stack([self.e, self.m])

    def band(self, d: int | None = None, **options: Any) -> Band:
        """Return the Gaussian band around this solution in which SGD at finite d moves.

        See :func:`ssiode.dynamics.fluctuation_band`, whose arguments these are.

        >>> from ssiode import Problem, Target, TiedNetwork, solve_ode
        >>> linear = Problem(Target("z1"), TiedNetwork("identity"))
        >>> band = solve_ode(linear, gamma=0.1, t_max=1.0, m=0.1).band(d=10**6)
        >>> bool(band.deviation[0, 1] == 0 < band.deviation[-1, 1] < 1e-3)
        True
        """
        from ssiode.dynamics.band import fluctuation_band

        return fluctuation_band(self, d, **options)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        names = ("gamma", "t", "e", "m", "risk", "e_error", "m_error", "risk_error", "status")
        names += ("message", "threshold", "recovery_time", "engine", "reason", "n_evaluations")
        names += ("squared_norms",)
        return {name: getattr(self, name) for name in names} | provenance(self.problem)
