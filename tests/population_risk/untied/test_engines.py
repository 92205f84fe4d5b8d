"""The risk of untied networks: series, Monte Carlo, plain samples, and the tied network."""

import numpy as np
import pytest

from ssiode import Encoding, InputError, Problem, Target, TiedNetwork, UntiedNetwork, risk
from ssiode.loss import FrobeniusLoss, SquaredLoss
from ssiode.population_risk import make_engine

ACTIVATIONS = {
    "relu": (lambda s: np.maximum(s, 0), lambda s: (s > 0) * 1.0),
    "tanh": (np.tanh, lambda s: 1 - np.tanh(s) ** 2),
}
NORM_2D = Encoding("orthonormal", norm=0.7, injected=(0.3, -0.1))

PROBLEMS = {
    "squares": Problem(Target("sum(He2(z))", length=3), UntiedNetwork("relu")),
    "encoded, noisy": Problem(
        Target("z1*z2^2"), UntiedNetwork("tanh", scale=0.7), NORM_2D, label_noise=0.3
    ),
    "smooth sum": Problem(Target("sum(tanh(z))", length=4), UntiedNetwork("relu")),
    "mixed": Problem(Target("relu(z1) + z2*z3"), UntiedNetwork("tanh")),
    "frobenius": Problem(
        Target("sum(He2(z))", length=2), UntiedNetwork("tanh"), loss=FrobeniusLoss()
    ),
}


def numbers(found):
    values = np.array([found.value, *found.gradient, found.second_moment])
    errors = np.array([found.value_error, *found.gradient_error, found.second_moment_error])
    return values, errors


def plain_samples(problem, v, count=400_000):
    """Means and standard errors over all 2 L fields, each with its own overlap."""
    length, generator = problem.length, np.random.default_rng(5)
    e, m = v[:length] + problem.geometry.injected, v[length:]
    z_star, xi = generator.standard_normal((2, count, length))
    s = (m * z_star + np.sqrt(1 - m**2) * xi + e).sum(axis=1) / np.sqrt(length)
    sigma, slope = ACTIVATIONS[problem.student.activation]
    labels = problem.target(z_star)[:, 0]
    labels = labels + np.sqrt(problem.label_noise) * generator.standard_normal(count)
    miss = problem.student.scale * sigma(s) - labels
    jacobian = problem.student.scale * slope(s) / np.sqrt(length)
    if problem.loss.kind == "squared":
        loss, g = miss**2, 2 * miss * jacobian
    else:
        loss, g = np.abs(miss), np.sign(miss) * jacobian
    rows = [loss, *[g] * length]
    rows += [g * (z_star[:, k] - m[k] / np.sqrt(1 - m[k] ** 2) * xi[:, k]) for k in range(length)]
    rows = np.array([*rows, g**2])
    return rows.mean(axis=1), rows.std(axis=1) / np.sqrt(count)


@pytest.mark.parametrize("name", PROBLEMS)
def test_engines_agree_with_samples_of_all_fields(name):
    # Each number is beyond 4.5 standard errors with a probability of 7e-6 (16 blocks: 4e-4).
    problem, length = PROBLEMS[name], PROBLEMS[name].length
    generator = np.random.default_rng(3)
    m = generator.uniform(-0.7, 0.7, length)
    e = 0.3 * generator.uniform(-1, 1, length) if problem.encoding.kind != "none" else 0.0
    v = problem.geometry.state(e, m)
    expected, expected_error = plain_samples(problem, v)
    engines = ["montecarlo"] if problem.loss.kind == "frobenius" else ["series", "montecarlo"]
    for engine in engines:
        values, errors = numbers(make_engine(problem, engine).evaluate(v))
        spread = np.hypot(errors, expected_error)
        assert np.all(np.abs(values - expected) < 4.5 * spread), engine


@pytest.mark.parametrize("engine", ["series", "montecarlo"])
@pytest.mark.parametrize("name", ["squares", "encoded, noisy"])
def test_the_gradient_is_the_derivative_of_the_risk(engine, name):
    problem = PROBLEMS[name]
    found = make_engine(problem, engine)
    e = 0.0 if problem.encoding.kind == "none" else (0.2, -0.1)
    v = problem.geometry.state(e, np.linspace(-0.3, 0.5, problem.length))
    gradient = found.moments(v[None])[0, 1:-1]
    first = 0 if problem.encoding.kind != "none" else problem.length
    for i in range(first, len(v)):
        step = 1e-5 * np.eye(len(v))[i]
        ends = found.moments(np.array([v + step, v - step]))[:, 0]
        tolerance = 1e-8 if engine == "series" else 0.05
        assert gradient[i] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=tolerance)


