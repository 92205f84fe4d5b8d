import math

import pytest

from ssiode.expression import parse_expression
from ssiode.hermite.coefficient import Verdict
from ssiode.hermite.sources import coefficient_source


def average(text):
    parsed = parse_expression(text)
    source = coefficient_source(parsed.outputs[0], parsed.tokens)
    assert source.is_constant
    assert source.coefficients(1) == ()
    (coefficient,) = source.coefficients(0)
    return coefficient


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("sigmoid(2)", 0.8807970779778824),
        ("tanh(1) - erf(1)", math.tanh(1) - math.erf(1)),
        ("erf(1) - erf(1)*(sigmoid(1) + sigmoid(-1)) + 1e-60", 1e-60),
        ("sigmoid(-1000)", 0.0),  # 5e-435
    ],
)
def test_constants_that_are_not_algebraic(text, value):
    found = average(text)
    assert found.verdict is Verdict.NONZERO
    # The expected value is rounded too, from terms of size 1.
    assert abs(found.value - value) <= found.error + 2.0**-52 * min(1.0, 1e30 * abs(value))
    assert found.error > 0


@pytest.mark.parametrize("text", ["sigmoid(1) + sigmoid(-1) - 1", "tanh(1) - sinh(1)/cosh(1)"])
def test_a_hidden_zero_is_not_claimed_either_way(text):
    found = average(text)
    assert (found.verdict, found.value) == (Verdict.UNDECIDED, 0.0)
    assert 0 < found.error < 1e-50
