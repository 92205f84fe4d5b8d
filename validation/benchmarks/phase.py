"""What a task of the phase diagram costs by the table, beside a quadrature of the risk.

The quadrature is the plain one: a tensor Gauss-Hermite rule of 19 nodes on four axes for one task
and one (e, m), of which a pixel needs two at least. Pixels are those of a 200 x 200 raster of each
scalar, that of the minima included; the time from start is that of a process that computes the
table and draws the full figure, less that of one that only imports. Only the ratios mean something
on another machine.
``python -m validation.benchmarks.phase``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np

from ssiode.phase.raster import QUANTITIES, phase_raster
from ssiode.phase.table import compute_table, phase_table
from ssiode.phase.task import Task

NODES, PIXELS = 19, 200
OMEGA, A, E, M = 0.7, 0.9, 0.4, 0.5

_IMPORTS = """
import scipy.integrate, scipy.optimize, scipy.special
from matplotlib.figure import Figure
from ssiode.plots import save_figure
from ssiode.phase import phase_diagram
import ssiode.phase_plots
"""
_WORK = "save_figure(phase_diagram().figure(), {path!r})\n"


def plain_risk(omega: float, a: float, e: float, m: float, nodes: int = NODES) -> float:
    """R by a tensor rule on (z*, xi) of both tokens.

    >>> exact = float(Task.of(0.7, 0.9).risk(0.4, 0.5))
    >>> abs(plain_risk(0.7, 0.9, 0.4, 0.5) - exact) < 1e-3
    True
    """
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    weights = weights / weights.sum()
    star = np.stack(np.meshgrid(points, points, indexing="ij"))[:, :, :, None, None]
    rest = np.stack(np.meshgrid(points, points, indexing="ij"))[:, None, None]
    positions = e * np.array([1.0, -1.0])[:, None, None, None, None]
    z = m * star + np.sqrt(1 - m * m) * rest + positions
    alpha = 1 / (1 + np.exp(-2 * a * a))
    square = np.zeros((nodes,) * 4)
    for one, other in ((0, 1), (1, 0)):
        label = (1 - omega) * _entry(star[one], star[other]) + omega * alpha
        square += (label - _entry(z[one], z[other])) ** 2
    return float(np.einsum("ijkl,i,j,k,l", square, weights, weights, weights, weights))


def _entry(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(first * (second - first)))


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


def _process_seconds(work: str) -> float:
    """Shortest of three processes, each with an empty cache folder for the table."""
    best = float("inf")
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "SSIODE_CACHE": folder}
            source = _IMPORTS + work.format(path=f"{folder}/diagram.png")
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", source], check=True, env=environment)
            best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    """Print costs and ratios."""
    table = seconds(compute_table, 3)
    phase_table()
    plain = seconds(lambda: plain_risk(OMEGA, A, E, M), 5)
    print(f"table: {table:.3f} s; plain quadrature of {NODES}^4 nodes: {1e3 * plain:.2f} ms a task")
    off = abs(plain_risk(OMEGA, A, E, M) - float(Task.of(OMEGA, A).risk(E, M)))
    print(
        f"error of the plain quadrature: {off:.1e}; of the table: {Task.of(OMEGA, A).error():.1e}"
    )
    for name in QUANTITIES:
        pixel = seconds(lambda name=name: phase_raster(name, pixels=PIXELS), 3) / PIXELS**2
        print(f"{name}: {1e6 * pixel:.3f} us a pixel, ratio {plain / pixel:.0f}")
    whole = table + seconds(lambda: phase_raster("risk_gap", pixels=PIXELS), 3)
    ratio = plain * PIXELS**2 / whole
    print(f"table and raster of risk_gap, against one plain risk a pixel: ratio {ratio:.0f}")
    imports, whole = _process_seconds(""), _process_seconds(_WORK)
    print(f"table and full figure in a fresh process: {whole - imports:.2f} s after imports")


if __name__ == "__main__":
    main()
