"""Quantiles of times some of which are only known to be late."""

import json

import numpy as np
import pytest

from ssiode.risk_landscape.escape.flow import flow_from
from ssiode.risk_landscape.escape.passage_times import PassageTimes
from tests.dynamics.ode_problems import FormulaEngine, linear_problem


def test_quantiles_are_those_of_numpy():
    times = np.random.default_rng(0).exponential(size=101)
    sample = PassageTimes(times, np.inf, 0, 0)
    for level in (0.05, 0.25, 0.5, 0.95):
        assert sample.quantile(level) == pytest.approx(np.quantile(times, level), rel=1e-12)
    assert sample.median == sample.quantile(0.5)


def test_times_that_are_late_make_the_upper_quantiles_unknown():
    sample = PassageTimes(np.array([1.0, 2.0, 3.0, np.inf, np.inf]), np.inf, 2, 0)
    assert (sample.quantile(0.25), sample.median, sample.quantile(0.75)) == (2.0, 3.0, None)
    assert sample.escaped == 0.6
    half = PassageTimes(np.array([1.0, 2.0, np.inf, np.inf]), np.inf, 2, 0)
    assert half.median is None


def test_quantiles_after_an_interruption_are_unknown():
    sample = PassageTimes(np.array([1.0, 2.0, 3.0, 4.0, np.inf]), 2.5, 0, 1)
    assert (sample.quantile(0.25), sample.median) == (2.0, None)


def test_intervals_cover_in_two_of_three_samples():
    """The median of 400 exponential times is log 2; an interval of one error covers 68 percent.

    Over 1000 samples the share is normal with standard deviation 0.0147; 4.5 of these and 0.02
    for the discreteness of places are exceeded in one of 10^5 seeds.
    """
    generator, covered, errors = np.random.default_rng(3), 0, []
    for _ in range(1000):
        sample = PassageTimes(generator.exponential(size=400), np.inf, 0, 0)
        low, high = sample.interval(0.5)
        covered += low <= np.log(2) <= high
        errors.append(sample.error())
    assert abs(covered / 1000 - 0.683) < 4.5 * 0.0147 + 0.02
    # The density there is 1/2: an error of 1 / sqrt(400).
    assert np.mean(errors) == pytest.approx(1 / 20, rel=0.05)


def test_a_flow_is_sorted_into_crossed_at_rest_and_undecided():
    problem = linear_problem()
    starts = np.array([[0.0, 0.0], [0.0, 0.1], [0.0, 1e-9]])
    flow = flow_from(problem, FormulaEngine(problem), 0.0, starts, t_max=9.0, threshold=0.5)
    sample = PassageTimes.of(flow)
    assert np.isfinite(sample.times).tolist() == [False, True, False]
    assert (sample.never, sample.undecided, sample.known_until) == (1, 1, 9.0)
    data = json.loads(json.dumps(sample.as_dict(10.0)))
    assert data["times"]["0.5"] is None
    assert data["escaped"] == pytest.approx(1 / 3)


def test_errors_of_shares_are_never_zero():
    none = PassageTimes(np.full(98, np.inf), np.inf, 98, 0)
    assert none.escaped == 0.0
    assert none.escaped_error == pytest.approx(np.sqrt(0.01 * 0.99 / 98), rel=1e-9)
