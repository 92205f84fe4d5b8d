"""What a text means, and how faults in it are told."""

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from ssiode.errors import InputError
from ssiode.expression import He, parameter_symbol, parse_expression, relu, sigmoid, token_symbols
from ssiode.expression.adopt import adopt_expressions
from ssiode.expression.limits import MAX_DEPTH

z1, z2, z3 = token_symbols(3)
b = parameter_symbol("b")


def one(text, length=None, **parameters):
    (output,) = parse_expression(text, length, parameters).outputs
    return output


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("z1+z2", z1 + z2),
        ("z1 - z2 - z3", z1 - z2 - z3),
        ("-z1^2", -(z1**2)),
        ("(-z1)^2", z1**2),
        ("z1^2+z2", z1**2 + z2),
        ("z1**2*z2", z1**2 * z2),
        ("2^3^2*z1", 512 * z1),
        ("2^-1*z1", z1 / 2),
        ("z1/2/3", z1 / 6),
        ("z1/2*3", z1 * 3 / 2),
        ("6/z1^2", 6 / z1**2),
        ("--z1 + +z2", z1 + z2),
        ("z1*-2", -2 * z1),
        ("He0(z1) + He1(z2) + He2(z3)", 1 + z2 + He(2, z3)),
        ("He3(2*z1)", He(3, 2 * z1)),
        ("relu(z1) + sigmoid(z2)", relu(z1) + sigmoid(z2)),
        ("abs(z1)*sign(z2)*heaviside(z3)", abs(z1) * sympy.sign(z2) * sympy.Heaviside(z3)),
        ("sqrt(8)*exp(z1)*log(2)", 2 * sympy.sqrt(2) * sympy.exp(z1) * sympy.log(2)),
        ("sin(z1)+cos(z1)+tan(z1)", sympy.sin(z1) + sympy.cos(z1) + sympy.tan(z1)),
        ("sinh(z1)+cosh(z1)+tanh(z1)", sympy.sinh(z1) + sympy.cosh(z1) + sympy.tanh(z1)),
        ("erf(z1/sqrt(2))", sympy.erf(z1 / sympy.sqrt(2))),
        ("max(z1, 0, z2)", sympy.Max(z1, 0, z2)),
        ("min(z1)", z1),
        ("max(1, 2, 3/2)", sympy.Integer(2)),
        ("2^z1", 2**z1),
        ("pi*z1", sympy.pi * z1),
        ("z1\n  + z2\t", z1 + z2),
        ("(((z1)))", z1),
        ("3", sympy.Integer(3)),
        ("0^0", sympy.Integer(1)),
        ("He2(3)", sympy.Integer(8)),
    ],
)
def test_what_a_text_means(text, expected):
    assert one(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.1", "1/10"),
        ("1e-12", "1/1000000000000"),
        ("1.5E+3", "1500"),
        (".5", "1/2"),
        ("5.", "5"),
        ("0.1+0.2-0.3", "0"),
        ("3.141592653589793", "3141592653589793/1000000000000000"),
    ],
)
def test_decimals_are_exact(text, expected):
    assert one(text) == sympy.Rational(expected)


def test_cancellations_of_decimals():
    assert one("0.1*z1 + 0.2*z1 - 0.3*z1 + z1*z2") == z1 * z2
    assert one("1e-12*z1 + z2^2").coeff(z1) == sympy.Rational(1, 10**12)


@pytest.mark.parametrize(
    ("text", "length", "expected"),
    [
        ("sum(z)/sqrt(L)", 2, (z1 + z2) / sympy.sqrt(2)),
        ("mean(z^2)", 2, z1**2 / 2 + z2**2 / 2),
        ("prod(He2(z))", 2, He(2, z1) * He(2, z2)),
        ("sum(He2(z)) - z2", None, He(2, z1) + He(2, z2) - z2),
        ("sum((z - z1)^2)", 2, (z2 - z1) ** 2),
        ("sum(z*sum(z))", 2, z1 * (z1 + z2) + z2 * (z1 + z2)),
        ("sum(1)", 3, sympy.Integer(3)),
        ("L*z1", None, z1),
        ("sum(2^(1/2)*z)", 2, sympy.sqrt(2) * z1 + sympy.sqrt(2) * z2),
    ],
)
def test_functions_over_all_tokens(text, length, expected):
    assert one(text, length) == expected


