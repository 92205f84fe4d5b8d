"""The diffusion and the band against the exact chain.

Seeds are fixed; each comparison would fail for a random seed at a rate below 1e-6.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp

from ssiode import (
    Attention,
    Encoding,
    Ensemble,
    Problem,
    Target,
    TiedNetwork,
    UntiedNetwork,
    resume_run,
    run_chain,
    run_diffusion,
    solve_ode,
)
from ssiode.dynamics import diffusion, pacing
from tests.checks import refuses
from tests.dynamics.test_resume import equal, interrupt

OPPOSITE = Problem(Target("He2(z1) + He2(z2)"), Attention("trace"), Encoding("opposite"))
LINEAR = Problem(Target("z1"), TiedNetwork("identity"))
SETTINGS = {"e": (0.2, -0.2), "m": 0.3, "gamma": 0.3, "d": 2000, "steps": 6000, "replicas": 300}


@pytest.fixture(scope="module")
def run():
    return run_diffusion(OPPOSITE, **SETTINGS, records=4)


def test_its_law_is_that_of_the_chain_for_large_d(run):
    chain = run_chain(OPPOSITE, **SETTINGS, records=4, fresh_samples=1000, seed=1)
    assert np.array_equal(run.steps, chain.steps)
    for record in range(1, 5):
        for ours, theirs in zip(run.v[:, record].T, chain.v[:, record].T, strict=True):
            assert ks_2samp(ours, theirs, method="asymp").pvalue > 1e-6
            assert 0.75 < ours.std() / theirs.std() < 1.33
    error = np.hypot(*(r.loss[:, -1].std() / np.sqrt(300) for r in (run, chain)))
    assert abs(run.loss[:, -1].mean() - chain.loss[:, -1].mean()) < 5 * error


def test_its_hit_times_have_the_law_of_the_chain(run):
    settings = SETTINGS | {"steps": 15_000, "threshold": 0.42, "records": 1}
    runs = [method(OPPOSITE, **settings) for method in (run_diffusion, run_chain)]
    for name in ("recovery_steps", "semantic_recovery_steps"):
        ours, theirs = (getattr(r, name) for r in runs)
        assert (theirs > 0).mean() > 0.5
        hit = [np.where(steps < 0, 10**9, steps) for steps in (ours, theirs)]
        assert ks_2samp(*hit, method="asymp").pvalue > 1e-6


def test_without_noise_it_is_the_ode():
    settings = SETTINGS | {"d": 10**14, "steps": 10**15, "gamma": 0.2, "replicas": 2}
    run = run_diffusion(OPPOSITE, **settings, records=5)
    ode = solve_ode(OPPOSITE, gamma=0.2, times=run.t, e=(0.2, -0.2), m=0.3)
    assert np.abs(run.v - ode.v).max() < diffusion._PATH_TOLERANCE
    np.testing.assert_allclose(run.loss[0], ode.risk, rtol=2e-3)


@pytest.mark.slow
def test_random_starts_escape_as_those_of_the_chain():
    # The kernel is that of tests/recovery_scaling.
    even = Problem(Target("He2(z1)"), TiedNetwork("0.1*s^2"))
    settings = {"gamma": 0.2, "d": 1000, "steps": 10**5, "replicas": 200, "records": 2}
    runs = [method(even, **settings) for method in (run_diffusion, run_chain)]
    assert np.array_equal(runs[0].m[:, 0], runs[1].m[:, 0])
    assert (runs[1].recovery_steps > 0).mean() > 0.95
    ours, theirs = (np.where(r.recovery_steps < 0, 10**9, r.recovery_steps) for r in runs)
    assert ks_2samp(ours, theirs, method="asymp").pvalue > 1e-6
    # The sign of the overlap is that of the start or noise: both wells are reached.
    assert 0.2 < (runs[0].m[:, -1] > 0).mean() < 0.8


def test_a_run_repeats_bit_for_bit(monkeypatch, run):
    for threads, seconds, count in (("1", 1e-9, 300), ("2", 0.5, 7)):
        monkeypatch.setenv("SSIODE_THREADS", threads)
        monkeypatch.setattr(pacing, "SECONDS_PER_CHUNK", seconds)
        again = run_diffusion(OPPOSITE, **SETTINGS | {"replicas": count}, records=4)
        assert np.array_equal(again.v, run.v[:count])
    part = run_diffusion(OPPOSITE, **SETTINGS | {"replicas": 3}, records=4, first_replica=5)
    assert np.array_equal(part.v, run.v[5:8])


@pytest.mark.parametrize("call", [1, 4])
def test_an_interrupted_run_is_resumed(monkeypatch, tmp_path, call):
    settings = SETTINGS | {"replicas": 4}
    whole = run_diffusion(OPPOSITE, **settings, records=5)
    with monkeypatch.context() as patch:
        interrupt(patch, "advance", call, diffusion.Diffusing)
        stopped = run_diffusion(OPPOSITE, **settings, records=5)
    assert stopped.status == "interrupted"
    stopped.save(tmp_path / "run.npz")
    assert equal(resume_run(type(stopped).load(tmp_path / "run.npz")), whole)


def test_what_cannot_be_is_refused(monkeypatch):
    untied = OPPOSITE.replace(student=UntiedNetwork("relu"))
    refuses(lambda: run_diffusion(untied), "untied", "run_chain")
    refuses(lambda: run_diffusion(OPPOSITE, time_steps=0), "time_steps", ">= 1")
    refuses(lambda: run_diffusion(OPPOSITE, order=3), "order", "6")
    refuses(lambda: run_diffusion(OPPOSITE, engine="serie"), "unknown engine", "series")
    monkeypatch.setattr(diffusion, "_MOST_TIME_STEPS", 2**12)
    stiff = {"m": 0.1, "gamma": 0.1, "d": 100, "steps": 10**12}
    refuses(lambda: run_diffusion(LINEAR, **stiff), "time steps", "lower gamma")


def test_a_band_holds_the_chain():
    settings = {"e": (0.3, -0.3), "m": 0.3, "gamma": 0.5, "d": 10**5}
    run = run_chain(OPPOSITE, **settings, steps=4 * 10**5, replicas=64, records=20)
    ode = solve_ode(OPPOSITE, gamma=0.5, times=run.t, e=(0.3, -0.3), m=0.3)
    band = ode.band(d=10**5)
    assert band.deviation[0].max() == 0.0
    ratio = run.v[:, 1:].std(axis=0, ddof=1) / band.deviation[1:]
    # The deviation of 64 values is uncertain by 9 percent.
    assert np.abs(ratio - 1).max() < 0.45
    inside = np.abs(run.v[:, 1:] - ode.v[1:]) <= 1.96 * band.deviation[1:]
    assert inside.mean() > 0.9
    assert np.all(band.deviation_error <= 0.1 * band.deviation.max())


@pytest.mark.slow
def test_a_band_holds_the_chain_at_a_million():
    settings = {"e": (0.3, -0.3), "m": 0.3, "gamma": 0.5, "d": 10**6}
    run = run_chain(OPPOSITE, **settings, steps=4 * 10**6, replicas=64, records=100)
    ode = solve_ode(OPPOSITE, gamma=0.5, times=run.t, e=(0.3, -0.3), m=0.3)
    inside = np.abs(run.v[:, 1:] - ode.v[1:]) <= 1.96 * ode.band(d=10**6).deviation[1:]
    # 64 replicas: the share of 0.95 is uncertain by 0.02 for the correlation of times.
    assert 0.89 < inside.mean() < 0.99


def test_a_band_from_random_starts_begins_with_their_spread():
    covariance = OPPOSITE.geometry.metric / 10**4
    ode = solve_ode(OPPOSITE, gamma=0.1, t_max=0.5, e=0.0, m=0.0)
    band = ode.band(d=10**4, initial_covariance=covariance)
    np.testing.assert_allclose(band.covariance[0], covariance, atol=1e-15)
    refuses(lambda: ode.band(initial_covariance=np.eye(2)), "initial_covariance", "3 x 3")
    refuses(lambda: ode.band(d=2), "d is 2")


def test_the_linear_band_in_closed_form():
    # At gamma -> 0 from m = 0: m = tanh 2t, and the band is of order gamma: compare with the chain.
    ode = solve_ode(LINEAR, gamma=1e-4, t_max=0.5, m=0.0)
    band = ode.band(d=10**6)
    # S at m = 0 is 12; J = -4 m is small at first.
    early = band.deviation[4, 1] ** 2 / (1e-4 / 10**6 * 12 * ode.t[4])
    assert early == pytest.approx(1.0, abs=0.03)


# The order of the quadrature is chosen at a state.
SMOOTH = Problem(Target("tanh(z1*z2)"), Attention("trace"), Encoding("opposite"))
SHORT = {"gamma": 0.5, "d": 100, "steps": 3000, "replicas": 4, "records": 5}
SHORT |= {"engine": "quadrature"}


@pytest.fixture
def few_time_steps(monkeypatch):
    """Start the search of the time steps low: a step by quadrature takes a while."""
    monkeypatch.setattr(diffusion, "_FEWEST_TIME_STEPS", 16)


@pytest.mark.slow
@pytest.mark.usefixtures("few_time_steps")
def test_a_run_by_quadrature_is_resumed_to_the_same_numbers(monkeypatch):
    start = {"e": (0.1, -0.1), "m": 0.2}
    whole = run_diffusion(SMOOTH, **SHORT, **start)
    with monkeypatch.context() as patch:
        interrupt(patch, "advance", 3, diffusion.Diffusing)
        stopped = run_diffusion(SMOOTH, **SHORT, **start)
    assert stopped.status == "interrupted"
    assert equal(resume_run(stopped), whole)


@pytest.mark.slow
@pytest.mark.usefixtures("few_time_steps")
def test_parts_of_a_run_from_random_starts_give_its_replicas():
    whole = run_diffusion(SMOOTH, **SHORT)
    part = run_diffusion(SMOOTH, **SHORT | {"replicas": 2}, first_replica=2)
    assert part.options == whole.options
    assert np.array_equal(part.v, whole.v[2:])


@pytest.mark.usefixtures("few_time_steps")
def test_numbers_of_numpy_among_the_options_are_saved(tmp_path):
    path, options = tmp_path / "run.npz", {"order": np.int64(12)}
    run_diffusion(SMOOTH, **SHORT, engine_options=options, save=path)
    assert Ensemble.load(path).options["engine_options"] == {"order": 12}
