"""The averages at given nodes: gradient, |m| = 1, injection, noise and scale."""

from __future__ import annotations

import numpy as np
import pytest

from ssiode.encoding import Encoding
from ssiode.loss import FrobeniusLoss, SquaredLoss
from ssiode.population_risk import MonteCarloEngine, QuadratureEngine
from ssiode.problem import Problem
from ssiode.student import Attention, LinearAttention, TiedNetwork
from ssiode.target import Target
from tests.population_risk.problems import SETTINGS, errors, moments
from tests.reference import field_samples, frobenius_loss, softmax_rows

# For each setting an inner state, one near |m| = 1 and one at |m| = 1.
STATES = {
    "trace, opposite": [(0.3, -0.3, 0.5), (0.1, -0.1, -0.9), (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)],
    "identity, injected": [(0.3, -0.2, 0.5), (0.05, 0.0, 0.9987), (0.0, 0.0, 1.0)],
    "tanh, correlated, noisy": [(0.3, -0.2, 0.1), (0.4, -0.2, 0.99999), (0.4, -0.2, 1.0)],
    "linear attention": [(0.3, 0.6, -0.5), (0.04, 0.08, 0.999), (0.0, 0.0, -1.0)],
}
CASES = [(name, state) for name, states in STATES.items() for state in states]


@pytest.mark.parametrize(("name", "state"), CASES)
def test_against_direct_quadrature_along_other_axes(name, state):
    problem, reference = SETTINGS[name]
    v = problem.geometry.state(state[:-1], state[-1])
    e, m = v[:-1], float(v[-1])
    result = QuadratureEngine(problem, 18).evaluate(v)
    value, gradient = reference.risk(e, m), reference.gradient(e, m)
    second = reference.second_moment(e, m)
    scale = max(1.0, *np.abs(gradient), second)
    # The reference has the same order and so about the same error as the engine states; its
    # differences with step 2e-3 have a truncation error of about 1e-9, one-sided 1e-8.
    assert abs(result.value - value) <= 3 * result.value_error + 1e-11 * scale
    assert np.all(np.abs(result.gradient - gradient) <= 3 * result.gradient_error + 1e-7 * scale)
    assert abs(result.second_moment - second) <= 3 * result.second_moment_error + 1e-11 * scale


BRUTE_FORCE_STATES = {
    "trace, opposite": (0.4, -0.4, 0.6),
    "identity, injected": (0.2, -0.5, -0.4),
    "tanh, correlated, noisy": (0.2, 0.1, 0.3),
    "linear attention": (0.2, 0.4, 0.6),
}


@pytest.mark.parametrize("name", BRUTE_FORCE_STATES)
def test_against_sampled_fields_and_labels(name):
    problem, reference = SETTINGS[name]
    state = BRUTE_FORCE_STATES[name]
    v = problem.geometry.state(state[:-1], state[-1])
    generator = np.random.default_rng(5)
    z_star, x = field_samples(2, float(v[-1]), 200_000, generator)
    z = x + v[:-1] + problem.geometry.injected
    labels = reference.target(z_star)
    labels = labels + np.sqrt(problem.label_noise) * generator.standard_normal(labels.shape)
    outputs = reference.student.value(z)
    cotangent = -2 * (labels - outputs)
    gradient = np.einsum("na,nal->nl", cotangent, reference.student.jacobian(z))
    samples = np.column_stack(
        [
            reference.scale * ((labels - outputs) ** 2).sum(axis=-1),
            reference.scale * gradient,
            reference.scale**2 * (gradient**2).sum(axis=-1),
        ]
    )
    mean, error = samples.mean(axis=0), samples.std(axis=0) / np.sqrt(len(samples))
    result = QuadratureEngine(problem, 18).evaluate(v)
    # 4.5 standard errors at 4 quantities in 4 settings: a random seed would fail in 1e-4.
    kept = [0, 1, 2, 4]  # dR/dm is not an average over single samples here
    assert np.all(np.abs(moments(result)[kept] - mean) <= 4.5 * error + errors(result)[kept])


