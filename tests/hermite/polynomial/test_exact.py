import itertools
import math
import time
from fractions import Fraction

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import hermite_e

from ssiode.errors import InputError
from ssiode.expression import He, parse_expression, token_symbols
from ssiode.hermite.polynomial.constants import ConstantBasis, NotPolynomialError, coprime_base
from ssiode.hermite.polynomial.exact import (
    dense_index,
    hermite_expansion,
    is_polynomial,
    polynomial_coefficients,
)
from ssiode.hermite.polynomial.monomials import power_in_hermite

z1, z2, z3 = token_symbols(3)


def coefficients(text, length=None):
    parsed = parse_expression(text, length)
    (output,) = parsed.outputs
    return polynomial_coefficients(output, parsed.tokens)


def gaussian_moment(power):
    return math.prod(range(power - 1, 0, -2)) if power % 2 == 0 else 0


def moment_with_hermite(power, order):
    """E[x^power He_order(x)] from NumPy's coefficients and the moments E[x^2k] = (2k - 1)!!."""
    polynomial = hermite_e.herme2poly([0] * order + [1])
    return sum(round(c) * gaussian_moment(power + k) for k, c in enumerate(polynomial))


def brute_force(expression, tokens):
    """Coefficients of a polynomial from its expanded monomials and Gaussian moments."""
    expanded = sympy.Poly(sympy.expand(expression.expand(func=True)), *tokens)
    highest = [max((m[axis] for m in expanded.monoms()), default=0) for axis in range(len(tokens))]
    found = {}
    for alpha in itertools.product(*[range(top + 1) for top in highest]):
        total = sum(
            coefficient * math.prod(map(moment_with_hermite, powers, alpha))
            for powers, coefficient in expanded.terms()
        )
        if (total := sympy.nsimplify(sympy.expand(total))) != 0:
            found[alpha] = total
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("z1 + z2", {(1, 0): 1, (0, 1): 1}),
        ("z1*z2", {(1, 1): 1}),
        ("z1^2*z2", {(0, 1): 1, (2, 1): 2}),
        ("He1(z1)*He4(z2)", {(1, 4): 24}),
        ("He2(z1)^2", {(0,): 2, (2,): 8, (4,): 24}),
        ("z1*He3(z1)", {(2,): 6, (4,): 24}),
        ("z1^4", {(0,): 3, (2,): 12, (4,): 24}),
        (
            "He3((z1 + z2)/sqrt(2))",
            {a: 3 * sympy.sqrt(2) / 2 for a in [(3, 0), (2, 1), (1, 2), (0, 3)]},
        ),
        ("3", {(0,): 3}),
        ("0", {}),
        ("sqrt(2)", {(0,): sympy.sqrt(2)}),
    ],
)
def test_known_coefficients(text, expected):
    assert coefficients(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "(z1 + 2*z2 - z3/3)^4",
        "He3(z1 + z2)*He2(z2 - z3) + z1^5",
        "(1 + z1)*(1 + z2)*(1 + z3)*(z1 + z2)",
        "He2(He2(z1)) + z2*He2(z1*z2)",
        "(z1^2 + 1)^2/4 - He4(z1/2)",
        "prod(1 + z)*sum(z) + z3",
        "He5(z1)*He5(z2) - z1^5*z2^5",
        "(z1/7 + 1/5)^6 + (z2/3)^3*(z1 - z2)^2",
    ],
)
def test_coefficients_by_gaussian_moments(text):
    parsed = parse_expression(text)
    assert coefficients(text) == brute_force(parsed.outputs[0], parsed.tokens)


def test_coefficients_with_roots_and_pi_by_gaussian_moments():
    text = "(sqrt(2)*z1 + pi*z2)^3/sqrt(6) + He2(sqrt(3)*z1 - 1)*z2/pi"
    parsed = parse_expression(text)
    expected = brute_force(parsed.outputs[0], parsed.tokens)
    found = coefficients(text)
    assert found.keys() == expected.keys()
    for alpha, value in found.items():
        assert value.evalf(30) == pytest.approx(expected[alpha].evalf(30), rel=1e-25)


small = st.integers(-3, 3)
terms = st.tuples(small, st.integers(1, 4), st.integers(0, 3), st.integers(0, 3), st.integers(0, 2))


@settings(deadline=None, derandomize=True, max_examples=25)
@given(st.lists(terms, min_size=1, max_size=5), small, small)
def test_random_polynomials_by_gaussian_moments(parts, a, b):
    expression = sympy.Add(
        *[sympy.Rational(p, q) * z1**i * He(j, a * z1 + b * z2) * z2**k for p, q, i, j, k in parts]
    )
    assert polynomial_coefficients(expression, (z1, z2)) == brute_force(expression, (z1, z2))


