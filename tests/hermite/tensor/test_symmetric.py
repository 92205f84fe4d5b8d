import itertools
import math

import numpy as np
import pytest
import sympy

from ssiode.expression import parse_expression
from ssiode.hermite.coefficient import Coefficient, Verdict
from ssiode.hermite.polynomial.exact import polynomial_coefficients
from ssiode.hermite.tensor.orthogonal import is_orthogonally_decomposable
from ssiode.hermite.tensor.symmetric import Estimate, SymmetricTensor, indices, multiplicity
from tests.checks import refuses

ROOT2, ROOT3 = sympy.sqrt(2), sympy.sqrt(3)


def tensor_of(text, order, length=None):
    """The tensor C_order of a polynomial."""
    parsed = parse_expression(text, length)
    table = polynomial_coefficients(parsed.outputs[0], parsed.tokens)
    entries = {alpha: value for alpha, value in table.items() if sum(alpha) == order}
    return SymmetricTensor(order, parsed.length, entries)


def rank_one_sum(order, vectors, weights):
    """The tensor sum_i w_i v_i^{x order}, with exact entries if these are exact."""
    length = len(vectors[0])
    entries = {}
    for index in itertools.combinations_with_replacement(range(length), order):
        alpha = tuple(index.count(token) for token in range(length))
        terms = [w * math.prod(v[i] for i in index) for v, w in zip(vectors, weights, strict=True)]
        entries[alpha] = sum(terms) if isinstance(terms[0], float) else sympy.expand(sum(terms))
    return SymmetricTensor(order, length, entries)


def random_tensor(seed, order, length, density=1.0):
    generator = np.random.default_rng(seed)
    entries = {}
    for index in itertools.combinations_with_replacement(range(length), order):
        alpha = tuple(index.count(token) for token in range(length))
        if not entries or generator.random() < density:
            entries[alpha] = float(generator.standard_normal())
    return SymmetricTensor(order, length, entries)


def contract_densely(array, vector):
    for _ in range(array.ndim):
        array = array @ vector
    return float(array)


@pytest.mark.parametrize(("order", "length"), [(1, 3), (2, 2), (3, 3), (4, 2), (5, 3)])
def test_sparse_sums_equal_those_over_all_entries(order, length):
    for seed in range(5):
        tensor = random_tensor(seed, order, length, density=0.6)
        other = random_tensor(seed + 100, order, length, density=0.6)
        vector = np.random.default_rng(seed).standard_normal(length)
        dense = tensor.array()
        assert tensor.contract(vector).value == pytest.approx(contract_densely(dense, vector))
        ones = np.ones(length) / math.sqrt(length)
        assert tensor.along_ones().value == pytest.approx(contract_densely(dense, ones))
        assert tensor.frobenius_norm().value == pytest.approx(np.linalg.norm(dense))
        expected = (dense * other.array()).sum() / math.factorial(order)
        assert tensor.inner(other).value == pytest.approx(expected)


def test_the_dense_tensor_is_symmetric():
    array = random_tensor(1, 4, 3).array()
    for axes in itertools.permutations(range(4)):
        assert (array.transpose(axes) == array).all()


@pytest.mark.parametrize(
    ("text", "order", "expected"),
    [
        ("z1 + z2 + z3", 1, ROOT3),
        ("z1 - z2", 1, 0),
        ("z1^2 - z2^2", 2, 0),
        ("z1*z2", 2, 1),
        ("z1*z2*z3", 3, 6 / (3 * ROOT3)),
        ("He3(z1) + He3(z2)", 3, 12 / (2 * ROOT2)),
        ("sqrt(2)*z1 + sqrt(3)*z2 - sqrt(6)*z1/sqrt(3) - sqrt(3)*z2", 1, 0),
        ("pi*He4(z1)", 4, 24 * sympy.pi),
    ],
)
def test_contraction_along_ones_is_exact(text, order, expected):
    found = tensor_of(text, order).along_ones()
    assert sympy.simplify(found.exact - expected) == 0
    assert abs(found.value - float(expected)) <= found.error + 1e-14 * abs(found.value)
    assert found.verdict is (Verdict.ZERO if expected == 0 else Verdict.NONZERO)


