"""The risk on the ball of what is seen: gradients, Hessians and bounds."""

import numpy as np
import pytest

from ssiode import Attention, Encoding, Problem, Target, TiedNetwork
from ssiode.population_risk import make_engine
from ssiode.risk_landscape.minima.reduced_risk import ReducedRisk
from ssiode.risk_landscape.minima.risk_polynomial import RiskPolynomial
from tests.risk_landscape.minima.problems import HE2, along_the_teacher, positional_semantic, trace

PROBLEMS = {
    "opposite": trace(),
    "seen by the teacher": trace(teacher_overlap=(0.3, -0.3)),
    "injected": trace("z1 + z2", injected=(0.5, 0.2)),
    "along the teacher": along_the_teacher(),
    "sum": Problem(Target(HE2), TiedNetwork("relu"), Encoding("orthonormal", norm=0.8)),
    "no series end": positional_semantic(0.4),
    "three overlaps": Problem(Target(HE2), Attention("trace"), Encoding("orthonormal")),
}


def risk_of(name):
    return ReducedRisk(make_engine(PROBLEMS[name]))


def points_of(risk, count=20, reach=0.9):
    y = np.random.default_rng(1).standard_normal((count, risk.dimension))
    return reach * y / np.maximum(np.linalg.norm(y, axis=1, keepdims=True), 1)


@pytest.mark.parametrize("name", PROBLEMS)
def test_gradient_and_hessian_are_derivatives_of_the_value(name):
    risk, h = risk_of(name), 1e-4
    y = points_of(risk)
    steps = h * np.eye(risk.dimension)
    value = lambda points: risk.value_and_gradient(points)[0]  # noqa: E731
    slopes = np.stack([(value(y + s) - value(y - s)) / (2 * h) for s in steps], axis=-1)
    # Differences of h = 1e-4 are good to h^2 times third derivatives.
    np.testing.assert_allclose(risk.gradient(y), slopes, atol=3e-6)
    hessian, error = risk.hessian(y)
    rows = np.stack([(risk.gradient(y + s) - risk.gradient(y - s)) / (2 * h) for s in steps], 1)
    np.testing.assert_allclose(hessian, rows, atol=3e-6)
    assert error.max() < 1e-4


def test_hessian_on_the_pole_uses_states_that_exist():
    risk = risk_of("no series end")
    seen = []
    moments = risk.engine.moments

    def watched(v):
        seen.append(np.abs(v[:, -1]).max())
        return moments(v)

    risk.engine.moments = watched
    poles = np.array([[0.0, 1.0], [0.0, -1.0]])
    near = risk.hessian(poles * 0.999).value
    np.testing.assert_allclose(risk.hessian(poles).value, near, atol=0.02)
    assert max(seen) <= 1.0


def test_student_of_the_sum_sees_one_direction_and_m():
    risk = risk_of("sum")
    assert (risk.dimension, risk.n_unseen) == (2, 1)
    np.testing.assert_allclose(risk.seen, [[0.5**0.5, 0.5**0.5, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(risk.overlaps(np.array([1.0, 0.0])), [0.8 / 2**0.5] * 2 + [0.0])
    hidden = np.array([0.3, -0.3, 0.2])
    shown = np.array([0.0, 0.0, 0.2])
    values = risk.engine.moments(np.array([hidden, shown]))[:, 0]
    assert values[0] == pytest.approx(values[1], rel=1e-14)


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name != "three overlaps"])
def test_polynomial_is_the_risk_and_its_bounds_hold(name):
    risk = risk_of(name)
    polynomial = RiskPolynomial(risk)
    y = points_of(risk, 200, reach=1.0)
    values, gradient = risk.value_and_gradient(y)
    p = polynomial.derivatives(y, 4)
    np.testing.assert_allclose(p[0, 0], values, rtol=1e-11)
    slopes = np.column_stack([p[1, 0], p[0, 1]])[:, -risk.dimension :]
    allowed = polynomial.gradient_error(np.abs(y[:, -1])) + 1e-12
    assert np.all(np.abs(slopes - gradient) <= allowed)
    hessian = risk.hessian(y).value
    np.testing.assert_allclose(p[0, 2], hessian[:, -1, -1], atol=3e-5)
    largest = np.abs(y[:, -1])
    for order in range(1, 5):
        entries = [p[i, order - i] for i in range(order + 1)]
        assert np.all(np.abs(entries) <= polynomial.bound(order, largest) * (1 + 1e-9))
    # The bound of fourth derivatives is not so large that it excludes nothing.
    assert polynomial.bound(4, np.ones(1))[0] <= 60 * max(
        np.abs(p[i, 4 - i]).max() for i in range(5)
    )


def test_what_has_no_polynomial_says_why():
    assert "3 overlaps" in RiskPolynomial.objection(risk_of("three overlaps"))
    quadrature = ReducedRisk(make_engine(trace(), "quadrature", order=8))
    assert "quadrature" in RiskPolynomial.objection(quadrature)
    with pytest.raises(ValueError, match="third derivatives"):
        RiskPolynomial(quadrature)
    both = trace(encoding="gram", matrix=((1, 0), (0, 1)), teacher_overlap=(0.6, 0.8))
    assert "span" in RiskPolynomial.objection(ReducedRisk(make_engine(both)))