@settings(deadline=None, derandomize=True, max_examples=25)
@given(st.lists(terms, min_size=1, max_size=4), st.lists(terms, min_size=1, max_size=4))
def test_expansion_is_linear_and_sums_back(first, second):
    def polynomial(parts):
        return sympy.Add(*[sympy.Rational(p, q) * z1**i * z2**j * z3**k for p, q, i, j, k in parts])

    f, g = polynomial(first), polynomial(second)
    tokens = (z1, z2, z3)
    total = polynomial_coefficients(f + 2 * g, tokens)
    separate = polynomial_coefficients(f, tokens), polynomial_coefficients(g, tokens)
    for alpha in total.keys() | separate[0].keys() | separate[1].keys():
        assert total.get(alpha, 0) == separate[0].get(alpha, 0) + 2 * separate[1].get(alpha, 0)
    rebuilt = sympy.Add(
        *[
            value / math.prod(map(math.factorial, alpha)) * math.prod(map(He, alpha, tokens))
            for alpha, value in separate[0].items()
        ]
    )
    assert sympy.expand(rebuilt.expand(func=True) - f) == 0


@pytest.mark.parametrize("power", range(12))
def test_powers_in_the_hermite_basis(power):
    found = {power: 1, **dict(power_in_hermite(power))}
    dense = hermite_e.poly2herme([0] * power + [1])
    assert [found.get(n, 0) for n in range(power + 1)] == pytest.approx(list(dense), rel=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "sqrt(2)*z1 - z1*2/sqrt(2)",
        "sqrt(6)*z1 - sqrt(2)*sqrt(3)*z1",
        "z1/(1 + sqrt(2)) - (sqrt(2) - 1)*z1",
        "z1/(1 + sqrt(2) + sqrt(3)) - z1*(sqrt(2) + 2 - sqrt(6))/4",
        "(sqrt(2) + sqrt(3))^2*z1 - (5 + 2*sqrt(6))*z1",
        "2^(1/3)*z1 - 4^(1/6)*z1",
        "2^(1/3)*4^(1/3)*z1 - 2*z1",
        "pi*z1/sqrt(pi) - sqrt(pi)*z1",
        "(1 + pi)^2*z1 - (1 + 2*pi + pi^2)*z1",
        "He2(sqrt(2))*z1 - z1",
        "(z1 + z2)^2 - z1^2 - 2*z1*z2 - z2^2",
        "sqrt(12345678910111213)*sqrt(3)*z1 - sqrt(37037036730333639)*z1",
    ],
)
def test_zeros_are_seen(text):
    assert coefficients(text) == {}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(sqrt(2) + sqrt(3) - sqrt(5 + 1e-60))*z1", 0.9),
        ("(sqrt(10^40 + 1) - 10^20)*z1", 5e-21),
        ("(pi - 3.14159265358979323846264338327950288)*z1", 4e-36),
    ],
)
def test_near_zeros_are_not_zeros(text, value):
    parsed = parse_expression(text)
    expansion = hermite_expansion(parsed.outputs[0], parsed.tokens)
    ((_, constant),) = expansion.leading().items()
    found, error = expansion.basis.nearest_float(constant)
    assert found == pytest.approx(value, rel=0.1)
    assert 0 < error <= math.ulp(found)


@pytest.mark.parametrize("size", [sympy.sqrt(2), sympy.pi**-3, sympy.sqrt(6 / sympy.pi) - 1])
@pytest.mark.parametrize("factor", ["1/3", "-1e200", "1e-200", "123456789/7"])
def test_floats_are_nearest_with_a_true_error(size, factor):
    exact = sympy.Rational(factor) * size
    expansion = hermite_expansion(exact * z1, (z1,))
    value, error = expansion.basis.nearest_float(expansion.coefficients[((0, 1),)])
    distance = abs(exact.evalf(80) - sympy.Rational(value))
    assert distance <= error <= 0.51 * math.ulp(value)


