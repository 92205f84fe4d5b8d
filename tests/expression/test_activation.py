"""Activations by name and as expressions in s."""

from __future__ import annotations

import pytest
import sympy

from ssiode.expression.activation import parse_activation
from ssiode.expression.functions import He, relu, sigmoid
from tests.checks import refuses

S = sympy.Symbol("s", real=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("identity", S),
        ("s", S),
        ("square", S**2),
        ("tanh", sympy.tanh(S)),
        ("erf", sympy.erf(S)),
        ("relu", relu(S)),
        ("sigmoid", sigmoid(S)),
        ("He3", He(3, S)),
        ("He1", S),
        ("abs", sympy.Abs(S)),
        ("s^2 - 2*tanh(s)", S**2 - 2 * sympy.tanh(S)),
        (" s + 1 ", S + 1),
        ("max(s, 0.1*s)", sympy.Max(S, S / 10)),
    ],
)
def test_names_and_expressions(text, expected):
    sigma, symbol = parse_activation(text)
    assert symbol == S
    assert sympy.simplify(sigma - expected) == 0 or sigma == expected


def test_constants_have_the_variable_too():
    assert parse_activation("2") == (2, S)
    assert parse_activation("He0") == (1, S)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("rellu", "'relu'"),
        ("Tanh", "tanh"),
        ("softplus", "softplus"),
        ("He", "order"),
        ("z1", "uses z1"),
        ("z", "uses z; its variable is s"),
        ("tanh(z)", "uses z; its variable is s"),
        ("x^2", "uses x; its variable is s"),
        ("s + L", "uses L; its variable is s"),
        ("z1 + s", "uses z1"),
        ("s*b", "uses b"),
        ("[s, s^2]", "several outputs"),
        ("s +", "ends too early"),
        ("s.real", "s.real"),
        ("__import__('os')", "unexpected"),
        ("", "empty"),
        ("a\nb", "unexpected"),
        ("1/0", "zero"),
        ("sign", "jump"),
        ("heaviside(s)*s", "jump"),
        (None, "text"),
        (2, "text"),
        (["relu"], "text"),
        (sympy.tanh(S), "text"),
    ],
)
def test_what_is_no_activation_is_refused(text, part):
    refuses(lambda: parse_activation(text), part)
