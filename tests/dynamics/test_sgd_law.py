"""The law of direct SGD against SGD written again in plain NumPy, and against the risk.

Seeds are fixed, so a test passes always or never; the stated false-alarm rates are the
probabilities that a correct program would fail with seeds drawn at random. They sum to below 1e-3.
"""

import numpy as np
import pytest
from scipy.stats import chi2, ks_2samp

from ssiode import ExpressionStudent, TiedNetwork, UntiedNetwork, risk, run_sgd
from tests.dynamics.problems import (
    ATTENTION,
    CORRELATED,
    EXPRESSION,
    JOINT,
    NETWORK,
    ROW,
    WHOLE_MATRIX,
)

FALSE_ALARM = 1e-5


def p_value(first, second):
    """Of a Kolmogorov-Smirnov test; exact ones of thousands of values take minutes."""
    # A gradient that vanishes leaves some replicas where they are, but for the last digits.
    return ks_2samp(first.round(9), second.round(9), method="asymp").pvalue


def softmax_rows(z):
    scores = z[:, :, None] * z[:, None, :]
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    return weights / weights.sum(axis=2, keepdims=True)


def outputs(student, z):
    if isinstance(student, TiedNetwork | UntiedNetwork):
        return np.maximum(z.sum(axis=1, keepdims=True) / np.sqrt(z.shape[1]), 0)
    if isinstance(student, ExpressionStudent):
        return (np.tanh(z[:, 0] * z[:, 1]) + z[:, 0] / 2)[:, None]
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
        overlap = problem.encoding.geometry(length).teacher_overlap
        gram[:length, length] = gram[length, :length] = overlap
        gram[length, length] = 1.0
        values, vectors = np.linalg.eigh(gram)
        root = vectors * np.sqrt(np.maximum(values, 0))
        self.rows = problem.geometry.n_rows
        frame = np.linalg.qr(self.generator.standard_normal((d, length + 1)))[0].T
        rows = root @ frame
        self.positions, self.teacher = rows[:length], rows[length] * np.sqrt(d)
        # The shortest weights with the wanted overlaps, and a random orthogonal rest.
        self.weights = np.empty((replicas, self.rows, d))
        for i in range(self.rows):
            seen = rows if self.rows == 1 else rows[[i, length]]
            wanted = v0 if self.rows == 1 else v0[[i, length + i]]
            shortest = np.linalg.pinv(seen, rcond=1e-6) @ wanted
            rest = self.generator.standard_normal((replicas, d))
            rest -= rest @ np.linalg.pinv(rows, rcond=1e-6) @ rows
            rest *= np.sqrt(1 - shortest @ shortest) / np.linalg.norm(rest, axis=1, keepdims=True)
            self.weights[:, i] = np.sqrt(d) * (shortest + rest)

    def overlaps(self):
        e = np.einsum("rld,ld->rl", self.of_tokens(), self.positions) / np.sqrt(self.d)
        return np.column_stack([e, self.weights @ self.teacher / self.d])

    def of_tokens(self):
        """The weights that each token sees."""
        shape = (len(self.weights), self.problem.length, self.d)
        return np.broadcast_to(self.weights, shape)

    def step(self, gamma, batch):
        problem, d = self.problem, self.d
        update = np.zeros_like(self.weights)
        for _ in range(batch):
            shape = (len(self.weights), problem.length, d)
            tokens = self.generator.standard_normal(shape) / np.sqrt(d)
            y = problem.target(tokens @ self.teacher)
            y = y + np.sqrt(problem.label_noise) * self.generator.standard_normal(y.shape)
            encoded = tokens + self.positions / np.sqrt(d)
            z = np.einsum("rld,rld->rl", encoded, self.of_tokens()) + problem.geometry.injected
            change = field_gradient(problem, y, z)[:, :, None] * encoded
            update += change if self.rows > 1 else change.sum(axis=1, keepdims=True)
        weights = self.weights - gamma / batch * update
        squares = np.sum(weights**2, axis=2, keepdims=True)
        if getattr(problem.student, "constraint", "row") == "joint":
            squares = squares.mean(axis=1, keepdims=True)
        self.weights = np.sqrt(d) * weights / np.sqrt(squares)


