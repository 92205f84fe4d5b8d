"""Time and true error of the engines for the population risk, on one thread.

The truth is a trapezoidal sum over all fields for two tokens of attention, closed forms for the
tied network and many samples for longer attention. Only the ratios mean something on another
machine. Run ``OPENBLAS_NUM_THREADS=1 python -m ssiode.validation.benchmarks.risk_engines``.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from numba import njit

from ssiode.dynamics.ode import solve_ode
from ssiode.encoding import Encoding
from ssiode.errors import InputError
from ssiode.loss import SquaredLoss
from ssiode.population_risk import MonteCarloEngine, QuadratureEngine, RiskEngine, SeriesEngine
from ssiode.population_risk.averages import Averager, NodeSet, finite_labels
from ssiode.problem import Problem
from ssiode.student import Attention, TiedNetwork
from ssiode.target import Target
from ssiode.threads import map_in_threads

Name = TypeVar("Name")

ROUNDS = 7
GAMMA, T_MAX, START = 0.1, 60.0, 0.03
_REACH = 8.8
_NEGLIGIBLE = 1e-22


@dataclass(frozen=True)
class Case:
    """A problem, states at which engines are compared, and how their truth is found."""

    problem: Problem
    states: np.ndarray
    truth: Callable[[Problem, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Figure:
    """One engine on one case: seconds to build it and for a right-hand side, and true errors.

    `single` is the time of a call with one state, `batch` that of a state among many; `error` is
    the largest error of (R, gradient, V) relative to the largest of them. An engine that does not
    serve has an objection instead.
    """

    case: str
    engine: str
    objection: str | None = None
    build: float = math.nan
    single: float = math.nan
    batch: float = math.nan
    error: float = math.nan


def trapezoidal_sums(problem: Problem, states: np.ndarray, step: float = 0.22) -> np.ndarray:
    """Moments by the trapezoidal rule over z* and xi: for analytic functions exact to rounding."""
    half = step * (np.arange(np.ceil(_REACH / step)) + 0.5)
    axis = np.concatenate([-half[::-1], half])
    density = step * np.exp(-(axis**2) / 2) / np.sqrt(2 * np.pi)
    length = problem.length
    points = np.stack(np.meshgrid(*[axis] * length, indexing="ij"), axis=-1).reshape(-1, length)
    weights = np.prod(np.meshgrid(*[density] * length, indexing="ij"), axis=0).ravel()
    order = np.argsort(-weights, kind="stable")
    points, weights = points[order], weights[order]
    counts = np.searchsorted(-weights, -_NEGLIGIBLE / weights, side="right")
    kept = int(np.count_nonzero(counts))
    edges = np.linspace(0, kept, 17).astype(int)
    labels = finite_labels(problem, points[:kept])
    nodes = NodeSet(
        z_star=points[:kept, None, :],
        labels=labels[:, None, :],
        star_weights=weights[:kept, None],
        noise=points[None],
        noise_weights=weights[None],
        noise_counts=counts[:kept],
        blocks=tuple(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)),
    )
    average = Averager(problem)
    return np.array([average(nodes, v).sum(axis=0) for v in states]) * average.units


def many_samples(problem: Problem, states: np.ndarray) -> np.ndarray:
    """Moments by 64 times the samples that the engine takes by default, of another seed."""
    return MonteCarloEngine(problem, samples=2**21, seed=1).moments(states)


def relu_moments(problem: Problem, states: np.ndarray) -> np.ndarray:
    r"""Closed forms for :math:`g = \sum_l He_2(z_l)`, tied relu and e = 0.

    With s the field of the student, :math:`E[g \mid s] = m^2 He_2(s)` and
    :math:`E[He_2(s) s 1_{s > 0}] = 1/\sqrt{2\pi}`.
    """
    length, unit = problem.length, 1 / math.sqrt(2 * math.pi)
    rows = []
    for m in states[:, -1]:
        risk = 2 * length + 0.5 - 2 * m**2 * unit
        slopes = [2 * unit / math.sqrt(length)] * length
        rows.append([risk, *slopes, -4 * m * unit, 4 * risk - 4 * length])
    return np.array(rows)


def _overlaps(length: int, e: tuple[float, ...] = ()) -> np.ndarray:
    """States with m = 0.4 and -0.8, e on the first tokens."""
    states = np.zeros((2, length + 1))
    states[:, : len(e)] = e
    states[:, -1] = 0.4, -0.8
    return states


def positional_semantic(omega: float = 0.67) -> Problem:
    """Return the positional-semantic problem of arXiv 2506.02651, section 4, with a = 1."""
    target = Target.named("positional-semantic", omega=omega, a=1.0)
    return Problem(target, Attention("identity"), Encoding("opposite"), SquaredLoss(0.5))


def cases() -> dict[str, Case]:
    """Return the cases by name."""
    trace = Problem(Target("He2(z1) + z2"), Attention("trace"))
    plain, moved = _overlaps(2), _overlaps(2, (0.3, -0.3))
    identity, opposite = positional_semantic(), Encoding("opposite")
    found = {
        "trace, L = 2": Case(trace, plain, trapezoidal_sums),
        "trace, L = 2, encoded": Case(trace.replace(encoding=opposite), moved, trapezoidal_sums),
        "identity, L = 2": Case(identity.replace(encoding=Encoding()), plain, trapezoidal_sums),
        "identity, L = 2, encoded": Case(identity, moved, trapezoidal_sums),
    }
    for length in (4, 8):
        problem = Problem(Target("sum(He2(z))", length=length), Attention("trace"))
        found[f"trace, L = {length}"] = Case(problem, _overlaps(length), many_samples)
    relu = Problem(Target("sum(He2(z))", length=10), TiedNetwork("relu"))
    found["tied relu, L = 10"] = Case(relu, _overlaps(10), relu_moments)
    return found


ENGINES: dict[str, Callable[[Problem], RiskEngine]] = {
    "series": SeriesEngine,
    "quadrature, 19 nodes": lambda problem: QuadratureEngine(problem, 19),
    "Monte Carlo": MonteCarloEngine,
}


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let the kernels use so many threads."""
    before = os.environ.get("SSIODE_THREADS")
    os.environ["SSIODE_THREADS"] = str(count)
    try:
        yield
    finally:
        del os.environ["SSIODE_THREADS"]
        if before is not None:
            os.environ["SSIODE_THREADS"] = before


