"""How long one step of direct SGD and of the chain takes, and what two threads give.

Steps of direct SGD are compared with the normal numbers that NumPy needs for their tokens, steps of
the chain with those of direct SGD and with each other over d, all in turns on one thread; only the
ratios mean something on another machine. Run ``python -m validation.benchmarks.replicas``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from ssiode import Attention, Encoding, Problem, Target, TiedNetwork
from ssiode.dynamics import Method

D = 1000
LENGTH = 2
LARGE_DIMS = (10**3, 10**4, 10**6, 10**8)
ROUNDS = 9
DIRECT_STEPS, CHAIN_STEPS = 2_000, 200_000

TARGET = Target("He2(z1) + He2(z2)")
PROBLEMS = {
    "tied relu": Problem(TARGET, TiedNetwork("relu")),
    "attention trace": Problem(TARGET, Attention("trace")),
    "attention trace, opposite": Problem(TARGET, Attention("trace"), Encoding("opposite")),
    "positional-semantic": Problem(
        Target.named("positional-semantic", omega=0.67, a=1.0),
        Attention("identity"),
        Encoding("opposite"),
    ),
}


@contextmanager
def threads(number: int) -> Iterator[None]:
    """Let kernels use so many threads within the block."""
    before = os.environ.get("SSIODE_THREADS")
    os.environ["SSIODE_THREADS"] = str(number)
    try:
        yield
    finally:
        if before is None:
            del os.environ["SSIODE_THREADS"]
        else:
            os.environ["SSIODE_THREADS"] = before


def stepper(problem: Problem, method: str, steps: int, replicas: int = 1) -> Callable[[], object]:
    """Return a function that does so many steps of each replica, from wherever they are."""
    problem = problem.replace(replicas=replicas, gamma=0.05)
    run = Method.known[method].start(problem, 1.0, 0, {})
    return lambda: run.advance(steps)


def numpy_normals(d: int, steps: int) -> Callable[[], object]:
    """Return a function that draws the tokens of so many steps with NumPy's fastest generator."""
    generator, out = np.random.Generator(np.random.SFC64(0)), np.empty(LENGTH * d)

    def draw() -> None:
        for _ in range(steps):
            generator.standard_normal(out=out)

    return draw


def best_times(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Seconds of each call, the best of rounds in which they take turns; the first one compiles.

    >>> best_times({"nothing": lambda: None}, 1)["nothing"] < 0.1
    True
    """
    best = dict.fromkeys(calls, float("inf"))
    for number in range(rounds + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if number:
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def step_times(
    d: int = D, rounds: int = ROUNDS, direct: int = DIRECT_STEPS, chain: int = CHAIN_STEPS
) -> tuple[float, dict[str, tuple[float, float]]]:
    """Microseconds of the normals of one step in NumPy, and of one step of each problem.

    The latter are pairs, of direct SGD and of the chain.
    """
    with threads(1):
        calls = {"normals": numpy_normals(d, direct)}
        for name, problem in PROBLEMS.items():
            calls[f"sgd {name}"] = stepper(problem.replace(d=d), "sgd", direct)
            calls[f"chain {name}"] = stepper(problem.replace(d=d), "chain", chain)
        best = best_times(calls, rounds)
    pairs = {
        name: (1e6 * best[f"sgd {name}"] / direct, 1e6 * best[f"chain {name}"] / chain)
        for name in PROBLEMS
    }
    return 1e6 * best["normals"] / direct, pairs


def chain_over_dims(rounds: int = ROUNDS, steps: int = CHAIN_STEPS) -> dict[int, float]:
    """Microseconds of one step of the chain at each d."""
    problem = PROBLEMS["attention trace, opposite"]
    with threads(1):
        calls = {str(d): stepper(problem.replace(d=d), "chain", steps) for d in LARGE_DIMS}
        best = best_times(calls, rounds)
    return {int(d): 1e6 * seconds / steps for d, seconds in best.items()}


def thread_gains(
    replicas: int, rounds: int = ROUNDS, direct: int = DIRECT_STEPS, chain: int = CHAIN_STEPS
) -> dict[str, float]:
    """How much faster an even number of replicas is on two threads than on one, by method."""
    problem = PROBLEMS["attention trace, opposite"].replace(d=D)
    sizes = {"sgd": direct, "chain": chain}
    times: dict[int, dict[str, float]] = {}
    calls = {name: stepper(problem, name, steps, replicas) for name, steps in sizes.items()}

    def on(number: int, call: Callable[[], object]) -> None:
        with threads(number):
            call()

    turns = {
        f"{name} {number}": lambda number=number, call=call: on(number, call)
        for name, call in calls.items()
        for number in (1, 2)
    }
    times = best_times(turns, rounds)
    return {name: times[f"{name} 1"] / times[f"{name} 2"] for name in sizes}


def main() -> None:
    """Print all times and ratios."""
    normals, pairs = step_times()
    print(f"one thread, d = {D}, L = {LENGTH}; NumPy SFC64 draws the tokens in {normals:.2f} us")
    for name, (direct, chain) in pairs.items():
        print(
            f"{name:26s} direct step {direct:6.2f} us, {direct / normals:.2f} times these normals; "
            f"chain step {1e3 * chain:6.1f} ns, 1/{direct / chain:.0f} of direct"
        )
    over_dims = chain_over_dims()
    spread = max(over_dims.values()) / min(over_dims.values())
    text = ", ".join(f"{1e3 * time:.1f} ns at d = {d:.0e}" for d, time in over_dims.items())
    print(f"chain step with encoding: {text}; largest over smallest {spread:.2f}")
    # With one replica a thread, all that two threads write lies side by side in memory.
    for replicas, longer in ((2, 4), (8, 1)):
        gains = thread_gains(replicas, direct=longer * DIRECT_STEPS, chain=longer * CHAIN_STEPS)
        for name, gain in gains.items():
            print(f"{replicas} replicas of {name} on two threads: {gain:.2f} times one")


if __name__ == "__main__":
    main()
