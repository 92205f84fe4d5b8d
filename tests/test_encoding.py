"""Each kind of encoding and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ssiode import Ensemble, Problem, Target, TiedNetwork, run_chain
from ssiode.cli.problem_options import _FLAGS, build_problem
from ssiode.encoding import Encoding
from tests.checks import refuses


def gram_of(length, *arguments, **options):
    return Encoding(*arguments, **options).geometry(length).gram


@pytest.mark.parametrize("length", [1, 2, 5])
def test_none_and_orthonormal(length):
    assert np.array_equal(gram_of(length), np.zeros((length, length)))
    assert np.allclose(gram_of(length, "orthonormal", 2.0), 4 * np.eye(length), rtol=1e-15)


@pytest.mark.parametrize("length", [2, 4, 6])
def test_opposite_alternates_signs(length):
    p = np.array([0.6, 0.8, 0.0])
    rows = np.array([(-1) ** token * p for token in range(length)])
    # Two roundings.
    np.testing.assert_allclose(gram_of(length, "opposite"), rows @ rows.T, atol=1e-15)


@pytest.mark.parametrize("dimension", [2, 6, 512])
def test_sinusoidal_rows_are_sines_and_cosines(dimension):
    rows = np.zeros((5, dimension))
    for token in range(5):
        for i in range(0, dimension, 2):
            angle = token / 10000 ** (i / dimension)
            rows[token, i : i + 2] = np.sin(angle), np.cos(angle)
    rows *= 1.5 / np.sqrt(dimension / 2)
    geometry = Encoding("sinusoidal", 1.5, dimension=dimension).geometry(5)
    np.testing.assert_allclose(np.diag(geometry.gram), 1.5**2, rtol=1e-14)
    # Sums of up to 512 terms.
    np.testing.assert_allclose(geometry.gram, rows @ rows.T, rtol=0, atol=1e-13)
    assert geometry.rank == min(5, dimension) + 1


def test_sinusoidal_has_512_dimensions_by_default():
    assert np.array_equal(
        gram_of(3, "sinusoidal"), gram_of(3, "sinusoidal", dimension=512, norm=1.0)
    )


@pytest.mark.parametrize(("dimension", "rank"), [(4, 4), (None, 95)])
def test_many_sinusoidal_rows_are_dependent(dimension, rank):
    """The slow waves are hardly different: 300 rows of 512 dimensions span some 94."""
    geometry = Encoding("sinusoidal", dimension=dimension).geometry(300)
    assert abs(geometry.rank - (rank + 1)) <= 2
    v = geometry.random_state(1000, np.random.default_rng(0))
    geometry.check_feasible(v)
    np.testing.assert_allclose(geometry.basis @ geometry.coordinates(v), v, rtol=0, atol=1e-14)


@pytest.mark.parametrize(("length", "dimension"), [(4, None), (4, 2), (3, 1), (1, 7), (3, 50)])
def test_random_rows_have_norms_and_span_what_they_can(length, dimension):
    geometry = Encoding("random", 0.5, dimension=dimension, seed=3).geometry(length)
    np.testing.assert_allclose(np.diag(geometry.gram), 0.25, rtol=1e-14)
    assert geometry.rank == min(length, dimension or length) + 1


def test_random_rows_follow_their_seed():
    first, again, other = (gram_of(3, "random", seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert np.abs(first - other).max() > 1e-3
    # The first rows do not depend on how many come after.
    larger = gram_of(5, "random", seed=0, dimension=3)
    np.testing.assert_allclose(larger[:3, :3], gram_of(3, "random", seed=0), atol=1e-15)


def test_overlaps_of_random_rows_are_normal():
    """The products of 60 rows in 2000 dimensions times sqrt(2000) are N(0, 1) up to 1/2000.

    A Kolmogorov-Smirnov test of the products of 30 disjoint pairs, and of the mean square of all
    1770 pairs, whose standard deviation is sqrt(2 / 1770): both at a false-alarm rate of 1e-4.
    """
    overlaps = np.sqrt(2000) * gram_of(60, "random", dimension=2000, seed=5)
    disjoint = overlaps[np.arange(0, 60, 2), np.arange(1, 60, 2)]
    assert stats.kstest(disjoint, "norm").pvalue > 1e-4
    pairs = overlaps[np.triu_indices(60, 1)]
    assert abs(np.mean(pairs**2) - 1) < 3.9 * np.sqrt(2 / len(pairs)) + 1 / 2000


def test_rows_and_weights_of_one_seed_are_independent():
    rows = Encoding("random", seed=0).geometry(4).gram
    stream = np.random.default_rng(np.random.SeedSequence(0)).standard_normal((4, 4))
    stream /= np.linalg.norm(stream, axis=1, keepdims=True)
    assert np.abs(rows - stream @ stream.T).max() > 1e-2


@pytest.mark.parametrize("kind", ["random", "sinusoidal"])
def test_random_and_sinusoidal_rows_take_overlap_and_injection(kind):
    options = {"teacher_overlap": (0.1, 0.1, 0.1), "injected": (1.0, 2.0, 3.0)}
    geometry = Encoding(kind, 0.8, dimension=20, **options).geometry(3)
    assert geometry.metric[3].tolist() == [0.1, 0.1, 0.1, 1.0]
    assert geometry.injected.tolist() == [1.0, 2.0, 3.0]


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
        ({"kind": "none", "dimension": 3}, "takes no 'dimension'; choose random or sinusoidal"),
        ({"kind": "opposite", "seed": 3}, "takes no 'seed'; choose random"),
        ({"kind": "sinusoidal", "seed": 3}, "takes no 'seed'; choose random"),
        ({"kind": "matrix", "matrix": [[1.0]], "dimension": 1}, "takes no 'dimension'"),
        ({"kind": "random", "dimension": 0}, ">= 1"),
        ({"kind": "random", "dimension": 2.5}, "whole number"),
        ({"kind": "random", "seed": -1}, ">= 0"),
        ({"kind": "random", "matrix": [[1.0]]}, "takes no 'matrix'"),
        ({"kind": "sinusoidal", "dimension": 3}, "even"),
        ({"kind": "sinusoidal", "norm": -1.0}, ">= 0"),
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
        ({"kind": "random", "norm": 1e200}, 2, "overflows"),
        ({"kind": "random", "dimension": 10**14}, 2, "lower dimension"),
        ({"kind": "sinusoidal", "dimension": 10**14}, 2, "lower dimension"),
        ({"kind": "sinusoidal", "norm": 1e200}, 2, "overflows"),
        ({"kind": "random", "teacher_overlap": (0.9, -0.9), "seed": 1}, 2, "lower teacher_overlap"),
    ],
)
def test_encodings_that_cannot_be_are_refused(options, length, part):
    refuses(lambda: Encoding(**options).geometry(length), part)


@pytest.mark.parametrize("kind", ["orthonormal", "random", "sinusoidal"])
def test_norm_zero_is_no_encoding(kind):
    assert Encoding(kind, norm=0.0).geometry(2).rank == 1


def test_a_norm_of_no_encoding_is_refused_with_what_takes_one():
    refuses(lambda: Encoding("none", norm=2.0), "choose opposite or orthonormal or")
    refuses(lambda: Encoding("gram", matrix=((1.0,),), norm=2.0), "scale its rows")


@pytest.mark.slow
@pytest.mark.parametrize(
    "encoding",
    [
        Encoding("random", 0.5, teacher_overlap=(0.05, 0.1), dimension=30, seed=2**80),
        Encoding("sinusoidal", injected=(0.1, 0.2), dimension=2),
    ],
    ids=["random", "sinusoidal"],
)
def test_files_and_flags_hold_the_dimension_and_the_seed(encoding, tmp_path):
    problem = Problem(Target("z1*z2"), TiedNetwork("identity"), encoding)
    problem.to_toml(tmp_path / "problem.toml")
    assert Problem.from_toml(tmp_path / "problem.toml").encoding == encoding
    run_chain(problem, d=4, steps=2, replicas=2, save=tmp_path / "run.npz")
    assert Ensemble.load(tmp_path / "run.npz").problem.encoding == encoding
    refuses(lambda: run_chain(problem, d=3, steps=2), "needs d >= 4")
    tables = {"kind": encoding.kind, "dimension": encoding.dimension, "seed": encoding.seed}
    flags = {"encoding_" + name: value for name, value in tables.items()}
    flags["encoding"] = flags.pop("encoding_kind")
    given = {name.removeprefix("--").replace("-", "_"): None for name in _FLAGS}
    made = build_problem(None, (), given | flags | {"target": "z1*z2"}).encoding
    assert (made.kind, made.dimension, made.seed) == tuple(tables.values())
