"""The overlaps of one weight vector for each token."""

from __future__ import annotations

import numpy as np
import pytest

from ssiode import Encoding, InputError, Problem, Target, UntiedNetwork
from ssiode.geometry import Geometry
from ssiode.row_geometry import RowGeometry
from tests.checks import refuses

ENCODINGS = {
    "none": Encoding(),
    "opposite": Encoding("opposite"),
    "orthonormal": Encoding("orthonormal", norm=2.0),
    "correlated": Encoding(
        "gram", matrix=((1.0, 0.6), (0.6, 1.0)), teacher_overlap=(0.5, -0.2), injected=(0.7, -0.4)
    ),
}


def geometry(name, constraint="row"):
    return Problem(
        Target("z1*z2"), UntiedNetwork("relu", constraint=constraint), ENCODINGS[name]
    ).geometry


@pytest.mark.parametrize("name", ENCODINGS)
def test_coordinates_have_the_overlaps_of_the_state(name):
    rows = geometry(name)
    e = 0.0 if name == "none" else (0.3, -0.1)
    v = rows.state(e, (0.2, 0.4))
    u = rows.row_coordinates(v)
    assert u.shape == (2, rows.rank)
    overlaps = u @ rows.basis.T
    np.testing.assert_allclose(np.diagonal(overlaps), v[:2], atol=1e-12)
    np.testing.assert_allclose(overlaps[:, 2], v[2:], atol=1e-12)
    # The shortest ones: each lies in the span of its own row of the encoding and the teacher.
    for token in range(2):
        seen = rows.basis[[token, 2]]
        np.testing.assert_allclose(np.linalg.pinv(seen) @ (seen @ u[token]), u[token], atol=1e-12)


@pytest.mark.parametrize("constraint", ["row", "joint"])
@pytest.mark.parametrize("name", ENCODINGS)
def test_random_states_are_feasible_and_have_the_variance_of_uniform_weights(name, constraint):
    rows, d = geometry(name, constraint), 50
    generator = np.random.default_rng(0)
    states = np.array([rows.random_state(d, generator) for _ in range(4000)])
    expected = np.append(np.diag(rows.shared.gram), np.ones(2)) / d
    # A variance of 4000 values is uncertain by 2 percent.
    np.testing.assert_allclose(states.var(axis=0), expected, rtol=0.12, atol=1e-15)


def test_norms():
    rows = np.random.default_rng(1).standard_normal((2, 7))
    apart = np.sum(geometry("none").normalised(rows) ** 2, axis=1)
    together = np.sum(geometry("none", "joint").normalised(rows) ** 2, axis=1)
    np.testing.assert_allclose(apart, 1.0)
    assert together.mean() == pytest.approx(1.0)
    assert np.ptp(together) > 0.01


def test_one_number_holds_for_all_tokens():
    assert geometry("orthonormal").state(0.5, 0.2).tolist() == [0.5, 0.5, 0.2, 0.2]
    assert geometry("orthonormal").state(None, (0.2,)).tolist() == [0.0, 0.0, 0.2, 0.2]


def test_each_row_may_use_the_whole_sphere():
    # Tied weights could not have both overlaps at once.
    assert geometry("opposite").state((1.0, 1.0), 0.0).tolist() == [1.0, 1.0, 0.0, 0.0]
    refuses(lambda: geometry("opposite").state((0.9, 0.0), 0.9), "infeasible")
    refuses(lambda: geometry("none").state(0.1, 0.0), "infeasible")
    projected = geometry("opposite").state((0.9, 0.0), 0.9, project=True)
    np.testing.assert_allclose(projected, np.sqrt([0.5, 0.0, 0.5, 0.81]))


@pytest.mark.parametrize(
    ("e", "m", "part"),
    [
        ((0.1, 0.2, 0.3), 0.0, "e has 3 entries"),
        (0.0, (0.1, 0.2, 0.3), "m has 3 entries"),
        (0.0, "x", "m is 'x'"),
        (0.0, np.nan, "m is nan"),
        (0.0, 1.1, "infeasible"),
    ],
)
def test_bad_overlaps_are_refused(e, m, part):
    refuses(lambda: geometry("orthonormal").state(e, m), part)


def test_a_tied_student_has_one_overlap():
    shared = Encoding("opposite").geometry(2)
    assert shared.state((0.1, -0.1), (0.2,)).tolist() == [0.1, -0.1, 0.2]
    with pytest.raises(InputError, match="one weight vector"):
        shared.state(0.0, (0.1, 0.2))


def test_one_token_has_the_geometry_of_a_tied_network():
    problem = Problem(Target("z1"), UntiedNetwork("relu"))
    assert isinstance(problem.geometry, Geometry)
    assert isinstance(geometry("none"), RowGeometry)
    assert problem.student.n_weight_vectors(1) == 1


def test_the_constraint_is_named():
    refuses(lambda: UntiedNetwork("relu", constraint="rows"), "unknown constraint", "row")
