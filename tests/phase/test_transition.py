"""Ends of SGD at finite d: the linear regime, fits, counts and settings."""

from __future__ import annotations

import importlib
import signal

import numpy as np
import pytest

from ssiode import run_chain
from ssiode.phase import at_origin, transition
from ssiode.phase.ends import EndCounts
from ssiode.phase.linear_regime import deviations, leading_probability, recovery_probability
from ssiode.phase.transition import OMEGAS, _Plan
from ssiode.phase.transition_fit import fit_transition, law
from tests.checks import refuses


def counts(omegas, probabilities, replicas, seed=0):
    draws = np.random.default_rng(seed).binomial(replicas, probabilities)
    return [
        EndCounts(w, replicas, int(k), replicas, 0, 0, None)
        for w, k in zip(omegas, draws, strict=True)
    ]


def test_a_fit_finds_what_was_drawn():
    # 60 fits of two parameters within 4.5 standard errors: a false alarm in 1000 runs.
    omegas = np.linspace(0.5, 0.75, 26)
    pulls = []
    for seed in range(30):
        fit = fit_transition(counts(omegas, law(omegas, 0.63, 0.03), 64, seed))
        pulls.append([(fit.crossing - 0.63) / fit.crossing_error])
        pulls[-1].append((fit.width - 0.03) / fit.width_error)
    assert np.abs(pulls).max() < 4.5
    assert 0.7 < np.std(pulls) < 1.3


@pytest.mark.parametrize("p", [[1, 1, 1], [0, 0, 0], [1, 1, 0], [0.9, 0.9, 0.8]])
def test_no_fit_without_a_transition(p):
    assert fit_transition(counts([0.5, 0.6, 0.7], p, 64)) is None
    assert fit_transition([]) is None


def test_an_interval_is_never_of_no_width():
    low, high = EndCounts(0.5, 64, 64, 64, 0, 0, None).interval
    assert 0.97 < low < 0.99
    assert high == 1
    nothing = EndCounts(0.5, 0, 0, 0, 4, 0, None)
    assert nothing.interval is nothing.probability is None


def test_limits_of_the_linear_regime():
    origin = at_origin(0.6, 1.0, loss="squared", shifts=2)
    # At once, noise alone or the start alone.
    for start, ratio in (("origin", np.sqrt(origin.noise_m / origin.noise_e)), ("random", 1.0)):
        expected = 2 / np.pi * np.arctan(ratio)
        assert leading_probability(origin, 0.05, 1e-9, start) == pytest.approx(expected, abs=1e-6)
    # In the end the faster one wins.
    assert leading_probability(origin, 0.05, 1e3, "random") > 0.999
    by_d = [recovery_probability(origin, 0.05, d, "random", 0.5) for d in (10**2, 10**4, 10**8)]
    assert by_d == sorted(by_d)


@pytest.mark.slow
def test_the_chain_has_the_variances_of_the_linear_regime():
    # Four variances of 4000 replicas at 4.5 standard errors: a false alarm in 35000 runs.
    origin = at_origin(0.6, 1.0, loss="frobenius", shifts=8)
    for start in ("origin", "random"):
        plan = _Plan(1.0, "frobenius", 0.05, 5.0, 4000, start, 0.5, 0)
        problem = plan._problem(1000, 0.6, seed=1)
        ends = run_chain(problem, steps=10**5, records=2)
        e, m = deviations(origin, 0.05, 1000, 5.0, start)
        measured = np.mean(ends.e[:, -1, 0] ** 2), np.mean(ends.m[:, -1] ** 2)
        for found, expected in zip(measured, (e**2, m**2), strict=True):
            assert found == pytest.approx(expected, rel=4.5 * np.sqrt(2 / 4000))


@pytest.mark.slow
def test_probabilities_of_the_linear_regime():
    # Eight points at 4.5 standard errors: a false alarm in 15000 runs.
    omegas = [0.45, 0.55, 0.6, 0.7]
    for start in ("origin", "random"):
        found = transition(dims=[1000], omegas=omegas, time=8, replicas=500, start=start)
        for point in found.results[0].points:
            width = np.sqrt(point.predicted * (1 - point.predicted) / 500)
            assert abs(point.probability - point.predicted) < 4.5 * width


@pytest.mark.slow
def test_runs_until_recovery_and_by_parts():
    settings = {"dims": [50], "replicas": 8, "loss": "frobenius"}
    whole = transition(omegas=[0.3, 0.9], **settings)
    part = transition(omegas=[0.9], **settings)
    assert whole.results[0].points[1] == part.results[0].points[0]
    assert all(point.recovered == 8 for point in whole.results[0].points)
    assert [point.semantic for point in whole.results[0].points] == [8, 0]
    data = whole.as_dict()
    assert data["status"] == "finished"
    assert data["flip"] == pytest.approx(0.6278, abs=1e-4)
    assert len(whole.figure().axes) == 1


@pytest.mark.slow
def test_an_interrupt_keeps_what_was_measured(monkeypatch):
    module = importlib.import_module("ssiode.phase.transition")
    whole = module.run_to_end

    def interrupted_at_the_second(problem, *rest):
        if problem.target.to_table()["omega"] == 0.9:
            signal.raise_signal(signal.SIGINT)
        return whole(problem, *rest)

    monkeypatch.setattr(module, "run_to_end", interrupted_at_the_second)
    found = transition(dims=[50], omegas=[0.3, 0.9], replicas=4, time=1)
    assert found.was_interrupted
    assert [point.omega for point in found.results[0].points] == [0.3]
    assert "1 of 2 points" in found.message


def test_the_published_grid():
    assert len(OMEGAS) == 41
    assert list(OMEGAS) == sorted(OMEGAS)


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"dims": []}, "dims"),
        ({"dims": [3]}, "dims"),
        ({"dims": 100}, "dims"),
        ({"omegas": [1.5]}, "omega"),
        ({"omegas": []}, "omegas"),
        ({"gamma": 0}, "gamma"),
        ({"gamma": float("nan")}, "gamma"),
        ({"time": -1}, "time"),
        ({"replicas": 0}, "replicas"),
        ({"start": "fixed"}, "origin"),
        ({"threshold": 1}, "threshold"),
        ({"loss": "square"}, "squared"),
        ({"seed": -1}, "seed"),
        ({"a": 0}, "a"),
    ],
)
def test_hostile_settings(settings, part):
    refuses(lambda: transition(**settings), part)
