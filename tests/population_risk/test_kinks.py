"""Kinks and jumps: the stated error of the quadrature holds at every one of many random states."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from ssiode.encoding import Encoding
from ssiode.loss import FrobeniusLoss, SquaredLoss
from ssiode.population_risk import MonteCarloEngine, QuadratureEngine
from ssiode.problem import Problem
from ssiode.student import Attention, LinearAttention, TiedNetwork
from ssiode.target import Target
from tests.population_risk.problems import errors, feasible_points, moments

# Kinks of the target, of the student or of both, across tokens and along sums of them.
PAIRS = {
    1: (
        ("z1", TiedNetwork("relu")),
        ("abs(z1)", TiedNetwork("relu")),
        ("sign(z1)", TiedNetwork("tanh")),
        ("max(z1, 0.3)", TiedNetwork("tanh")),
        ("heaviside(z1 - 1)", TiedNetwork("abs(s)")),
        ("He3(z1)", TiedNetwork("max(s, 0.5)")),
    ),
    2: (
        ("He2(z1) + z2/2", TiedNetwork("relu")),
        ("abs(z1) + z2", TiedNetwork("relu")),
        ("abs(z1)*z2", Attention("trace")),
        ("sign(z1)*z2 + z1", TiedNetwork("tanh")),
        ("max(z1, 0.3) - z2", Attention("projection", left=(1, 0.5), right=(0, 1))),
        ("heaviside(z1 + z2 - 0.5)", TiedNetwork("erf")),
        ("max(z1, z2)", Attention("trace")),
        ("sign(z1*z2)", LinearAttention()),
        ("z1*z2", TiedNetwork("abs(s - 0.7)")),
        ("tanh(z1) + z2", TiedNetwork("max(s, 0.3)")),
        ("abs(z1 - z2)", TiedNetwork("He3")),
        ("sign(z1) + sign(z2)", TiedNetwork("relu")),
    ),
}
ENCODINGS = {
    1: (
        Encoding("none"),
        Encoding("orthonormal"),
        Encoding("orthonormal", injected=(0.4,)),
    ),
    2: (
        Encoding("none"),
        Encoding("opposite"),
        Encoding("orthonormal"),
        Encoding("gram", matrix=((1.0, 0.3), (0.3, 0.5)), teacher_overlap=(0.4, -0.2)),
        Encoding("opposite", norm=0.7, injected=(0.3, -0.2)),
    ),
}


def problems() -> Iterator[Problem]:
    for length, pairs in PAIRS.items():
        for target, student in pairs:
            for encoding in ENCODINGS[length]:
                for loss in (SquaredLoss(), FrobeniusLoss()):
                    yield Problem(Target(target, length=length), student, encoding, loss=loss)


def states(problem: Problem, count: int, seed: int) -> list[np.ndarray]:
    """Random states; the first is in turn each end, the origin, close to an end, or random too."""
    drawn = feasible_points(problem, count, seed)
    special = (-1.0, 0.0, 1.0, None, 1 - 10.0 ** -(1 + seed % 4))[seed % 5]
    if special is not None and not problem.geometry.teacher_overlap.any():
        drawn[0] = np.append(np.zeros(problem.length), special)
    return drawn


def sampled(problem: Problem, drawn: list[np.ndarray], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Moments from 16 sets of samples, and four of their standard errors.

    At the poles samples, too, take dR/dm from s = 1e-3; its distance to s = 2e-3 is added.
    """
    sets = [MonteCarloEngine(problem, 2**13, seed + i, blocks=2) for i in range(16)]
    found = np.array([engine.moments(np.array(drawn)) for engine in sets])
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1)
    for i, v in enumerate(drawn):
        if abs(v[-1]) == 1.0:
            inside = np.append(v[:-1], v[-1] * np.sqrt(1 - 4e-6))[None]
            near = np.mean([engine.moments(inside)[0] for engine in sets], axis=0)
            error[i, -2] += abs(mean[i, -2] - near[-2])
    return mean, error


def campaign(per_problem: int, seed: int, orders: tuple[int, ...]) -> tuple[int, list[str]]:
    """Compare quadrature and samples, with 4 of their standard errors.

    Returns the number of states, and those where they are further apart than that and the error
    of the quadrature.
    """
    count, misses = 0, []
    for problem in problems():
        drawn = states(problem, per_problem, seed + count)
        means, allowed = sampled(problem, drawn, seed)
        for order in orders:
            engine = QuadratureEngine(problem, order)
            for v, mean, sampling_error in zip(drawn, means, allowed, strict=True):
                result = engine.evaluate(v)
                excess = np.abs(moments(result) - mean) - sampling_error
                if not np.all(excess <= errors(result)):
                    ratio = np.max(excess / errors(result))
                    misses.append(f"{ratio:.2f}: {problem} {order} {v}")
        count += len(drawn)
    return count, misses


@pytest.mark.slow
@pytest.mark.parametrize(
    ("per_problem", "seed", "orders"),
    [(1, 10**5, (4, 10, 14)), (1, 4242, (5,))],
)
def test_errors_hold_at_every_state(per_problem, seed, orders):
    count, misses = campaign(per_problem, seed, orders)
    assert count == 156 * per_problem
    assert not misses
