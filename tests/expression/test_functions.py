import math
import pickle

import pytest
import sympy
from numpy.polynomial import hermite_e
from scipy.special import eval_hermitenorm, expit
from sympy.abc import x

from ssiode.errors import InputError
from ssiode.expression import He, parse_expression, relu, sigmoid
from ssiode.expression.functions import hermite_powers
from ssiode.expression.names import FUNCTIONS, hermite_value

real = sympy.Symbol("r", real=True)


@pytest.mark.parametrize("order", [0, 1, 2, 3, 7, 20, 41])
def test_hermite_powers_are_those_of_numpy(order):
    dense = [0] * (order + 1)
    for power, coefficient in hermite_powers(order).items():
        dense[power] = coefficient
    expected = hermite_e.herme2poly([0] * order + [1])
    assert dense == pytest.approx(expected, rel=1e-12)


def test_trivial_orders_are_values_and_others_stay():
    assert He(0, x) == 1
    assert He(1, x) == x
    assert isinstance(He(2, x), He)
    assert He(2, x).expand(func=True) == x**2 - 1


def test_derivatives():
    assert He(5, x**2).diff(x) == 10 * x * He(4, x**2)
    assert sigmoid(x).diff(x) == sigmoid(x) * (1 - sigmoid(x))
    assert relu(x).diff(x) == sympy.Heaviside(x, 0)
    assert relu(x).diff(x).subs(x, 0) == 0


@pytest.mark.parametrize("order", [2, 5, 30, 100])
@pytest.mark.parametrize("point", ["0", "1/3", "-2.5", "17/2", "sqrt(2)"])
def test_numbers_of_hermite_polynomials(order, point):
    at = parse_expression(point).outputs[0]
    exact = sympy.Add(*[c * at**power for power, c in hermite_powers(order).items()])
    value = He(order, at).evalf(30)
    assert abs(value - exact.evalf(40)) <= abs(exact.evalf(40)) * sympy.Float("1e-29", 40)
    size = math.sqrt(math.factorial(order)) * math.exp(float(at) ** 2 / 4)
    assert eval_hermitenorm(order, float(at)) == pytest.approx(float(value), abs=1e-12 * size)


def test_hermite_polynomials_of_floats_do_not_cancel():
    value = He(100, sympy.Float(-2.5)).evalf()
    assert float(value) == pytest.approx(float(He(100, sympy.Rational(-5, 2)).evalf()), rel=1e-14)


def test_hermite_value_in_floats():
    assert hermite_value(6, 1.25) == pytest.approx(eval_hermitenorm(6, 1.25), rel=1e-13)


@pytest.mark.parametrize("point", [-800, -3, 0, 1, 40])
def test_numbers_of_sigmoid(point):
    value = sigmoid(sympy.Integer(point)).evalf(20)
    assert float(value) == pytest.approx(expit(float(point)), rel=1e-14)
    assert FUNCTIONS["sigmoid"].numeric(point) == pytest.approx(expit(float(point)), rel=1e-14)


def test_numbers_of_relu():
    assert relu(-sympy.pi) == 0
    assert relu(sympy.pi) == sympy.pi
    assert relu(x).subs(x, -2) == 0
    assert relu(real).evalf(subs={real: -2.5}) == 0
    assert relu(real).evalf(subs={real: 2.5}) == 2.5


def test_symbols_survive_evalf():
    assert float(He(2, 2 * x).evalf().subs(x, 1)) == 3
    assert (He(2, x) + sigmoid(x)).evalf(subs={x: 0}) == pytest.approx(-0.5)


def test_assumptions():
    assert He(3, real).is_real
    assert sigmoid(real).is_positive
    assert relu(real).is_nonnegative
    assert sympy.Abs(sigmoid(real)) == sigmoid(real)


@pytest.mark.parametrize("order", [-1, sympy.Rational(1, 2), 2.0])
def test_orders_that_do_not_exist(order):
    with pytest.raises(InputError, match="whole number"):
        He(order, x)


def test_text_and_pickle():
    expression = He(2, x) + sigmoid(x) * relu(x)
    assert str(He(2, x)) == "He2(x)"
    assert sympy.latex(He(2, x) ** 2) == r"\mathrm{He}_{2}^{2}\left(x\right)"
    assert pickle.loads(pickle.dumps(expression)) == expression


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@pytest.mark.parametrize("point", [0.3, 1.7])
def test_plain_and_symbolic_functions_agree(name, point):
    entry = FUNCTIONS[name]
    symbolic = entry.symbolic(sympy.Rational(str(point)))
    assert entry.numeric(point) == pytest.approx(float(symbolic.evalf(20)), rel=1e-14)


def test_heaviside_at_zero_is_one_half():
    assert FUNCTIONS["heaviside"].symbolic(sympy.S.Zero) == sympy.S.Half
    assert FUNCTIONS["heaviside"].numeric(0.0) == 0.5
