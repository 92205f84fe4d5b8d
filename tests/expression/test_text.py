"""Text from SymPy that the parser reads back as the same expression."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from ssiode.expression import parse_expression, token_symbols
from ssiode.expression.text import expression_text
from tests.checks import refuses

Z1, Z2 = token_symbols(2)

ROUND_TRIPS = [
    "z1*z2 - 3/7",
    "-z1^2 + (-z1)^3",
    "1/z1 + z1^-2",
    "sqrt(2)*z1^(1/3) + z2^(3/2)",
    "(z1^2 + 1)^(-1/2)",
    "exp(z1) + exp(1) + exp(-2)",
    "2^z1 + 3^(z1*z2)",
    "log(1 + z1^2)*sin(z1)/cos(z2)",
    "sinh(z1) + cosh(z1) + tanh(z1) + tan(z2)",
    "erf(z1)*sigmoid(z2) - relu(z1)",
    "abs(z1) + sign(z2) + heaviside(z1 - z2)",
    "max(z1, z2, 1/3) - min(z1, z2^2)",
    "He2(z1)*He5(z2 - z1)",
    "He3(He2(z1))",
    "pi*z1 + log(3)",
    "(z1 + z2)*(z1 - z2)",
    "0.1*z1 + 1e-20",
    "5",
]


@pytest.mark.parametrize("text", ROUND_TRIPS)
def test_round_trip(text):
    expression = parse_expression(text, length=2).outputs[0]
    written = expression_text(expression)
    assert parse_expression(written, length=2).outputs == (expression,)


def test_lists_of_sympy_and_text():
    text = expression_text([Z1 * Z2, "z1^2", 3, sympy.Rational(1, 3)])
    outputs = parse_expression(text).outputs
    assert outputs == (Z1 * Z2, Z1**2, 3, sympy.Rational(1, 3))


def test_arrays_of_expressions_are_lists():
    assert parse_expression(expression_text(np.array([Z1, Z2]))).outputs == (Z1, Z2)


def test_floats_are_written_as_their_shortest_decimal():
    text = expression_text(0.1 * Z1 + sympy.Float("0.25"))
    assert parse_expression(text, length=2).outputs == (Z1 / 10 + sympy.Rational(1, 4),)


@pytest.mark.parametrize("value", [3, None, 2.5, object(), sympy.Matrix([Z1, Z2])])
def test_what_is_no_expression_is_refused(value):
    refuses(
        lambda: expression_text(value),
        "give text, a SymPy expression, a list of them or a function",
    )


@pytest.mark.parametrize("value", [None, object(), {1: 2}, lambda: 0])
def test_a_part_that_is_no_expression_is_refused(value):
    refuses(lambda: expression_text([Z1, value]), "neither text nor a SymPy expression")
