"""The chain of the overlaps has the law of direct SGD, at small d too.

Seeds are fixed; each comparison would fail for a random seed at a rate below 1e-5, and there are
about a hundred.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, ks_2samp

from ssiode import Attention, Encoding, InputError, Problem, Target, TiedNetwork, run_chain, run_sgd
from ssiode.dynamics import replicas
from tests.dynamics.problems import ATTENTION, CORRELATED, NETWORK

FALSE_ALARM = 1e-5

LINEAR = Problem(Target("z1"), TiedNetwork("identity"))
# Problem, initial state, learning rate, batch size; the metrics have different ranks.
LAWS = {
    "attention": (ATTENTION, (0.3, -0.3, 0.4), 2.0, 1),
    "correlated": (CORRELATED, (0.3, 0.2, 0.3), 1.0, 4),
    "network": (NETWORK, None, 0.4, 4),
    "no encoding": (LINEAR, (0.0, 0.3), 1.5, 1),
}


def both(name, d, replicas=400, records=3, steps=60):
    problem, v0, gamma, batch = LAWS[name]
    if v0 is None:
        v0 = problem.geometry.metric @ np.array([0.5, 0, 0, 0, 0, 0.3])
    options = {"e": v0[:-1], "m": v0[-1], "gamma": gamma, "d": d, "batch": batch}
    options |= {"steps": steps, "replicas": replicas, "records": records, "fresh_samples": 1}
    runs = (run_chain(problem, **options, seed=5), run_sgd(problem, **options, seed=6))
    return [problem.geometry.coordinates(run.v) for run in runs]


def smallest_p_value(ours, theirs):
    """Of Kolmogorov-Smirnov tests of all coordinates and of their length at one time."""
    lengths = [(u**2).sum(axis=1) for u in (ours, theirs)]
    pairs = [*zip(ours.T, theirs.T, strict=True), lengths]
    # Exact p-values of thousands of values take minutes, and differ by less than a percent.
    return min(ks_2samp(*pair, method="asymp").pvalue for pair in pairs)


@pytest.mark.parametrize("d", [8, 20])
@pytest.mark.parametrize("name", LAWS)
def test_the_law_is_that_of_direct_sgd(name, d):
    ours, theirs = both(name, d)
    for record in range(1, ours.shape[1]):
        u, v = ours[:, record], theirs[:, record]
        assert smallest_p_value(u, v) > FALSE_ALARM
        difference = u.mean(axis=0) - v.mean(axis=0)
        covariance = (np.cov(u.T) + np.cov(v.T)) / len(u)
        squares = difference @ np.linalg.solve(np.atleast_2d(covariance), difference)
        assert squares < chi2.isf(FALSE_ALARM, len(difference))


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_the_law_is_that_of_direct_sgd_at_large_d(name):
    ours, theirs = both(name, 1000, steps=1500)
    for record in range(1, ours.shape[1]):
        assert smallest_p_value(ours[:, record], theirs[:, record]) > FALSE_ALARM


def test_the_mean_in_the_place_of_the_chi_square_is_noticed(monkeypatch):
    right = replicas.piece

    def piece(name):
        text = right(name)
        if name != "chi_square":
            return text
        return text.replace(
            "if degrees < 2:", "if degrees >= 0:\n        return float(degrees)\n    if True:"
        )

    # Large noise makes |g|^2 of a batch nearly a constant, so that K moves the norm most.
    noisy = LINEAR.replace(label_noise=100.0)
    options = {"m": 1.0, "gamma": 0.94, "d": 20, "batch": 16, "steps": 1, "replicas": 6000}
    options |= {"records": 1, "fresh_samples": 1}
    ours, theirs = (run(noisy, **options).m[:, 1:] for run in (run_chain, run_sgd))
    assert smallest_p_value(ours, theirs) > FALSE_ALARM
    monkeypatch.setattr(replicas, "piece", piece)
    assert smallest_p_value(run_chain(noisy, **options).m[:, 1:], theirs) < FALSE_ALARM


def test_recovery_times_have_the_law_of_direct_sgd():
    options = {"m": 0.1, "gamma": 0.5, "d": 30, "steps": 400, "replicas": 800, "records": 1}
    ours, theirs = (run(LINEAR, **options) for run in (run_chain, run_sgd))
    assert (ours.recovery_steps > 0).mean() > 0.9
    steps = (ours.recovery_steps, theirs.recovery_steps)
    assert ks_2samp(*steps, method="asymp").pvalue > FALSE_ALARM


def test_random_starts_have_the_law_of_uniform_weights():
    options = {"gamma": 0.0, "steps": 1, "replicas": 1000, "records": 1, "fresh_samples": 1}
    for d in (5, 40):
        ours, theirs = (run(CORRELATED, d=d, **options).v[:, 0] for run in (run_chain, run_sgd))
        geometry = CORRELATED.geometry
        assert smallest_p_value(*map(geometry.coordinates, (ours, theirs))) > FALSE_ALARM


def test_a_run_repeats_bit_for_bit(monkeypatch):
    options = {"m": 0.2, "gamma": 0.5, "d": 10**6, "steps": 500, "replicas": 5, "records": 4}
    run = run_chain(ATTENTION, **options, e=(0.1, -0.1))
    for threads, seconds, count in (("1", 1e-9, 5), ("3", 0.5, 5), ("2", 1e-4, 3)):
        monkeypatch.setenv("SSIODE_THREADS", threads)
        monkeypatch.setattr(replicas, "_SECONDS_PER_CHUNK", seconds)
        again = run_chain(ATTENTION, **options | {"replicas": count}, e=(0.1, -0.1))
        assert np.array_equal(again.v, run.v[:count])
        assert np.array_equal(again.loss, run.loss[:count])


def test_large_d_follows_the_ode():
    # At d = 10^12 the fluctuations are 10^-6: m' = 2 (1 - m^2) + O(gamma) from 0.1 for t = 10^-7.
    run = run_chain(LINEAR, m=0.1, gamma=0.01, d=10**12, steps=10**4, replicas=4, records=1)
    assert np.abs(run.m[:, -1] - 0.1).max() < 1e-6
    assert run.method == "chain"
    assert run.seconds_per_step is not None


def test_a_target_in_python():
    opaque = LINEAR.replace(target=Target(lambda z: z, length=1))
    options = {"m": 0.3, "gamma": 0.5, "d": 50, "steps": 40, "replicas": 3, "records": 2}
    runs = [run_chain(problem, **options) for problem in (opaque, LINEAR)]
    np.testing.assert_allclose(runs[0].m, runs[1].m, atol=1e-12)


@pytest.mark.parametrize("settings", [{"d": 3}, {"gamma": -1.0}, {"m": 2.0}, {"records": 0}])
def test_bad_settings_are_refused(settings):
    with pytest.raises(InputError) as caught:
        run_chain(Problem(Target("z1*z2"), Attention(), Encoding("opposite")), **settings)
    assert "\n" not in str(caught.value)