def best_times(calls: dict[Name, Callable[[], object]], rounds: int) -> dict[Name, float]:
    """Best seconds of each call; they take turns, and quick ones are repeated within a round."""
    repeats = {}
    for name, call in calls.items():
        call()  # compiles and warms up
        start = time.perf_counter()
        call()
        repeats[name] = max(1, int(5e-3 / max(time.perf_counter() - start, 1e-9)))
    best = dict.fromkeys(calls, math.inf)
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(repeats[name]):
                call()
            best[name] = min(best[name], (time.perf_counter() - start) / repeats[name])
    return best


def build_time(build: Callable[[], object], rounds: int) -> float:
    """Best seconds of a build whose kernels are compiled; beyond a second it is not repeated."""
    start = time.perf_counter()
    build()
    seconds = time.perf_counter() - start
    return seconds if seconds > 1 else best_times({"build": build}, rounds)["build"]


def figure(
    name: str, case: Case, truth: np.ndarray, engine_name: str, rounds: int = ROUNDS
) -> Figure:
    """Measure one engine on one case."""
    make = ENGINES[engine_name]
    try:
        engine = make(case.problem)
    except InputError as error:
        return Figure(name, engine_name, str(error))
    apart = np.abs(engine.moments(case.states) - truth)
    error = float((apart / np.abs(truth).max(axis=1, keepdims=True)).max())
    many = np.repeat(case.states, 500, axis=0) if engine_name == "series" else case.states
    calls = {
        "single": lambda: engine.moments(case.states[:1]),
        "batch": lambda: engine.moments(many),
    }
    best = best_times(calls, rounds)
    best["build"] = build_time(lambda: make(case.problem), rounds)
    best["batch"] /= len(many)
    return Figure(name, engine_name, error=error, **best)


def sample_times(rounds: int = ROUNDS) -> tuple[float, float]:
    """Seconds for one sample of the gradient at L = 2, and for NumPy to draw its 4 normals.

    One sample is one evaluation of the loss and its gradient; the fixed samples of the engine
    are used at each state without being drawn again.
    """
    engine = MonteCarloEngine(positional_semantic(), samples=2**14)
    states = _overlaps(2, (0.3, -0.3))[:1]
    generator = np.random.default_rng(0)
    n_evaluations = 4 * engine.samples
    best = best_times(
        {
            "engine": lambda: engine.moments(states),
            "NumPy": lambda: generator.standard_normal((n_evaluations, 4)),
        },
        rounds,
    )
    return best["engine"] / n_evaluations, best["NumPy"] / n_evaluations


