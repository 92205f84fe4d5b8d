"""The right-hand side of the ODE: identities that hold for every gradient."""

import numpy as np
import pytest

from ssiode import Encoding
from ssiode.dynamics.vector_field import vector_field

CASES = [
    Encoding("none"),
    Encoding("opposite", norm=0.7),
    Encoding("orthonormal"),
    Encoding("gram", matrix=((1.0, 0.9), (0.9, 1.0)), teacher_overlap=(0.5, 0.4)),
    Encoding("gram", matrix=((1.0, 1.0), (1.0, 1.0)), teacher_overlap=(1.0, 1.0)),
]


@pytest.fixture(params=CASES, ids=lambda encoding: f"{encoding.kind}-{encoding.teacher_overlap}")
def geometry(request):
    return request.param.geometry(2)


def draw(geometry, seed, length):
    """A state at the given |u| and a gradient."""
    generator = np.random.default_rng(seed)
    u = generator.standard_normal(geometry.rank)
    return geometry.basis @ (length * u / np.linalg.norm(u)), generator.standard_normal(3)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_spherical_gradient_step_in_coordinates(geometry, seed):
    v, gradient = draw(geometry, seed, 0.8)
    # u' = -(1 - u u^T) B^T grad - (gamma / 2 b) V u for v = B u, entry by entry.
    u = geometry.coordinates(v)
    slope = geometry.basis.T @ gradient
    expected = np.zeros(3)
    for i in range(3):
        for k in range(geometry.rank):
            tangent = slope[k] - u[k] * sum(u[j] * slope[j] for j in range(geometry.rank))
            expected[i] -= geometry.basis[i, k] * (tangent + 0.3 / 8 * 2.5 * u[k])
    drift = vector_field(v, geometry.metric, gradient, 2.5, 0.3, batch=4)
    np.testing.assert_allclose(drift, expected, atol=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_it_stays_in_the_range_of_the_metric(geometry, seed):
    v, gradient = draw(geometry, seed, 0.8)
    drift = vector_field(v, geometry.metric, gradient, 2.5, 0.3)
    assert geometry.outside_range(drift) < 1e-13


@pytest.mark.parametrize("seed", range(5))
def test_gradient_flow_is_tangent_to_the_boundary_and_descends(geometry, seed):
    v, gradient = draw(geometry, seed, 1.0)
    drift = vector_field(v, geometry.metric, gradient, 2.5, 0.0)
    assert abs(geometry.coordinates(v) @ geometry.coordinates(drift)) < 1e-13
    assert gradient @ drift <= 1e-13


def test_noise_shrinks_all_overlaps_alike_and_a_batch_divides_it(geometry):
    v, _ = draw(geometry, 0, 0.8)
    drift = vector_field(v, geometry.metric, np.zeros(3), 2.5, 0.3, batch=5)
    np.testing.assert_allclose(drift, -0.3 / 10 * 2.5 * v, atol=1e-15)
