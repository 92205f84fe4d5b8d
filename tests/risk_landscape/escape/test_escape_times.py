"""Escape from random weights: closed forms, the noise near the origin, and the exact chain."""

import json

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import expm

from ssiode import Attention, Encoding, Problem, Target, TiedNetwork
from ssiode.dynamics.drift import drift
from ssiode.population_risk import Fluctuations, make_engine
from ssiode.risk_landscape.coordinates import FeasibleCoordinates
from ssiode.risk_landscape.escape.chain_comparison import compare_with_chain
from ssiode.risk_landscape.escape.escape_times import EscapeScale, escape_times
from ssiode.risk_landscape.escape.initial_noise import growth, noise_covariance
from tests.checks import refuses
from tests.dynamics.ode_problems import FormulaEngine, linear_problem
from tests.recovery_scaling.problems import ORDER_2, QUARTIC

SQUARES = Target("He2(z1) + He2(z2)")
# Learning rates at half of the one at which noise stops the growth.
ORDER_TWO = {
    "tied": (Problem(SQUARES, TiedNetwork("relu")), 0.16),
    "attention": (Problem(SQUARES, Attention("trace")), 0.22),
    "encoded attention": (Problem(SQUARES, Attention("trace"), Encoding("opposite")), 0.22),
}


def test_quantiles_are_those_of_the_starts():
    """m' = m (1 - m^2) takes longer from smaller |m_0|, whose square is Beta(1/2, (d - 1)/2).

    Quantiles of 4000 starts within 4.5 standard errors, of four: false alarms in 3 of 10^5 seeds.
    """
    problem = linear_problem()
    found = escape_times(
        problem, 100, 0.0, starts=4000, seed=1, engine=FormulaEngine(problem), order=2
    )
    for level in (0.05, 0.25, 0.5, 0.75):
        m = np.sqrt(stats.beta.ppf(1 - level, 0.5, 49.5))
        expected = np.log(0.5 / np.sqrt(0.75)) - np.log(m / np.sqrt(1 - m**2))
        assert abs(found.ode.quantile(level) - expected) < 4.5 * found.ode.error(level)
    assert found.ode_with_noise is None
    assert found.median_steps is None
    assert found.prediction is found.ode


def test_starts_repeat_and_do_not_depend_on_their_number():
    few, many, other = (
        escape_times(ORDER_2, 1000, 0.1, starts=starts, seed=seed)
        for starts, seed in ((5, 0), (9, 0), (5, 1))
    )
    assert np.array_equal(few.ode.times, many.ode.times[:5])
    assert not np.array_equal(few.ode.times, other.ode.times)


def test_a_local_minimum_is_not_left():
    found = escape_times(QUARTIC, 1000, 0.05, starts=20)
    assert (found.ode.escaped, found.ode.never, found.ode.median) == (0.0, 20, None)
    assert found.ode_with_noise is None
    assert found.median_steps is None
    assert found.scale.samples == 1e9
    assert json.loads(json.dumps(found.as_dict()))["ode"]["times"]["0.5"] is None


def test_noise_makes_the_escape_earlier():
    found = escape_times(ORDER_2, 10**6, 0.3, starts=500)
    assert found.ode_with_noise.median < found.ode.median
    data = json.loads(json.dumps(found.as_dict()))
    assert data["median_steps"] == pytest.approx(found.prediction.median * 10**6 / 0.3)
    assert data["ode"]["steps"]["0.25"] < data["ode"]["steps"]["0.75"]
    assert data["scale"]["samples_text"] == "d log^2 d"
    plain = escape_times(ORDER_2, 10**6, 0.3, starts=500, noise=False)
    assert plain.prediction.median == found.ode.median


def test_rates_at_the_origin_are_the_hessian_and_the_noise():
    problem = ORDER_TWO["encoded attention"][0]
    engine = make_engine(problem)
    rates, directions = growth(problem, engine, 0.1)
    # The Hessian is diagonal, -2 * 0.563914 in m and 2.076008 in e.
    shrinking = 0.05 * engine.evaluate(np.zeros(3)).second_moment
    np.testing.assert_allclose(rates, [-2.076008 - shrinking, 1.127827 - shrinking], atol=2e-6)
    np.testing.assert_allclose(np.abs(directions), np.eye(2), atol=1e-6)


