"""Which engine serves which problem, and the one-call interface."""

from __future__ import annotations

import numpy as np
import pytest

from ssiode.encoding import Encoding
from ssiode.loss import FrobeniusLoss, SquaredLoss
from ssiode.population_risk import (
    MonteCarloEngine,
    QuadratureEngine,
    SeriesEngine,
    make_engine,
    risk,
)
from ssiode.problem import Problem
from ssiode.student import Attention, TiedNetwork
from ssiode.target import Target
from tests.checks import refuses
from tests.population_risk.problems import errors, moments

SMOOTH = Problem(Target("He2(z1) + z2"), TiedNetwork("tanh"), Encoding("orthonormal"))


@pytest.mark.parametrize(
    ("changes", "engine", "reason"),
    [
        ({}, "series", "squared loss"),
        ({"label_noise": 0.5}, "series", "squared loss"),
        ({"student": TiedNetwork("relu")}, "series", "squared loss"),
        ({"target": Target("tanh(z1)*z2")}, "series", "squared loss"),
        ({"target": Target("sum(z)/L", length=9)}, "series", "squared loss"),
        ({"target": Target("exp(z1)", length=9)}, "series", "squared loss"),
        ({"target": Target("tanh(sum(z))", length=9)}, "montecarlo", "no polynomial"),
        ({"target": Target("abs(z1)", length=2)}, "series", "squared loss"),
        ({"target": Target("abs(z1)*tanh(z2)")}, "montecarlo", "no closed form"),
        ({"target": Target(lambda z: z[..., 0], length=2)}, "montecarlo", "smooth"),
        ({"loss": FrobeniusLoss()}, "montecarlo", "no quadrature: target, student or loss"),
        ({"target": Target("z1*z4"), "student": Attention()}, "montecarlo", "4 directions"),
        ({"target": Target("z1*z3"), "student": Attention()}, "montecarlo", "in 3 directions"),
        ({"loss": FrobeniusLoss(), "label_noise": 0.5}, "montecarlo", "label noise"),
    ],
)
def test_the_engine_suits_the_problem_and_says_why(changes, engine, reason):
    built = make_engine(SMOOTH.replace(**changes))
    assert built.name == engine
    assert reason in built.reason


@pytest.mark.parametrize(
    ("options", "engine"),
    [
        ({"order": 9}, "series"),
        ({"samples": 64}, "montecarlo"),
        ({"sampling": "plain"}, "montecarlo"),
    ],
)
def test_options_choose_an_engine_that_takes_them(options, engine):
    assert make_engine(SMOOTH, **options).name == engine


@pytest.mark.parametrize("engine", ["quadrature", "montecarlo"])
def test_an_engine_can_be_asked_for(engine):
    options = {"order": 10} if engine == "quadrature" else {"samples": 64}
    result = risk(SMOOTH, m=0.3, engine=engine, **options)
    assert result.engine == engine
    assert "asked for by name" in result.reason
    assert str(next(iter(options.values()))) in result.reason


def test_the_order_follows_the_tolerance():
    v = SMOOTH.geometry.state((0.3, 0.2), 0.5)
    orders = [make_engine(SMOOTH, "quadrature", v, t).order for t in (1e-1, 1e-4, 1e-10)]
    assert orders == sorted(orders)
    assert orders[0] < orders[-1]
    result = make_engine(SMOOTH, "quadrature", v, tolerance=1e-4).evaluate(v)
    assert result.value_error <= 1e-4 * result.value


def test_risk_takes_the_state_as_a_user_writes_it():
    one = risk(SMOOTH, e=0.2, m=0.3)
    assert one.gradient.shape == (3,)
    assert np.array_equal(moments(risk(SMOOTH, e=[0.2, 0.2], m=0.3)), moments(one))
    assert np.array_equal(moments(risk(SMOOTH)), moments(risk(SMOOTH, 0.0, 0.0)))


def test_engines_agree():
    by_series = risk(SMOOTH, e=(0.3, -0.2), m=0.4)
    by_quadrature = risk(SMOOTH, e=(0.3, -0.2), m=0.4, engine="quadrature")
    apart = np.abs(moments(by_series) - moments(by_quadrature))
    assert np.all(apart <= errors(by_series) + errors(by_quadrature))
    by_sampling = risk(SMOOTH, e=(0.3, -0.2), m=0.4, engine="montecarlo", samples=2**12)
    # 5 standard errors of 16 blocks, 5 comparisons: 8e-4 for a random seed.
    difference = np.abs(moments(by_quadrature) - moments(by_sampling))
    assert np.all(difference <= 5 * errors(by_sampling) + errors(by_quadrature))


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: risk(SMOOTH, engine="quadratur"), ["did you mean 'quadrature'?"]),
        (lambda: risk(SMOOTH, engine=3), ["unknown engine"]),
        (lambda: risk(SMOOTH, engine="quadrature", samples=100), ["quadrature", "samples"]),
        (lambda: risk(SMOOTH, engine="montecarlo", order=10), ["montecarlo", "order"]),
        (lambda: risk(SMOOTH, engine="montecarlo", smples=100), ["smples"]),
        (lambda: risk(SMOOTH, e=(0.9, 0.9), m=0.9), ["infeasible"]),
        (lambda: risk(SMOOTH, m=np.nan), ["m is nan"]),
        (lambda: risk(SMOOTH, e="0.1"), ["e is '0.1'"]),
        (lambda: risk(SMOOTH, e=(0.1, 0.2, 0.3)), ["3 entries"]),
        (lambda: risk(SMOOTH.replace(loss=SquaredLoss(1e300))), ["not finite"]),
        (
            lambda: risk(Problem(Target("z1*z4"), TiedNetwork("tanh")), engine="quadrature"),
            ["does not serve", "length is 4"],
        ),
    ],
)
def test_bad_calls_are_refused(call, parts):
    refuses(call, *parts)


def test_one_token():
    # Attention over one token is constant, so nothing is learned.
    result = risk(Problem(Target("z1"), Attention("trace")), m=0.5)
    assert result.value == pytest.approx(2.0, rel=1e-12)
    assert np.all(result.gradient == 0)
    assert result.second_moment == 0.0


def test_defaults_of_the_engines():
    assert isinstance(make_engine(SMOOTH), SeriesEngine)
    assert QuadratureEngine(SMOOTH).order == 20
    assert MonteCarloEngine(SMOOTH).samples == 2**15