def estimate_times(rounds: int = ROUNDS, count: int = 1000) -> tuple[float, float]:
    """Seconds for one gradient of the series with its error: among many states, and alone."""
    engine = SeriesEngine(positional_semantic())
    states = np.repeat(_overlaps(2, (0.3, -0.3))[:1], count, axis=0)
    best = best_times(
        {
            "together": lambda: engine.gradient(states),
            "alone": lambda: engine.gradient(states[0]),
        },
        rounds,
    )
    return best["together"] / count, best["alone"]


@njit(nogil=True)
def _arithmetic(count: int) -> float:
    total = 0.0
    for i in range(count):
        total += math.sin(1e-3 * i)
    return total


def speeds_of_two_threads(rounds: int = ROUNDS, samples: int = 2**19) -> tuple[float, float]:
    """Time of one thread over that of two: for Monte Carlo, and for sines that share nothing."""
    engine = MonteCarloEngine(positional_semantic(), samples=samples)
    states = _overlaps(2, (0.3, -0.3))[:1]

    def on(count: int, work: Callable[[], object]) -> None:
        with threads(count):
            work()

    works = {
        "engine": lambda: engine.moments(states),
        "sines": lambda: map_in_threads(_arithmetic, [10**6] * 16),
    }
    calls = {
        (name, count): partial(on, count, work) for name, work in works.items() for count in (1, 2)
    }
    best = best_times(calls, rounds)
    return tuple(best[name, 1] / best[name, 2] for name in works)


def solve_times(rounds: int = ROUNDS) -> tuple[float, float, float]:
    """Seconds for a solve with and without the estimate of its error, and recovery time.

    The engine is built anew in each solve.
    """
    problem = positional_semantic()
    e = START / math.sqrt(3)

    def solve(estimate_error: bool = True) -> float | None:
        return solve_ode(
            problem, GAMMA, T_MAX, (e, -e), e, estimate_error=estimate_error
        ).recovery_time

    best = best_times({"whole": solve, "alone": lambda: solve(estimate_error=False)}, rounds)
    return best["whole"], best["alone"], solve() or math.nan


def main() -> None:
    """Print a table of the engines, and the ratios."""
    found: dict[tuple[str, str], Figure] = {}
    print(f"{'':26s}{'':22s}{'build':>10s}{'one state':>12s}{'in a batch':>12s}{'error':>10s}")
    with threads(1):
        for name, case in cases().items():
            truth = case.truth(case.problem, case.states)
            for engine_name in ENGINES:
                row = found[name, engine_name] = figure(name, case, truth, engine_name)
                times = f"{row.build:9.3f}s{1e6 * row.single:10.1f}us{1e6 * row.batch:10.1f}us"
                text = row.objection or f"{times}{row.error:10.1e}"
                print(f"{name:26s}{engine_name:22s}{text}", flush=True)
        sample, normals = sample_times()
        together, one = estimate_times()
        whole, alone, recovery = solve_times()
    series, quadrature = (
        found["identity, L = 2, encoded", engine] for engine in ("series", "quadrature, 19 nodes")
    )
    print("\nidentity, L = 2, encoded: 19-node quadrature over series")
    print(f"  time, one state    {quadrature.single / series.single:10.0f}   (goal 300)")
    print(f"  time, in a batch   {quadrature.batch / series.batch:10.0f}")
    print(f"  error              {quadrature.error / series.error:10.2g}   (goal 100)")
    print("identity, L = 2, encoded: gradient of the series with its error")
    print(f"  of 1000 states     {1e6 * together:10.1f} us a state, {1e6 * one:.1f} us alone")
    print(f"Monte Carlo: {1e9 * sample:.0f} ns a sample, 4 normals {1e9 * normals:.0f} ns")
    print(f"  ratio              {sample / normals:10.2f}   (goal at most 4)")
    engine_speed, sines_speed = speeds_of_two_threads()
    print(f"  two threads        {engine_speed:10.2f}   (goal 1.7; sines {sines_speed:.2f})")
    print(f"ODE from |v| = {START} past recovery at t = {recovery:.2f} (goal 0.2 s)")
    print(f"  with its error     {whole:10.3f} s")
    print(f"  without            {alone:10.3f} s")


if __name__ == "__main__":
    main()