@pytest.mark.parametrize("engine", ["series", "montecarlo"])
def test_equal_overlaps_have_the_risk_of_the_tied_network(engine):
    target = Target("sum(He2(z)) + z1*z2*z3", length=3)
    tied = risk(Problem(target, TiedNetwork("tanh")), m=0.4)
    untied = risk(Problem(target, UntiedNetwork("tanh")), m=0.4, engine=engine)
    error = 4 * untied.value_error + 1e-12
    assert abs(untied.value - tied.value) < error
    slope = untied.gradient[3:].sum()
    assert abs(slope - tied.gradient[-1]) < 4 * untied.gradient_error[3:].sum() + 1e-12
    assert untied.second_moment == pytest.approx(tied.second_moment / 3, rel=0.1)
    if engine == "series":
        assert untied.second_moment == pytest.approx(tied.second_moment / 3, rel=1e-10)


def test_the_pole_is_the_target():
    # R = 2 - 2 (m_1 + ... + m_4) / 4.
    target = Target("sum(z)/sqrt(L)", length=4)
    row = Problem(target, UntiedNetwork("identity"))
    found = risk(row, m=1.0)
    assert abs(found.value) <= found.value_error + 1e-13
    sampled = risk(row, m=1.0, engine="montecarlo")
    assert abs(sampled.value) <= 4 * sampled.value_error + 1e-12
    for one in (found, sampled):
        error = 4.5 * one.gradient_error + 1e-12
        assert np.all(np.abs(one.gradient - np.repeat([0, -0.5], 4)) <= error)


def test_one_row_can_have_all_the_weight():
    problem = Problem(Target("z1", length=4), UntiedNetwork("identity", constraint="joint"))
    engine = make_engine(problem)
    v = np.array([0, 0, 0, 0, 2.0, 0, 0, 0])
    assert abs(engine.evaluate(v).value) < 1e-12


def test_the_scale_of_the_loss_scales():
    problem = PROBLEMS["squares"]
    scaled = problem.replace(loss=SquaredLoss(scale=0.5))
    first, half = (numbers(risk(p, m=(0.1, 0.2, 0.3)))[0] for p in (problem, scaled))
    np.testing.assert_allclose(half[:-1], first[:-1] / 2, rtol=1e-13)
    assert half[-1] == pytest.approx(first[-1] / 4, rel=1e-13)


@pytest.mark.parametrize("expression", ["sum(tanh(z))", "relu(z1) + z2*z3", "abs(z1) + sin(z2*z3)"])
def test_errors_of_short_series_bound_what_long_ones_add(expression):
    problem = Problem(Target(expression, length=3), UntiedNetwork("relu"))
    generator = np.random.default_rng(0)
    states = [problem.geometry.state(m=generator.uniform(-1, 1, 3)) for _ in range(6)]
    short, long = (make_engine(problem, "series", order=n) for n in (6, 20))
    for v in states:
        (values, errors), (better, rest) = (numbers(e.evaluate(v)) for e in (short, long))
        assert np.all(np.abs(values - better) <= errors + rest)


def test_states_do_not_depend_on_those_beside_them():
    problem = PROBLEMS["encoded, noisy"]
    engine = make_engine(problem, "series")
    states = np.array([problem.geometry.state((x, 0.1), (x, -0.2)) for x in (0.1, 0.2, 0.3)])
    together = engine.moments(states)
    for i, v in enumerate(states):
        np.testing.assert_array_equal(engine.moments(v[None])[0], together[i])
    found = engine.estimates(states)
    np.testing.assert_array_equal(found.value, together)


def test_the_companion_differs_by_about_the_error():
    engine = make_engine(PROBLEMS["squares"], "series")
    v = PROBLEMS["squares"].geometry.state(m=0.3)
    difference = np.abs(engine.companion().moments(v[None]) - engine.moments(v[None]))
    assert 0 < difference.max() < 1e-11


def test_the_series_is_chosen_and_monte_carlo_where_there_is_none():
    assert risk(PROBLEMS["squares"], m=0.1).engine == "series"
    assert risk(PROBLEMS["frobenius"], m=0.1).engine == "montecarlo"
    opaque = Problem(Target(lambda z: z[..., 0], length=2), UntiedNetwork("relu"))
    found = risk(opaque, m=0.1)
    assert (found.engine, "Python function" in found.reason) == ("montecarlo", True)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"engine": "quadrature"}, "unknown engine"),
        ({"engine": "montecarlo", "control_variates": True}, "no control variates"),
        ({"engine": "series", "order": 2}, "order"),
    ],
)
def test_refusals(settings, words):
    with pytest.raises(InputError, match=words):
        risk(PROBLEMS["squares"], m=0.1, **settings)


def test_a_large_encoding_has_no_series():
    problem = Problem(Target("z1*z2"), UntiedNetwork("relu"), Encoding("orthonormal", norm=9))
    with pytest.raises(InputError, match="lower the norm"):
        risk(problem, m=0.1, engine="series")
