"""The chain of the overlaps has the law of direct SGD, at small d too.

Seeds are fixed; each comparison would fail for a random seed at a rate below 1e-7, and there are
about five thousand.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.stats import ks_2samp, levene, ttest_ind

from ssiode import (
    Attention,
    Encoding,
    ExpressionStudent,
    InputError,
    LinearAttention,
    Problem,
    Target,
    TiedNetwork,
    UntiedNetwork,
    run_chain,
    run_sgd,
)
from ssiode.dynamics import pacing, replicas
from ssiode.loss import FrobeniusLoss, SquaredLoss
from tests.dynamics.problems import ATTENTION, CORRELATED

FALSE_ALARM = 1e-7

LINEAR = Problem(Target("z1"), TiedNetwork("identity"))
TWO = Target("He2(z1) + z1*z2 + z2", length=2)

STUDENTS = {
    "trace": (Attention("trace"), TWO),
    "projection": (Attention("projection", left=(1.0, 0.5), right=(0.3, -1.0)), TWO),
    "identity": (Attention("identity"), Target("[z1, z1*z2, tanh(z2), 1/2]")),
    "linear-attention": (LinearAttention(scale=0.3), TWO),
    "tied": (TiedNetwork("relu"), TWO),
    "expression": (ExpressionStudent("tanh(z1*z2) + z1/2"), TWO),
    "row": (UntiedNetwork("relu"), TWO),
    "joint": (UntiedNetwork("relu", constraint="joint"), TWO),
}
GRAM = ((1.0, 0.6), (0.6, 1.0))
# Ranks 1, 2, 3, and 3 with an overlap with the teacher and an injected constant.
ENCODINGS = {
    "none": (Encoding(), 0.0),
    "opposite": (Encoding("opposite"), (0.3, -0.3)),
    "orthonormal": (Encoding("orthonormal", norm=1.5), (0.5, -0.1)),
    "correlated": (
        Encoding("gram", matrix=GRAM, teacher_overlap=(0.5, -0.2), injected=(0.7, -0.4)),
        (0.3, 0.2),
    ),
}
LOSSES = {"squared": SquaredLoss(scale=0.5), "frobenius": FrobeniusLoss()}
SPEEDS = [(2.0, 1), (0.4, 4), (0.05, 1), (1.0, 4)]


def settings_of(student, encoding, loss, d):
    """One problem, with learning rate and batch size that go round with student, encoding and d."""
    f, target = STUDENTS[student]
    matrix, e = ENCODINGS[encoding]
    problem = Problem(target, f, matrix, LOSSES[loss], label_noise=0.2)
    number = list(STUDENTS).index(student) + list(ENCODINGS).index(encoding)
    gamma, batch = SPEEDS[(number + round(np.log10(d))) % len(SPEEDS)]
    m = (0.3, 0.1) if problem.geometry.n_rows > 1 else 0.3
    return problem, {"e": e, "m": m, "gamma": gamma, "batch": batch, "d": d}


def smallest_p_values(ours, theirs):
    """The smallest of tests of the law, the means and the variances of all columns."""
    # Exact p-values of thousands of values take minutes, and differ by less than a percent.
    tests = (partial(ks_2samp, method="asymp"), partial(ttest_ind, equal_var=False), levene)
    return [
        min(test(*pair).pvalue for pair in zip(ours.T, theirs.T, strict=True)) for test in tests
    ]


def columns(run, record):
    """Overlaps, length and norms of the replicas that have not diverged, at one record."""
    parts = [run.v[:, record], run.norm[:, record, None]]
    if run.squared_norms is not None:
        parts.append(run.squared_norms[:, record])
    values = np.concatenate(parts, axis=1)
    # What an encoding fixes has no law.
    return values[np.isfinite(values).all(axis=1)]


def check_law(student, encoding, loss, d, steps, replicas=400):
    problem, settings = settings_of(student, encoding, loss, d)
    settings |= {"steps": steps, "records": 3, "fresh_samples": 1, "replicas": replicas}
    runs = (run_chain(problem, **settings, seed=5), run_sgd(problem, **settings, seed=6))
    assert runs[0].steps[-1] == steps
    for record in range(1, 4):
        ours, theirs = (columns(run, record) for run in runs)
        assert min(len(ours), len(theirs)) == replicas
        moving = np.ptp(theirs, axis=0) > 1e-9
        assert moving.sum() >= 2
        p_values = smallest_p_values(ours[:, moving], theirs[:, moving])
        assert min(p_values) > FALSE_ALARM, (record, p_values)


@pytest.mark.parametrize(
    ("student", "encoding"),
    [pytest.param("trace", "correlated", marks=pytest.mark.slow), ("joint", "orthonormal")],
)
def test_the_law_is_that_of_direct_sgd(student, encoding):
    check_law(student, encoding, "squared", 20, steps=60)


def pairs_of_choices():
    """Every student with two of the encodings, one with each loss; encodings and losses all meet.

    A kernel of its own takes seconds to compile.
    """
    encodings = list(ENCODINGS)
    for i, student in enumerate(STUDENTS):
        for k, loss in enumerate(LOSSES):
            yield student, encodings[(i + k * (1 + i // len(encodings))) % len(encodings)], loss


@pytest.mark.slow
@pytest.mark.parametrize(("student", "encoding", "loss"), list(pairs_of_choices()))
def test_the_law_is_that_of_direct_sgd_for_all(student, encoding, loss):
    # In one test, for all d have one kernel.
    for d, steps in ((20, 60), (100, 200), (1000, 400)):
        check_law(student, encoding, loss, d, steps)


def test_recovery_times_have_the_law_of_direct_sgd():
    options = {"m": 0.1, "gamma": 0.5, "d": 30, "steps": 400, "replicas": 800, "records": 1}
    ours, theirs = (run(LINEAR, **options) for run in (run_chain, run_sgd))
    assert (ours.recovery_steps > 0).mean() > 0.9
    steps = (ours.recovery_steps, theirs.recovery_steps)
    assert ks_2samp(*steps, method="asymp").pvalue > FALSE_ALARM


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
    assert min(smallest_p_values(ours, theirs)) > FALSE_ALARM
    monkeypatch.setattr(replicas, "piece", piece)
    assert min(smallest_p_values(run_chain(noisy, **options).m[:, 1:], theirs)) < FALSE_ALARM


@pytest.mark.slow
def test_random_starts_have_the_law_of_uniform_weights():
    options = {"gamma": 0.0, "steps": 1, "replicas": 1000, "records": 1, "fresh_samples": 1}
    for d in (5, 40):
        ours, theirs = (run(CORRELATED, d=d, **options).v[:, 0] for run in (run_chain, run_sgd))
        geometry = CORRELATED.geometry
        assert min(smallest_p_values(*map(geometry.coordinates, (ours, theirs)))) > FALSE_ALARM


def test_a_run_repeats_bit_for_bit(monkeypatch):
    options = {"m": 0.2, "gamma": 0.5, "d": 10**6, "steps": 500, "replicas": 5, "records": 4}
    run = run_chain(ATTENTION, **options, e=(0.1, -0.1))
    for threads, seconds, count in (("1", 1e-9, 5), ("3", 0.5, 5), ("2", 1e-4, 3)):
        monkeypatch.setenv("SSIODE_THREADS", threads)
        monkeypatch.setattr(pacing, "SECONDS_PER_CHUNK", seconds)
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
