"""Arithmetic that keeps proofs."""

import pytest
import sympy

from ssiode.hermite.coefficient import Verdict
from ssiode.risk_landscape.at_origin.numbers import Number, number_text, total
from ssiode.risk_landscape.at_origin.polynomials import collected, derivative, product, substituted
from ssiode.risk_landscape.at_origin.student_symmetry import StudentSymmetry


def exact(text):
    return Number.of_exact(sympy.sympify(text))


def test_exact_sums_cancel_and_floats_do_not():
    terms = [exact("sqrt(2)"), exact("sqrt(3)"), exact("-sqrt(2) - sqrt(3)")]
    assert total(terms).verdict is Verdict.ZERO
    floats = [Number.of_float(n.value, n.error) for n in terms]
    assert total(floats).verdict is Verdict.UNDECIDED
    assert abs(total(floats).value) <= total(floats).error


def test_float_without_an_error_is_exact_only_at_zero():
    assert Number.of_float(0.0, 0.0).verdict is Verdict.ZERO
    assert Number.of_float(0.0, 1e-300).verdict is Verdict.UNDECIDED
    assert Number.of_float(1.0, 0.0).exact is None


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.25, 0.0, "0.25"),
        (100763.0, 1434.0, "101000 +- 1400"),
        (-123456.7, 1e-3, "-123457"),
        (3.0, 0.2, "3 +- 0.2"),
        (0.01, 5.0, "0.01 +- 5"),
        (0.0, 1e-12, "0 +- 1e-12"),
        (2.0, float("inf"), "2 +- inf"),
    ],
)
def test_numbers_are_shown_with_the_error_that_matters(value, error, text):
    assert number_text(value, error) == text


def test_products_carry_errors():
    found = Number.of_float(2.0, 0.1) * Number.of_float(3.0, 0.2)
    assert found.value == 6.0
    assert found.error == pytest.approx(0.1 * 3 + 0.2 * 2 + 0.02)
    assert (exact("0") * Number.of_float(3.0, 0.2)).is_zero
    assert (exact("2") * exact("pi")).exact == 2 * sympy.pi


def test_product_with_an_undecided_factor_is_undecided():
    assert (exact("2") * Number.of_float(0.0, 0.1)).verdict is Verdict.UNDECIDED


def test_substitution_agrees_with_sympy():
    x, y = sympy.symbols("x y")
    value = x**2 * y + 3 * y**2 - x
    inner = 2 * x + x**2
    terms = {(2, 1): exact("1"), (0, 2): exact("3"), (1, 0): exact("-1")}
    found = substituted(terms, {1: {(1, 0): exact("2"), (2, 0): exact("1")}}, 4)
    expected = sympy.Poly(sympy.expand(value.subs(y, inner)), x)
    assert {p[0]: n.exact for p, n in found.items()} == {
        p[0]: c for p, c in expected.terms() if p[0] <= 4
    }


def test_derivative_and_product():
    terms = {(2, 1): exact("3")}
    assert derivative(terms, 0)[(1, 1)].exact == 6
    assert derivative(terms, 1)[(2, 0)].exact == 3
    assert product(terms, terms, highest=5) == {}
    assert collected([((1,), exact("1")), ((1,), exact("-1"))]) == {}


def test_symmetry_of_groups_of_equal_constants():
    symmetry = StudentSymmetry(((0, 2), (1,)), None)
    assert symmetry.representative((0, 5, 3)) == ((3, 5, 0), 1)
