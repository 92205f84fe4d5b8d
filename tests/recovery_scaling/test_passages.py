"""First passages: those of the runs, whatever the threads, and what is known when some lack."""

import numpy as np
import pytest

from ssiode import InputError, Problem, Target, TiedNetwork, run_chain, run_sgd
from ssiode.recovery_scaling.passages import Counting, RecoveryPoint, first_passages, seed_at
from tests.recovery_scaling.problems import ORDER_2, ORDER_3

BOTH = Counting(0.5, 0, None)
AT_200 = ORDER_2.replace(d=200, gamma=0.5, replicas=12, seed=3)


def never():
    return False


def quiet(text):
    pass


def passages(problem, method="chain", counting=BOTH, limit=1e5, interrupted=never):
    return first_passages(problem, method, counting, limit, interrupted, quiet)


def point(steps, counted=None, **changes):
    steps = np.array(steps)
    counted = np.ones(len(steps), dtype=bool) if counted is None else np.array(counted)
    values = {
        "d": 100,
        "gamma": 0.1,
        "seed": 0,
        "recovery_steps": steps,
        "start": np.zeros(len(steps)),
        "is_counted": counted,
        "diverged": np.zeros(len(steps), dtype=bool),
        "steps_run": 10**6,
        "status": "measured",
    }
    return RecoveryPoint(**{**values, **changes})


@pytest.mark.parametrize(
    ("method", "run"), [("chain", run_chain), pytest.param("sgd", run_sgd, marks=pytest.mark.slow)]
)
def test_steps_are_those_of_a_plain_run(method, run):
    found = passages(AT_200, method)
    whole = run(AT_200, steps=found.steps_run, records=1)
    assert np.array_equal(found.recovery_steps, whole.recovery_steps)
    assert np.array_equal(found.start, whole.m[:, 0])
    assert found.status == "measured"
    assert (found.recovery_steps >= 0).sum() >= 9


@pytest.mark.parametrize("column", [0, 1])
def test_steps_do_not_depend_on_threads_or_batches_of_calls(monkeypatch, column):
    problem, counting = AT_200.replace(batch=3), Counting(0.4, column, None)
    results = []
    for threads in ("1", "3"):
        monkeypatch.setenv("SSIODE_THREADS", threads)
        results.append(passages(problem, counting=counting))
    assert np.array_equal(*(found.recovery_steps for found in results))
    assert results[0].steps_run == results[1].steps_run
    assert results[0].log_error == results[1].log_error


def test_wrong_signs_run_as_long_and_are_not_in_the_median():
    problem = ORDER_3.replace(d=100, gamma=0.01, replicas=24, seed=1)
    found = passages(problem, counting=Counting(0.5, 0, (1,)), limit=1e6)
    assert np.array_equal(found.is_counted, found.start > 0)
    assert 6 <= found.wrong_sign <= 18
    wrong = found.recovery_steps[found.start < 0]
    assert found.wrong_sign_recovered == (wrong >= 0).sum()
    # Noise takes some of them over the barrier in the end, but fewer.
    assert (wrong >= 0).mean() < 0.5 < (found.recovery_steps[found.is_counted] >= 0).mean()
    assert passages(problem, counting=Counting(0.5, 0, (-1,)), limit=64).wrong_sign == (
        24 - found.wrong_sign
    )
    assert found.median == np.median(np.where(found.passages > 0, found.passages, 0))


def test_the_limit_ends_a_run_that_does_not_recover():
    found = passages(AT_200, limit=100)
    assert found.steps_run == 100
    assert (found.status, found.median, found.log_error) == ("censored", None, None)


def test_an_interrupted_run_keeps_what_recovered():
    calls = []

    def interrupted():
        calls.append(1)
        return len(calls) > 4

    found = passages(AT_200, interrupted=interrupted)
    assert found.status == "interrupted"
    assert 0 < found.steps_run < 500
    full = passages(AT_200).recovery_steps
    recovered = found.recovery_steps >= 0
    assert np.array_equal(found.recovery_steps[recovered], full[recovered])


def test_a_run_whose_weights_diverge_ends():
    found = passages(AT_200.replace(gamma=1e200), limit=1e9)
    assert found.diverged.all()
    assert found.status == "censored"


def test_too_small_a_dimension_is_refused():
    tokens = Problem(Target("sum(He2(z))", length=10), TiedNetwork("square"))
    with pytest.raises(InputError, match="d is 11"):
        passages(tokens.replace(d=11))


def test_the_median_is_known_while_more_than_half_recovered():
    assert point([5, 3, 9, -1]).median == 7
    assert point([5, 3, -1]).median == 5
    assert point([5, -1, 3, -1]).median is None
    assert point([5, 3, -1, 4, 6]).quantile(0.75) == 6
    assert point([5, 3, -1, -1, 6]).quantile(0.75) is None
    assert point([5, 3, 1, 1], [True, True, False, False]).median == 4
    assert point([5, 3], [False, False]).median is None


@pytest.mark.parametrize("censored", [0, 100])
def test_the_error_of_a_median_is_that_of_its_law(censored):
    # For a normal logarithm of deviation s it is s sqrt(pi / (2 n)); its bootstrap is known to
    # some ten percent at n = 400, here averaged over 20 samples.
    generator, errors = np.random.default_rng(5), []
    for seed in range(20):
        steps = np.rint(np.exp(10 + 0.5 * generator.standard_normal(400)))
        steps[np.argsort(steps)[400 - censored :]] = -1
        errors.append(point(steps, seed=seed).log_error)
    assert np.mean(errors) == pytest.approx(0.5 * np.sqrt(np.pi / 800), rel=0.1)


def test_the_error_is_unknown_where_resampled_medians_often_are():
    assert point([100] * 9 + [-1] * 7).median == 100
    assert point([100] * 9 + [-1] * 7).log_error is None
    assert point([0, 0, 0]).log_error is None
    assert point([7]).log_error is None
    # Whole steps cannot be more exact than their rounding.
    assert point([100] * 9).log_error == pytest.approx(1 / (np.sqrt(12) * 100))


def test_seeds_belong_to_a_dimension_and_a_use():
    seeds = {seed_at(seed, d, use) for seed in range(3) for d in (100, 1000) for use in range(3)}
    assert len(seeds) == 18
    assert all(0 <= seed < 2**63 for seed in seeds)
