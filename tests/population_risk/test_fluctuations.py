"""S(v) against the spread of single steps of the chain, and against closed forms.

Seeds are fixed; each comparison would fail for a random seed at a rate below 1e-6.
"""

from __future__ import annotations

import numpy as np
import pytest

from ssiode import Problem, Target, TiedNetwork, run_chain
from ssiode.population_risk import Fluctuations, fluctuations
from tests.checks import refuses
from tests.dynamics.problems import ATTENTION, CORRELATED, NETWORK, WHOLE_MATRIX

LINEAR = Problem(Target("z1"), TiedNetwork("identity"))
STATES = {
    "attention": (ATTENTION, (0.3, -0.3, 0.4)),
    "pole": (ATTENTION, (0.0, 0.0, 1.0)),
    "correlated": (CORRELATED, (0.3, 0.2, 0.3)),
    "correlated pole": (CORRELATED, (0.5, -0.2, 1.0)),
    "network": (NETWORK, NETWORK.geometry.metric @ np.array([0.5, 0, 0, 0, 0, 0.3])),
    "whole matrix": (WHOLE_MATRIX, (0.3, -0.3, 0.4)),
}


CASES = [(name, gamma, 1) for name in STATES for gamma in (1e-3, 1.0)] + [
    (name, 1.0, 3) for name in ("attention", "correlated pole", "network")
]
QUICK = [("attention", 1.0, 1), ("pole", 1.0, 1)]


@pytest.mark.parametrize(
    ("name", "gamma", "batch"),
    [pytest.param(*c, marks=[] if c in QUICK else pytest.mark.slow) for c in CASES],
)
def test_it_is_the_covariance_of_one_step(name, gamma, batch):
    problem, v = STATES[name]
    v, d, length = np.array(v), 10**8, problem.length
    settings = {"e": v[:length], "m": v[-1], "gamma": gamma, "d": d, "batch": batch, "steps": 1}
    run = run_chain(problem, **settings, replicas=20_000, records=1, fresh_samples=1)
    steps = np.sqrt(batch) * (run.v[:, 1] - v) * d / gamma
    products = (steps - steps.mean(axis=0))[:, :, None] * (steps - steps.mean(axis=0))[:, None]
    found = Fluctuations(problem, samples=2**13).covariance(v[None], gamma, batch)
    assert found.value.shape == found.error.shape == (1, length + 1, length + 1)
    value, error = found.value[0], found.error[0]
    # Of heavy-tailed products the standard error itself is uncertain: six of them, and a part.
    allowed = 6 * np.hypot(products.std(axis=0) / np.sqrt(len(steps)), error)
    scale = np.sqrt(np.outer(np.diag(value), np.diag(value))).clip(1e-12)
    assert np.all(np.abs(products.mean(axis=0) - value) <= allowed + 1e-6 * scale)
    assert np.all(error <= 0.5 * scale)


def test_the_shrinking_by_the_norm_of_the_update_counts_at_finite_learning_rates():
    # Without it S would not depend on gamma, and vanish at the pole.
    _, v = STATES["pole"]
    values = [
        Fluctuations(ATTENTION).values(np.array([v]), gamma)[0, -1, -1] for gamma in (0.0, 1.0)
    ]
    assert abs(values[0]) < 1e-12
    assert values[1] > 5.0


@pytest.mark.parametrize("m", [0.0, 0.6, 1.0])
def test_the_linear_problem_in_closed_form(m):
    # g = 2 (x - z*) and h = g (z* - m x), with x = m z* + s xi, s^2 = 1 - m^2:
    # h = 2 s^2 ((m - 1) z* + s xi) z* - 2 m s ((m - 1) z* + s xi) xi, a quadratic form with the
    # matrix A, of the variance 2 tr A^2.
    s = np.sqrt(1 - m * m)
    mixed = s**3 + m * s * (1 - m)
    form = np.array([[2 * s * s * (m - 1), mixed], [mixed, -2 * m * s * s]])
    found = Fluctuations(LINEAR).covariance(np.array([[0.0, m]]), 0.0)
    assert found.value[0, 1, 1] == pytest.approx(2 * np.trace(form @ form), abs=1e-12)
    assert found.error[0, 1, 1] < 1e-11


@pytest.mark.parametrize("name", ["attention", "correlated", "network"])
def test_quadrature_and_samples_agree(monkeypatch, name):
    problem, v = STATES[name]
    fine = Fluctuations(problem, samples=2**14).covariance(np.array([v]), 0.5, 2)
    monkeypatch.setattr(fluctuations, "_LONGEST", 0)
    sampled = Fluctuations(problem, samples=2**13, seed=7).covariance(np.array([v]), 0.5, 2)
    assert np.all(np.abs(fine.value - sampled.value) <= 6 * np.hypot(fine.error, sampled.error))
    assert np.any(fine.value != sampled.value)


def test_bad_numbers_are_refused():
    refuses(lambda: Fluctuations(LINEAR, samples=8), "samples", "32")
    refuses(lambda: Fluctuations(LINEAR, order=5), "order", "6")
