"""Direct SGD: what a run promises, however it is computed.

Seeds are fixed, so a test passes always or never; the stated false-alarm rates are the
probabilities that a correct program would fail with seeds drawn at random.
"""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy.stats import kstest, norm

from ssiode import Attention, Encoding, InputError, Problem, Target, run_sgd
from ssiode.dynamics import pacing, recording, replicas
from tests.dynamics.problems import ATTENTION, CORRELATED, two_squares

FALSE_ALARM = 1e-5
RECORDED = ("steps", "e", "m", "loss", "recovery_steps", "semantic_recovery_steps")


def equal(first, second):
    return all(
        np.array_equal(getattr(first, name), getattr(second, name), equal_nan=True)
        for name in RECORDED
    )


# The run does not depend on how it is computed ---------------------------------------------------

SETTINGS = {"e": (0.1, -0.1), "m": 0.2, "gamma": 0.3, "d": 37, "steps": 1500, "replicas": 5}


@pytest.fixture(scope="module")
def run():
    return run_sgd(ATTENTION, **SETTINGS, records=6, threshold=0.25)


@pytest.mark.parametrize("threads", ["1", "2", "7"])
def test_it_does_not_depend_on_the_threads(run, monkeypatch, threads):
    monkeypatch.setenv("SSIODE_THREADS", threads)
    assert equal(run, run_sgd(ATTENTION, **SETTINGS, records=6, threshold=0.25))


@pytest.mark.parametrize("seconds", [1e-9, 3e-4, 100.0])
def test_it_does_not_depend_on_the_chunks(run, monkeypatch, seconds):
    monkeypatch.setattr(pacing, "SECONDS_PER_CHUNK", seconds)
    assert equal(run, run_sgd(ATTENTION, **SETTINGS, records=6, threshold=0.25))


@pytest.mark.parametrize("seconds", [1e-9, 3e-5, 100.0])
def test_chunks_may_end_inside_of_a_batch(monkeypatch, seconds):
    # One target in a kernel and one in Python; label noise has a stream of its own.
    for target in (Target("z1*z2 + z1"), CORRELATED.target):
        problem = CORRELATED.replace(target=target, batch=7, gamma=1.0, d=20, steps=9, replicas=3)
        whole = run_sgd(problem, records=3, fresh_samples=50)
        with monkeypatch.context() as patch:
            patch.setattr(pacing, "SECONDS_PER_CHUNK", seconds)
            patch.setattr(recording, "_FLOATS_PER_CHUNK", 45)
            assert equal(whole, run_sgd(problem, records=3, fresh_samples=50))


@pytest.mark.parametrize("replicas", [1, 3, 9])
def test_a_replica_does_not_depend_on_the_others(run, replicas):
    other = run_sgd(ATTENTION, **{**SETTINGS, "replicas": replicas}, records=6, threshold=0.25)
    common = min(replicas, 5)
    for name in RECORDED[1:]:
        assert np.array_equal(getattr(run, name)[:common], getattr(other, name)[:common])


@pytest.mark.parametrize(("records", "spacing"), [(1, "linear"), (50, "log"), (1500, "linear")])
def test_it_does_not_depend_on_the_records(run, records, spacing):
    other = run_sgd(ATTENTION, **SETTINGS, records=records, spacing=spacing, threshold=0.25)
    assert np.array_equal(run.v[:, -1], other.v[:, -1])
    assert np.array_equal(run.recovery_steps, other.recovery_steps)
    assert np.array_equal(run.semantic_recovery_steps, other.semantic_recovery_steps)


def test_fresh_samples_are_not_trained_on(run):
    other = run_sgd(ATTENTION, **SETTINGS, records=6, threshold=0.25, fresh_samples=7)
    assert np.array_equal(run.v, other.v)
    assert not np.array_equal(run.loss, other.loss)


def test_seeds_give_different_runs(run):
    other = run_sgd(ATTENTION, **SETTINGS, records=6, seed=1)
    assert not np.any(run.m[:, 1:] == other.m[:, 1:])
    assert len(np.unique(run.m[:, -1])) == 5


def test_a_target_as_text_gives_the_run_of_the_same_function(run):
    # One product, so that there is one way to round it.
    runs = [
        run_sgd(Problem(target, Attention("trace"), Encoding("opposite")), **SETTINGS, records=6)
        for target in (Target("z1*z2"), Target(lambda z: z[..., 0] * z[..., 1], length=2))
    ]
    assert equal(*runs)


def test_the_ensemble_says_how_it_was_made(run):
    assert (run.status, run.threshold, run.fresh_samples, run.seed) == ("finished", 0.25, 32, 0)
    assert run.problem.sgd.steps == 1500
    assert np.array_equal(run.steps, np.linspace(0, 1500, 7).astype(int))
    np.testing.assert_allclose(run.t, 0.3 * run.steps / 37)
    assert run.e.shape == (5, 7, 2)
    assert run.m.shape == run.loss.shape == (5, 7)
    assert run.seconds_per_step > 0


