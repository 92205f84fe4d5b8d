"""Gauss-Hermite nodes: exactness, orthonormality and symmetry."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss

from ssiode.hermite.numeric.nodes import gauss_hermite, gauss_hermite_grid


def normalised_hermite(nodes, order):
    """Rows He_n / sqrt(n!) for n < order, by x h_n = sqrt(n + 1) h_{n+1} + sqrt(n) h_{n-1}."""
    rows = np.zeros((order, len(nodes)))
    rows[0] = 1.0
    for n in range(order - 1):
        previous = rows[n - 1] if n else 0.0
        rows[n + 1] = (nodes * rows[n] - math.sqrt(n) * previous) / math.sqrt(n + 1)
    return rows


@pytest.mark.parametrize("order", range(1, 13))
def test_exact_to_degree_two_n_minus_one(order):
    nodes, weights = gauss_hermite(order)
    for degree in range(2 * order):
        exact = 0 if degree % 2 else math.prod(range(degree - 1, 0, -2))
        # Rounding relative to the sum of the absolute terms.
        size = weights @ np.abs(nodes) ** degree
        assert weights @ nodes**degree == pytest.approx(exact, abs=1e-13 * size)


@pytest.mark.parametrize("order", range(1, 8))
def test_not_exact_at_degree_two_n(order):
    # The error of a Gauss rule on x^(2n) is the squared norm of the orthogonal polynomial, n!.
    nodes, weights = gauss_hermite(order)
    moment = math.prod(range(2 * order - 1, 0, -2))
    assert moment - weights @ nodes ** (2 * order) == pytest.approx(
        math.factorial(order), rel=1e-10
    )


@pytest.mark.parametrize("order", [2, 5, 20, 36, 100, 300])
def test_gram_matrix_of_hermite_polynomials_is_the_identity(order):
    nodes, weights = gauss_hermite(order)
    rows = normalised_hermite(nodes, order)
    # The nodes are accurate to some ulps and the top polynomials oscillate fast in them.
    np.testing.assert_allclose((rows * weights) @ rows.T, np.eye(order), atol=1e-14 * order)


@pytest.mark.parametrize("order", [1, 2, 3, 10, 31])
def test_agrees_with_numpy(order):
    nodes, weights = gauss_hermite(order)
    expected_nodes, expected_weights = hermegauss(order)
    np.testing.assert_allclose(nodes, expected_nodes, atol=1e-13)
    np.testing.assert_allclose(weights, expected_weights / np.sqrt(2 * np.pi), rtol=1e-11)


@pytest.mark.parametrize("order", [1, 2, 9, 40, 501, 1000])
def test_symmetric_positive_and_normalised(order):
    nodes, weights = gauss_hermite(order)
    assert np.array_equal(nodes, -nodes[::-1])
    assert np.array_equal(weights, weights[::-1])
    assert np.all(np.isfinite(nodes))
    assert np.all(weights >= 0)
    assert weights.sum() == pytest.approx(1.0, rel=1e-14)
    assert weights @ nodes**2 == pytest.approx(1.0 if order > 1 else 0.0, rel=1e-12)
    assert np.all(np.diff(nodes) > 0)


def test_results_are_shared_and_cannot_be_changed():
    nodes, weights = gauss_hermite(5)
    assert gauss_hermite(5)[0] is nodes
    for array in (nodes, weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_grid_averages_products(dimension):
    points, weights = gauss_hermite_grid(4, dimension)
    assert points.shape == (4**dimension, dimension)
    assert weights.shape == (4**dimension,)
    assert len(np.unique(points, axis=0)) == 4**dimension
    assert weights.sum() == pytest.approx(1.0, rel=1e-14)
    powers = np.array([2, 4, 6, 0])[:dimension]
    exact = math.prod([1, 3, 15, 1][:dimension])
    assert weights @ np.prod(points**powers, axis=1) == pytest.approx(exact, rel=1e-13)
    assert abs(weights @ points[:, 0] ** 3) < 1e-15
