"""Coefficients of targets over all their tokens."""

import numpy as np
import pytest

from ssiode import Target
from ssiode.population_risk.mehler.teacher import NoSeriesError, numeric_teacher
from ssiode.population_risk.untied.teacher import row_teacher


@pytest.mark.parametrize(
    "expression",
    ["tanh(z1) + sin(z2)", "exp(z1/3)*z2 + z2^2", "2 + cos(z1 + z2)", "tanh(z1) + z2^30/10^20"],
)
def test_parts_are_those_of_the_whole(expression):
    target, order = Target(expression), 12
    teacher = row_teacher(target, order)
    whole = numeric_teacher(target, np.eye(2), 9, order)
    points = np.random.default_rng(0).uniform(-0.7, 0.7, (5, 2))
    direct = row_sums(whole.outputs[0] * whole.mixing[0, 0], order)
    square = row_sums(whole.products[0], order)
    np.testing.assert_allclose(teacher.output.values(points), direct(points), atol=1e-9)
    np.testing.assert_allclose(teacher.product.values(points), square(points), atol=1e-8)
    assert teacher.centre == pytest.approx(float(whole.mean[0]), abs=1e-12)
    assert teacher.square == pytest.approx(whole.square, rel=1e-10)
    rest = np.sqrt(whole.left_out)
    assert np.all(teacher.left_out >= rest * (1 - 1e-6) - 1e-7)
    assert np.all(teacher.left_out <= 4 * rest + 1e-6)


def row_sums(box, order):
    from ssiode.population_risk.untied.homogeneous_sums import HomogeneousSums
    from ssiode.population_risk.untied.teacher import _sparse

    return HomogeneousSums.of(_sparse(box, [0, 1], order), 2, order).values


def test_many_tokens_of_a_sum_are_cheap():
    teacher = row_teacher(Target("sum(tanh(z))", length=12), 16)
    single = row_teacher(Target("tanh(z1)"), 16)
    assert teacher.square == pytest.approx(12 * single.square, rel=1e-12)
    assert len(teacher.output.factors) == 12 * len(single.output.factors)


def test_tokens_that_are_not_used_have_no_coefficients():
    teacher = row_teacher(Target("abs(z2)", length=4), 12)
    has_power = teacher.output.powers[:, 0] > 0
    assert set(teacher.output.tokens[has_power, 0].tolist()) == {1}


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (Target(lambda z: z[..., 0], length=2), "Python function"),
        (Target("tanh(z1*z2*z3*z4)"), "tokens"),
        (Target("abs(z1 + z2*z3*z4)"), "tokens"),
    ],
)
def test_what_has_no_coefficients_is_refused_in_one_line(target, words):
    with pytest.raises(NoSeriesError, match=words) as caught:
        row_teacher(target, 8)
    assert "\n" not in str(caught.value)