def test_lists_lengths_and_symbols():
    parsed = parse_expression("[z1, b*z1*z3]", parameters={})
    assert parsed.outputs == (z1, b * z1 * z3)
    assert parsed.length == 3
    assert parsed.tokens == (z1, z2, z3)
    assert parsed.parameters == (b,)
    assert parse_expression("3").length == 1
    assert parse_expression("z1", length=np.int64(3)).tokens == (z1, z2, z3)


@pytest.mark.parametrize(
    "value", ["1/3", Fraction(1, 3), sympy.Rational(1, 3), "2/6", "(1)/(3)"], ids=repr
)
def test_exact_parameters(value):
    assert one("b*z1", b=value) == z1 / 3


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.1, "1/10"), (2, "2"), (-1.5, "-3/2"), ("-1e-3", "-1/1000"), (np.float64(0.3), "3/10")],
)
def test_numbers_as_parameters(value, expected):
    assert one("b*z1", b=value) == sympy.Rational(expected) * z1


def test_constants_as_parameters():
    assert one("b*z1", b="sqrt(2)/2") == z1 / sympy.sqrt(2)
    assert one("b*z1", b=sympy.sqrt(2)) == sympy.sqrt(2) * z1
    assert one("b*z1", b="pi") == sympy.pi * z1
    # A value that makes the parameter vanish is a use of it all the same.
    assert one("b*z1 + z2", b=0) == z2


