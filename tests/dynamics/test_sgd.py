"""Direct SGD: what a run promises, and its law against SGD written again in plain NumPy.

Seeds are fixed, so a test passes always or never; the stated false-alarm rates are the
probabilities that a correct program would fail with seeds drawn at random. They sum to below 1e-3.
"""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy.stats import chi2, ks_2samp, kstest, norm

from ssiode import Attention, Encoding, InputError, Problem, Target, TiedNetwork, risk, run_sgd
from ssiode.dynamics import sgd
from ssiode.loss import FrobeniusLoss, SquaredLoss

FALSE_ALARM = 1e-5
RECORDED = ("steps", "e", "m", "loss", "recovery_steps", "semantic_recovery_steps")


def two_squares(z):
    return (z**2 - 1).sum(axis=-1)


def odd_and_even(z):
    return z[..., 0] + z[..., 0] * z[..., 1]


def quadratic_sum(z):
    return (z**2 - 1).sum(axis=-1) / 2 + z[..., 0]


def four_outputs(z):
    return np.stack([np.tanh(z[..., 0]), z[..., 1], z[..., 0] * z[..., 1], 0.3 + 0 * z[..., 0]], -1)


# Python functions as targets share the kernels of one student and loss.
ATTENTION = Problem(Target(two_squares, length=2), Attention("trace"), Encoding("opposite"))
CORRELATED = Problem(
    Target(odd_and_even, length=2),
    Attention("trace"),
    Encoding(
        "gram",
        matrix=((1.0, 0.6), (0.6, 1.0)),
        teacher_overlap=(0.5, -0.2),
        injected=(0.7, -0.4),
    ),
    SquaredLoss(scale=0.5),
    label_noise=2.0,
)
NETWORK = Problem(
    Target(quadratic_sum, length=5),
    TiedNetwork("relu"),
    Encoding(
        "matrix",
        matrix=tuple(map(tuple, 0.4 * np.eye(5)[:, :3] + 0.1)),
        teacher_overlap=(0.16, 0.0, 0.12, 0.04, 0.04),
    ),
    label_noise=3.0,
)
WHOLE_MATRIX = Problem(
    Target(four_outputs, length=2),
    Attention("identity"),
    Encoding("opposite", injected=(0.3, 0.2)),
    FrobeniusLoss(scale=2.0),
    label_noise=0.2,
)


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
    monkeypatch.setattr(sgd, "_SECONDS_PER_CHUNK", seconds)
    assert equal(run, run_sgd(ATTENTION, **SETTINGS, records=6, threshold=0.25))


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


# The law of the overlaps against plain NumPy -----------------------------------------------------


def softmax_rows(z):
    scores = z[:, :, None] * z[:, None, :]
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    return weights / weights.sum(axis=2, keepdims=True)


def outputs(student, z):
    if isinstance(student, TiedNetwork):
        return np.maximum(z.sum(axis=1, keepdims=True) / np.sqrt(z.shape[1]), 0)
    matrix = softmax_rows(z)
    if student.reduction == "trace":
        return np.trace(matrix, axis1=1, axis2=2)[:, None]
    return matrix.reshape(len(z), -1)


def losses(problem, y, z):
    residual = ((y - outputs(problem.student, z)) ** 2).sum(axis=1)
    return residual if problem.loss.kind == "squared" else np.sqrt(residual)


def field_gradient(problem, y, z):
    """Central differences of the loss in the fields; their error of 1e-9 is no matter here."""
    gradient = np.empty_like(z)
    for token in range(z.shape[1]):
        shift = 1e-5 * (np.arange(z.shape[1]) == token)
        change = losses(problem, y, z + shift) - losses(problem, y, z - shift)
        gradient[:, token] = problem.loss.scale * change / 2e-5
    return gradient


class PlainSGD:
    """SGD with weights of norm sqrt(d) and tokens of variance 1/d, many replicas at once."""

    def __init__(self, problem, v0, d, replicas, seed):
        self.problem, self.d, self.generator = problem, d, np.random.default_rng(seed)
        length = problem.length
        gram = np.zeros((length + 1, length + 1))
        gram[:length, :length] = problem.encoding.geometry(length).gram
        gram[:length, length] = gram[length, :length] = problem.geometry.teacher_overlap
        gram[length, length] = 1.0
        values, vectors = np.linalg.eigh(gram)
        root = vectors * np.sqrt(np.maximum(values, 0))
        frame = np.linalg.qr(self.generator.standard_normal((d, length + 1)))[0].T
        rows = root @ frame
        self.positions, self.teacher = rows[:length], rows[length] * np.sqrt(d)
        # The shortest weights with the wanted overlaps, and a random orthogonal rest.
        shortest = np.linalg.pinv(rows, rcond=1e-6) @ v0
        rest = self.generator.standard_normal((replicas, d))
        rest -= rest @ np.linalg.pinv(rows, rcond=1e-6) @ rows
        rest *= np.sqrt(1 - shortest @ shortest) / np.linalg.norm(rest, axis=1, keepdims=True)
        self.weights = np.sqrt(d) * (shortest + rest)

    def overlaps(self):
        e = self.weights @ self.positions.T / np.sqrt(self.d)
        return np.column_stack([e, self.weights @ self.teacher / self.d])

    def step(self, gamma, batch):
        problem, d = self.problem, self.d
        update = np.zeros_like(self.weights)
        for _ in range(batch):
            shape = (len(self.weights), problem.length, d)
            tokens = self.generator.standard_normal(shape) / np.sqrt(d)
            y = problem.target(tokens @ self.teacher)
            y = y + np.sqrt(problem.label_noise) * self.generator.standard_normal(y.shape)
            encoded = tokens + self.positions / np.sqrt(d)
            z = np.einsum("rld,rd->rl", encoded, self.weights) + problem.geometry.injected
            gradient = field_gradient(problem, y, z)
            update += np.einsum("rl,rld->rd", gradient, encoded)
        weights = self.weights - gamma / batch * update
        self.weights = np.sqrt(d) * weights / np.linalg.norm(weights, axis=1, keepdims=True)


