"""Coefficients of targets with kinks: exact, with exact norms, along any axes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ssiode.population_risk.mehler.closed_teacher import closed_teacher
from ssiode.population_risk.mehler.teacher import NoSeriesError
from ssiode.target import Target
from tests.checks import refuses


def test_absolute_value_in_closed_form():
    # E |z| He_2k = sqrt(2/pi) (-1)^(k + 1) (2k)! / (2^k k! (2k - 1)), and |z|^2 = 1 + He_2.
    teacher = closed_teacher(Target("abs(z1)"), np.eye(1), 20)
    mean = math.sqrt(2 / math.pi)
    double = [math.factorial(2 * k) / (2**k * math.factorial(k)) for k in range(11)]
    kinks = [
        mean * (-1) ** (k + 1) * double[k] / (2 * k - 1) / math.sqrt(math.factorial(2 * k))
        for k in range(11)
    ]
    expected = np.zeros(21)
    expected[2::2] = kinks[1:]
    np.testing.assert_allclose(teacher.outputs[0], expected, atol=1e-15)
    assert teacher.mean[0] == pytest.approx(mean, rel=1e-15)
    assert teacher.square == pytest.approx(1 - 2 / math.pi, rel=1e-14)
    # h^2 = z^2 - 2 c |z| + c^2.
    square = -2 * mean * expected
    square[0] = 1 - mean**2
    square[2] += math.sqrt(2)
    np.testing.assert_allclose(teacher.products[0], square, atol=1e-14)
    rest = 1 - 2 / math.pi - np.sum(expected**2)
    np.testing.assert_allclose(teacher.left_out[0], rest, rtol=1e-10)


def average_on_a_fine_grid(function):
    """E function(z1, z2) by midpoints, to about 1e-5 with kinks and jumps."""
    step = 0.01
    x = (np.arange(1800) + 0.5) * step - 9
    density = step * np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    return density @ function(x[:, None], x[None, :]) @ density


@pytest.mark.parametrize("angle", [0.0, 0.3, math.pi / 4])
def test_coefficients_along_other_axes(angle):
    u = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    target = Target("[abs(z1)*z2, sign(z1) + z2]")
    teacher = closed_teacher(target, u, 12)

    def functions(x, y):
        h = np.array([np.abs(x) * y, np.sign(x) + y]) - teacher.mean[:, None, None]
        return h[0], h[1], h[0] ** 2, h[0] * h[1], h[1] ** 2

    boxes = [*teacher.outputs, *teacher.products]
    for i, (box, left_out) in enumerate(zip(boxes, teacher.left_out, strict=True)):

        def met(x, y, i=i):
            a, b = np.tensordot(u, [x + 0 * y, y + 0 * x], axes=1)
            return functions(x, y)[i] * (a**2 - 1) / math.sqrt(2) * b

        assert box[2, 1] == pytest.approx(average_on_a_fine_grid(met), abs=2e-4)
        # Rotations keep the norm of each order, and what is left out.
        square = average_on_a_fine_grid(lambda x, y, i=i: functions(x, y)[i] ** 2)
        assert square - np.sum(box**2) == pytest.approx(left_out, abs=2e-3)


def test_one_direction_leaves_out_no_more_than_the_tokens():
    u = np.full((1, 2), math.sqrt(0.5))
    teacher = closed_teacher(Target("abs(z1 + z2)"), u, 20)
    alone = closed_teacher(Target("abs(z1)", length=1), np.eye(1), 20)
    # |z1 + z2| = sqrt(2) |u.z|.
    np.testing.assert_allclose(teacher.outputs[0], math.sqrt(2) * alone.outputs[0], atol=1e-13)
    np.testing.assert_allclose(teacher.left_out[0], 2 * alone.left_out[0], rtol=1e-8)


def test_what_has_no_closed_form_is_refused():
    for target, part in (
        (Target("abs(z1)*tanh(z2)"), "no closed form"),
        (Target("sum(abs(z))", length=4), "4 tokens"),
        (Target(lambda z: np.abs(z), length=1), "neither a polynomial nor known to be smooth"),
    ):
        refuses(lambda t=target: closed_teacher(t, np.eye(t.length), 20), part)
    with pytest.raises(NoSeriesError):
        closed_teacher(Target("abs(z1)*tanh(z2)"), np.eye(2), 20)