@pytest.mark.parametrize("time", [0.7, 50.0])
def test_noise_is_the_integral_over_the_growing_directions(time):
    """By the matrix exponential in the overlaps themselves, with all directions growing."""
    target = Target.named("positional-semantic", omega=0.6, a=1.0)
    encoding = Encoding("opposite", norm=0.8, teacher_overlap=(0.3, -0.3))
    problem, gamma = Problem(target, Attention("identity"), encoding).replace(batch=3), 0.4
    engine, frame = make_engine(problem), FeasibleCoordinates(problem.geometry)
    rates, _ = growth(problem, engine, gamma)
    assert rates[0] > 0.05
    step = 1e-5 * frame.frame.T
    ahead, behind = (drift(problem, engine, gamma, side * step) for side in (1, -1))
    derivatives = ((ahead - behind) / 2e-5).T @ np.linalg.pinv(frame.frame)
    (covariance,) = Fluctuations(problem).values(np.zeros((1, 3)), gamma, 3)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    s, weights = time * (nodes + 1) / 2, time / 2 * weights
    flows = [expm(-derivatives * t) for t in s]
    expected = sum(w * E @ covariance @ E.T for w, E in zip(weights, flows, strict=True))
    found = noise_covariance(problem, engine, gamma, time)
    np.testing.assert_allclose(
        frame.frame @ found @ frame.frame.T, gamma / 3 * expected, rtol=1e-6, atol=1e-9
    )


def test_directions_that_decay_get_no_noise():
    problem, gamma = ORDER_TWO["encoded attention"]
    added = noise_covariance(problem, make_engine(problem), gamma)
    assert added[1, 1] > 0
    np.testing.assert_allclose(added[0], 0.0, atol=1e-12)
    np.testing.assert_allclose(added[:, 0], 0.0, atol=1e-12)


def test_scales_are_those_of_the_theorem():
    for order, samples, time in ((1, 1e4, 1), (2, 1e4 * np.log(1e4) ** 2, np.log(1e4))):
        scale = EscapeScale.of(order, 10**4)
        assert (scale.samples, scale.time) == (pytest.approx(samples), pytest.approx(time))
    assert EscapeScale.of(4, 100).samples == pytest.approx(1e6)
    problem = linear_problem()
    options = {"starts": 3, "noise": False, "engine": FormulaEngine(problem)}
    assert escape_times(problem, 100, 0.1, **options).scale is None
    assert escape_times(problem, 100, 0.1, order=3, **options).scale.samples == 1e4


def test_the_chain_escapes_at_the_predicted_median():
    """Ratios at half of the largest learning rate within 10 percent and 4 errors of 7 percent.

    The prediction leaves out terms of order 1/sqrt(d); false alarms in less than 10^-4 of seeds.
    """
    prediction = escape_times(ORDER_2, 1000, 0.4, seed=4)
    found = compare_with_chain(prediction, replicas=128)
    assert found.ratio_error < 0.07
    assert abs(found.ratio - 1) < 0.1 + 4 * found.ratio_error
    assert found.ratio_of_ode > found.ratio
    data = json.loads(json.dumps(found.as_dict()))
    assert data["chain"]["gamma"] == 0.4
    assert data["ratio"] == found.ratio


def test_a_comparison_without_a_median_has_no_ratio():
    found = compare_with_chain(escape_times(QUARTIC, 100, 0.05, starts=4), replicas=4, max_steps=64)
    assert (found.ratio, found.ratio_error, found.chain.median) == (None, None, None)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"d": 2}, "d is 2"),
        ({"d": 3, "gamma": 0.1}, None),
        ({"gamma": -1.0}, "gamma"),
        ({"starts": 1}, "starts is 1"),
        ({"threshold": 0.0}, "(0, 1]"),
        ({"t_max": 0}, "t_max"),
        ({"seed": -1}, "seed"),
        ({"order": 0}, "order is 0"),
    ],
)
def test_bad_input_is_refused(options, part):
    if part is None:
        assert escape_times(ORDER_2, starts=2, **options).status == "finished"
    else:
        refuses(lambda: escape_times(ORDER_2, **{"starts": 2, **options}), part)


def test_the_chain_needs_a_learning_rate():
    prediction = escape_times(ORDER_2, 100, 0.0, starts=2)
    refuses(lambda: compare_with_chain(prediction), "gamma is 0")
    other = escape_times(ORDER_2, 100, 0.1, starts=2)
    refuses(lambda: compare_with_chain(other, replicas=1), "replicas is 1")


@pytest.mark.slow
@pytest.mark.parametrize("name", ORDER_TWO)
@pytest.mark.parametrize(("d", "replicas"), [(10**3, 400), (10**4, 128), (10**5, 48)])
def test_medians_of_the_chain_are_within_15_percent(name, d, replicas):
    """The largest deviation at many replicas is 4 percent; the errors are 2.5, 2.7 and 4 percent.

    15 percent are then exceeded in about one of a hundred seeds, over all nine.
    """
    problem, gamma = ORDER_TWO[name]
    found = compare_with_chain(escape_times(problem, d, gamma, seed=5), replicas=replicas)
    assert found.ratio_error < 0.055
    assert abs(found.ratio - 1) < 0.15


@pytest.mark.slow
def test_without_noise_the_ode_is_late():
    """At d = 1000 by 19 percent, of an error of 2: never seen below 10 in one of 10^4 seeds."""
    problem, gamma = ORDER_TWO["tied"]
    found = compare_with_chain(escape_times(problem, 1000, gamma, seed=6), replicas=800)
    assert found.ratio_of_ode > 1.1
    assert abs(found.ratio - 1) < 0.1