# Initial overlaps --------------------------------------------------------------------------------

GEOMETRIES = {
    "none": (Encoding("none"), (0.0, 0.0), 0.6),
    "opposite": (Encoding("opposite", norm=2.0), (0.6, -0.6), 0.3),
    "orthonormal": (Encoding("orthonormal"), (0.2, -0.5), 0.3),
    "correlated": (CORRELATED.encoding, (0.1, 0.3), 0.3),
    "parallel": (Encoding("matrix", matrix=((1.0, 0.0), (2.0, 0.0))), (0.2, 0.4), -0.3),
    "boundary": (Encoding("opposite"), (0.6, -0.6), 0.8),
    "teacher": (Encoding("none"), (0.0, 0.0), 1.0),
    "opposite teacher": (Encoding("orthonormal"), (0.0, 0.0), -1.0),
}


@pytest.mark.parametrize("name", GEOMETRIES)
@pytest.mark.parametrize("d", [4, 5, 100])
def test_initial_overlaps_are_those_asked_for(name, d):
    encoding, e, m = GEOMETRIES[name]
    problem = Problem(ATTENTION.target, ATTENTION.student, encoding)
    start = run_sgd(problem, e=e, m=m, d=d, steps=1, replicas=3, records=1, gamma=0.0)
    np.testing.assert_allclose(start.e[:, 0], np.tile(e, (3, 1)), atol=1e-13)
    np.testing.assert_allclose(start.m[:, 0], m, atol=1e-13)
    # Without learning nothing moves.
    np.testing.assert_allclose(start.v[:, 1], start.v[:, 0], atol=1e-13)


@pytest.mark.parametrize("name", ["opposite", "correlated"])
def test_random_weights_are_uniform_on_the_sphere(name):
    d, replicas = 12, 4000
    encoding, _, _ = GEOMETRIES[name]
    problem = Problem(ATTENTION.target, ATTENTION.student, encoding)
    start = run_sgd(problem, d=d, steps=1, replicas=replicas, records=1, fresh_samples=1)
    u = problem.geometry.coordinates(start.v[:, 0])
    # A coordinate x on the sphere: (1 + x) / 2 is Beta((d - 1) / 2, (d - 1) / 2).
    for k in range(problem.geometry.rank):
        shape = (d - 1) / 2
        assert kstest((1 + u[:, k]) / 2, "beta", (shape, shape)).pvalue > FALSE_ALARM
    # The covariance is Gamma / d; with fourth moments below the normal ones the entries of the
    # sample covariance scatter by less than sqrt(2 / n) of the product of the deviations.
    covariance = d * start.v[:, 0].T @ start.v[:, 0] / replicas
    scale = np.sqrt(np.diag(problem.geometry.metric))
    bound = norm.isf(FALSE_ALARM / 18) * np.sqrt(2 / replicas) * np.outer(scale, scale)
    assert np.all(np.abs(covariance - problem.geometry.metric) < bound)


# What is recorded --------------------------------------------------------------------------------


def test_overlaps_are_those_of_the_weights(monkeypatch):
    kept = {}

    original = replicas.Replicas.overlaps

    def overlaps(self):
        kept[self.state.steps_done] = (self.state.weights.copy(), self._model)
        return original(self)

    monkeypatch.setattr(replicas.Replicas, "overlaps", overlaps)
    run = run_sgd(CORRELATED, e=(0.1, 0.3), m=0.3, gamma=0.5, d=30, steps=60, replicas=3, records=4)
    for record, step in enumerate(run.steps):
        weights, model = kept[int(step)]
        weights = weights[:, 0]
        rows = model.coordinates @ model.directions
        np.testing.assert_allclose(rows @ rows.T, CORRELATED.geometry.metric, atol=1e-13)
        np.testing.assert_allclose(rows[-1], model.teacher, atol=1e-15)
        np.testing.assert_allclose(np.linalg.norm(weights, axis=1), 1.0, atol=1e-14)
        np.testing.assert_allclose(run.v[:, record], weights @ rows.T, atol=1e-14)


def test_recovery_steps_are_first_passages():
    every = run_sgd(
        ATTENTION, gamma=0.5, d=20, steps=60, replicas=40, records=60, threshold=0.4, seed=3
    )
    for crossed, recorded in (
        (np.linalg.norm(every.v, axis=2) >= 0.4, every.recovery_steps),
        (np.abs(every.m) >= 0.4, every.semantic_recovery_steps),
    ):
        expected = np.where(crossed.any(axis=1), crossed.argmax(axis=1), -1)
        assert np.array_equal(recorded, expected)
    assert (every.recovery_steps == 0).any()
    assert (every.recovery_steps > 0).any()
    assert (every.semantic_recovery_steps < 0).any()


