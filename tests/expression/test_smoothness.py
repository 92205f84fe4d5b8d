"""Which expressions are known to be smooth."""

from __future__ import annotations

import pytest

from ssiode.expression import parse_expression
from ssiode.expression.names import FUNCTIONS
from ssiode.expression.smoothness import is_smooth

SMOOTH = ["exp", "sin", "cos", "sinh", "cosh", "tanh", "erf", "sigmoid"]


def smooth(text):
    return is_smooth(parse_expression(text, length=2).outputs[0])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function(name):
    # sqrt, log and tan are smooth only where they are finite; the rest has a kink or a jump.
    arguments = "z1, z2" if name in ("min", "max") else "z1 + 1/3"
    assert smooth(f"{name}({arguments}) + z2") == (name in SMOOTH)


@pytest.mark.parametrize(
    "text", ["3", "z1*z2", "He5(z1)", "(z1 + z2)^10", "2^z1", "sqrt(2)*z1", "log(3) + z1", "z1/pi"]
)
def test_smooth_expressions(text):
    assert smooth(text)


@pytest.mark.parametrize(
    "text",
    ["1/z1", "z1^-2", "z1^(1/3)", "(z1^2)^(3/2)", "exp(abs(z1))", "tanh(relu(z1))", "He2(1/z2)"],
)
def test_expressions_that_are_not_known_to_be_smooth(text):
    assert not smooth(text)


def test_constants_are_smooth():
    assert smooth("abs(-3)*z1")
    assert smooth("max(1, 2)*z1")
