"""How long the parts of a landscape take, against evaluating the risk state by state.

Only the ratios mean something on another machine. Run
``python -m validation.benchmarks.landscape``.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable

import numpy as np

from ssiode import Attention, Encoding, Problem, Target, landscape
from ssiode.loss import SquaredLoss
from ssiode.population_risk import make_engine
from ssiode.risk_landscape.escape.escape_times import escape_times
from ssiode.risk_landscape.surface import risk_surface

SIZE = 200
ROUNDS = 3
SINGLE_STATES = 400


def problem() -> Problem:
    """The positional-semantic target where minima of both kinds compete."""
    target = Target.named("positional-semantic", omega=0.67, a=1.0)
    return Problem(target, Attention("identity"), Encoding("opposite"), SquaredLoss(scale=0.5))


def measure(size: int = SIZE, rounds: int = ROUNDS) -> dict[str, float]:
    """Measure seconds of each part, the best of some rounds after one that compiles.

    Parameters
    ----------
    size : int
        States on each axis of the table.
    rounds : int

    Returns
    -------
    dict
        Seconds by part; `state by state` is that of as many single evaluations as the table has.
    """
    example = problem()
    engine = make_engine(example, "series", None)
    found = landscape(example, engine=engine)
    states = np.zeros((SINGLE_STATES, 1, 3))

    def state_by_state() -> None:
        for state in states:
            engine.moments(state)

    parts: dict[str, Callable[[], object]] = {
        "origin": lambda: landscape(example, engine=engine, minima=False),
        "origin and certified minima": lambda: landscape(example, engine=engine),
        "table": lambda: risk_surface(example, engine=engine, size=size),
        "table and figure": lambda: found.figure(size),
        "table, figure and PNG": lambda: found.figure(size).savefig(io.BytesIO(), dpi=150),
        "escape from 1000 starts": lambda: escape_times(example, 10_000, 0.5, engine=engine),
        "state by state": state_by_state,
    }
    best = {name: min(_seconds(part) for _ in range(rounds + 1)) for name, part in parts.items()}
    best["state by state"] *= size**2 / SINGLE_STATES
    return best


def _seconds(part: Callable[[], object]) -> float:
    start = time.perf_counter()
    part()
    return time.perf_counter() - start


def main() -> None:
    """Print one line for each part."""
    best = measure()
    for name, seconds in best.items():
        print(f"{name:28s} {seconds:8.3f} s, {seconds / best['table']:8.2f} times the table")


if __name__ == "__main__":
    main()
