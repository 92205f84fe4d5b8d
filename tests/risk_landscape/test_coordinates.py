"""Independent overlaps and the frame in which the feasible set is a ball."""

import numpy as np
import pytest

from ssiode import Encoding
from ssiode.risk_landscape.coordinates import FeasibleCoordinates

ENCODINGS = {
    "none": (Encoding(), 3),
    "opposite": (Encoding("opposite", norm=0.7), 4),
    "orthonormal": (Encoding("orthonormal", norm=1.5), 3),
    "seen by the teacher": (Encoding("orthonormal", teacher_overlap=(0.5, -0.2)), 2),
    "of rank two": (Encoding("matrix", matrix=((1, 0), (0.5, 2), (-1, 1))), 3),
    "along the teacher": (Encoding("gram", matrix=((0.25,),), teacher_overlap=(0.5,)), 1),
    "partly zero": (Encoding("matrix", matrix=((0, 0), (1, 2))), 2),
}


@pytest.mark.parametrize("name", ENCODINGS)
def test_frame_maps_the_ball_to_the_feasible_set(name):
    encoding, length = ENCODINGS[name]
    geometry = encoding.geometry(length)
    coordinates = FeasibleCoordinates(geometry)
    u = np.random.default_rng(0).standard_normal((50, coordinates.dimension))
    v = coordinates.overlaps(u)
    assert coordinates.dimension == geometry.rank
    np.testing.assert_allclose(geometry.squared_length(v), np.sum(u**2, axis=1), rtol=1e-9)
    np.testing.assert_allclose(v[:, -1], u[:, -1], rtol=1e-14)
    np.testing.assert_allclose(coordinates.coordinates(v), u, rtol=1e-9, atol=1e-12)
    independent = v[:, list(coordinates.independent)]
    np.testing.assert_allclose(independent @ coordinates.expansion.T, v, rtol=1e-9, atol=1e-12)
    assert geometry.outside_range(v).max() < 1e-12


def test_teacher_along_the_encoding_leaves_one_overlap():
    coordinates = FeasibleCoordinates(ENCODINGS["along the teacher"][0].geometry(1))
    assert coordinates.names == ("m",)
    np.testing.assert_allclose(coordinates.expansion, [[0.5], [1.0]])


def test_gradient_is_that_of_the_composed_function():
    coordinates = FeasibleCoordinates(ENCODINGS["of rank two"][0].geometry(3))
    slope = np.array([0.3, -1.0, 2.0, 0.7])
    step = 1e-3 * np.eye(coordinates.dimension)
    np.testing.assert_allclose(
        coordinates.gradient(slope), coordinates.overlaps(step) @ slope / 1e-3, rtol=1e-12
    )
