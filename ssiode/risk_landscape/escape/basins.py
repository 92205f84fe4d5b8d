"""Which minimum of the risk a start ends in, and the share of random starts that ends in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.errors import InputError, finite_number, shown, whole_number
from ssiode.population_risk import RiskEngine, make_engine
from ssiode.risk_landscape.coordinates import FeasibleCoordinates
from ssiode.risk_landscape.escape.escape_times import random_starts
from ssiode.risk_landscape.escape.flow import Flow, flow_from, long_time

if TYPE_CHECKING:
    from ssiode.problem import Problem
    from ssiode.risk_landscape.minima import Minimum

_RTOL = 1e-6
# A flow is at a minimum within this distance in the orthonormal frame, a thousand errors of a step.
_NEAR = 1e3 * _RTOL
_LARGEST_D = 10**12


@dataclass(frozen=True, eq=False)
class Assignment:
    """Where starts end.

    Attributes
    ----------
    flow : Flow
    index : integer array of shape (p,)
        Number of the minimum in which each start ends, -1 for none of them.
    """

    flow: Flow
    index: np.ndarray

    @property
    def elsewhere(self) -> np.ndarray:
        """Which starts came to rest at none of the minima; shape (p,)."""
        return (self.index < 0) & self._is_at_rest

    @property
    def unfinished(self) -> np.ndarray:
        """Which starts neither came to rest nor near a minimum; shape (p,)."""
        return (self.index < 0) & ~self._is_at_rest

    @property
    def _is_at_rest(self) -> np.ndarray:
        return np.isin(self.flow.outcomes, ("converged", "saddle"))


@dataclass(frozen=True, eq=False)
class Basins:
    """Shares of random initialisations that end in each minimum.

    Attributes
    ----------
    problem : Problem
        With the seed of the starts.
    gamma : float
        Learning rate; 0 is gradient flow.
    minima : tuple
        As they were given.
    dims : tuple of int
        Those that were done.
    starts : int
        Random starts at each dimension.
    counts : integer array of shape (dims, minima)
    elsewhere, unfinished : integer arrays of shape (dims,)
        Starts that came to rest at none of the minima, and starts that did not come to rest.
    status, message : str
        `finished`, `failed` (some starts did) or `interrupted`, and in words.
    """

    problem: Problem
    gamma: float
    minima: tuple[Minimum, ...]
    dims: tuple[int, ...]
    starts: int
    counts: np.ndarray
    elsewhere: np.ndarray
    unfinished: np.ndarray
    status: str
    message: str

    @cached_property
    def fractions(self) -> np.ndarray:
        """Shares of the starts in each basin, shape (dims, minima)."""
        return self.counts / self.starts

    @cached_property
    def errors(self) -> np.ndarray:
        """Binomial standard errors of the shares, with one start added to either side."""
        share = (self.counts + 1) / (self.starts + 2)
        return np.sqrt(share * (1 - share) / self.starts)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        minima = [{"e": list(x.e), "m": float(x.m), "risk": float(x.risk)} for x in self.minima]
        return {
            "gamma": self.gamma,
            "seed": self.problem.sgd.seed,
            "starts": self.starts,
            "dims": list(self.dims),
            "minima": minima,
            "fractions": self.fractions.tolist(),
            "errors": self.errors.tolist(),
            "elsewhere": self.elsewhere.tolist(),
            "unfinished": self.unfinished.tolist(),
            "status": self.status,
            "message": self.message,
        }


def assign_to_minima(
    problem: Problem,
    minima: Sequence[Minimum],
    starts: np.ndarray,
    *,
    gamma: float = 0.0,
    engine: str | RiskEngine | None = None,
    t_max: float | None = None,
) -> Assignment:
    """Follow the flow from starts, such as those of a grid, to the minima in which they end.

    At a learning rate > 0 the noise moves the ends of the flow away from the minima; a start
    belongs to the minimum from which the flow goes to the same end.

    Parameters
    ----------
    problem : Problem
    minima : sequence
        Objects with `e`, `m` and `risk`.
    starts : array of shape (p, L + 1)
        Feasible states v = (e, m).
    gamma : float
        Learning rate >= 0; 0 is gradient flow.
    engine : str or RiskEngine, optional
        Chosen if not given.
    t_max : float, optional
        Last ODE time; by default that of :func:`ssiode.risk_landscape.escape.flow.long_time`.

    Raises
    ------
    InputError
        On infeasible states or minima, or a number out of range.

    Examples
    --------
    >>> from types import SimpleNamespace as Found
    >>> from ssiode import Problem, Target, TiedNetwork
    >>> even = Problem(Target("He2(z1)"), TiedNetwork("square"))
    >>> minima = [Found(e=(0.0,), m=-1.0, risk=1.0), Found(e=(0.0,), m=1.0, risk=1.0)]
    >>> assign_to_minima(even, minima, [[0.0, 0.1], [0.0, -0.2], [0.0, 0.0]]).index.tolist()
    [1, 0, -1]
    """
    engine = _engine(problem, engine)
    starts = np.asarray(starts, dtype=float)
    states = _states(problem, minima)
    if t_max is None:
        t_max = long_time(problem, engine, gamma, starts)
    ends = flow_from(problem, engine, gamma, states, t_max=t_max, rtol=_RTOL).states
    flow = flow_from(problem, engine, gamma, starts, t_max=t_max, rtol=_RTOL)
    coordinates = FeasibleCoordinates(problem.geometry)
    offsets = coordinates.coordinates(flow.states[:, None] - ends)
    distances = np.sqrt(np.sum(offsets**2, axis=2))
    index = np.full(len(starts), -1)
    if len(states):
        nearest = distances.argmin(axis=1)
        is_near = (distances.min(axis=1) <= _NEAR) & (flow.outcomes != "failed")
        index[is_near] = nearest[is_near]
    return Assignment(flow, index)


def basins(
    problem: Problem,
    minima: Sequence[Minimum],
    dims: Sequence[int] = (100, 1000, 10_000, 100_000),
    *,
    gamma: float = 0.0,
    starts: int = 1000,
    seed: int | None = None,
    engine: str | RiskEngine | None = None,
    t_max: float | None = None,
) -> Basins:
    """Share of the weights uniform on the sphere of R^d whose flow ends in each minimum.

    Parameters
    ----------
    problem : Problem
        Its initial condition is not used.
    minima : sequence
        Objects with `e`, `m` and `risk`.
    dims : sequence of int
        Dimensions >= L + 2.
    gamma, engine, t_max
        See :func:`assign_to_minima`.
    starts : int
        Random starts at each dimension, >= 1. Those at different dimensions come from the same
        random numbers.
    seed : int, optional
        Seed of the starts; by default that of the problem.

    Returns
    -------
    Basins
        After Ctrl-C with status `interrupted` and the dimensions that were done.

    Raises
    ------
    InputError
        On infeasible minima, or a number out of range.

    Examples
    --------
    >>> from types import SimpleNamespace as Found
    >>> from ssiode import Problem, Target, TiedNetwork
    >>> even = Problem(Target("He2(z1)"), TiedNetwork("square"))
    >>> minima = [Found(e=(0.0,), m=-1.0, risk=1.0), Found(e=(0.0,), m=1.0, risk=1.0)]
    >>> found = basins(even, minima, dims=[100], starts=200)
    >>> found.counts.sum(), bool(np.all(abs(found.fractions - 0.5) < 4 * found.errors))
    (np.int64(200), True)
    """
    problem = problem if seed is None else problem.replace(seed=seed)
    starts = whole_number("starts", starts, minimum=1, maximum=10**7)
    gamma = finite_number("gamma", gamma, minimum=0)
    engine, dims = _engine(problem, engine), _dims(problem, dims)
    found: list[Assignment] = []
    for d in dims:
        v = random_starts(problem.replace(d=d), starts)
        found.append(assign_to_minima(problem, minima, v, gamma=gamma, engine=engine, t_max=t_max))
        if found[-1].flow.status == "interrupted":
            break
    statuses = {assignment.flow.status for assignment in found}
    status = next((s for s in ("interrupted", "failed") if s in statuses), "finished")
    if status == "interrupted":
        found.pop()
    counts = [[int(np.sum(a.index == i)) for i in range(len(minima))] for a in found]
    done = dims[: len(found)]
    return Basins(
        problem=problem,
        gamma=gamma,
        minima=tuple(minima),
        dims=done,
        starts=starts,
        counts=np.array(counts, dtype=int).reshape(len(done), len(minima)),
        elsewhere=np.array([int(a.elsewhere.sum()) for a in found], dtype=int),
        unfinished=np.array([int(a.unfinished.sum()) for a in found], dtype=int),
        status=status,
        message=f"{len(done)} of {len(dims)} dimensions done",
    )


def _engine(problem: Problem, engine: str | RiskEngine | None) -> RiskEngine:
    if isinstance(engine, RiskEngine):
        return engine
    return make_engine(problem, engine)


def _states(problem: Problem, minima: Sequence[Minimum]) -> np.ndarray:
    """States v = (e, m) of the minima, shape (n, L + 1)."""
    states = [problem.geometry.state(tuple(minimum.e), minimum.m) for minimum in minima]
    return np.array(states).reshape(len(states), problem.length + 1)


def _dims(problem: Problem, given: Sequence[int]) -> tuple[int, ...]:
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise InputError(f"dims is {shown(given)}; it must be a list of numbers such as 100,1000")
    smallest = problem.length + 2
    return tuple(
        whole_number("an entry of dims", d, minimum=smallest, maximum=_LARGEST_D) for d in given
    )