def test_contraction_with_exact_and_with_float_vectors():
    tensor = tensor_of("z1^2*z2", 3)
    assert tensor.contract([1, ROOT2]).exact == 6 * ROOT2
    inexact = tensor.contract([1.0, math.sqrt(2)])
    assert inexact.exact is None
    assert inexact.value == pytest.approx(6 * math.sqrt(2))
    refuses(lambda: tensor.contract([1]), "1 entries", "give 2")


def test_inner_product_of_a_target_with_itself():
    tensor = tensor_of("z1*z2 + He2(z1)", 2)
    assert tensor.inner(tensor).exact == 3
    refuses(lambda: tensor.inner(tensor_of("z1", 1, length=2)), "orders 2, 1")


def test_errors_bound_what_a_change_of_the_entries_does():
    for seed in range(50):
        generator = np.random.default_rng(seed)
        exact = random_tensor(seed, 3, 3)
        errors = {alpha: 0.01 * generator.random() for alpha in exact.entries}
        shifted = {
            alpha: value + errors[alpha] * generator.uniform(-1, 1)
            for alpha, value in exact.entries.items()
        }
        uncertain = SymmetricTensor(3, 3, shifted, errors)
        vector = generator.standard_normal(3)
        for measure in (
            lambda t, v=vector: t.contract(v),
            SymmetricTensor.along_ones,
            SymmetricTensor.frobenius_norm,
            lambda t: t.inner(t),
        ):
            true, found = measure(exact), measure(uncertain)
            assert abs(true.value - found.value) <= found.error + true.error


def test_matrix_is_exact_for_order_two_only():
    assert tensor_of("3*z1*z2 + He2(z2)", 2).matrix() == sympy.Matrix([[0, 3], [3, 2]])
    assert SymmetricTensor(2, 1, {(2,): 0.5}).matrix().tolist() == [[0.5]]
    refuses(lambda: tensor_of("z1", 1).matrix(), "order 1")


def test_tensor_of_coefficients():
    coefficients = [
        Coefficient((2, 0), ROOT2, float(ROOT2), 1e-16, Verdict.NONZERO, "exact value"),
        Coefficient((1, 1), None, 0.25, 1e-9, Verdict.NONZERO, "|value| > error"),
        Coefficient((0, 2), None, 0.0, 0.0, Verdict.ZERO, "odd in z2"),
    ]
    tensor = SymmetricTensor.of(coefficients)
    assert tensor.entries == {(2, 0): ROOT2, (1, 1): 0.25}
    assert tensor.errors == {(1, 1): 1e-9}
    assert not tensor.is_exact
    assert SymmetricTensor.of(coefficients[2:]).entries == {}
    refuses(lambda: SymmetricTensor.of([]), "one coefficient at least")


def test_verdicts_of_estimates():
    assert Estimate(1.0, 2.0).verdict is Verdict.UNDECIDED
    assert Estimate(0.0, 0.0).verdict is Verdict.ZERO
    assert Estimate(-3.0, 2.0).verdict is Verdict.NONZERO


def test_what_is_no_tensor_is_refused():
    refuses(lambda: SymmetricTensor(2, 2, {(1, 0): 1}), "(1, 0)", "order 2")
    refuses(lambda: SymmetricTensor(0, 2, {}), "order of the tensor is 0")
    refuses(lambda: SymmetricTensor(1, 1, {(1,): math.nan}), "finite")
    refuses(lambda: SymmetricTensor(1, 1, {(1,): sympy.I}), "real")
    refuses(lambda: SymmetricTensor(1, 1, {(1,): 1.0}, {(1,): -1.0}), "must be >= 0")
    refuses(lambda: SymmetricTensor(20, 8, {}).array(), "8^20")


def test_parts_of_a_direct_sum():
    tensor = tensor_of("z1*z3*z5 + He3(z2) + z4^2*z6", 3, length=7)
    parts = tensor.parts()
    assert [tokens for tokens, _ in parts] == [(0, 2, 4), (1,), (3, 5)]
    assert parts[2][1].entries == {(2, 1): 2}


def test_indices_and_multiplicities_count_all_entries():
    alphas = [alpha for alpha in itertools.product(range(5), repeat=3) if sum(alpha) == 4]
    assert sum(map(multiplicity, alphas)) == 3**4
    assert all(len(indices(alpha)) == 4 for alpha in alphas)


