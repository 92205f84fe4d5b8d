"""How long exponents take: a large polynomial, the examples of the paper, a process from start.

The process is compared with one that only imports SymPy, both from compiled bytecode, in turns;
only this ratio means something on another machine. ``python -m validation.benchmarks.exponent``.
"""

from __future__ import annotations

import compileall
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import ssiode

TOKENS, DEGREE, TERMS = 6, 10, 500
ROUNDS = 15

# Target and number of tokens; arXiv 2506.02651, sections 3 and 4.
PAPER_EXAMPLES: dict[str, int | None] = {
    "sum(z)": 8,
    "z1*z2": None,
    "He1(z1)*He4(z2) + He2(z3)*He2(z4)": None,
    "He2(z1)*He3(z2)*He1(z3)": None,
    "prod(He2(z))": 4,
    "sum(He2(z))": 8,
    "sum(He3(z))": 8,
    "sum(He4(z))": 8,
    "z1 - z2": None,
    "z1^2 - z2^2": None,
}


def random_polynomial(terms: int = TERMS, seed: int = 0) -> str:
    """Return a polynomial as text, of monomials of random degrees up to 10 in 6 tokens.

    >>> random_polynomial(terms=1)
    '(46/75)*z1^1*z3^2*z4^4*z5^1'
    """
    draw = random.Random(seed)
    texts = []
    for _ in range(terms):
        powers = [0] * TOKENS
        for _ in range(draw.randint(DEGREE // 2, DEGREE)):
            powers[draw.randrange(TOKENS)] += 1
        factors = [f"z{token}^{power}" for token, power in enumerate(powers, 1) if power]
        texts.append("*".join([f"({draw.randint(1, 99)}/{draw.randint(1, 99)})", *factors]))
    return " + ".join(texts)


def seconds(call: Callable[[], object], rounds: int) -> float:
    """Return the shortest time of some rounds.

    >>> seconds(lambda: None, 3) < 1
    True
    """
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def polynomial_seconds(terms: int = TERMS, rounds: int = 3) -> float:
    """Return the seconds of the exponent of one large polynomial, once imported."""
    target = random_polynomial(terms)
    return seconds(lambda: ssiode.sie(target), rounds)


def example_seconds(rounds: int = 5) -> dict[str, float]:
    """Return the seconds of each example of the paper, once imported."""
    ssiode.sie("z1")
    return {
        text: seconds(lambda t=text, n=length: ssiode.sie(t, n), rounds)
        for text, length in PAPER_EXAMPLES.items()
    }


def process_seconds(rounds: int = ROUNDS) -> dict[str, list[float]]:
    """Return the seconds of a process that imports SymPy and of one that finds an exponent.

    The two take turns; a round before the first warms the disk up and does not count. The package
    is copied and compiled, as an installation does it.
    """
    commands = {
        "import sympy": [sys.executable, "-c", "import sympy"],
        "ssiode sie": [sys.executable, "-m", "ssiode", "sie", "z1*z2"],
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "ssiode")
        shutil.copytree(Path(ssiode.__file__).parent, copy)
        compileall.compile_dir(copy, quiet=2)
        environment = os.environ | {"PYTHONPATH": folder}
        for round_number in range(rounds + 1):
            for name, command in commands.items():
                start = time.perf_counter()
                subprocess.run(
                    command, check=True, stdout=subprocess.DEVNULL, env=environment, cwd=folder
                )
                if round_number > 0:
                    taken[name].append(time.perf_counter() - start)
    return taken


def process_ratio(taken: dict[str, list[float]]) -> tuple[float, float]:
    """Return the ratios of the shortest and of the median times.

    >>> process_ratio({"import sympy": [1.0, 2.0, 3.0], "ssiode sie": [1.5, 2.0, 9.0]})
    (1.5, 1.0)
    """
    ours, sympy = taken["ssiode sie"], taken["import sympy"]
    return min(ours) / min(sympy), statistics.median(ours) / statistics.median(sympy)


def main() -> None:
    """Print all times and the ratios."""
    print(f"{1e3 * polynomial_seconds():8.1f} ms  {TERMS} terms, {TOKENS} tokens, degree {DEGREE}")
    for text, taken in example_seconds().items():
        print(f"{1e3 * taken:8.1f} ms  {text}")
    processes = process_seconds()
    for name, times in processes.items():
        print(f"{1e3 * statistics.median(times):8.1f} ms  process: {name} (median)")
    shortest, median = process_ratio(processes)
    print(f"{shortest:8.2f}     ratio of the shortest processes; {median:.2f} of the medians")


if __name__ == "__main__":
    main()
