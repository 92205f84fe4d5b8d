import math

import mpmath
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import QQ

from ssiode.hermite.closed_form.enclosure import as_expression
from ssiode.hermite.closed_form.field import Field, rational
from ssiode.hermite.closed_form.univariate import Edge, Ridge, hermite_multiplication


def he(order, x):
    values = [1, x]
    for n in range(1, order):
        values.append(x * values[n] - n * values[n - 1])
    return values[order]


def average(function, order, splits):
    with mpmath.workdps(20):
        edges = sorted([*range(-12, 13, 4), *splits])
        value = mpmath.quad(lambda x: function(x) * he(order, x) * mpmath.npdf(x), edges)
    return float(value)


def as_float(field, constant):
    return float(sympy.N(as_expression(field, constant), 30))


@given(st.integers(0, 8), st.integers(0, 8), st.fractions(-3, 3))
@settings(derandomize=True, deadline=None)
def test_powers_times_hermite_polynomials(power, order, x):
    total = sum(factor * he(m, x) for m, factor in hermite_multiplication(power, order))
    assert total == x**power * he(order, x)


@pytest.mark.parametrize("place", [QQ(0), QQ(1, 2), QQ(-3, 2)])
def test_steps(place):
    """H(x + q) has its jump at -q."""
    field = Field()
    edge = Edge(field, rational(place.numerator, place.denominator), rational(1), is_step=True)
    for order in range(7):
        expected = average(lambda x: float(x > -float(place)), order, [-float(place)])
        assert as_float(field, edge(order)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("slope", "offset"), [(1, 0), (2, 1), (-1, 3)])
def test_error_functions(slope, offset):
    field = Field()
    rate = field.square_root(rational(2, 1 + 2 * slope**2))
    place = field.multiply(rate, rational(offset))
    edge = Edge(field, place, rate, is_step=False)
    for order in range(7):
        expected = average(lambda x: mpmath.erf(slope * x + offset), order, [])
        assert as_float(field, edge(order)) * slope**order == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("power", "shift"), [(1, 0), (2, 1), (3, -1)])
def test_powers_of_a_form_of_length_two_on_one_side(power, shift):
    """t = 2x + shift, cut where 2x = 1."""
    field = Field()
    edge = Edge(field, rational(-1, 2), rational(1, 2), is_step=True)
    ridge = Ridge(field, edge, power, rational(4), rational(shift))
    for order in range(7):
        expected = average(lambda x: (2 * x + shift) ** power * (x > 0.5), order, [0.5])
        assert as_float(field, ridge(order)) * 2**order == pytest.approx(expected, abs=1e-10)


def test_a_step_at_zero_has_no_other_constants_than_pi():
    field = Field()
    edge = Edge(field, {}, rational(1), is_step=True)
    value = as_expression(field, edge(39))
    assert value / sympy.sqrt(1 / (2 * sympy.pi)) == -math.prod(range(1, 38, 2))
