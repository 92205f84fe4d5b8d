"""How long one standard normal number takes here and in NumPy, on one thread.

Only the ratios mean something on another machine. Run ``python -m validation.benchmarks.normals``.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numba import njit

from ssiode.kernels.normals import fill_standard_normal
from ssiode.kernels.streams import stream_states

LENGTH = 2000
FILLS = 1000
ROUNDS = 15


@njit
def fill_many_times(state: np.ndarray, out: np.ndarray, fills: int) -> None:
    """Fill one array again and again, as a kernel does."""
    for _ in range(fills):
        fill_standard_normal(state, out)


def measure(length: int = LENGTH, fills: int = FILLS, rounds: int = ROUNDS) -> dict[str, float]:
    """Measure nanoseconds per normal number, the best of interleaved rounds.

    Parameters
    ----------
    length : int
        Numbers in the array that is filled.
    fills : int
        Times the array is filled in one round.
    rounds : int
        Rounds; the methods take turns, so that a slow moment of the machine hits all of them.

    Returns
    -------
    dict
        Nanoseconds by the name of the method.
    """
    out = np.empty(length)
    state = stream_states(0, 1)[0]
    methods: dict[str, Callable[[], None]] = {"ssiode": lambda: fill_many_times(state, out, fills)}
    for bit_generator in (np.random.SFC64, np.random.PCG64):
        generator = np.random.Generator(bit_generator(0))

        def fill(generator: np.random.Generator = generator) -> None:
            for _ in range(fills):
                generator.standard_normal(out=out)

        methods[f"NumPy {bit_generator.__name__}"] = fill
    best = dict.fromkeys(methods, float("inf"))
    # The first round compiles and warms up, and does not count.
    for round_number in range(rounds + 1):
        for name, method in methods.items():
            start = time.perf_counter()
            method()
            elapsed = time.perf_counter() - start
            if round_number > 0:
                best[name] = min(best[name], 1e9 * elapsed / (fills * length))
    return best


def main() -> None:
    """Print one line per method."""
    best = measure()
    for name, nanoseconds in best.items():
        ratio = nanoseconds / best["ssiode"]
        print(f"{name:12s} {nanoseconds:6.2f} ns per normal, {ratio:5.2f} times ssiode")


if __name__ == "__main__":
    main()
