"""Each kind of encoding and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from ssiode.encoding import Encoding
from tests.checks import refuses


def gram_of(length, *arguments, **options):
    return Encoding(*arguments, **options).geometry(length).gram


@pytest.mark.parametrize("length", [1, 2, 5])
def test_none_and_orthonormal(length):
    assert np.array_equal(gram_of(length), np.zeros((length, length)))
    assert np.allclose(gram_of(length, "orthonormal", 2.0), 4 * np.eye(length), rtol=1e-15)


@pytest.mark.parametrize("length", [2, 4])
def test_opposite_alternates_signs(length):
    p = np.array([0.6, 0.8, 0.0])
    rows = np.array([(-1) ** token * p for token in range(length)])
    # Two roundings.
    np.testing.assert_allclose(gram_of(length, "opposite"), rows @ rows.T, atol=1e-15)


def test_matrix_and_gram_agree():
    rows = np.random.default_rng(0).standard_normal((3, 5))
    gram = rows @ rows.T
    assert np.allclose(gram_of(3, "matrix", matrix=rows), gram, rtol=1e-14)
    assert np.allclose(gram_of(3, "gram", matrix=gram.tolist()), gram, rtol=1e-14)


def test_vectors_reach_the_geometry():
    geometry = Encoding("orthonormal", teacher_overlap=[0.1, 0.2], injected=(3, 4)).geometry(2)
    assert geometry.teacher_overlap.tolist() == [0.1, 0.2]
    assert geometry.metric[2].tolist() == [0.1, 0.2, 1.0]
    assert geometry.injected.tolist() == [3.0, 4.0]
    assert Encoding().geometry(2).injected.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"kind": "oposite"}, "did you mean 'opposite'?"),
        ({"kind": 3}, "unknown encoding '3'"),
        ({"kind": "opposite", "norm": -1.0}, ">= 0"),
        ({"kind": "opposite", "norm": "1"}, "norm"),
        ({"kind": "matrix"}, "needs 'matrix'"),
        ({"kind": "gram"}, "needs 'matrix'"),
        ({"kind": "opposite", "matrix": [[1.0]]}, "takes no 'matrix'"),
        ({"kind": "matrix", "matrix": [[1.0]], "norm": 2.0}, "takes no 'norm'"),
        ({"kind": "none", "norm": 2.0}, "takes no 'norm'"),
        ({"kind": "matrix", "matrix": "file.npy"}, "list of rows"),
        ({"kind": "matrix", "matrix": 3}, "list of rows"),
        ({"kind": "matrix", "matrix": [1, 2]}, "row of the matrix"),
        ({"kind": "matrix", "matrix": []}, "at least 1"),
        ({"kind": "matrix", "matrix": [[], []]}, "at least 1"),
        ({"kind": "matrix", "matrix": [[1, 2], [3]]}, "one length"),
        ({"kind": "matrix", "matrix": [[1, np.nan]]}, "nan"),
        ({"kind": "matrix", "matrix": [["1", "2"]]}, "'1'"),
        ({"teacher_overlap": 0.5}, "teacher_overlap"),
        ({"injected": ["a"]}, "injected"),
    ],
)
def test_bad_encodings_are_refused(options, part):
    refuses(lambda: Encoding(**options), part)


@pytest.mark.parametrize(
    ("options", "length", "part"),
    [
        ({"kind": "opposite"}, 3, "even length"),
        ({"kind": "matrix", "matrix": [[1.0], [2.0]]}, 3, "2"),
        ({"kind": "gram", "matrix": [[1.0]]}, 2, "(1, 1)"),
        ({"kind": "gram", "matrix": [[1.0, 0.0]]}, 2, "(1, 2)"),
        ({"kind": "gram", "matrix": [[1.0, 0.1], [0.2, 1.0]]}, 2, "not symmetric"),
        ({"kind": "gram", "matrix": [[1.0, 2.0], [2.0, 1.0]]}, 2, "negative eigenvalue"),
        ({"teacher_overlap": (0.1,)}, 2, "teacher_overlap has 1"),
        ({"injected": (0.1, 0.2, 0.3)}, 2, "injected has 3"),
        ({"teacher_overlap": (0.1, 0.0)}, 2, "lower teacher_overlap"),
        ({"kind": "orthonormal", "norm": 1e200}, 2, "overflows"),
        ({"kind": "opposite", "norm": 1e200}, 2, "overflows"),
        ({"kind": "matrix", "matrix": [[1e200], [1.0]]}, 2, "overflows"),
    ],
)
def test_encodings_that_cannot_be_are_refused(options, length, part):
    refuses(lambda: Encoding(**options).geometry(length), part)


def test_norm_zero_is_no_encoding():
    assert Encoding("orthonormal", norm=0.0).geometry(2).rank == 1


def test_a_norm_of_no_encoding_is_refused_with_what_takes_one():
    refuses(lambda: Encoding("none", norm=2.0), "choose opposite or orthonormal")
    refuses(lambda: Encoding("gram", matrix=((1.0,),), norm=2.0), "scale its rows")
