import math

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import QQ

from ssiode.errors import InputError
from ssiode.hermite.closed_form.enclosure import as_expression
from ssiode.hermite.closed_form.field import Field, NoClosedForm, add, rational, scale
from ssiode.hermite.closed_form.functions import Functions
from ssiode.hermite.closed_form.piecewise import (
    absolute_function,
    map_pieces,
    pieces,
    sign_function,
)
from ssiode.hermite.closed_form.roots import evaluate, ordered, real_roots


def polynomial(functions, coefficients, variable=None):
    z1 = functions.token(0) if variable is None else variable
    return functions.add(
        [
            functions.scale(functions.power(z1, power), rational(c.numerator, c.denominator))
            for power, c in enumerate(coefficients)
        ]
    )


def value_at(functions, function, point):
    """Value of a function of the first two tokens with steps and powers."""
    total = 0.0
    for term, constant in function.items():
        size = float(as_expression(functions.field, constant))
        for variable, power in term.powers:
            size *= form_at(functions, variable, point) ** power
        for direction, number in term.steps:
            edge = float(as_expression(functions.field, functions.breaks[direction][number]))
            size *= form_at(functions, -1 - direction, point) > edge
        total += size
    return total


def form_at(functions, variable, point):
    if variable >= 0:
        return point[variable]
    form = functions.directions[-1 - variable]
    return sum(float(as_expression(functions.field, dict(c))) * point[t] for t, c in form)


whole = st.integers(-4, 4)


@given(st.lists(st.tuples(whole, st.integers(1, 3)), min_size=1, max_size=3), whole.filter(bool))
@settings(derandomize=True, deadline=None, max_examples=50)
def test_signs_of_products_of_linear_factors(factors, lead):
    functions = Functions(Field())
    product = functions.constant(rational(lead))
    for root, power in factors:
        linear = polynomial(functions, [QQ(-root), QQ(1)])
        product = functions.multiply(product, functions.power(linear, power))
    sign, absolute = sign_function(functions, product), absolute_function(functions, product)
    for x in np.arange(-5.25, 5.5, 0.5):
        exact = lead * math.prod((x - root) ** power for root, power in factors)
        assert value_at(functions, sign, [x]) == pytest.approx(np.sign(exact))
        assert value_at(functions, absolute, [x]) == pytest.approx(abs(exact))


@given(whole, whole, whole.filter(bool))
@settings(derandomize=True, deadline=None, max_examples=50)
def test_signs_of_quadratics(c, b, a):
    functions = Functions(Field())
    sign = sign_function(functions, polynomial(functions, [QQ(c), QQ(b), QQ(a)]))
    for x in np.arange(-7.13, 7, 0.37):
        assert value_at(functions, sign, [x]) == pytest.approx(np.sign(a * x * x + b * x + c))


@given(st.lists(st.fractions(-3, 3, max_denominator=5), min_size=3, max_size=3))
@settings(derandomize=True, deadline=None, max_examples=30)
def test_nested_absolute_values(knots):
    functions = Functions(Field())
    function, numeric = functions.token(0), lambda x: x
    for knot in knots:
        shift = functions.constant(rational(knot.numerator, knot.denominator))
        function = absolute_function(functions, functions.subtract(function, shift))
        numeric = lambda x, inner=numeric, knot=knot: abs(inner(x) - float(knot))  # noqa: E731
    for x in np.arange(-9.07, 9, 0.61):
        assert value_at(functions, function, [x]) == pytest.approx(numeric(x), abs=1e-12)


def test_a_square_of_a_form_of_two_tokens_is_seen_as_one():
    functions = Functions(Field())
    form = functions.add([functions.token(0), functions.scale(functions.token(1), rational(-2))])
    function = polynomial(functions, [QQ(-2), QQ(1), QQ(1)], form)
    sign = sign_function(functions, function)
    for x, y in [(0.1, 0.3), (3.0, 0.2), (-1.0, 2.0), (2.0, 0.6)]:
        t = x - 2 * y
        assert value_at(functions, sign, [x, y]) == np.sign(t * t + t - 2)


def test_pieces_of_a_rectifier_less_one():
    functions = Functions(Field())
    z1 = functions.token(0)
    rectifier = functions.scale(functions.add([z1, absolute_function(functions, z1)]), rational(1))
    found = pieces(functions, functions.subtract(rectifier, functions.constant(rational(1))))
    assert found.points == [{}]
    assert found.polynomials == [[rational(-1)], [rational(-1), rational(2)]]


def test_what_vanishes_on_a_half_line_has_sign_zero_there():
    functions = Functions(Field())
    z1 = functions.token(0)
    rectifier = functions.add([z1, absolute_function(functions, z1)])
    sign = sign_function(functions, rectifier)
    assert [value_at(functions, sign, [x]) for x in (-1.0, 1.0)] == [0.0, 1.0]


def test_images_of_pieces():
    functions = Functions(Field())
    absolute = absolute_function(functions, functions.token(0))
    squared = map_pieces(functions, absolute, lambda x: functions.power(x, 2))
    assert squared == functions.power(functions.token(0), 2)


@pytest.mark.parametrize("which", ["two tokens", "no lead", "two directions", "exponential"])
def test_other_functions_are_refused(which):
    functions = Functions(Field())
    z1, z2 = functions.token(0), functions.token(1)
    first, second = (absolute_function(functions, z) for z in (z1, z2))
    given_function = {
        "two tokens": functions.add([functions.power(z1, 2), z2]),
        "no lead": functions.multiply(z1, z2),
        "two directions": functions.add([first, second]),
        "exponential": functions.exponential(functions.affine(z1)),
    }[which]
    with pytest.raises(NoClosedForm):
        sign_function(functions, given_function)


def roots_of(field, *coefficients):
    found = real_roots(field, [rational(c) for c in coefficients])
    return [as_expression(field, root) for root in found]


def test_roots():
    field = Field()
    assert roots_of(field, -2, 0, 1) == [-sympy.sqrt(2), sympy.sqrt(2)]
    assert roots_of(field, -2, 0, 0, 1) == [sympy.root(2, 3)]
    assert roots_of(field, 1, 0, 1) == []
    assert roots_of(field, 0, -1, 0, 1) == [-1, 0, 1]
    assert roots_of(field, -1, -1, 1) == [(1 - sympy.sqrt(5)) / 2, (1 + sympy.sqrt(5)) / 2]
    # x^4 + x + 1 has no real root and no factor over the rationals.
    assert roots_of(field, 1, 1, 0, 0, 1) == []
    with pytest.raises(NoClosedForm, match="cubic"):
        roots_of(field, -1, -1, 0, 1)
    with pytest.raises(NoClosedForm, match="higher than 12"):
        roots_of(field, *[1] * 14)
    with pytest.raises(InputError, match="digits"):
        roots_of(field, 2**600, 1)


def test_roots_with_irrational_coefficients():
    field = Field()
    root = field.root(QQ(2), 2)
    # x^2 - 2 sqrt(2) x + 1 = 0 at sqrt(2) +- 1.
    quadratic = [rational(1), scale(root, -2), rational(1)]
    found = real_roots(field, quadratic)
    assert found == [add(root, rational(-1)), add(root, rational(1))]
    assert all(evaluate(field, quadratic, x) == {} for x in found)
    assert ordered(field, [rational(3, 2), root, {}]) == [{}, root, rational(3, 2)]