LAWS = {
    "attention": (ATTENTION, (0.3, -0.3), 0.4, 1.0, 1),
    "correlated": (CORRELATED, (0.3, 0.2), 0.3, 1.0, 4),
    "network": (NETWORK, None, 0.3, 0.4, 4),
    "whole matrix": (WHOLE_MATRIX, (0.3, -0.3), 0.4, 0.5, 1),
}


def start(name):
    problem, e, m, gamma, batch = LAWS[name]
    if e is None:
        # A combination of the first row of the encoding and the teacher.
        v0 = problem.geometry.metric @ np.array([0.5, 0, 0, 0, 0, m])
        return problem, v0, gamma, batch
    return problem, np.append(e, m), gamma, batch


@pytest.mark.parametrize("name", LAWS)
def test_one_step_moves_the_overlaps_as_plain_sgd_does(name):
    problem, v0, gamma, batch = start(name)
    d, replicas = 15, 2000
    ours = run_sgd(
        problem,
        e=v0[:-1],
        m=v0[-1],
        gamma=gamma,
        d=d,
        batch=batch,
        steps=1,
        replicas=replicas,
        records=1,
        fresh_samples=1,
    ).v[:, 1]
    plain = PlainSGD(problem, v0, d, replicas, seed=1)
    np.testing.assert_allclose(plain.overlaps(), np.tile(v0, (replicas, 1)), atol=1e-12)
    plain.step(gamma, batch)
    theirs = plain.overlaps()
    # Means, through the independent directions, by a chi-square; every direction's law by KS.
    ours, theirs = (problem.geometry.coordinates(v) for v in (ours, theirs))
    rank = problem.geometry.rank
    difference = ours.mean(axis=0) - theirs.mean(axis=0)
    covariance = (np.cov(ours.T) + np.cov(theirs.T)) / replicas
    assert difference @ np.linalg.solve(covariance, difference) < chi2.isf(FALSE_ALARM, rank)
    for k in range(rank):
        assert ks_2samp(ours[:, k], theirs[:, k]).pvalue > FALSE_ALARM
    # The step is no small one: the means have moved by many standard errors.
    moved = ours.mean(axis=0) - problem.geometry.coordinates(v0)
    assert moved @ np.linalg.solve(covariance, moved) > 40


@pytest.mark.parametrize("name", LAWS)
def test_many_steps_move_the_overlaps_as_plain_sgd_does(name):
    problem, v0, gamma, batch = start(name)
    d, steps, replicas = 20, 60 if batch == 1 else 25, 800
    ours = run_sgd(
        problem,
        e=v0[:-1],
        m=v0[-1],
        gamma=gamma,
        d=d,
        batch=batch,
        steps=steps,
        replicas=replicas,
        records=1,
        fresh_samples=1,
        seed=5,
    ).v[:, -1]
    plain = PlainSGD(problem, v0, d, replicas, seed=2)
    for _ in range(steps):
        plain.step(gamma, batch)
    ours, theirs = (problem.geometry.coordinates(v) for v in (ours, plain.overlaps()))
    for k in range(problem.geometry.rank):
        assert ks_2samp(ours[:, k], theirs[:, k]).pvalue > FALSE_ALARM
    squares = [(coordinates**2).sum(axis=1) for coordinates in (ours, theirs)]
    assert ks_2samp(*squares).pvalue > FALSE_ALARM


def test_a_wrong_noise_or_batch_is_noticed():
    # A control: the comparison above must tell other settings apart.
    problem, v0, gamma, batch = start("network")
    options = {"e": v0[:-1], "m": v0[-1], "gamma": gamma, "d": 20, "steps": 25, "records": 1}
    options |= {"replicas": 800, "fresh_samples": 1, "batch": batch}
    runs = [
        run_sgd(problem, **{**options, **changes}, seed=seed).v[:, -1]
        for seed, changes in enumerate([{}, {"label_noise": 0.0}, {"batch": 1}])
    ]
    for other in runs[1:]:
        ours, theirs = (problem.geometry.coordinates(v) for v in (runs[0], other))
        assert min(ks_2samp(ours[:, k], theirs[:, k]).pvalue for k in range(4)) < 1e-9


