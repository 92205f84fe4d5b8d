"""Does the ODE describe SGD at finite d? One start, both moves, one verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.dynamics import run_sgd, solve_ode
from ssiode.errors import InputError
from ssiode.results import spread

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ssiode.problem import Problem
    from ssiode.results import Ensemble, Trajectory

FALSE_ALARM_RATE = 1e-3
_FEWEST_REPLICAS = 4


@dataclass(frozen=True, eq=False)
class Agreement:
    """Comparison of the ODE with an SGD ensemble from the same initial overlaps.

    The deviation of a statistic at a time is the replica mean minus the ODE; its fluctuation is
    the standard deviation over replicas, which is of order 1/sqrt(d). ODE and SGD agree if at all
    times every deviation, less the numerical error of the ODE but at most half a fluctuation, is
    below `threshold` fluctuations: an ODE too inexact to be tested does not agree.
    The threshold is 1, or more where so few replicas would exceed 1 by chance more often than the
    false-alarm rate. A replica that diverged, an ODE solve that failed, or no common time make all
    of this not a number, and nothing agrees.

    Attributes
    ----------
    trajectory : Trajectory
    ensemble : Ensemble
    max_deviation : float
        Largest deviation over times and statistics.
    expected_fluctuation : float
        Largest fluctuation of one replica over times and statistics.
    deviation_ratio : float
        Largest deviation, less the ODE's error, in units of the fluctuation at the same time.
    threshold, false_alarm_rate : float
        See above.
    agrees : bool or None
        deviation_ratio <= threshold; None after an interruption, which leaves no verdict.
    """

    trajectory: Trajectory
    ensemble: Ensemble
    max_deviation: float
    expected_fluctuation: float
    deviation_ratio: float
    threshold: float
    false_alarm_rate: float

    @property
    def agrees(self) -> bool | None:
        """Whether the ODE lies within the fluctuations of SGD at all times; None if cut short."""
        if "interrupted" in (self.trajectory.status, self.ensemble.status):
            return None
        return self.deviation_ratio <= self.threshold

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, both trajectories included."""
        names = ("max_deviation", "expected_fluctuation", "deviation_ratio", "threshold")
        names += ("false_alarm_rate", "agrees")
        verdict = {name: getattr(self, name) for name in names}
        return verdict | {"ode": self.trajectory.as_dict(), "sgd": self.ensemble.as_dict()}

    def figure(self) -> Figure:
        """Draw replica mean and spread under the ODE."""
        from ssiode.plots import new_figure, plot_agreement

        figure = new_figure()
        ax = figure.subplots()
        plot_agreement(ax, self.trajectory, self.ensemble)
        sgd = self.ensemble.problem.sgd
        verdicts = {
            True: "ODE agrees with SGD",
            False: "ODE DISAGREES with SGD",
            None: "no verdict",
        }
        settings = f"$d={sgd.d}$, $\\gamma={sgd.gamma:g}$, {sgd.replicas} replicas"
        ax.set_title(f"{verdicts[self.agrees]}: {settings}", fontsize="medium")
        return figure


def validate(
    problem: Problem,
    *,
    e: Any = None,
    m: float | None = None,
    records: int = 100,
    progress: bool = False,
    ode_options: dict[str, Any] | None = None,
    **settings: Any,
) -> Agreement:
    """Run direct SGD and solve the ODE from the same initial overlaps, and compare.

    Parameters
    ----------
    problem : Problem
        A random initial condition is drawn once, and all replicas start from its overlaps.
    e, m : optional
        Initial overlaps instead of the problem's.
    records : int
        Number of times compared.
    progress : bool
        Show a progress bar on standard error.
    ode_options : dict, optional
        Further arguments of :func:`ssiode.solve_ode`.
    **settings
        `gamma`, `d`, `batch`, `steps`, `replicas` or `seed` instead of the problem's.

    Raises
    ------
    InputError
        On bad settings, gamma = 0, or fewer than 4 replicas.

    Examples
    --------
    >>> from ssiode import Problem, Target, TiedNetwork
    >>> linear = Problem(Target("z1"), TiedNetwork("identity"))
    >>> settings = dict(gamma=0.2, d=100, steps=500, replicas=8)
    >>> validate(linear, m=0.1, records=5, **settings).agrees
    True
    """
    problem = problem.replace(**settings)
    if problem.sgd.gamma == 0:
        raise InputError("gamma is 0; SGD does not move, give gamma > 0")
    if problem.sgd.replicas < _FEWEST_REPLICAS:
        raise InputError(
            f"replicas is {problem.sgd.replicas}; give >= {_FEWEST_REPLICAS} to see their spread"
        )
    v0 = problem.initial_state(e, m)
    ensemble = run_sgd(problem, e=v0[:-1], m=v0[-1], records=records, progress=progress)
    times = ensemble.t if len(ensemble.t) else np.array([0.0])
    options = {"threshold": ensemble.threshold, **(ode_options or {})}
    trajectory = solve_ode(problem, e=v0[:-1], m=v0[-1], times=times, **options)
    return compare(trajectory, ensemble)


def compare(
    trajectory: Trajectory, ensemble: Ensemble, false_alarm_rate: float = FALSE_ALARM_RATE
) -> Agreement:
    """Compare an ODE solution and an ensemble at the times that both have reached.

    Raises
    ------
    InputError
        If the two have different times.
    """
    n_times = min(len(trajectory.t), len(ensemble.t))
    if not np.allclose(trajectory.t[:n_times], ensemble.t[:n_times], rtol=1e-9, atol=0):
        raise InputError("the ODE has other times than the ensemble; solve it at times=ensemble.t")
    if trajectory.status == "failed":
        n_times = 0
    states = ensemble.v[:, :n_times]
    mean, fluctuation = states.mean(axis=0), spread(states)
    deviation = np.abs(mean - trajectory.v[:n_times])
    error = 0.0
    if trajectory.e_error is not None and trajectory.m_error is not None:
        error = np.column_stack([trajectory.e_error, trajectory.m_error])[:n_times]
        error = np.minimum(error, fluctuation / 2)
    # Statistics that do not fluctuate (the start, a direction without information) round at 1e-15.
    excess = np.maximum(deviation - error - 1e-13, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(excess == 0, 0.0, excess / fluctuation)
    comparisons = deviation[1:].size
    return Agreement(
        trajectory,
        ensemble,
        max_deviation=_largest(deviation),
        expected_fluctuation=_largest(fluctuation),
        deviation_ratio=_largest(ratio),
        threshold=_threshold(len(states), comparisons, false_alarm_rate),
        false_alarm_rate=false_alarm_rate,
    )


def _largest(values: np.ndarray) -> float:
    return float(values.max()) if values.size else np.nan


def _threshold(replicas: int, comparisons: int, false_alarm_rate: float) -> float:
    """Fluctuations that the mean of the replicas exceeds by chance with less than the rate.

    The mean over R replicas deviates by t / sqrt(R) fluctuations with t of Student's law, and the
    union bound over all comparisons holds whatever their correlations.
    """
    from scipy.special import stdtrit

    tail = false_alarm_rate / (2 * max(comparisons, 1))
    return max(1.0, float(-stdtrit(replicas - 1, tail) / np.sqrt(replicas)))