def test_frobenius_loss_with_noise_against_sampled_fields():
    problem = Problem(
        Target("[z1, z2, z1*z2, 1]"),
        Attention("identity"),
        Encoding("orthonormal"),
        FrobeniusLoss(2.0),
        label_noise=0.5,
    )
    v = problem.geometry.state((0.3, -0.1), 0.6)
    generator = np.random.default_rng(6)
    z_star, x = field_samples(2, 0.6, 200_000, generator)
    z = x + v[:-1]
    x1, x2 = z_star.T
    labels = np.stack([x1, x2, x1 * x2, np.ones(len(x1))], axis=-1)
    labels += np.sqrt(0.5) * generator.standard_normal(labels.shape)

    def outputs(z):
        return softmax_rows(z[:, :, None] * z[:, None, :]).reshape(-1, 4)

    value, cotangent = frobenius_loss(labels, outputs(z))
    gradient, step = np.empty_like(z), 1e-5
    for token in range(2):
        shift = step * np.eye(2)[token]
        slope = (outputs(z + shift) - outputs(z - shift)) / (2 * step)
        gradient[:, token] = (cotangent * slope).sum(axis=-1)
    samples = np.column_stack([2 * value, 2 * gradient, 4 * (gradient**2).sum(axis=-1)])
    mean, error = samples.mean(axis=0), samples.std(axis=0) / np.sqrt(len(samples))
    result = MonteCarloEngine(problem, 2**13).evaluate(v)
    kept = [0, 1, 2, 4]
    combined = np.hypot(error, errors(result)[kept])
    # 4.5 standard errors at 4 quantities: a random seed would fail in 1e-4 (t law of 15 blocks).
    assert np.all(np.abs(moments(result)[kept] - mean) <= 4.5 * combined)


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("m", [-1.0, -0.7, 0.0, 0.4, 0.99999, 1.0])
def test_linear_network_in_closed_form(m, noise):
    # y = z*_1 + noise, f = (z_1 + z_2)/sqrt(2) with z = x + e: with q = (e_1 + e_2)/sqrt(2),
    # R = 1 + noise + 1 + q^2 - sqrt(2) m, g_l = -sqrt(2) (y - f), V = 4 R.
    problem = Problem(
        Target("z1", length=2), TiedNetwork("identity"), Encoding("orthonormal"), label_noise=noise
    )
    e = np.array([0.3, 0.1]) * np.sqrt(1 - m * m)
    q = e.sum() / np.sqrt(2)
    value = 2 + noise + q**2 - np.sqrt(2) * m
    expected = [value, np.sqrt(2) * q, np.sqrt(2) * q, -np.sqrt(2), 4 * value]
    result = QuadratureEngine(problem, 10).evaluate(np.append(e, m))
    assert np.all(np.abs(moments(result) - expected) <= errors(result))
    np.testing.assert_allclose(moments(result), expected, atol=2e-9)


@pytest.mark.parametrize("m", [-1.0, -0.99999, 0.0, 0.5, 0.999, 1.0])
@pytest.mark.parametrize("e", [0.0, 0.4])
def test_square_network_in_closed_form(e, m):
    # L = 1, y = He2(z*), f = z^2, z = x + e with |e| made feasible. With E x^2 y = 2 m^2,
    # R = 2 - 4 m^2 + 3 + 6 e^2 + e^4, dR/dm = -8 m, dR/de = 12 e + 4 e^3.
    e = e * np.sqrt(1 - m * m)
    problem = Problem(Target("He2(z1)"), LinearAttention(), Encoding("orthonormal"))
    result = QuadratureEngine(problem, 12).evaluate(np.array([e, m]))
    expected = [5 - 4 * m**2 + 6 * e**2 + e**4, 12 * e + 4 * e**3, -8 * m]
    assert np.all(np.abs(moments(result)[:3] - expected) <= errors(result)[:3])
    np.testing.assert_allclose(moments(result)[:3], expected, atol=4e-9)
    # V = E [4 z (He2(z*) - z^2)]^2; at e = 0 the moments of (z*, x) up to order 6 give
    # 16 (E x^2 He2^2 - 2 E x^4 He2 + E x^6) = 16 (2 + 8 m^2 - 24 m^2 + 15).
    if e == 0:
        assert result.second_moment == pytest.approx(16 * (17 - 16 * m**2), rel=1e-12, abs=1e-9)


def test_matched_hermite_networks_at_the_end():
    # y = He3(z*), f = He3(z): R = 12 (1 - m^3), dR/dm = -36 m^2, V(1) = 0.
    problem = Problem(Target("He3(z1)"), TiedNetwork("He3"))
    for m in (0.3, 0.9, 1 - 1e-7, 1 - 1e-10, 1 - 1e-12, 1.0, -1.0):
        result = QuadratureEngine(problem, 12).evaluate(np.array([0.0, m]))
        # Without cancellation: the engine's error is below the last digit of 1 - m^3 here.
        exact = [12 * (1 - m) * (1 + m + m**2), -36 * m**2]
        difference = moments(result)[[0, 2]] - exact
        assert np.all(np.abs(difference) <= errors(result)[[0, 2]])
        # Near |m| = 1 the central difference is good to 1e-9 relative to the gradient.
        assert np.all(np.abs(difference) <= 1e-7)


