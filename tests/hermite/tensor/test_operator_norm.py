import math

import numpy as np
import pytest
import sympy

from ssiode.hermite.tensor.operator_norm import ones_ratio, operator_norm
from ssiode.hermite.tensor.sphere_search import Form
from ssiode.hermite.tensor.symmetric import SymmetricTensor
from tests.checks import refuses
from tests.hermite.tensor.test_symmetric import (
    DIAGONAL,
    ROTATION,
    random_tensor,
    rank_one_sum,
    tensor_of,
)


def sphere_grid(length):
    """Unit vectors so dense that a form of degree <= 6 loses less than 3e-3 of its maximum."""
    if length == 2:
        angles = np.linspace(0, math.pi, 2000)
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)
    heights, turns = np.meshgrid(np.linspace(0, 1, 181), np.linspace(0, 2 * math.pi, 500))
    angles = heights.ravel() * math.pi / 2
    ring = np.sin(angles)
    turns = turns.ravel()
    return np.stack([ring * np.cos(turns), ring * np.sin(turns), np.cos(angles)], axis=1)


GRIDS = {length: sphere_grid(length) for length in (2, 3)}


@pytest.mark.parametrize("seed", range(200))
def test_bounds_hold_on_a_dense_grid(seed):
    length, order = 2 + seed % 2, 1 + seed % 5 if seed % 7 else 6
    tensor = random_tensor(seed, order, length, density=1.0 if seed % 3 else 0.5)
    norm = operator_norm(tensor)
    on_grid = np.abs(Form(tensor)(GRIDS[length])).max()
    # The grid misses a maximiser by an angle of at most 0.011, so by cos(6 * 0.011) > 0.997.
    assert on_grid <= norm.upper
    assert norm.lower <= on_grid / 0.997
    assert 0 <= norm.upper - norm.lower <= 2e-9 * norm.upper
    assert norm.lower <= norm.value * (1 + 1e-12)
    assert norm.value <= norm.upper * (1 + 1e-12)
    point = np.array([norm.maximiser])
    assert np.linalg.norm(point) == pytest.approx(1, abs=1e-12)
    assert abs(Form(tensor)(point)[0]) == pytest.approx(norm.value, rel=1e-9)


@pytest.mark.parametrize(("order", "length"), [(3, 6), (4, 4), (3, 10), (6, 4), (4, 12)])
def test_bounds_hold_in_more_dimensions(order, length):
    for seed in range(2):
        tensor = random_tensor(seed, order, length, density=0.3)
        norm = operator_norm(tensor)
        points = np.random.default_rng(seed).standard_normal((5000, length))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        assert np.abs(Form(tensor)(points)).max() <= norm.lower
        assert norm.lower <= norm.upper <= tensor.frobenius_norm().value * (1 + 1e-12)


@pytest.mark.parametrize(
    ("text", "order", "length", "exact"),
    [
        ("3*z1 + 4*z2", 1, None, 5),
        ("sqrt(2)*z1 - sqrt(7)*z3", 1, None, 3),
        ("sum(He2(z))", 2, 7, 2),
        ("z1*z2", 2, None, 1),
        ("He2(z1) + z1*z2 - He2(z2)", 2, None, sympy.sqrt(5)),
        ("He2(z1)*2 + 2*z1*z2 + He2(z2)*2 + 5*z3*z4", 2, None, 6),
        ("z1*z2*z3", 3, None, 6 / sympy.sqrt(27)),
        ("z1^2*z2", 3, None, 4 / sympy.sqrt(3)),
        ("He2(z1)*He2(z2)", 4, None, 6),
        ("z1*z2*z3 + z4*z5*z6", 3, 9, 6 / sympy.sqrt(27)),
        ("He4(z1) - 2*He4(z2) + He4(z3)", 4, None, 48),
        ("pi*He3(z2)", 3, 5, 6 * sympy.pi),
    ],
)
def test_norms_in_closed_form(text, order, length, exact):
    norm = operator_norm(tensor_of(text, order, length))
    assert sympy.simplify(norm.exact - exact) == 0
    assert norm.lower <= sympy.N(exact, 30) <= norm.upper
    assert norm.upper - norm.lower <= 1e-13 * norm.upper