# Failures ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"d": 3},
        {"d": 0},
        {"d": 10.5},
        {"steps": 0},
        {"replicas": 0},
        {"batch": 0},
        {"gamma": -0.1},
        {"gamma": float("nan")},
        {"gamma": "fast"},
        {"seed": -1},
        {"records": 0},
        {"spacing": "cubic"},
        {"threshold": 0.0},
        {"threshold": 1.5},
        {"fresh_samples": 0},
        {"m": 1.2},
        {"m": float("nan")},
        {"e": (0.5, 0.5)},
        {"e": (0.9, -0.9), "m": 0.9},
        {"e": (0.1, 0.1, 0.1)},
    ],
    ids=str,
)
def test_bad_input_is_refused_in_one_line(settings):
    with pytest.raises(InputError) as caught:
        run_sgd(ATTENTION, **{"steps": 1, "replicas": 1, **settings})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"d": 10**12}, "lower d"),
        ({"replicas": 10**12}, "lower replicas"),
        ({"replicas": 10**12, "d": 4}, "lower replicas"),
        ({"records": 10**12, "steps": 10**12}, "lower records"),
        ({"records": 10**12, "steps": 10**12, "spacing": "log"}, "lower records"),
    ],
    ids=str,
)
def test_what_does_not_fit_into_memory_is_refused_at_once(settings, part):
    with pytest.raises(InputError, match="of memory") as caught:
        run_sgd(ATTENTION, **settings)
    assert part in str(caught.value)


@pytest.mark.parametrize("text", ["log(z1)", "sqrt(z1*z2)", "1/sign(z1 + abs(z1))"])
def test_a_target_that_is_undefined_somewhere_is_refused_by_name(text):
    with pytest.raises(InputError, match="target is not finite at z = "):
        run_sgd(ATTENTION.replace(target=Target(text, length=2)), d=20, steps=10)


def huge(z):
    return 1e200 * z[..., 0]


def rarely_missing(z):
    return np.where(z[..., 0] > 4.0, np.nan, two_squares(z))


def test_diverged_replicas_are_marked_and_the_others_go_on():
    problem = Problem(Target(rarely_missing, length=2), Attention("trace"), Encoding("opposite"))
    settings = {"e": (0.1, -0.1), "m": 0.2, "gamma": 0.3, "d": 9, "steps": 20_000, "replicas": 8}
    run = run_sgd(problem, **settings, records=100, fresh_samples=1)
    lost = np.isnan(run.m)
    assert run.status == "diverged"
    assert f"{lost[:, -1].sum()} of 8 replicas" in run.message
    assert 0 < lost[:, -1].sum() < 8
    assert np.array_equal(lost, np.isnan(run.e).any(axis=2))
    assert not lost[:, 0].any()
    # Once lost, always lost; until then as if nothing had happened.
    assert np.all(lost[:, 1:] >= lost[:, :-1])
    healthy = run_sgd(ATTENTION, **settings, records=100, fresh_samples=1)
    assert np.array_equal(run.m[~lost], healthy.m[~lost])
    run.as_dict()


@pytest.mark.parametrize(
    ("target", "gamma"), [(two_squares, 1e300), (two_squares, 1e170), (huge, 0.1)]
)
def test_divergence_is_no_exception_and_no_warning(target, gamma):
    problem = Problem(Target(target, length=2), Attention("trace"), Encoding("opposite"))
    run = run_sgd(problem, m=0.2, gamma=gamma, d=20, steps=2000, replicas=3, records=4)
    assert run.status == "diverged"
    assert np.all(np.isnan(run.m[:, -1]))
    assert np.all(np.isnan(run.loss[:, -1]))
    run.as_dict()


LONG_RUN = """
import signal
# A shell starts jobs in the background with interrupts ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
from ssiode import Problem, Target, Attention, Encoding, run_sgd
problem = Problem(
    Target(lambda z: (z**2 - 1).sum(axis=-1), length=2), Attention("trace"), Encoding("opposite")
)
run_sgd(problem, d=300, steps=10, replicas=3, records=1)
print("ready", flush=True)
run = run_sgd(problem, d=300, steps=10**9, replicas=3, records=10**6)
print(run.status, len(run.steps), run.m.shape, run.message, sep="|")
"""


ONE_LARGE_BATCH = LONG_RUN.replace("steps=10**9", "steps=2, batch=10**12").replace(
    "len(run.steps)", "20"
)


@pytest.mark.parametrize(("threads", "program"), [("1", LONG_RUN), ("2", ONE_LARGE_BATCH)])
def test_a_real_interrupt_ends_a_long_run_soon(run, monkeypatch, threads, program):
    # The fixture has left the compiled kernels in the cache.
    monkeypatch.setenv("SSIODE_THREADS", threads)
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(2.5)
        process.send_signal(signal.SIGINT)
        sent = time.perf_counter()
        out, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    # A chunk lasts half a second; the rest is room for a busy machine.
    assert time.perf_counter() - sent < 3
    status, records, shape, message = out.strip().split("|")
    assert process.returncode == 0
    assert status == "interrupted"
    assert int(records) > 10
    assert shape in (f"(3, {records})", "(3, 1)")
    assert message.startswith("interrupted after")