def test_kinked_networks_at_the_end():
    # Arc-cosine kernel: E relu(z*) relu(x) = (sqrt(1 - m^2) + m (pi - arccos m)) / (2 pi), so
    # R = 1 - 2 E and dR/dm = -(pi - arccos m) / pi.
    problem = Problem(Target("relu(z1)"), TiedNetwork("relu"))
    for m in (0.9, 0.9999, 1 - 1e-7, 1.0, -0.9999, -1.0):
        kernel = (np.sqrt(1 - m * m) + m * (np.pi - np.arccos(m))) / (2 * np.pi)
        expected = [1 - 2 * kernel, -(np.pi - np.arccos(m)) / np.pi]
        for seed in range(3):
            result = MonteCarloEngine(problem, 2**14, seed).evaluate(np.array([0.0, m]))
            difference = np.abs(moments(result)[[0, 2]] - expected)
            # 5 standard errors with 15 degrees of freedom, 36 comparisons: 6e-3 for random seeds.
            assert np.all(difference <= 5 * errors(result)[[0, 2]] + 1e-12)


def test_a_jump_of_the_gradient_at_the_end_is_not_missed():
    # y = 5 + z*, f = relu(z): dR/dm = -1 everywhere, but at |m| = 1 from the rare samples whose
    # x lies within the step of the kink.
    problem = Problem(Target("5 + z1"), TiedNetwork("relu"))
    for m in (0.99, 0.99999, 1.0):
        for seed in range(5):
            result = MonteCarloEngine(problem, 2**14, seed).evaluate(np.array([0.0, m]))
            # As above: 15 comparisons.
            assert abs(result.gradient[-1] + 1) <= 5 * result.gradient_error[-1]


@pytest.mark.parametrize("scale", [1e-8, 0.5, 1e8, 1e12])
@pytest.mark.parametrize("engine", [MonteCarloEngine, QuadratureEngine])
def test_the_scale_of_the_loss_only_scales(engine, scale):
    problem, _ = SETTINGS["trace, opposite"]
    v = problem.geometry.state((0.3, -0.3), 0.5)
    size = 64 if engine is MonteCarloEngine else 10
    one = engine(problem, size).evaluate(v)
    other = engine(problem.replace(loss=SquaredLoss(scale)), size).evaluate(v)
    units = np.array([scale] * 4 + [scale**2])
    np.testing.assert_allclose(moments(other), units * moments(one), rtol=1e-14)
    np.testing.assert_allclose(errors(other), units * errors(one), rtol=1e-14)


def test_errors_of_the_gradient_do_not_come_from_larger_quantities():
    # At the saddle the gradient vanishes by the parity of target and student, and V is about 1e8.
    problem = Problem(Target("1e4*(He2(z1) + He2(z2))"), Attention("trace"))
    for engine in (QuadratureEngine(problem, 20), MonteCarloEngine(problem, 2**10)):
        result = engine.evaluate(np.zeros(3))
        size = np.sqrt(result.second_moment)
        assert np.all(np.abs(result.gradient) <= result.gradient_error)
        assert np.all(result.gradient_error <= 1e-15 * size)
        # Next to it the error is below the gradient, which is of order m.
        near = engine.evaluate(np.array([0.0, 0.0, 1e-6]))
        assert near.gradient_error[-1] < abs(near.gradient[-1])
    # Negative control: what vanishes without a symmetry has the error of its large terms.
    odd = Problem(Target("He3(z1) + He2(z2)"), TiedNetwork("tanh"))
    gradient = QuadratureEngine(odd, 56).evaluate(np.zeros(3))
    assert np.all(np.abs(gradient.gradient) <= gradient.gradient_error)


@pytest.mark.parametrize("name", SETTINGS)
def test_results_do_not_depend_on_the_number_of_threads(monkeypatch, name):
    problem, _ = SETTINGS[name]
    v = problem.geometry.basis @ np.full(problem.geometry.rank, 0.4)
    for engine in (MonteCarloEngine(problem, 2**10), QuadratureEngine(problem, 10)):
        results = set()
        for threads in ("1", "2", "7", "7"):
            monkeypatch.setenv("SSIODE_THREADS", threads)
            result = engine.evaluate(v)
            results.add(np.append(moments(result), errors(result)).tobytes())
        assert len(results) == 1


def test_the_right_hand_side_is_a_function(monkeypatch):
    problem, _ = SETTINGS["trace, opposite"]
    v = problem.geometry.state((0.3, -0.3), 0.5)
    for engine in (MonteCarloEngine(problem, 2**8), QuadratureEngine(problem, 10)):
        results = []
        for threads in ("1", "3", "3"):
            monkeypatch.setenv("SSIODE_THREADS", threads)
            results.append(engine.moments(v[None])[0].tolist())
        assert results[0] == results[1] == results[2]
        evaluation = engine.evaluate(v)
        assert [evaluation.value, *evaluation.gradient, evaluation.second_moment] == results[0]