ROTATION = [
    [sympy.Rational(1, 3), sympy.Rational(2, 3), sympy.Rational(2, 3)],
    [sympy.Rational(2, 3), sympy.Rational(1, 3), -sympy.Rational(2, 3)],
    [sympy.Rational(2, 3), -sympy.Rational(2, 3), sympy.Rational(1, 3)],
]
DIAGONAL = [[1 / ROOT2, 1 / ROOT2], [1 / ROOT2, -1 / ROOT2]]


@pytest.mark.parametrize(
    "tensor",
    [
        tensor_of("z1*z2 + z1 + z2", 1),
        tensor_of("z1*z2 + z2*z3", 2),
        tensor_of("He4(z1) - 3*He4(z2)", 4),
        tensor_of("(z1 + 2*z2 + 3*z3)^3", 3),
        tensor_of("sqrt(5)*(z1 + sqrt(2)*z2)^4", 4),
        rank_one_sum(3, ROTATION, [1, -2, 5]),
        rank_one_sum(5, ROTATION[:2], [3, 7]),
        rank_one_sum(4, DIAGONAL, [1, sympy.pi]),
        rank_one_sum(3, DIAGONAL, [sympy.exp(2), -sympy.exp(2)]),
        tensor_of("z1^3 - 3*z1*z2^2 + 3*z1*z2^2 + z3*(z3^2 - 3)", 3),
    ],
)
def test_orthogonally_decomposable_tensors_are_proved_to_be(tensor):
    found = is_orthogonally_decomposable(tensor)
    assert (found.answer, found.residual) == ("yes", 0.0), found


@pytest.mark.parametrize(
    "tensor",
    [
        tensor_of("z1*z2*z3", 3),
        tensor_of("z1^2*z2", 3),
        tensor_of("z1^2*z2^2", 4),
        tensor_of("z1^3 - 3*z1*z2^2", 3),
        tensor_of("(z1^2 + z2^2)^2", 4),
        rank_one_sum(3, [[1, 0, 0], [1, 1, 0]], [1, 1]),
        tensor_of("He3(z1) + z2*z3*z4", 3),
        SymmetricTensor(4, 2, {(2, 2): sympy.exp(1)}),
    ],
)
def test_others_are_proved_not_to_be(tensor):
    found = is_orthogonally_decomposable(tensor)
    assert found.answer == "no"
    assert found.residual > 1e-3


@pytest.mark.parametrize(("order", "length"), [(3, 2), (3, 6), (4, 4), (5, 3)])
def test_numerical_tensors_are_tested_to_the_tolerance(order, length):
    generator = np.random.default_rng(order + length)
    frame = np.linalg.qr(generator.standard_normal((length, length)))[0]
    vectors = [list(map(float, row)) for row in frame]
    weights = [float(w) for w in generator.standard_normal(length)]
    tensor = rank_one_sum(order, vectors, weights)
    assert is_orthogonally_decomposable(tensor).answer == "yes"
    known = SymmetricTensor(order, length, tensor.entries, dict.fromkeys(tensor.entries, 1e-13))
    found = is_orthogonally_decomposable(known)
    assert found.answer == "yes"
    assert 0 < found.residual < 1e-10
    assert "tolerance 1e-09" in found.reason
    assert is_orthogonally_decomposable(known, tolerance=1e-16).answer == "undetermined"
    wide = SymmetricTensor(order, length, tensor.entries, dict.fromkeys(tensor.entries, 0.1))
    assert is_orthogonally_decomposable(wide).answer == "undetermined"
    bent = {alpha: value + 0.01 * generator.random() for alpha, value in known.entries.items()}
    bent = SymmetricTensor(order, length, bent, known.errors)
    assert is_orthogonally_decomposable(bent).answer == "no"


def test_too_many_equations_are_not_evaluated():
    found = is_orthogonally_decomposable(tensor_of("(sum(z))^6", 6, length=10))
    assert (found.answer, found.residual) == ("undetermined", None)
    assert "1000 rows" in found.reason
    # Many tokens with small groups stay easy.
    assert is_orthogonally_decomposable(tensor_of("sum(He3(z))", 3, length=60)).answer == "yes"
