"""The homogeneous polynomials T_n against contractions of tensors."""

import itertools
import math

import numpy as np
import pytest

from ssiode import Target
from ssiode.population_risk.mehler.teacher import root_of_factorials
from ssiode.population_risk.untied.homogeneous_sums import HomogeneousSums


def random_table(length, top, generator):
    indices = [
        tuple((token, power) for token, power in enumerate(alpha) if power)
        for alpha in itertools.product(range(top + 1), repeat=length)
        if sum(alpha) <= top
    ]
    return {index: generator.standard_normal() for index in indices}


@pytest.mark.parametrize(("length", "top"), [(1, 5), (2, 4), (3, 3)])
def test_they_are_sums_over_multi_indices(length, top):
    generator = np.random.default_rng(length)
    table = random_table(length, top, generator)
    sums = HomogeneousSums.of(table, length, top)
    points = generator.uniform(-1, 1, (4, length))
    expected = np.zeros((4, top + 1))
    for index, value in table.items():
        order = sum(power for _, power in index)
        share = math.sqrt(math.factorial(order)) / root_of_factorials(index)
        expected[:, order] += value * share * np.prod([points[:, k] ** p for k, p in index], axis=0)
    values, slopes = sums(points)
    np.testing.assert_allclose(values, expected, atol=1e-13)
    np.testing.assert_array_equal(sums.values(points), values)
    for token in range(length):
        step = 1e-6 * np.eye(length)[token]
        difference = (sums.values(points + step) - sums.values(points - step)) / 2e-6
        np.testing.assert_allclose(slopes[:, token], difference, atol=1e-8)


def test_no_coefficients_give_zero():
    sums = HomogeneousSums.of({}, length=3, top=2)
    values, slopes = sums(np.ones((2, 3)))
    assert not values.any()
    assert slopes.shape == (2, 3, 3)
    assert not slopes.any()


def test_a_target_of_no_tokens_is_no_trouble():
    from ssiode.population_risk.untied.teacher import row_teacher

    teacher = row_teacher(Target("3", length=2), 8)
    assert (teacher.centre, teacher.square, teacher.is_finite) == (3.0, 0.0, True)
