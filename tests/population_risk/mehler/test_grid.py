"""Grids: averages of polynomials and other functions about shifted centres."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr

from ssiode.population_risk.mehler.grid import (
    Axis,
    contract,
    needed_reach,
    product_points,
    total_order,
)

CENTRES = (0.0, 0.7, -1.3)
TOP = 8


def shifted_coefficients(power: int, centre: float) -> list[float]:
    """E (x + c)^p He_n(x) / sqrt(n!), by derivatives: p! / (p-n)! E (x + c)^(p-n) / sqrt(n!)."""

    def moment(p: int) -> float:
        even = range(0, p + 1, 2)
        return sum(math.comb(p, k) * math.prod(range(1, k, 2)) * centre ** (p - k) for k in even)

    return [
        math.perm(power, n) * moment(power - n) / math.sqrt(math.factorial(n)) if n <= power else 0
        for n in range(TOP + 1)
    ]


@pytest.mark.parametrize(("level", "breaks"), [(6, ()), (11, (0.0,)), (11, (-0.4, 1.1))])
@pytest.mark.parametrize("centre", CENTRES)
def test_averages_of_polynomials_are_exact(level, breaks, centre):
    axis = Axis(level, 14.0, breaks)
    table = axis.table(centre, TOP)
    assert table.shape == (TOP + 1, len(axis.nodes))
    for power in range(6):
        exact = shifted_coefficients(power, centre)
        # Rounding of sums of sizes up to (2.3^2)^5.
        assert table @ axis.nodes**power == pytest.approx(exact, rel=1e-12, abs=1e-10)


@pytest.mark.parametrize("centre", CENTRES)
def test_averages_of_exponentials_are_exact(centre):
    axis = Axis(6, 16.0)
    exact = [
        0.8**n * math.exp(0.32 + 0.8 * centre) / math.sqrt(math.factorial(n))
        for n in range(TOP + 1)
    ]
    assert axis.table(centre, TOP) @ np.exp(0.8 * axis.nodes) == pytest.approx(exact, abs=1e-13)


@pytest.mark.parametrize("centre", CENTRES)
def test_kinks_on_the_breaks_cost_no_accuracy(centre):
    axis = Axis(11, 14.0, (0.3,))
    means = axis.table(centre, 1) @ np.abs(axis.nodes - 0.3)
    c = centre - 0.3
    density = math.exp(-(c**2) / 2) / math.sqrt(2 * math.pi)
    exact = [2 * density + c * math.erf(c / math.sqrt(2)), 2 * ndtr(c) - 1]
    assert means == pytest.approx(exact, abs=1e-13)
    smooth = Axis(11, 14.0)
    assert abs(smooth.table(centre, 0) @ np.abs(smooth.nodes - 0.3) - means[0]) > 1e-8


def test_nodes_of_smooth_axes_come_in_pairs():
    nodes = Axis(5, 9.0).nodes
    assert np.array_equal(nodes, -nodes[::-1])
    assert np.all(np.diff(nodes) == pytest.approx(2**-2.5))
    assert nodes[-1] <= 9.0 < nodes[-1] + 2**-2.5


def test_contract_sums_over_one_axis():
    generator = np.random.default_rng(0)
    values = generator.standard_normal((3, 4, 5, 6))
    for axis in range(4):
        table = generator.standard_normal((2, values.shape[axis]))
        exact = np.moveaxis(np.tensordot(table, values, (1, axis)), 0, axis)
        assert contract(table, values, axis) == pytest.approx(exact, abs=1e-13)


def test_products():
    points = product_points([np.array([0.0, 1.0]), np.array([2.0, 3.0, 4.0])])
    assert points.tolist() == [[a, b] for a in (0.0, 1.0) for b in (2.0, 3.0, 4.0)]
    orders = total_order(3, 3)
    assert orders.shape == (4, 4, 4)
    assert all(orders[index] == sum(index) for index in np.ndindex(4, 4, 4))


@pytest.mark.parametrize(("rate", "shift"), [(0.0, 0.0), (1.0, 0.0), (2.0, 1.5)])
def test_what_lies_beyond_the_reach_is_negligible(rate, shift):
    top = 12
    reach = needed_reach(lambda x: np.exp(rate * x.T), 1, top, shift)
    far = Axis(6, 36.0)
    outside = np.abs(far.nodes) > reach
    for centre in (-shift, shift):
        terms = np.abs(far.table(centre, top) * np.exp(rate * far.nodes))
        whole = terms[0].sum()
        assert terms[:, outside].sum(axis=1).max() <= 1e-13 * whole


def test_functions_that_decay_reach_as_far_as_constants():
    decaying = needed_reach(lambda x: np.exp(-(x.T**2)), 1, 12)
    assert decaying == needed_reach(lambda x: np.ones_like(x.T), 1, 12)


@pytest.mark.parametrize("power", [2.0, 4.0])
def test_functions_that_outgrow_the_density_have_no_reach(power):
    assert needed_reach(lambda x: np.exp(np.abs(x.T) ** power), 1, 2) is None
    assert needed_reach(lambda x: np.exp(x.T**2 / 8), 1, 2) is not None