def test_long_chains_are_read():
    count = 2000
    assert one("+".join(["z1*z2"] * count)) == count * z1 * z2
    assert one("-".join(["z1"] * count)) == (2 - count) * z1
    assert one("*".join(["z1"] * 900)) == z1**900
    assert one("(" + "+".join(["z1", "z2^2"] * (count // 2)) + ")/1000") == z1 + z2**2


def test_nesting_within_the_limit():
    depth = MAX_DEPTH - 1
    assert one("(" * depth + "z1" + ")" * depth) == z1
    assert one("sin(" * depth + "z1" + ")" * depth).has(z1)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("tahn(z1)", "did you mean 'tan'"),
        ("sinn(z1)", "did you mean 'sin'"),
        ("sgn(z1)", "did you mean 'sign'"),
        ("Z1", "did you mean 'z1'"),
        ("z_2", "did you mean 'z2'"),
        ("Pi*z1", "did you mean 'pi'"),
        ("tanhh*z1", "did you mean 'tanh'"),
        ("sin", "give it an argument"),
        ("He2*z1", "give it an argument"),
        ("He(z1)", "He2(z1)"),
        ("e*z1", "exp(1)"),
        ("z0", "numbered from z1"),
        ("sum(z)", "--length"),
        ("L", "--length"),
        ("z", "--length"),
        ("z1 + z", "running token"),
        ("2z1", "2*z1"),
        ("z1, z2", "list"),
        ("[z1, [z2]]", "list"),
        ("(z1", "'(' was never closed"),
        ("sin(z1, z2)", "one argument"),
        ("z1^b", "--param b=2"),
    ],
)
def test_errors_tell_how_to_mend(text, part):
    with pytest.raises(InputError) as caught:
        parse_expression(text)
    assert part in str(caught.value)


def test_length_errors():
    with pytest.raises(InputError, match=r"z5 is used and the length is 2.*--length"):
        parse_expression("z5", length=2)
    for length in (0, -1, 1001, True, "2", 2.5, 10**5000, None):
        with pytest.raises(InputError, match="length"):
            token_symbols(length)


@pytest.mark.parametrize(
    ("parameters", "part"),
    [
        ({"c": 1}, "allowed: b"),
        ({"b": 1, "c": 2}, "does not use it"),
        ({"b": "z1"}, "one number"),
        ({"b": "c"}, "one number"),
        ({"b": "[1, 2]"}, "one number"),
        ({"b": "1/0"}, "division by zero"),
        ({"b": ""}, "empty"),
        ({"b": float("nan")}, "finite"),
        ({"b": float("inf")}, "finite"),
        ({"b": True}, "number"),
        ({"b": None}, "finite number"),
        ({"b": [1]}, "finite number"),
        ({"b": 10**5000}, "digits"),
        ({"b": "__import__('os')"}, "unexpected character"),
        ({"z1": 1}, "has a meaning already"),
        ({"sin": 1}, "has a meaning already"),
        ({"L": 1}, "has a meaning already"),
        ({"b c": 1}, "letters"),
    ],
)
def test_parameters_that_cannot_be(parameters, part):
    with pytest.raises(InputError) as caught:
        parse_expression("b*z1", parameters=parameters)
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


atoms = st.sampled_from(["z1", "z2", "1", "2", "0.5", "1/3", "pi", "sqrt(2)"])


def combine(children):
    two = st.tuples(children, st.sampled_from("+-*"), children)
    return st.one_of(
        two.map(lambda parts: f"({parts[0]}{parts[1]}{parts[2]})"),
        children.map(lambda inside: f"-{inside}"),
        st.tuples(children, st.integers(0, 3)).map(lambda parts: f"({parts[0]})^{parts[1]}"),
        st.tuples(st.integers(0, 4), children).map(lambda parts: f"He{parts[0]}({parts[1]})"),
        children.map(lambda inside: f"tanh({inside})"),
    )


def he(order, x):
    before, now = 0.0, 1.0
    for n in range(order):
        before, now = now, x * now - n * before
    return now


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.recursive(atoms, combine, max_leaves=6), st.floats(-2, 2), st.floats(-2, 2))
def test_values_are_those_of_plain_arithmetic(text, first, second):
    names = {"z1": first, "z2": second, "pi": math.pi, "sqrt": math.sqrt, "tanh": math.tanh}
    names |= {f"He{n}": lambda x, n=n: he(n, x) for n in range(5)}
    expected = eval(text.replace("^", "**"), {"__builtins__": {}}, names)
    exact = one(text, 2).subs({z1: sympy.Rational(first), z2: sympy.Rational(second)})
    value = float(exact.evalf(30))
    assert value == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_adopted_symbols_are_known_by_name():
    plain, positive = sympy.Symbol("z1"), sympy.Symbol("z2", positive=True)
    parsed = adopt_expressions([plain * positive + sympy.Symbol("b"), 2, 0.1])
    assert parsed.outputs == (z1 * z2 + b, 2, sympy.Rational(1, 10))
    assert parsed.length == 2
    assert parsed.parameters == (b,)
    assert adopt_expressions([0.1 * plain]).outputs == (z1 / 10,)


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ([], "empty"),
        ([None], "NoneType"),
        ([True], "bool"),
        (["z1"], "str"),
        ([sympy.Symbol("z0")], "numbered from z1"),
        ([sympy.Symbol("sin")], "function"),
        ([sympy.I * z1], "real"),
        ([sympy.oo], "real"),
        ([sympy.Symbol("z1001")], "z1000"),
    ],
)
def test_expressions_that_cannot_be_adopted(given, part):
    with pytest.raises(InputError) as caught:
        adopt_expressions(given)
    assert part in str(caught.value)


def test_adopted_parameters():
    assert adopt_expressions([b * z1], parameters={"b": "1/3"}).outputs == (z1 / 3,)
    with pytest.raises(InputError, match="does not use it"):
        adopt_expressions([z1], parameters={"b": 1})
