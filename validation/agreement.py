"""Do theory and SGD at finite d agree? One start, four moves, one verdict."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.dynamics import run_chain, run_diffusion, run_sgd, solve_ode
from ssiode.dynamics.ode import ENGINE_TOLERANCE
from ssiode.errors import InputError, choose
from ssiode.population_risk import RiskEngine, SeriesEngine, make_engine
from ssiode.results import spread
from ssiode.validation.laws import LawTest, compare_laws
from ssiode.validation.step_error import step_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ssiode.problem import Problem
    from ssiode.results import Ensemble, Trajectory

FALSE_ALARM_RATE = 1e-3
_FEWEST_REPLICAS = 4
# Overlaps live in [-1, 1]: a mean of replicas that lie this far apart describes none of them.
_WIDEST_SPREAD = 0.25
# Statistics that do not fluctuate (a direction without information) round at 1e-15.
_ROUNDING = 1e-13
_TITLES = {True: "ODE agrees with SGD", False: "ODE DISAGREES with SGD", None: "no verdict"}


@dataclass(frozen=True, eq=False)
class Agreement:
    """Comparison of the ODE and the exact chain with direct SGD from the same initial overlaps.

    The deviation of a statistic at a time is the replica mean minus the ODE; its fluctuation is
    the standard deviation over replicas, which is of order 1/sqrt(d). What the ODE cannot be
    blamed for, the numerical error of its solve and the finite size of SGD's steps, is taken off
    the deviation, but not more than half a fluctuation of runs with batch size 1: an ODE too
    inexact to be tested does not agree. The start, which both share, is not compared.

    The chain has the law of SGD exactly: if a Kolmogorov-Smirnov test of its final overlaps or hit
    times fails at the false-alarm rate divided by the number of tests, theory and SGD disagree. The
    diffusion is shown beside them.

    ODE and SGD agree if the largest ratio of deviation to fluctuation is at most 1. They disagree
    if it is above `threshold`, which is 1 or what the mean of so few replicas exceeds by chance
    with the false-alarm rate. Between the two, and where the replicas spread so far apart that
    their mean says nothing, there is no verdict.

    Attributes
    ----------
    trajectory : Trajectory
    ensemble : Ensemble
    deviation, allowance, fluctuation : arrays of shape (n, L + 1)
        See above; at the n compared times, for e_1, ..., e_L, m.
    threshold, false_alarm_rate : float
        See above.
    chain, diffusion : Ensemble or None
        From the same start; None where they were not asked for, or do not serve the problem.
    laws : tuple of LawTest
        Of the chain against direct SGD.
    remark : str
        Why there is no diffusion, if it was asked for: it needs the series for its drift.
    """

    trajectory: Trajectory
    ensemble: Ensemble
    deviation: np.ndarray
    allowance: np.ndarray
    fluctuation: np.ndarray
    threshold: float
    false_alarm_rate: float
    chain: Ensemble | None = None
    diffusion: Ensemble | None = None
    laws: tuple[LawTest, ...] = ()
    remark: str = ""

    @property
    def law_threshold(self) -> float:
        """Smallest p-value of the laws that is no alarm."""
        return self.false_alarm_rate / max(len(self.laws), 1)

    @property
    def max_deviation(self) -> float:
        """Largest deviation over times and statistics."""
        return _largest(self.deviation)

    @property
    def expected_fluctuation(self) -> float:
        """Largest fluctuation of one replica over times and statistics."""
        return _largest(self.fluctuation)

    @cached_property
    def _ratios(self) -> np.ndarray:
        excess = np.maximum(self.deviation - self.allowance - _ROUNDING, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(excess == 0, 0.0, excess / self.fluctuation)

    @property
    def deviation_ratio(self) -> float:
        """Largest deviation, less the allowance, in units of the fluctuation at the same time."""
        return _largest(self._ratios)

    @property
    def worst(self) -> tuple[float, str] | None:
        """ODE time and statistic of the largest ratio; None if nothing was compared."""
        if not self._ratios.size:
            return None
        row, column = np.unravel_index(np.argmax(self._ratios), self._ratios.shape)
        times = self.ensemble.t[self.ensemble.t > 0]
        return float(times[row]), self.trajectory.problem.geometry.overlap_names[column]

    @property
    def was_interrupted(self) -> bool:
        """Whether the run or the solve was cut short."""
        moves = (self.trajectory, self.ensemble, self.chain, self.diffusion)
        return any(move is not None and move.status == "interrupted" for move in moves)

    @cached_property
    def _verdict(self) -> tuple[bool | None, str]:
        if self.was_interrupted:
            return None, "interrupted: what was reached is not judged"
        if self.trajectory.status == "failed":
            return None, f"there is no ODE to compare with: {self.trajectory.message}"
        ratio = self.deviation_ratio
        if np.isnan(ratio):
            return False, f"SGD left the ODE: {self.ensemble.message}"
        if ratio > self.threshold:
            time, name = self.worst
            return False, f"{name} deviates by {ratio:.3g} fluctuations at t = {time:.4g}"
        worst = min(self.laws, key=lambda law: law.p_value, default=None)
        if worst is not None and worst.p_value < self.law_threshold:
            return False, (
                f"chain and direct SGD have different laws of {worst.quantity} (p = "
                f"{worst.p_value:.1g})"
            )
        if self.expected_fluctuation > _WIDEST_SPREAD:
            return None, (
                f"replicas spread by {self.expected_fluctuation:.2g}, so their mean says little; "
                "start further from the saddle or raise d"
            )
        if ratio > 1:
            return None, (
                f"{len(self.ensemble.m)} replicas cannot tell a deviation of {ratio:.3g} "
                "fluctuations from chance; give more replicas"
            )
        return True, "every deviation is within one fluctuation"

    @property
    def agrees(self) -> bool | None:
        """True if the ODE lies within the fluctuations of SGD, False if not, None if undecided.

        Also False if the chain has another law than SGD.
        """
        return self._verdict[0]

    @property
    def reason(self) -> str:
        """The verdict in words."""
        return self._verdict[1]

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, all trajectories included."""
        names = ("max_deviation", "expected_fluctuation", "deviation_ratio", "worst", "threshold")
        names += ("false_alarm_rate", "agrees", "reason", "law_threshold", "remark")
        verdict = {name: getattr(self, name) for name in names}
        verdict["laws"] = [vars(law) for law in self.laws]
        moves = {"ode": self.trajectory, "sgd": self.ensemble}
        moves |= {"chain": self.chain, "diffusion": self.diffusion}
        found = {name: move and move.as_dict() for name, move in moves.items()}
        return verdict | found

    def figure(self) -> Figure:
        """Draw replica means and spread under the ODE."""
        from ssiode.plots import new_figure, plot_agreement

        figure = new_figure()
        ax = figure.subplots()
        others = [move for move in (self.chain, self.diffusion) if move is not None]
        plot_agreement(ax, self.trajectory, self.ensemble, others)
        sgd = self.ensemble.problem.sgd
        settings = f"$d={sgd.d}$, $\\gamma={sgd.gamma:g}$, {sgd.replicas} replicas"
        ax.set_title(f"{_TITLES[self.agrees]}: {settings}", fontsize="medium")
        return figure