@pytest.mark.parametrize(
    ("tensor", "expected"),
    [
        (rank_one_sum(3, ROTATION, [1, -2, 5]), 5),
        (rank_one_sum(5, ROTATION, [-7, 3, 1]), 7),
        (rank_one_sum(4, DIAGONAL, [1, sympy.pi]), math.pi),
        (tensor_of("(z1 + 2*z2 + 3*z3)^3", 3), 6 * 14**1.5),
        (tensor_of("sum(z)^3", 3, 12), 6 * 12**1.5),
    ],
)
def test_unfoldings_are_sharp_for_orthogonally_decomposable_tensors(tensor, expected):
    norm = operator_norm(tensor)
    assert norm.value == pytest.approx(expected, rel=1e-12)
    assert norm.upper - norm.lower <= 1e-10 * expected
    assert norm.certificate == "largest singular value of an unfolding"


def test_a_form_with_a_continuum_of_maximisers_keeps_true_bounds():
    norm = operator_norm(tensor_of("(z1^2 + z2^2 + z3^2)^2", 4))
    assert norm.value == pytest.approx(24)
    assert norm.lower <= 24 <= norm.upper < 24.5


def test_matrices_against_their_eigenvalues():
    for seed in range(10):
        tensor = random_tensor(seed, 2, 6)
        expected = np.abs(np.linalg.eigvalsh(tensor.array())).max()
        norm = operator_norm(tensor)
        assert norm.certificate == "largest eigenvalue"
        assert norm.lower <= expected <= norm.upper
        assert norm.upper - norm.lower < 1e-12


def test_errors_of_entries_widen_the_interval():
    for seed in range(20):
        generator = np.random.default_rng(seed)
        true = random_tensor(seed, 1 + seed % 4, 3)
        errors = {alpha: 0.01 * generator.random() for alpha in true.entries}
        shifted = {a: v + errors[a] * generator.uniform(-1, 1) for a, v in true.entries.items()}
        found = operator_norm(SymmetricTensor(true.order, 3, shifted, errors))
        exact = operator_norm(true)
        assert found.lower <= exact.lower * (1 + 1e-12)
        assert exact.upper <= found.upper * (1 + 1e-12)


def test_the_search_does_not_depend_on_the_scale():
    small = operator_norm(SymmetricTensor(3, 2, {(3, 0): 2e-200, (2, 1): 1e-200, (0, 3): 1e-200}))
    large = operator_norm(SymmetricTensor(3, 2, {(3, 0): 2e200, (2, 1): 1e200, (0, 3): 1e200}))
    assert small.value * 1e200 == pytest.approx(large.value / 1e200, rel=1e-12)


def test_the_same_tensor_gives_the_same_result():
    tensor = random_tensor(3, 4, 5)
    assert operator_norm(tensor) == operator_norm(tensor)


def test_the_zero_tensor():
    norm = operator_norm(SymmetricTensor(3, 2, {}))
    assert (norm.value, norm.upper, norm.exact) == (0.0, 0.0, 0)
    refuses(lambda: ones_ratio(SymmetricTensor(3, 2, {})), "zero within its errors")
    refuses(lambda: ones_ratio(SymmetricTensor(1, 1, {(1,): 0.1}, {(1,): 0.2})), "zero")


@pytest.mark.parametrize(
    ("text", "order", "length", "exact"),
    [
        ("sum(z)", 1, 4, 1),
        ("z1 - z2", 1, None, 0),
        ("z1^2 - z2^2", 2, None, 0),
        ("sum(He2(z))", 2, 8, 1),
        ("sum(He3(z))", 3, 4, sympy.Rational(1, 2)),
        ("sum(He4(z))", 4, 4, sympy.Rational(1, 4)),
        ("He1(z1)", 1, 9, sympy.Rational(1, 3)),
        ("z1*z2", 2, None, 1),
        ("-z1*z2*z3", 3, None, -1),
    ],
)
def test_ratio_to_the_direction_of_all_ones(text, order, length, exact):
    ratio = ones_ratio(tensor_of(text, order, length))
    assert ratio.exact == exact
    assert ratio.lower <= exact <= ratio.upper
    assert ratio.upper - ratio.lower < 1e-12
    assert ratio.value == pytest.approx(float(exact), abs=1e-12)


def test_ratio_without_exact_norm_has_an_interval():
    for seed in range(20):
        ratio = ones_ratio(random_tensor(seed, 3, 3))
        assert -1 <= ratio.lower <= ratio.value <= ratio.upper <= 1
        assert ratio.upper - ratio.lower < 1e-8
