"""Averages over still axes: mirrored blocks, and the ball on four axes."""

from __future__ import annotations

import numpy as np
import pytest

from ssiode.encoding import Encoding
from ssiode.population_risk.mehler.grid import Axis
from ssiode.population_risk.mehler.still_axes import StillAverages
from ssiode.population_risk.mehler.student import StudentFunctions
from ssiode.population_risk.mehler.teacher import numeric_teacher, polynomial_teacher
from ssiode.problem import Problem
from ssiode.student import Attention
from ssiode.target import Target


def averages(problem, teacher, n_moved, level, centre, is_even, radius=None):
    length = problem.length
    grid = [Axis(level, 9.0)] * length
    functions = StudentFunctions(problem)
    axes = np.eye(length)
    return StillAverages(functions, teacher, axes, grid, centre, n_moved, is_even, radius)()


@pytest.mark.parametrize(("length", "n_moved"), [(1, 0), (1, 1), (2, 0), (2, 2), (3, 0), (3, 1)])
@pytest.mark.parametrize("is_finite", [True, False])
def test_half_of_an_even_student_gives_all_of_it(length, n_moved, is_finite):
    problem = Problem(Target("z1^3 + He2(z1)", length=length), Attention("trace"))
    axes = np.eye(length)
    teacher = (
        polynomial_teacher(problem.target, axes)
        if is_finite
        else numeric_teacher(Target("tanh(z1) + z1^2", length=length), axes, 3, 6)
    )
    level = 2 if length == 3 else 4
    half, whole = (
        averages(problem, teacher, n_moved, level, np.zeros(length), is_even)
        for is_even in (True, False)
    )
    for one, other in zip(half, whole, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-13 * np.abs(other).max())


def test_a_centre_off_the_origin_needs_the_whole():
    problem = Problem(Target("He2(z1) + z2"), Attention("trace"), Encoding(injected=(0.3, 0.5)))
    teacher = polynomial_teacher(problem.target, np.eye(2))
    centre = np.array([0.3, 0.5])
    found = [averages(problem, teacher, 1, 4, centre, is_even) for is_even in (True, False)]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-13 * np.abs(other).max())


def test_nothing_is_outside_the_ball():
    problem = Problem(Target("He2(z1) + z2*z3"), Attention("trace"))
    teacher = polynomial_teacher(problem.target, np.eye(3))
    cube = averages(problem, teacher, 0, 2, np.zeros(3), True)
    ball = averages(problem, teacher, 0, 2, np.zeros(3), True, radius=9.0)
    for one, other in zip(ball, cube, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-13 * np.abs(other).max())
