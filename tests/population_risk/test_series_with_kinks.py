"""The series of targets with kinks and jumps, by their exact coefficients."""

from __future__ import annotations

import numpy as np
import pytest

from ssiode.encoding import Encoding
from ssiode.population_risk import MonteCarloEngine, SeriesEngine
from ssiode.problem import Problem
from ssiode.student import Attention, TiedNetwork
from ssiode.target import Target
from tests.population_risk.problems import (
    errors,
    feasible_points,
    moments,
)

KINKED_TARGETS = (
    ("abs(z1)*z2 + He2(z2)", Attention("trace"), Encoding()),
    ("max(z1, z2)", Attention("trace"), Encoding("opposite")),
    (
        "sign(z1*z2) + z1",
        Attention("projection", left=(1, 0.5), right=(0, 1)),
        Encoding("opposite"),
    ),
    ("[abs(z1), sign(z2), max(z1, 0.3), z1*z2]", Attention("identity"), Encoding("orthonormal")),
    ("heaviside(z1 + z2 - 0.5)", Attention("trace"), Encoding("opposite", injected=(0.3, -0.2))),
    ("abs(z1) + abs(z2)*z3", Attention("trace"), Encoding()),
    ("max(z1, 0) - sign(z3)", Attention("trace"), Encoding("matrix", matrix=((1,), (2,), (0,)))),
    ("abs(z1 - z2)", TiedNetwork("relu"), Encoding("orthonormal")),
    ("sign(z1) + z2", TiedNetwork("tanh"), Encoding("orthonormal")),
)


@pytest.mark.parametrize(("target", "student", "encoding"), KINKED_TARGETS)
def test_targets_with_kinks_against_samples(target, student, encoding):
    problem = Problem(Target(target), student, encoding, label_noise=0.2)
    engine = SeriesEngine(problem)
    length = problem.length
    states = [*feasible_points(problem, 4, seed=21), *np.eye(length + 1)[[-1, -1]]]
    states[-1] = -states[-1]
    sets = [MonteCarloEngine(problem, 2**13, seed, blocks=2) for seed in range(16)]
    sampled = np.array([samples.moments(np.array(states)) for samples in sets])
    mean, standard_error = sampled.mean(axis=0), sampled.std(axis=0, ddof=1) / 4
    value, error = engine.estimates(np.array(states))
    # 5 standard errors of 16 sets at some 300 numbers, two thirds of them within a few: 1 percent.
    assert np.all(np.abs(value - mean) <= error + 5 * standard_error + 1e-12)
    # Inside the sphere the series converges fast.
    inside = np.abs(np.array(states)[:, -1]) < 0.5
    assert np.all(error[inside][:, 0] < 1e-6)


def test_the_error_says_that_a_kinked_target_converges_slowly_at_the_pole():
    kinked, smooth = (
        SeriesEngine(Problem(Target(text), Attention("trace")), 40)
        for text in ("abs(z1)*z2", "tanh(z1)*z2")
    )
    pole, inside = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.6]])
    assert kinked.evaluate(inside).value_error < 1e-8
    assert kinked.evaluate(pole).value_error > 3 * smooth.evaluate(pole).value_error
    assert 1e-6 < kinked.evaluate(pole).value_error < 1e-3
    # More orders of the same series move it by less than that.
    short = SeriesEngine(kinked.problem, 16)
    for v in (pole, inside):
        rough, fine = short.evaluate(v), kinked.evaluate(v)
        assert np.all(np.abs(moments(rough) - moments(fine)) <= errors(rough) + errors(fine))
