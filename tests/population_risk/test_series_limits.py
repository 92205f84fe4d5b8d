"""Where the series is cut off, refused or not chosen."""

from __future__ import annotations

import numpy as np
import pytest

from ssiode.encoding import Encoding
from ssiode.population_risk import SeriesEngine, make_engine
from ssiode.problem import Problem
from ssiode.student import Attention, TiedNetwork
from ssiode.target import Target
from tests.checks import refuses


@pytest.mark.parametrize(
    ("target", "activation"),
    [("cos(18*z1)", "sin(18*s)"), ("sin(20*z1)", "sin(20*s)"), ("cos(6*z1)", "sin(8*s)")],
)
def test_coefficients_that_peak_beyond_the_last_order_are_in_the_error(target, activation):
    # Hermite coefficients of cos(a z) are largest near order a^2.
    problem = Problem(Target(target), TiedNetwork(activation))
    result = SeriesEngine(problem).evaluate(np.array([0.0, 1.0]))
    a, b = (float(text[4:].split("*")[0]) for text in (target, activation))
    both_odd = target[:3] == "sin"
    # E cos(a z)^2 and E sin(a z)^2 by e^(-2 a^2), E sin sin by e^(-(a - b)^2 / 2).
    square = (1 - np.exp(-2 * a * a)) / 2 if both_odd else (1 + np.exp(-2 * a * a)) / 2
    cross = (np.exp(-((a - b) ** 2) / 2) - np.exp(-((a + b) ** 2) / 2)) / 2 if both_odd else 0.0
    exact = square + (1 - np.exp(-2 * b * b)) / 2 - 2 * cross
    assert abs(result.value - exact) <= result.value_error


def test_steps_too_narrow_and_overlaps_too_large_are_refused():
    for problem in (
        Problem(Target("tanh(100*z1)*tanh(100*z2)"), Attention()),
        Problem(Target("z1*z2"), Attention(), Encoding("opposite", norm=1e6)),
        Problem(Target("z1*z2"), Attention(), Encoding(injected=(1e5, 0.0))),
    ):
        refuses(lambda p=problem: SeriesEngine(p), "the ")


def test_a_useless_series_is_not_chosen():
    problem = Problem(Target("sin(20*z1)"), TiedNetwork("sin(20*s)"))
    v = np.array([0.0, 1.0])
    engine = make_engine(problem, v=v)
    assert engine.name == "quadrature"
    assert "its error of R" in engine.reason


def test_the_companion_shows_what_the_series_leaves_out():
    # At m = 1 a short series is wrong by its tail, which the error of a solve must see.
    problem = Problem(Target("tanh(3*z1)"), TiedNetwork("tanh"))
    engine, v = SeriesEngine(problem, order=8), np.array([[0.0, 1.0]])
    truth = SeriesEngine(problem, order=200).moments(v)
    moved = np.abs(engine.companion().moments(v) - engine.moments(v))
    assert np.all(moved[0, [0, -1]] >= 0.9 * np.abs(engine.moments(v) - truth)[0, [0, -1]])
    assert moved[0, 0] > 1e-5