def validate(
    problem: Problem,
    *,
    e: Any = None,
    m: float | None = None,
    records: int = 100,
    progress: bool = False,
    engine: str | RiskEngine | None = None,
    engine_options: dict[str, Any] | None = None,
    moves: Collection[str] = ("chain", "diffusion"),
    **settings: Any,
) -> Agreement:
    """Run direct SGD, the chain and the diffusion, solve the ODE, and compare.

    All have the same initial overlaps; the seeds of chain and diffusion are the next two.

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
    engine : str or RiskEngine, optional
        Engine of the ODE; chosen if not given.
    engine_options : dict, optional
        Arguments of the engine when that is not given as an object, such as `order`.
    moves : collection of str
        What runs beside ODE and direct SGD, of `chain` and `diffusion`.
    **settings
        `gamma`, `d`, `batch`, `steps`, `replicas` or `seed` instead of the problem's.

    Raises
    ------
    InputError
        On bad settings, gamma = 0, or fewer than 4 replicas; before SGD runs.

    Examples
    --------
    >>> from ssiode import Problem, Target, TiedNetwork
    >>> linear = Problem(Target("z1"), TiedNetwork("identity"))
    >>> settings = dict(gamma=0.2, d=100, steps=500, replicas=16)
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
    for name in moves:
        choose("move", name, ("chain", "diffusion"))
    v0 = problem.initial_state(e, m)
    if not isinstance(engine, RiskEngine):
        options = {"tolerance": ENGINE_TOLERANCE, **(engine_options or {})}
        engine = make_engine(problem, engine, v0, **options)
    start = {"e": v0[: problem.length], "m": v0[problem.length :]}
    ensemble = run_sgd(problem, **start, records=records, progress=progress)
    trajectory = solve_ode(
        problem, **start, times=ensemble.t, threshold=ensemble.threshold, engine=engine
    )
    result = compare(trajectory, ensemble, finite_steps=step_error(trajectory, engine))
    if result.was_interrupted:
        return result
    return _beside(result, moves, start | {"records": records}, progress)


def _beside(
    result: Agreement, moves: Collection[str], start: dict[str, Any], progress: bool
) -> Agreement:
    """Add the other moves to a comparison."""
    problem = result.ensemble.problem
    seed = problem.sgd.seed
    options = start | {"progress": progress}
    if "chain" in moves:
        chain = run_chain(problem, **options, seed=seed + 1)
        result = replace(result, chain=chain, laws=compare_laws(chain, result.ensemble))
    if "diffusion" in moves and not result.was_interrupted:
        engine = result.trajectory.engine
        if engine != SeriesEngine.name:
            return replace(
                result, remark=f"no diffusion: engine {engine} is too slow for its drift"
            )
        try:
            diffusion = run_diffusion(problem, **options, seed=seed + 2)
        except InputError as error:
            return replace(result, remark=f"no diffusion: {error}")
        result = replace(result, diffusion=diffusion)
    return result


def compare(
    trajectory: Trajectory,
    ensemble: Ensemble,
    false_alarm_rate: float = FALSE_ALARM_RATE,
    finite_steps: np.ndarray | None = None,
) -> Agreement:
    """Compare an ODE solution and an ensemble at the times > 0 that both have reached.

    Parameters
    ----------
    trajectory : Trajectory
    ensemble : Ensemble
    false_alarm_rate : float
        Probability that a right ODE is said to disagree.
    finite_steps : array of shape (n, L + 1), optional
        Deviations that the finite steps of SGD explain, at the times of the trajectory.

    Raises
    ------
    InputError
        If the two have different times.
    """
    n_times = min(len(trajectory.t), len(ensemble.t))
    if not np.allclose(trajectory.t[:n_times], ensemble.t[:n_times], rtol=1e-9, atol=0):
        raise InputError("the ODE has other times than the ensemble; solve it at times=ensemble.t")
    first = int(np.count_nonzero(ensemble.t[:1] == 0))
    compared = slice(first, max(first, n_times))
    states = ensemble.v[:, compared]
    fluctuation = spread(states)
    deviation = np.abs(states.mean(axis=0) - trajectory.v[compared])
    allowance = np.zeros_like(deviation)
    if trajectory.e_error is not None and trajectory.m_error is not None:
        allowance += np.column_stack([trajectory.e_error, trajectory.m_error])[compared]
    if finite_steps is not None:
        allowance += finite_steps[compared]
    most = fluctuation * np.sqrt(ensemble.problem.sgd.batch) / 2
    return Agreement(
        trajectory,
        ensemble,
        deviation,
        np.minimum(allowance, most),
        fluctuation,
        _threshold(len(states), deviation.size, false_alarm_rate),
        false_alarm_rate,
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
