"""The benchmark of the engines: its truths are true, and everything is measured."""

from __future__ import annotations

import numpy as np
import pytest

from ssiode.population_risk import SeriesEngine
from ssiode.student import LinearAttention
from ssiode.target import Target
from tests.population_risk.problems import SETTINGS
from validation.benchmarks import risk_engines


def test_the_trapezoidal_sums_are_exact_for_polynomials():
    problem = SETTINGS["linear attention"][0].replace(
        target=Target("z1*z2 + z1"), student=LinearAttention()
    )
    states = np.array([[0.2, 0.4, 0.3], [0.0, 0.0, -0.8]])
    exact = SeriesEngine(problem).moments(states)
    found = risk_engines.trapezoidal_sums(problem, states, step=0.7)
    # At this step the sums leave exp(-2 pi^2 / 0.7^2) = 3e-18 times the degree-10 growth.
    assert found == pytest.approx(exact, rel=1e-8, abs=1e-8)


def test_the_closed_forms_of_relu_agree_with_the_series():
    case = risk_engines.cases()["tied relu, L = 10"]
    exact = case.truth(case.problem, case.states)
    assert SeriesEngine(case.problem).moments(case.states) == pytest.approx(exact, rel=1e-12)


def test_the_states_are_feasible():
    for case in risk_engines.cases().values():
        for v in case.states:
            case.problem.geometry.state(v[:-1], v[-1])


def test_figures_are_measured_or_say_why_not():
    case = risk_engines.cases()["tied relu, L = 10"]
    truth = case.truth(case.problem, case.states)
    measured = risk_engines.figure("relu", case, truth, "series", rounds=1)
    assert measured.error < 1e-12
    assert 0 < measured.batch <= measured.single
    assert measured.build > 0
    refused = risk_engines.figure("relu", case, truth, "quadrature, 19 nodes", rounds=1)
    assert "length is 10" in refused.objection
    assert np.isnan(refused.single)


def test_samples_threads_and_solves_are_measured():
    sample, normals = risk_engines.sample_times(rounds=1)
    assert 0 < normals < 1e-6
    assert 0 < sample < 1e-5
    assert min(risk_engines.speeds_of_two_threads(rounds=1, samples=2**12)) > 0
    together, one = risk_engines.estimate_times(rounds=1, count=10)
    assert min(together, one) > 0
    whole, alone, recovery = risk_engines.solve_times(rounds=1)
    assert alone > 0
    assert whole > 0
    assert 0 < recovery < risk_engines.T_MAX
