"""Monte Carlo: agreement with quadrature, published values, symmetry, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from ssiode.encoding import Encoding
from ssiode.loss import FrobeniusLoss
from ssiode.population_risk import (
    MonteCarloEngine,
    QuadratureEngine,
    SeriesEngine,
    montecarlo,
    risk,
)
from ssiode.problem import Problem
from ssiode.student import Attention, LinearAttention, TiedNetwork
from ssiode.target import Target
from tests.checks import refuses
from tests.population_risk.problems import (
    SETTINGS,
    errors,
    feasible_points,
    moments,
    positional_semantic,
)


@pytest.fixture(scope="module")
def quadratures():
    """50 points over 4 settings, and what quadrature finds there."""
    found = []
    for name, count in zip(SETTINGS, (13, 13, 12, 12), strict=True):
        problem, _ = SETTINGS[name]
        engine = QuadratureEngine(problem, 20)
        points = feasible_points(problem, count, seed=4)
        found += [(problem, v, engine.evaluate(v)) for v in points]
    return found


@pytest.mark.parametrize("sampling", ["sobol", "plain"])
def test_agreement_with_quadrature(quadratures, sampling):
    # Each point with samples of its own, R, gradient and V at each: 250 comparisons. One misses 4
    # standard errors of 16 blocks in 0.12 percent; more than 2 of 250 in 0.4 percent, and the
    # gradients along e of tied networks are equal, so in about 1 percent.
    within = []
    for seed, (problem, v, exact) in enumerate(quadratures):
        sampled = MonteCarloEngine(problem, 2**12, seed, sampling).evaluate(v)
        difference = np.abs(moments(sampled) - moments(exact))
        within.append(difference <= 4 * errors(sampled) + errors(exact))
    within = np.concatenate(within)
    assert len(within) == 250
    assert within.mean() >= 0.99


PUBLISHED = {(0, 0): 0.131752, (0.5, 0.5): 0.1151998, (1, 0): 0.1015513, (0, 1): 0.0826822}


@pytest.mark.parametrize(("state", "value"), PUBLISHED.items())
def test_published_values(state, value):
    problem, (e, m) = positional_semantic(), state
    result = MonteCarloEngine(problem).evaluate(problem.geometry.state((e, -e), m))
    # 4 standard errors of 16 blocks: a random seed would fail in 0.5 percent.
    assert abs(result.value - value) <= 4 * result.value_error + 1e-7
    assert result.value_error < 1e-4


@pytest.mark.parametrize(
    ("target", "student", "length"),
    [
        ("He2(z1) + z1*z2", Attention("trace"), 2),
        ("sum(He4(z)) + abs(z1)", Attention("projection", left=(1,) * 4, right=(1, 2, 3, 4)), 4),
        ("[z1^2, z2^2, 1, cos(z1)]", Attention("identity"), 2),
        ("prod(z)", LinearAttention(), 4),
    ],
)
@pytest.mark.parametrize("sampling", ["sobol", "plain"])
def test_even_problems_have_no_gradient_at_the_origin(target, student, length, sampling):
    problem = Problem(Target(target, length=length), student, Encoding("orthonormal"))
    engine = MonteCarloEngine(problem, 2**8, sampling=sampling)
    result = engine.evaluate(np.zeros(length + 1))
    # Both signs of every sample cancel up to rounding.
    assert np.all(np.abs(result.gradient) < 1e-12)
    assert result.second_moment > 0.01


def test_even_problems_are_flat_in_m_without_encoding():
    # Along e = 0 the risk is even in m.
    problem = Problem(Target("He2(z1) + z1*z2"), Attention("trace"))
    engine = MonteCarloEngine(problem, 2**8)
    above, below = (engine.evaluate(np.array([0.0, 0.0, m])) for m in (0.5, -0.5))
    assert above.value == pytest.approx(below.value, rel=1e-13)
    assert above.gradient[-1] == pytest.approx(-below.gradient[-1], rel=1e-12)


def test_an_odd_part_of_target_or_student_gives_a_gradient_at_the_origin():
    # Negative control: z1 is seen by the odd student only, and an injection makes attention odd.
    odd = Problem(Target("z1 + He2(z2)"), TiedNetwork("tanh"))
    seen = MonteCarloEngine(odd, 2**8).evaluate(np.zeros(3)).gradient
    assert abs(seen[-1]) > 0.1
    injected = Problem(Target("z1 + z2"), Attention("trace"), Encoding(injected=(0.5, 0.3)))
    assert abs(MonteCarloEngine(injected, 2**8).evaluate(np.zeros(3)).gradient[-1]) > 0.01
    even = injected.replace(encoding=Encoding())
    assert abs(MonteCarloEngine(even, 2**8).evaluate(np.zeros(3)).gradient[-1]) < 1e-12


def test_long_sequences_in_closed_form():
    # y = sum_l z*_l / sqrt(L), f the same of z: R = 2 - 2 m + q^2 with q = sum_l e_l / sqrt(L).
    length = 60
    problem = Problem(
        Target("sum(z)/sqrt(L)", length=length), TiedNetwork("identity"), Encoding("orthonormal")
    )
    e, m = np.full(length, 0.05), 0.3
    result = MonteCarloEngine(problem, 2**12).evaluate(np.append(e, m))
    q = e.sum() / np.sqrt(length)
    value = 2 - 2 * m + q**2
    exact = np.concatenate([[value], np.full(length, 2 * q / np.sqrt(length)), [-2.0, 4 * value]])
    # 5 standard errors of 16 blocks at 4 different quantities: 6e-4.
    assert np.all(np.abs(moments(result) - exact) <= 5 * errors(result) + 1e-12)
    assert result.value_error < 0.05


def test_blocks_give_an_honest_error():
    # The spread of independent runs is the stated error. The mean square of 40 scores has a
    # standard deviation of 0.24, with 15 degrees of freedom a mean of 15/13.
    problem, _ = SETTINGS["linear attention"]
    v = problem.geometry.state((0.3, 0.6), -0.5)
    exact = QuadratureEngine(problem, 20).moments(v[None])[0, 0]
    scores = []
    for seed in range(40):
        result = MonteCarloEngine(problem, 2**8, seed=1000 + seed).evaluate(v)
        scores.append((result.value - exact) / result.value_error)
    assert 0.5 < np.mean(np.square(scores)) < 2.3


def test_sobol_is_more_accurate_than_plain():
    problem, _ = SETTINGS["tanh, correlated, noisy"]
    v = problem.geometry.state((0.2, 0.1), 0.3)
    # Enough samples that the tail of z1^4 is resolved and errors are standard errors.
    results = [MonteCarloEngine(problem, 2**14, sampling=s).evaluate(v) for s in ("sobol", "plain")]
    assert results[0].value_error < 0.5 * results[1].value_error


def test_frobenius_loss_of_a_perfect_match():
    problem = Problem(Target("z1"), TiedNetwork("identity"), loss=FrobeniusLoss())
    result = MonteCarloEngine(problem, 2**10).evaluate(np.array([0.0, 1.0]))
    assert (result.value, result.second_moment) == (0.0, 0.0)
    # R ~ sqrt(1 - m), so dR/dm diverges, and the error says so.
    assert result.gradient_error[-1] > 0.3 * abs(result.gradient[-1])


def test_frobenius_loss_in_closed_form():
    # y = z*, f = z: E |z* - z| = sqrt(2/pi) sqrt(2 - 2 m + noise), dR/dm = -(2/pi) / R, V = 1.
    for noise in (0.0, 0.5):
        problem = Problem(
            Target("z1"), TiedNetwork("identity"), loss=FrobeniusLoss(), label_noise=noise
        )
        for m in (-1.0, 0.0, 0.6):
            result = MonteCarloEngine(problem, 2**13).evaluate(np.array([0.0, m]))
            value = np.sqrt(2 / np.pi * (2 - 2 * m + noise))
            exact = [value, 0.0, -2 / np.pi / value, 1.0]
            # 4 standard errors of 16 blocks at 12 comparisons: 1.4 percent for random seeds.
            assert np.all(np.abs(moments(result) - exact) <= 4 * errors(result) + 1e-9)


def test_numbers_of_samples():
    problem, _ = SETTINGS["linear attention"]
    assert MonteCarloEngine(problem, 33).samples == 64
    assert MonteCarloEngine(problem, 32).samples == 32
    assert MonteCarloEngine(problem, 64, blocks=5).samples == 80
    companion = MonteCarloEngine(problem, 64, seed=3).companion()
    assert (companion.seed, companion.samples) == (4, 64)


def test_the_seed_decides_the_samples():
    problem, _ = SETTINGS["linear attention"]
    v = problem.geometry.state((0.3, 0.6), -0.5)
    values = [
        MonteCarloEngine(problem, 32, seed).moments(v[None])[0, 0] for seed in (0, 0, 1, 2**128)
    ]
    assert values[0] == values[1]
    assert len(set(values)) == 3


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"samples": 31}, "samples is 31"),
        ({"samples": "100"}, "samples is '100'"),
        ({"samples": 100.5}, "samples is 100.5"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": None}, "seed is None"),
        ({"blocks": 1}, "blocks is 1"),
        ({"sampling": "sobl"}, "did you mean 'sobol'?"),
        ({"sampling": None}, "unknown sampling"),
    ],
)
def test_bad_options_are_refused(options, part):
    problem, _ = SETTINGS["linear attention"]
    refuses(lambda: MonteCarloEngine(problem, **options), part)


@pytest.mark.parametrize("target", ["log(z1)", "sqrt(z1)"])
def test_a_target_that_is_not_finite_is_refused(target):
    problem = Problem(Target(target), TiedNetwork("identity"))
    refuses(lambda: risk(problem, engine="montecarlo"), "target is not finite at z = ")


def test_a_function_that_returns_nan_is_refused():
    problem = Problem(Target(lambda z: np.log(z[..., 0]), length=2), TiedNetwork("identity"))
    refuses(lambda: risk(problem), "not finite at z = (")


def test_a_student_that_is_not_finite_is_refused():
    problem = Problem(Target("z1"), TiedNetwork("log(s)"))
    refuses(lambda: risk(problem, engine="montecarlo", samples=64), "not finite")


def test_sequences_beyond_the_sampler_are_refused(monkeypatch):
    assert montecarlo._LONGEST == 1000
    # The geometry of a thousand tokens takes seconds.
    monkeypatch.setattr(montecarlo, "_LONGEST", 4)
    for length in (4, 5):
        target = Target(lambda z: z[..., 0], length=length)
        problem = Problem(target, TiedNetwork("identity"))
        if length == 4:
            assert MonteCarloEngine(problem, 2**8).problem is problem
        else:
            refuses(lambda p=problem: MonteCarloEngine(p), "length is 5", "allows 4")


def test_the_square_of_the_labels_is_exact():
    # R = E g^2 + E f^2 - 2 E g f; g f has a lighter tail than g^2.
    problem = Problem(Target("z1^4"), TiedNetwork("tanh"))
    opaque = problem.replace(target=Target(lambda z: z**4, length=1))
    v, options = np.array([0.0, 0.5]), {"samples": 2**10, "sampling": "plain"}
    exact = SeriesEngine(problem).evaluate(v)
    result, blind = (MonteCarloEngine(p, **options).evaluate(v) for p in (problem, opaque))
    assert result.value_error < 0.2 * blind.value_error
    # 5 standard errors of 16 blocks: 1.6e-4.
    assert abs(result.value - exact.value) < 5 * result.value_error
    np.testing.assert_array_equal(result.gradient, blind.gradient)