LAWS = {
    "attention": (ATTENTION, (0.3, -0.3), 0.4, 1.0, 1),
    "correlated": (CORRELATED, (0.3, 0.2), 0.3, 1.0, 4),
    "network": (NETWORK, None, 0.3, 0.4, 4),
    "whole matrix": (WHOLE_MATRIX, (0.3, -0.3), 0.4, 0.5, 1),
    "expression": (EXPRESSION, (0.3, -0.3), 0.4, 1.0, 4),
    "row": (ROW, (0.3, 0.2), (0.4, -0.1), 1.0, 1),
    "joint": (JOINT, (0.3, 0.2), (0.4, -0.1), 1.0, 4),
}


# A kernel of its own takes seconds to compile.
LONG = ("whole matrix", "expression", "network", "row")


def marked(names):
    return [pytest.param(n, marks=[pytest.mark.slow] if n in LONG else []) for n in names]


def start(name):
    problem, e, m, gamma, batch = LAWS[name]
    if e is None:
        # A combination of the first row of the encoding and the teacher.
        v0 = problem.geometry.metric @ np.array([0.5, 0, 0, 0, 0, m])
        return problem, v0, gamma, batch
    return problem, np.append(e, m), gamma, batch


def overlaps(problem, v0):
    """The start in the words of a run."""
    length = problem.length
    return {"e": v0[:length], "m": v0[length:]}


def directions(problem, v):
    """Independent coordinates of states, one row each."""
    if problem.geometry.n_rows > 1:
        return v
    return problem.geometry.coordinates(v)


@pytest.mark.parametrize("name", marked(LAWS))
def test_one_step_moves_the_overlaps_as_plain_sgd_does(name):
    problem, v0, gamma, batch = start(name)
    d, replicas = 15, 2000
    ours = run_sgd(
        problem,
        **overlaps(problem, v0),
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
    ours, theirs = (directions(problem, v) for v in (ours, theirs))
    rank = ours.shape[1]
    difference = ours.mean(axis=0) - theirs.mean(axis=0)
    covariance = (np.cov(ours.T) + np.cov(theirs.T)) / replicas
    assert difference @ np.linalg.solve(covariance, difference) < chi2.isf(FALSE_ALARM, rank)
    for k in range(rank):
        assert p_value(ours[:, k], theirs[:, k]) > FALSE_ALARM
    # The step is no small one: the means have moved by many standard errors.
    moved = ours.mean(axis=0) - directions(problem, v0)
    assert moved @ np.linalg.solve(covariance, moved) > 40


@pytest.mark.parametrize("name", marked(LAWS))
def test_many_steps_move_the_overlaps_as_plain_sgd_does(name):
    problem, v0, gamma, batch = start(name)
    d, steps, replicas = 20, 60 if batch == 1 else 25, 800
    ours = run_sgd(
        problem,
        **overlaps(problem, v0),
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
    ours, theirs = (directions(problem, v) for v in (ours, plain.overlaps()))
    for k in range(ours.shape[1]):
        assert p_value(ours[:, k], theirs[:, k]) > FALSE_ALARM
    squares = [(coordinates**2).sum(axis=1) for coordinates in (ours, theirs)]
    assert p_value(*squares) > FALSE_ALARM


def test_a_wrong_noise_or_batch_is_noticed():
    # A control: the comparison above must tell other settings apart.
    problem, v0, gamma, batch = start("network")
    options = {**overlaps(problem, v0), "gamma": gamma, "d": 20, "steps": 25, "records": 1}
    options |= {"replicas": 800, "fresh_samples": 1, "batch": batch}
    runs = [
        run_sgd(problem, **{**options, **changes}, seed=seed).v[:, -1]
        for seed, changes in enumerate([{}, {"label_noise": 0.0}, {"batch": 1}])
    ]
    for other in runs[1:]:
        ours, theirs = (directions(problem, v) for v in (runs[0], other))
        assert min(p_value(ours[:, k], theirs[:, k]) for k in range(4)) < 1e-9


@pytest.mark.parametrize("name", marked(name for name in LAWS if name not in ("row", "joint")))
def test_the_fresh_loss_is_the_population_risk(name):
    problem, v0, _, _ = start(name)
    run = run_sgd(
        problem,
        **overlaps(problem, v0),
        gamma=0.0,
        d=20,
        steps=1,
        replicas=64,
        records=1,
        fresh_samples=2000,
    )
    theory = risk(problem, **overlaps(problem, v0), engine="montecarlo", samples=2**16)
    loss = run.loss.ravel()
    error = np.hypot(loss.std(ddof=1) / np.sqrt(loss.size), theory.value_error)
    # Means of 128 means of 2000 losses, normal enough; Student's law with 127 degrees.
    assert abs(loss.mean() - theory.value) < 4.6 * error
    assert error < 0.02 * theory.value
