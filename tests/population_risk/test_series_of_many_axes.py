"""The series for many tokens: samples, closed forms, and the errors of coarse grids."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ssiode.encoding import Encoding
from ssiode.population_risk import MonteCarloEngine, SeriesEngine
from ssiode.population_risk.mehler import builder
from ssiode.problem import Problem
from ssiode.student import Attention, TiedNetwork
from ssiode.target import Target
from tests import reference
from tests.checks import refuses
from tests.population_risk.problems import (
    errors,
    feasible_points,
    moments,
)


def test_more_tokens_than_the_quadrature_has():
    # E relu(s)^2 = 1/2, E g relu = E g (s + |s|) / 2 with s the mean of the fields times sqrt(L).
    length = 10
    engine = SeriesEngine(Problem(Target("sum(z)", length=length), TiedNetwork("relu")))
    for m in (0.0, 0.4, -1.0):
        result = engine.evaluate(np.append(np.zeros(length), m))
        exact = length - m * math.sqrt(length) + 0.5
        assert abs(result.value - exact) <= result.value_error
        assert result.gradient[-1] == pytest.approx(-math.sqrt(length), rel=1e-12)
        assert result.value_error < 1e-10


def test_targets_of_few_among_many_tokens():
    # E e^(z1) relu(s) by the shift s -> s + m / sqrt(L): e^(1/2) (phi(c) + c Phi(c)), c = m / 3.
    problem = Problem(Target("exp(z1)", length=9), TiedNetwork("relu"))
    engine = SeriesEngine(problem)
    for m in (0.0, 0.7, -1.0):
        result, c = engine.evaluate(np.append(np.zeros(9), m)), m / 3
        density = math.exp(-(c**2) / 2) / math.sqrt(2 * math.pi)
        share = (1 + math.erf(c / math.sqrt(2))) / 2
        exact = math.exp(2) - 2 * math.exp(0.5) * (density + c * share) + 0.5
        assert abs(result.value - exact) <= result.value_error + 1e-14
        assert result.value_error < 1e-10
        slope = -2 * math.exp(0.5) * share / 3
        assert abs(result.gradient[-1] - slope) <= result.gradient_error[-1] + 1e-14


def test_three_tokens_of_attention():
    problem = Problem(Target("He2(z1) + z2*z3"), Attention("trace"))
    v = np.array([0.0, 0.0, 0.0, 0.6])
    result = SeriesEngine(problem).evaluate(v)
    student = reference.attention_weighted(np.eye(3))
    generator = np.random.default_rng(9)
    z_star, z = reference.field_samples(3, 0.6, 400_000, generator)
    labels = z_star[:, :1] ** 2 - 1 + z_star[:, 1:2] * z_star[:, 2:]
    samples = reference.squared_loss(labels, student.value(z))[0]
    # 4 standard errors: a random seed fails once in 16000.
    assert abs(result.value - samples.mean()) <= 4 * samples.std() / math.sqrt(len(samples))
    assert result.value_error < 1e-6


FOUR_TOKENS = (
    pytest.param("He2(z1) + z2*z3 + z4", Attention("trace"), Encoding()),
    pytest.param(
        "[{}]".format(", ".join(["z1*z2", "z3"] + ["0"] * 14)),
        Attention("identity"),
        Encoding(),
        marks=pytest.mark.slow,
    ),
    pytest.param(
        "sum(He2(z)) + z1",
        Attention("projection", left=(1, 0, 2, 0), right=(0, 1, 0, 1)),
        Encoding("opposite"),
        marks=pytest.mark.slow,
    ),
    pytest.param(
        "z1*z2*z3 + He2(z4)",
        Attention("trace"),
        Encoding("matrix", matrix=((1,), (2,), (0,), (-1,)), injected=(0.3, 0, 0, 0.2)),
        marks=pytest.mark.slow,
    ),
)


@pytest.mark.parametrize(("target", "student", "encoding"), FOUR_TOKENS)
def test_four_tokens_of_attention_against_samples(target, student, encoding):
    problem = Problem(Target(target, length=4), student, encoding, label_noise=0.1)
    engine = SeriesEngine(problem)
    states = np.array([*feasible_points(problem, 3, seed=31), np.append(np.zeros(4), 1.0)])
    sets = [MonteCarloEngine(problem, 2**14, seed, blocks=2) for seed in range(16)]
    sampled = np.array([samples.moments(states) for samples in sets])
    mean, standard_error = sampled.mean(axis=0), sampled.std(axis=0, ddof=1) / 4
    value, error = engine.estimates(states)
    # 5 standard errors of 16 sets at 28 numbers: 5e-3.
    assert np.all(np.abs(value - mean) <= error + 5 * standard_error + 1e-12)
    assert np.all(error[:, 0] < 1e-4)


def test_longer_attention_is_refused_with_the_size_of_its_grid():
    problem = Problem(Target("sum(He2(z))", length=8), Attention())
    refuses(lambda: SeriesEngine(problem), "sees 8 directions", "allows 4", "10^16 points")
    encoded = Problem(Target("sum(z)", length=4), Attention(), Encoding("orthonormal"))
    refuses(lambda: SeriesEngine(encoded), "in 4 directions", "allows 1")
    outputs = ["z1", "z2", "z3", "z4"] + ["1"] * 12
    wide = Problem(Target("[" + ", ".join(outputs) + "]"), Attention("identity"))
    refuses(lambda: SeriesEngine(wide), "4 outputs that are not constant", "allows 3")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "student", "length", "levels", "finer"),
    [
        ("He2(z1) + z2*z3", Attention("trace"), 3, (2, 5), (6, 7)),
        (
            "He2(z1) - z2*z3",
            Attention("projection", left=(1, 0, 2), right=(0, 1, 0)),
            3,
            (3, 6),
            (6, 7),
        ),
        ("He2(z1) + z2*z3 + z4", Attention("trace"), 4, (2, 4), (4, 5)),
    ],
)
def test_errors_of_coarse_grids_bound_the_difference_from_finer_ones(
    monkeypatch, target, student, length, levels, finer
):
    problem = Problem(Target(target, length=length), student)
    monkeypatch.setitem(builder._RULE_TOLERANCE, length, 0.0)
    monkeypatch.setitem(builder._LEVELS, length, levels)
    coarse = SeriesEngine(problem)
    monkeypatch.setitem(builder._LEVELS, length, finer)
    fine = SeriesEngine(problem)
    for v in [*feasible_points(problem, 3, seed=3), np.append(np.zeros(length), 1.0)]:
        rough, exact = coarse.evaluate(v), fine.evaluate(v)
        assert np.all(np.abs(moments(rough) - moments(exact)) <= errors(rough) + errors(exact))
