"""The student's functions against NumPy, and the squared loss that they add up to."""

from __future__ import annotations

import numpy as np
import pytest

from ssiode.population_risk.mehler.student import StudentFunctions
from ssiode.population_risk.mehler.teacher import numeric_teacher, pairs
from tests.population_risk.problems import SETTINGS, positional_semantic
from tests.reference import ReferenceRisk, attention_identity


def cases():
    transition = ReferenceRisk(positional_semantic().target, attention_identity(), 2, scale=0.5)
    return {**SETTINGS, "positional-semantic": (positional_semantic(), transition)}


@pytest.mark.parametrize("name", cases())
def test_functions_match_numpy_and_add_up_to_the_loss(name):
    problem, exact = cases()[name]
    teacher = numeric_teacher(problem.target, np.eye(2), 4, 4)
    functions = StudentFunctions(problem)
    generator = np.random.default_rng(0)
    z_star, z = generator.standard_normal((2, 40, 2))
    values = functions(z, teacher)
    k = teacher.mixing.shape[1]
    assert values.shape == (4 + 4 * k + len(pairs(k)), 40)

    h = (problem.target(z_star) - teacher.mean) @ teacher.mixing
    products = np.array([h[:, a] * h[:, b] for a, b in pairs(k)])
    alone, met, squared = values[:4], values[4 : 4 + 4 * k].reshape(4, k, 40), values[4 + 4 * k :]
    whole = alone + np.einsum("qan,na->qn", met, h)
    whole[-1] += (squared * products).sum(axis=0)
    whole[0] += (h**2).sum(axis=1)

    residual = problem.target(z_star) - exact.student.value(z)
    jacobian = exact.student.jacobian(z)
    gradient = -2 * np.einsum("na,nal->nl", residual, jacobian)
    noise = 4 * problem.label_noise * (jacobian**2).sum(axis=(1, 2))
    assert whole[0] == pytest.approx((residual**2).sum(axis=1), rel=1e-9, abs=1e-12)
    towards_fields = whole[1:3].T
    assert towards_fields == pytest.approx(gradient, rel=1e-9, abs=1e-11)
    assert whole[3] == pytest.approx((gradient**2).sum(axis=1) + noise, rel=1e-9, abs=1e-11)

    centred = exact.student.value(z) - teacher.mean
    slopes = np.einsum("ab,nal->nbl", teacher.mixing, jacobian)
    assert alone[0] == pytest.approx((centred**2).sum(axis=1), rel=1e-12)
    assert met[0] == pytest.approx(-2 * (centred @ teacher.mixing).T, rel=1e-10, abs=1e-13)
    assert met[1:3] == pytest.approx(-2 * np.transpose(slopes, (2, 1, 0)), rel=1e-10, abs=1e-13)
    for row, (a, b) in zip(squared, pairs(k), strict=True):
        size = 4 if a == b else 8
        exact_row = size * (slopes[:, a] * slopes[:, b]).sum(axis=1)
        assert row == pytest.approx(exact_row, rel=1e-10, abs=1e-13)