# What is recorded --------------------------------------------------------------------------------


def test_overlaps_are_those_of_the_weights(monkeypatch):
    kept = {}

    class Spy(sgd._Run):
        def overlaps(self):
            kept[self.steps_done] = (self.weights.copy(), self.constants)
            return super().overlaps()

    monkeypatch.setattr(sgd, "_Run", Spy)
    run = run_sgd(CORRELATED, e=(0.1, 0.3), m=0.3, gamma=0.5, d=30, steps=60, replicas=3, records=4)
    for record, step in enumerate(run.steps):
        weights, constants = kept[int(step)]
        teacher, directions, coordinates = constants[:3]
        rows = coordinates @ directions
        np.testing.assert_allclose(rows @ rows.T, CORRELATED.geometry.metric, atol=1e-13)
        np.testing.assert_allclose(rows[-1], teacher, atol=1e-15)
        np.testing.assert_allclose(np.linalg.norm(weights, axis=1), 1.0, atol=1e-14)
        np.testing.assert_allclose(run.v[:, record], weights @ rows.T, atol=1e-14)


@pytest.mark.parametrize("name", LAWS)
def test_the_fresh_loss_is_the_population_risk(name):
    problem, v0, _, _ = start(name)
    run = run_sgd(
        problem,
        e=v0[:-1],
        m=v0[-1],
        gamma=0.0,
        d=20,
        steps=1,
        replicas=64,
        records=1,
        fresh_samples=2000,
    )
    theory = risk(problem, e=v0[:-1], m=v0[-1], engine="montecarlo", samples=2**16)
    loss = run.loss.ravel()
    error = np.hypot(loss.std(ddof=1) / np.sqrt(loss.size), theory.value_error)
    # Means of 128 means of 2000 losses, normal enough; Student's law with 127 degrees.
    assert abs(loss.mean() - theory.value) < 4.6 * error
    assert error < 0.02 * theory.value


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


def huge(z):
    return np.exp(np.exp(z[..., 0] ** 2))


def rarely_missing(z):
    return np.where(z[..., 0] > 2.5, np.nan, two_squares(z))


def test_diverged_replicas_are_marked_and_the_others_go_on():
    problem = Problem(Target(rarely_missing, length=2), Attention("trace"), Encoding("opposite"))
    settings = {"e": (0.1, -0.1), "m": 0.2, "gamma": 0.3, "d": 37, "steps": 100, "replicas": 8}
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


@pytest.mark.parametrize("before", [0, 3])
def test_ctrl_c_keeps_the_records(monkeypatch, before):
    original, calls = sgd._Run._fresh_losses, []

    def interrupted(self):
        calls.append(1)
        if len(calls) > before:
            raise KeyboardInterrupt
        return original(self)

    monkeypatch.setattr(sgd._Run, "_fresh_losses", interrupted)
    run = run_sgd(ATTENTION, m=0.2, d=20, steps=100, replicas=3, records=10)
    assert run.status == "interrupted"
    assert "of 100 steps" in run.message
    # Of the record that was interrupted the overlaps are kept, and the loss is missing.
    kept = before + (before > 0)
    assert run.steps.tolist() == list(range(0, 10 * kept, 10))
    assert run.e.shape == (3, kept, 2)
    assert run.m.shape == run.loss.shape == (3, kept)
    assert np.isfinite(run.m).all()
    assert np.isnan(run.loss[:, before:]).all()
    assert run.as_dict()["status"] == "interrupted"


LONG_RUN = """
import sys
from ssiode import Problem, Target, Attention, Encoding, run_sgd
problem = Problem(
    Target(lambda z: (z**2 - 1).sum(axis=-1), length=2), Attention("trace"), Encoding("opposite")
)
run_sgd(problem, d=300, steps=10, replicas=3, records=1)
print("ready", flush=True)
run = run_sgd(problem, d=300, steps=10**9, replicas=3, records=10**6)
print(run.status, len(run.steps), run.m.shape, run.message, sep="|")
"""


@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_real_interrupt_ends_a_long_run_soon(run, monkeypatch, threads):
    # The fixture has left the compiled kernels in the cache.
    monkeypatch.setenv("SSIODE_THREADS", threads)
    process = subprocess.Popen(
        [sys.executable, "-c", LONG_RUN], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(2.5)
    process.send_signal(signal.SIGINT)
    sent = time.perf_counter()
    out, _ = process.communicate(timeout=30)
    # A chunk lasts half a second; the rest is room for a busy machine.
    assert time.perf_counter() - sent < 3
    status, records, shape, message = out.strip().split("|")
    assert process.returncode == 0
    assert status == "interrupted"
    assert int(records) > 10
    assert shape == f"(3, {records})"
    assert message.startswith("interrupted after")
