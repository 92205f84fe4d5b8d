"""The metric and the feasible set against explicit vectors in a space of a few dimensions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, kstest

from ssiode.encoding import Encoding
from ssiode.geometry import Geometry
from tests.checks import refuses

D = 7


def rows_with_overlaps(seed: int, rank: int | None = None, scale: float = 1.0):
    """Rows P (3 x d) of a given rank and a teacher direction of norm 1, with their overlaps."""
    generator = np.random.default_rng(seed)
    rank = 3 if rank is None else rank
    rows = scale * generator.standard_normal((3, rank)) @ generator.standard_normal((rank, D))
    teacher = generator.standard_normal(D)
    return rows, teacher / np.linalg.norm(teacher)


def geometry_of(rows, teacher):
    return Geometry(rows @ rows.T, rows @ teacher, np.zeros(len(rows)))


GEOMETRIES = {
    "none": Encoding().geometry(3),
    "opposite": Encoding("opposite", norm=1.5).geometry(2),
    "opposite of four": Encoding("opposite").geometry(4),
    "orthonormal": Encoding("orthonormal", norm=0.3).geometry(3),
    "matrix": Encoding("matrix", matrix=[[1.0, 2.0, 0.0], [0.5, -1.0, 1.0]]).geometry(2),
    "rank-deficient": Encoding("matrix", matrix=[[1.0, 2.0], [2.0, 4.0], [0, 0]]).geometry(3),
    "gram": Encoding("gram", matrix=[[2.0, 0.5], [0.5, 1.0]]).geometry(2),
    "correlated": Encoding("orthonormal", teacher_overlap=(0.6, -0.5)).geometry(2),
    "parallel to the teacher": Encoding("opposite", teacher_overlap=(1.0, -1.0)).geometry(2),
    "three rows": geometry_of(*rows_with_overlaps(1)),
    "three dependent rows": geometry_of(*rows_with_overlaps(2, rank=2)),
    "small and large rows": Encoding("matrix", matrix=[[1e-7, 0.0], [0.0, 1e7]]).geometry(2),
}
RANKS = {
    "none": 1,
    "opposite": 2,
    "opposite of four": 2,
    "orthonormal": 4,
    "matrix": 3,
    "rank-deficient": 2,
    "gram": 3,
    "correlated": 3,
    "parallel to the teacher": 1,
    "three rows": 4,
    "three dependent rows": 3,
    "small and large rows": 3,
}
each_geometry = pytest.mark.parametrize("name", GEOMETRIES)


@each_geometry
def test_basis_reproduces_the_metric(name):
    geometry = GEOMETRIES[name]
    norms = np.sqrt(np.diag(geometry.metric))
    # Rounding of an eigendecomposition, relative to the norms of the two rows.
    tolerance = 1e-14 * 10 * np.outer(norms, norms) + 1e-300
    assert geometry.basis.shape == (geometry.length + 1, geometry.rank)
    assert np.all(np.abs(geometry.basis @ geometry.basis.T - geometry.metric) <= tolerance)
    assert geometry.rank == RANKS[name]


@each_geometry
def test_coordinates_invert_the_basis(name):
    geometry = GEOMETRIES[name]
    u = np.random.default_rng(3).standard_normal((5, geometry.rank))
    # The condition number of the scaled metric is below 100 for all of these.
    np.testing.assert_allclose(geometry.coordinates(u @ geometry.basis.T), u, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(("seed", "rank"), [(1, 3), (2, 2), (3, 1)])
def test_feasible_set_is_that_of_real_vectors(seed, rank, scale):
    rows, teacher = rows_with_overlaps(seed, rank, scale)
    geometry = geometry_of(rows, teacher)
    directions = np.vstack([rows / scale, teacher])
    generator = np.random.default_rng(10 + seed)
    for _ in range(20):
        w = generator.standard_normal(D)
        w *= generator.uniform(0, 1) ** (1 / D) / np.linalg.norm(w)
        v = np.append(rows @ w, teacher @ w)
        inside = directions.T @ np.linalg.lstsq(directions.T, w, rcond=1e-10)[0]
        geometry.check_feasible(v)
        # Two least-squares solutions of a well-conditioned system.
        assert geometry.squared_length(v) == pytest.approx(inside @ inside, abs=1e-11)
        outside = v / np.sqrt(inside @ inside) * 1.001
        refuses(lambda v=outside: geometry.check_feasible(v), "infeasible")


def test_directions_outside_the_span_are_refused():
    opposite = GEOMETRIES["opposite"]
    refuses(lambda: opposite.state((0.1, 0.1), 0.0), "outside the span", "(0, 0, 0)")
    refuses(lambda: opposite.state((0.2, -0.1), 0.3), "(0.15, -0.15, 0.3)")
    refuses(lambda: GEOMETRIES["none"].state((0.1, 0, 0), 0.0), "outside the span")
    refuses(lambda: GEOMETRIES["parallel to the teacher"].state((0.1, -0.1), 0.2), "outside")
    assert opposite.state((0.2, -0.2), 0.3).tolist() == [0.2, -0.2, 0.3]


def test_states_on_the_boundary_are_feasible():
    opposite = Encoding("opposite").geometry(2)
    for angle in np.linspace(0, 2 * np.pi, 50):
        e, m = np.cos(angle), np.sin(angle)
        assert opposite.state((e, -e), m)[0] == e
    refuses(lambda: opposite.state((0.8, -0.8), 0.7), "v^T Gamma^+ v = 1.13", "nearest")
    refuses(lambda: opposite.state(0.0, 1.001), "= 1.002001 and", "(0, 0, 1)")


def test_one_number_holds_for_every_token():
    orthonormal = Encoding("orthonormal").geometry(3)
    assert orthonormal.state(0.5, 0.1).tolist() == [0.5, 0.5, 0.5, 0.1]
    assert orthonormal.state([0.5], 0.1).tolist() == [0.5, 0.5, 0.5, 0.1]
    assert orthonormal.state().tolist() == [0.0] * 4
    assert orthonormal.state(np.array([0.1, 0.2, 0.3]), np.float64(0.4))[2] == 0.3


@pytest.mark.parametrize("norm", [1e-100, 1e-10, 1.0, 1e10])
def test_feasibility_is_relative_to_the_norms_of_the_rows(norm):
    geometry = Encoding("opposite", norm=norm).geometry(2)
    for e in ((0.1, 0.1), (0.1, -0.1001), (0.1, 0.0)):
        refuses(lambda e=e: geometry.state(norm * np.array(e), 0.2), "outside the span")
    refuses(lambda: geometry.state(norm * np.array([1.001, -1.001])), "nearest")
    inside = norm * np.array([0.6, -0.6])
    np.testing.assert_allclose(geometry.state(inside, 0.8)[:2], inside, rtol=1e-14)


@pytest.mark.parametrize("norm", [1e-10, 1.0, 1e10])
def test_what_rounding_put_outside_is_projected(norm):
    geometry = Encoding("opposite", norm=norm).geometry(2)
    given = np.append(norm * np.array([0.6 + 3e-10, -0.6]), 0.8 + 1e-10)
    state = geometry.state(given[:2], given[2])
    # Inside up to rounding, and moved by no more than it was outside.
    assert geometry.squared_length(state) <= 1 + 1e-15
    assert geometry.outside_range(state) < 1e-15
    assert np.all(np.abs(state - given) <= 1e-9 * np.array([norm, norm, 1.0]))


def test_an_asymmetric_gram_matrix_is_refused_at_every_scale():
    for scale in (1e-20, 1.0, 1e20):
        encoding = Encoding("gram", matrix=scale * np.array([[1.0, 0.1], [0.2, 1.0]]))
        refuses(lambda encoding=encoding: encoding.geometry(2), "not symmetric")


@pytest.mark.parametrize(
    ("e", "m", "part"),
    [
        ((0.1, 0.2), 0.0, "e has 2 entries"),
        ((), 0.0, "e has 0 entries"),
        ("0.1", 0.0, "e is '0.1'"),
        ([[0.1, 0.1, 0.1]], 0.0, "entry of e"),
        ((np.nan, 0.0, 0.0), 0.0, "nan"),
        ((1j, 0, 0), 0.0, "entry of e"),
        (True, 0.0, "True"),
        (0.1, np.inf, "m is inf"),
        (0.1, "x", "m is 'x'"),
        (0.1, None, "m is None"),
        (np.inf, 0.0, "inf"),
    ],
)
def test_bad_states_are_refused(e, m, part):
    refuses(lambda: Encoding("orthonormal").geometry(3).state(e, m), part)


@pytest.mark.parametrize(
    ("gram", "overlap"),
    [
        ([[1.0, 2.0], [2.0, 1.0]], [0.0, 0.0]),
        ([[-1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]),
        ([[0.0, 0.0], [0.0, 0.0]], [0.1, 0.0]),
        ([[1.0, 0.0], [0.0, 1.0]], [0.8, 0.7]),
        ([[1.0, -1.0], [-1.0, 1.0]], [0.5, 0.5]),
        ([[1e-8, 0.0], [0.0, 1e-8]], [1.1e-4, 0.0]),
    ],
)
def test_impossible_metrics_are_refused(gram, overlap):
    refuses(lambda: Geometry(np.array(gram), np.array(overlap), np.zeros(2)), "negative eigenvalue")


@each_geometry
def test_random_states_have_covariance_gamma_over_d(name):
    geometry, d, draws = GEOMETRIES[name], 20, 5_000
    generator = np.random.default_rng(7)
    states = np.array([geometry.random_state(d, generator) for _ in range(draws)])
    assert np.all(geometry.squared_length(states) <= 1 + 1e-12)
    # The norms of the rows are divided out, so that entries of all sizes are tested.
    norms = np.sqrt(np.diag(geometry.metric))
    norms[norms == 0] = 1.0
    unit = states / norms * np.sqrt(d)
    exact = geometry.metric / np.outer(norms, norms)
    products = np.einsum("ni,nj->nij", unit, unit)
    error = products.std(axis=0) / np.sqrt(draws)
    # 5 standard errors at up to 15 entries in 12 cases: a random seed would fail in 1e-4.
    assert np.all(np.abs(products.mean(axis=0) - exact) <= 5 * error + 1e-12)
    assert np.all(np.abs(unit.mean(axis=0)) <= 5 * unit.std(axis=0) / np.sqrt(draws) + 1e-12)


def test_random_length_follows_the_beta_law_at_small_d():
    # The squared length of r coordinates of a point of the sphere of R^d is Beta(r/2, (d - r)/2),
    # also for small d. False alarm 1e-4.
    geometry, d = GEOMETRIES["gram"], 5
    generator = np.random.default_rng(8)
    states = np.array([geometry.random_state(d, generator) for _ in range(5000)])
    assert kstest(geometry.squared_length(states), beta(1.5, 1.0).cdf).pvalue > 1e-4


def test_random_states_at_the_smallest_d_are_feasible():
    geometry = GEOMETRIES["orthonormal"]
    generator = np.random.default_rng(9)
    for d in (4, 3):
        for _ in range(100):
            geometry.check_feasible(geometry.random_state(d, generator))


def test_random_states_repeat_with_the_generator():
    states = [
        GEOMETRIES["gram"].random_state(100, np.random.default_rng(seed)).tolist()
        for seed in (1, 1, 2)
    ]
    assert states[0] == states[1] != states[2]


def test_projection_on_request():
    geometry = Encoding("opposite").geometry(2)
    refuses(lambda: geometry.state((1.0, 1.0), 0.5), "infeasible")
    # (1, 1) has no part along (1, -1); (3, -3, 4) is five times too long.
    np.testing.assert_allclose(
        geometry.state((1.0, 1.0), 0.5, project=True), (0, 0, 0.5), atol=1e-15
    )
    projected = geometry.state((3.0, -3.0), 4.0, project=True)
    np.testing.assert_allclose(projected, (0.6, -0.6, 0.8), rtol=1e-12)
    geometry.check_feasible(projected)
    np.testing.assert_array_equal(geometry.projected(projected), projected)