def test_floats_of_rationals():
    basis = ConstantBasis()
    one = hermite_expansion(z1, (z1,)).coefficients[((0, 1),)][()]
    assert basis.nearest_float({(): one}) == (1.0, 0.0)
    value, error = basis.nearest_float({(): one / 3})
    assert abs(Fraction(1, 3) - Fraction(value)) <= Fraction(error)
    assert basis.nearest_float({(): one * -(10**400)}) == (-math.inf, math.inf)
    value, error = basis.nearest_float({(): one / 10**400})
    assert value == 0
    assert 0 < error < 1e-300


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.lists(st.integers(1, 10**6), max_size=6))
def test_coprime_base(numbers):
    base = coprime_base(numbers)
    for first, second in itertools.combinations(base, 2):
        assert math.gcd(first, second) == 1
    for number in numbers:
        rest = number
        for factor in base:
            while rest % factor == 0:
                rest //= factor
        assert rest == 1


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("exp(z1)", "exp(z1)"),
        ("z1 + tanh(z2)", "tanh(z2)"),
        ("abs(z1)", "Abs(z1)"),
        ("1/z1", "1/z1"),
        ("sqrt(z1)", "sqrt(z1)"),
        ("2^z1", "2**z1"),
        ("exp(1)*z1", "E is"),
        ("log(2)*z1", "log(2)"),
        ("sqrt(1 + sqrt(2))*z1", "sqrt(1 + sqrt(2))"),
        ("z1/(1 + pi)", "1/(1 + pi)"),
        ("z1/(1 + 2^(1/3))", "1/(1 + 2**(1/3))"),
        ("b*z1", "--param b=2"),
        ("z1*2^(1/997)", "root"),
    ],
)
def test_what_is_not_a_polynomial_is_named(text, part):
    parsed = parse_expression(text)
    with pytest.raises(NotPolynomialError) as caught:
        polynomial_coefficients(parsed.outputs[0], parsed.tokens)
    assert part in str(caught.value)
    assert not is_polynomial(parsed.outputs[0], parsed.tokens)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("(z1+z2+z3+z4+z5+z6)^100", "number of terms"),
        ("z1^500", "degree"),
        ("z1^300*(1 + z1)^300", "degree"),
        ("He100(z1+z2+z3+z4)", "number of terms"),
        ("prod(1 + z + z100)", "terms"),
        ("prod(1 + z) + z1000", "terms"),
        ("sum(z)^2 + z1000", "terms"),
        ("(9^300*z1 + 1)^20", "digits"),
        ("(1 + sqrt(2) + pi)^300*z1", "products"),
        ("((((1+z1)^9+z2)^9+z3)^9+z4)^9", "degree"),
    ],
)
def test_too_large_is_refused_at_once(text, part):
    parsed = parse_expression(text)
    start = time.process_time()
    with pytest.raises(InputError, match=part):
        polynomial_coefficients(parsed.outputs[0], parsed.tokens)
    assert time.process_time() - start < 20
    assert is_polynomial(parsed.outputs[0], parsed.tokens)


def test_division_by_a_hidden_zero():
    expression = z1 / (sympy.sqrt(5 + 2 * sympy.sqrt(6)) - 1)
    assert not is_polynomial(expression, (z1,))
    hidden = sympy.Add(He(2, sympy.Integer(1)), 0, evaluate=False)
    with pytest.raises(InputError, match="division by zero"):
        polynomial_coefficients(z1 * sympy.Pow(hidden, -1, evaluate=False), (z1,))


def test_large_dense_polynomial_in_about_a_second():
    tokens = token_symbols(6)
    start = time.process_time()
    found = polynomial_coefficients((1 + sympy.Add(*tokens)) ** 10, tokens)
    # About 0.4 s on two shared cores.
    assert time.process_time() - start < 40
    assert len(found) == 8008
    # E[(1 + s)^10], s = N(0, 6).
    moments = [math.comb(10, 2 * k) * 6**k * gaussian_moment(2 * k) for k in range(6)]
    assert found[(0,) * 6] == sum(moments)
    assert found[(10, 0, 0, 0, 0, 0)] == math.factorial(10)


def test_many_terms_of_an_expanded_polynomial():
    tokens = token_symbols(6)
    monomials = itertools.islice(itertools.combinations_with_replacement(tokens, 5), 250)
    expression = sympy.Add(*[(i + 1) * sympy.Mul(*m) for i, m in enumerate(monomials)])
    start = time.process_time()
    polynomial_coefficients(expression + sympy.expand((tokens[0] - tokens[5] / 3) ** 9), tokens)
    assert time.process_time() - start < 20


def test_separate_tokens_are_never_multiplied_out():
    assert coefficients("prod(He2(z)) + z200") == {
        (0,) * 199 + (1,): 1,
        (2,) * 200: 2**200,
    }


def test_dense_index():
    assert dense_index(((0, 2), (2, 1)), 4) == (2, 0, 1, 0)
