"""The search of the best learning rate, on passages whose law is known."""

import numpy as np
import pytest

from ssiode.recovery_scaling.passages import RecoveryPoint
from ssiode.weight_sharing.rate_search import best_rate


def trial_of(steps, spread, seed, replicas=48):
    """Passages with a median of steps(gamma) and logarithms of a given spread."""
    noise = np.random.default_rng(seed).standard_normal((64, replicas))
    calls = []

    def trial(gamma, limit):
        passages = steps(gamma) * np.exp(spread * noise[len(calls)])
        calls.append(gamma)
        found = np.where(passages <= limit, np.ceil(passages), -1).astype(int)
        return RecoveryPoint(
            d=1000,
            gamma=gamma,
            seed=seed,
            recovery_steps=found,
            start=np.full(replicas, 0.03),
            is_counted=np.ones(replicas, dtype=bool),
            diverged=np.zeros(replicas, dtype=bool),
            steps_run=int(limit),
            status="measured",
        )

    return trial, calls


def order_two(gamma):
    """Steps over the rate at order 2, with the largest rate 0.2 and the best one 0.1."""
    return 1e4 * 0.01 / (gamma * (0.2 - gamma)) if gamma < 0.2 else np.inf


def never():
    return False


@pytest.mark.parametrize("start", [0.1, 0.011, 0.9])
def test_it_is_found_from_far_away(start):
    trial, calls = trial_of(order_two, 0.05, 0)
    found = best_rate(trial, start, 1e9, never)
    assert abs(np.log(found.gamma / 0.1)) < 0.1
    assert len(calls) == len(found.trials) <= 21
    assert [p.gamma for p in found.trials] == sorted(calls)


def test_stated_errors_hold():
    # A normal deviate is beyond 4 with a probability of 6e-5, and the root mean square of 20 above
    # 1.7 with one of 1e-5.
    deviations = []
    for seed in range(20):
        trial, _ = trial_of(order_two, 0.4, seed)
        found = best_rate(trial, 0.1, 1e9, never)
        deviations.append(np.log(found.gamma / 0.1) / found.log_error)
    deviations = np.array(deviations)
    assert np.all(np.abs(deviations) < 4)
    assert np.sqrt(np.mean(deviations**2)) < 1.7


def test_no_trial_with_a_median_gives_nothing():
    trial, calls = trial_of(lambda gamma: np.inf, 0.1, 0)
    assert best_rate(trial, 0.1, 1e4, never) is None
    assert len(calls) <= 12


def test_an_interrupt_keeps_the_best_up_to_there():
    trial, calls = trial_of(order_two, 0.05, 0)
    found = best_rate(trial, 0.05, 1e9, lambda: len(calls) >= 3)
    assert len(calls) == 3
    assert min(abs(found.gamma - gamma) for gamma in calls) < 1e-12
    assert found.log_error == pytest.approx(np.log(2))


def test_slow_trials_are_cut_off():
    limits = []
    trial, _ = trial_of(order_two, 0.05, 0)

    def watched(gamma, limit):
        limits.append(limit)
        return trial(gamma, limit)

    best_rate(watched, 0.1, 1e9, never)
    assert limits[0] == 1e9
    assert max(limits[1:]) < 5e4
