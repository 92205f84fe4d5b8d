"""Coefficients of the target and of products of its outputs, against rules of this file."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss, hermeval

from ssiode.population_risk.mehler.teacher import (
    NoSeriesError,
    averaged_tokens,
    check_numeric,
    completed,
    numeric_teacher,
    pairs,
    polynomial_teacher,
)
from ssiode.target import Target

UNIT = np.full((1, 2), 1 / math.sqrt(2))
ROTATED = np.array([[1.0, -1.0], [1.0, 1.0]]) / math.sqrt(2)
SKEW = np.array([[0.6, 0.8]])


def by_rule(function, axes: np.ndarray, top: int, order: int = 40) -> np.ndarray:
    """E[G(z) prod_i He_n_i(u_i.z) / sqrt(n_i!)] by Gauss-Hermite quadrature over the tokens."""
    nodes, weights = hermegauss(order)
    weights = weights / weights.sum()
    length = axes.shape[1]
    z = np.stack(np.meshgrid(*[nodes] * length, indexing="ij"), -1).reshape(-1, length)
    mass = np.prod(np.meshgrid(*[weights] * length, indexing="ij"), axis=0).ravel()
    polynomials = [
        [hermeval(z @ u, np.eye(top + 1)[n]) / math.sqrt(math.factorial(n)) for n in range(top + 1)]
        for u in axes
    ]
    box = np.zeros([top + 1] * len(axes))
    for beta in np.ndindex(*box.shape):
        if sum(beta) <= top:
            product = np.prod([p[n] for p, n in zip(polynomials, beta, strict=True)], axis=0)
            box[beta] = (mass * function(z)) @ product
    return box


def check(teacher, target: Target, axes: np.ndarray, top: int, tolerance: float) -> None:
    """Compare with the rule, through g = mean + mixing @ h."""

    def outputs(z):
        return (target(z) - teacher.mean) @ teacher.mixing

    within = (slice(top + 1),) * len(axes)
    k = teacher.mixing.shape[1]
    kept = np.add.outer(np.arange(top + 1), np.arange(top + 1)) if len(axes) == 2 else np.zeros(1)
    for a in range(k):
        exact = by_rule(lambda z, a=a: outputs(z)[..., a], axes, top)
        found = np.where(kept <= top, teacher.outputs[a][within], 0)
        assert found == pytest.approx(exact, abs=tolerance)
    for product, (a, b) in zip(teacher.products, pairs(k), strict=True):
        exact = by_rule(lambda z, a=a, b=b: outputs(z)[..., a] * outputs(z)[..., b], axes, top)
        assert np.where(kept <= top, product[within], 0) == pytest.approx(exact, abs=tolerance)
    squares = by_rule(lambda z: (outputs(z) ** 2).sum(-1), axes, 0).ravel()
    assert teacher.square == pytest.approx(squares[0], rel=1e-10)


@pytest.mark.parametrize("axes", [np.eye(2), UNIT, SKEW, ROTATED], ids=["tokens", "u", "v", "turn"])
@pytest.mark.parametrize(
    "text", ["He2(z1) + z1*z2/3 - z2 + 2", "[z1^3, z1*z2^2, He2(z2) - 1, 0]", "[z1, 2*z1]"]
)
def test_polynomials_have_exact_coefficients(text, axes):
    target = Target(text, length=2)
    teacher = polynomial_teacher(target, axes)
    assert teacher.is_finite
    check(teacher, target, axes, top=teacher.top, tolerance=1e-11)


def test_coefficients_along_the_tokens_are_correctly_rounded():
    teacher = polynomial_teacher(Target("He3(z1)*He2(z2)/7 + 1/3"), np.eye(2))
    assert teacher.top == 10
    assert teacher.mean.tolist() == [1 / 3]
    assert np.count_nonzero(teacher.outputs) == 1
    # E[g He_3 He_2] / sqrt(3! 2!) = sqrt(12) / 7.
    assert teacher.outputs[0, 3, 2] == pytest.approx(math.sqrt(12) / 7, rel=1e-15)
    assert teacher.products[0, 0, 0] == teacher.square == pytest.approx(12 / 49, rel=1e-15)


def test_one_direction_of_many_tokens():
    length = 12
    u = np.full((1, length), 1 / math.sqrt(length))
    teacher = polynomial_teacher(Target("sum(He3(z)) + z1*z2", length=length), u)
    # C_n along u is n! / alpha! u^alpha c_alpha: L L^(-3/2) 3!, and 2 / L.
    assert teacher.outputs[0, 3] == pytest.approx(6 / math.sqrt(length) / math.sqrt(6), rel=1e-13)
    assert teacher.outputs[0, 2] == pytest.approx(2 / length / math.sqrt(2), rel=1e-13)
    assert np.count_nonzero(teacher.outputs) == 2


@pytest.mark.parametrize("axes", [np.eye(2), UNIT, SKEW, ROTATED], ids=["tokens", "u", "v", "turn"])
@pytest.mark.parametrize("text", ["He2(z1) + z1*z2/3 - z2", "[z1^3, z1*z2^2, He2(z2) - 1, z2]"])
def test_numbers_agree_with_exact_coefficients(text, axes):
    target = Target(text, length=2)
    exact, found = polynomial_teacher(target, axes), numeric_teacher(target, axes, 6, 8)
    top = min(exact.top, 8)
    within = (slice(None), *[slice(top + 1)] * len(axes))
    back = np.einsum("ka,a...->k...", found.mixing, found.outputs[within])
    assert found.mean == pytest.approx(exact.mean, abs=1e-12)
    assert back == pytest.approx(exact.outputs[within], abs=1e-11)
    assert found.square == pytest.approx(exact.square, rel=1e-12)
    check(found, target, axes, top=5, tolerance=1e-10)
    assert not found.is_finite


@pytest.mark.parametrize("rate", [0.5, 1.5])
@pytest.mark.parametrize("axes", [np.eye(2), SKEW, ROTATED], ids=["tokens", "v", "turn"])
def test_exponentials(axes, rate):
    # E[e^(a.z) prod He_n_i(u_i.z)] = e^(a.a / 2) prod (u_i.a)^n_i.
    a = np.array([rate, -0.3])
    teacher = numeric_teacher(Target(f"exp({rate}*z1 - 0.3*z2)"), axes, 6, 12)
    mean = math.exp(a @ a / 2)
    assert teacher.mean[0] == pytest.approx(mean, rel=1e-12)
    sign = teacher.mixing[0, 0]
    assert abs(sign) == pytest.approx(1.0)
    for beta in np.ndindex(*teacher.outputs.shape[1:]):
        exact = 0.0
        if 0 < sum(beta) <= 12:
            norm = math.sqrt(math.prod(map(math.factorial, beta)))
            exact = mean * np.prod((axes @ a) ** np.array(beta)) / norm
        assert sign * teacher.outputs[0][beta] == pytest.approx(exact, abs=1e-12 * mean)
    square = math.exp(2 * (a @ a)) - mean**2
    assert teacher.square == pytest.approx(square, rel=1e-11)


def test_outputs_that_others_determine_are_not_carried():
    target = Target.named("positional-semantic", omega=0.3, a=1.0)
    teacher = numeric_teacher(target, np.eye(2), 6, 10)
    # Rows of attention sum to one.
    assert teacher.mixing.shape == (4, 2)
    assert teacher.mixing.T @ teacher.mixing == pytest.approx(np.eye(2), abs=1e-13)
    z = np.random.default_rng(0).standard_normal((50, 2))
    centred = target(z) - teacher.mean
    assert centred @ teacher.mixing @ teacher.mixing.T == pytest.approx(centred, abs=1e-12)
    assert len(teacher.products) == 3


@pytest.mark.parametrize("text", ["2", "[1, 2, 3, 4]"])
def test_constants(text):
    target = Target(text, length=2)
    teacher = polynomial_teacher(target, np.eye(2))
    assert teacher.square == 0.0
    assert not teacher.outputs.any()
    assert teacher.weights_of_orders[0] == 1.0


def test_weights_of_orders_are_shares():
    teacher = polynomial_teacher(Target("z1 + z2*z1"), np.eye(2))
    weights = teacher.weights_of_orders
    assert weights[0] == 1.0
    assert len(weights) == 5
    assert np.all((weights >= 0) & (weights <= 1))
    assert weights[1:].all()


def test_along_one_direction_only_the_tokens_of_the_target_count():
    # E[e^(a.z) He_n(u.z)] = e^(a.a / 2) (u.a)^n, and g^2 has twice the a.
    length, a = 9, np.array([0.0, 0.9, 0, 0, -0.4, 0, 0, 0, 0])
    u = np.full((1, length), 1 / 3)
    target = Target("exp(0.9*z2 - 0.4*z5)", length=length)
    assert averaged_tokens(target, u) == [1, 4]
    check_numeric(target, u)
    teacher = numeric_teacher(target, u, 6, 12)
    n, mean = np.arange(1, 13), math.exp(a @ a / 2)
    norms = np.sqrt([math.factorial(k) for k in n])
    exact = mean * (u[0] @ a) ** n / norms
    found = teacher.mixing[0, 0] * teacher.outputs[0]
    assert found[0] == pytest.approx(0.0, abs=1e-13)
    assert found[1:] == pytest.approx(exact, rel=1e-10, abs=1e-13)
    squares = mean**4 * (2 * u[0] @ a) ** n / norms - 2 * mean * exact
    assert teacher.products[0, 1:] == pytest.approx(squares, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize(
    ("target", "part"),
    [
        (Target("abs(z1)"), "smooth"),
        (Target(lambda z: z[..., 0], length=2), "smooth"),
        (Target("exp(z1)", length=4), "4 tokens"),
        (Target("tanh(sum(z))", length=5), "5 tokens"),
    ],
)
def test_targets_without_numbers_are_refused(target, part):
    assert polynomial_teacher(target, np.eye(target.length)) is None
    with pytest.raises(NoSeriesError, match=part):
        check_numeric(target, np.eye(target.length))


def test_targets_that_grow_too_fast_are_refused():
    with pytest.raises(NoSeriesError, match="too fast"):
        numeric_teacher(Target("exp(z1^2/3)"), np.eye(1), 6, 10)


def test_completed_rows_are_orthonormal():
    rows = completed(np.full((1, 5), 1 / math.sqrt(5)))
    assert rows @ rows.T == pytest.approx(np.eye(5), abs=1e-14)
    assert np.array_equal(rows[0], np.full(5, 1 / math.sqrt(5)))
