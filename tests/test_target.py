"""Targets as text, SymPy and functions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import sympy

from ssiode.expression import token_symbols
from ssiode.target import Target
from tests.checks import refuses

Z = np.random.default_rng(0).standard_normal((4, 5, 3))


def he2(x):
    return x**2 - 1


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("z1*z2*z3", lambda z: z.prod(axis=-1)),
        ("sum(He2(z))", lambda z: he2(z).sum(axis=-1)),
        ("z1^2 + 3", lambda z: z[..., 0] ** 2 + 3),
        ("2", lambda z: np.full(z.shape[:-1], 2.0)),
    ],
)
def test_values_of_text(text, formula):
    values = Target(text, length=3)(Z)
    assert values.shape == (4, 5, 1)
    np.testing.assert_allclose(values[..., 0], formula(Z), rtol=1e-14)


def test_several_outputs_and_a_constant_among_them():
    values = Target("[z1, 1, z2*z3]")(Z)
    expected = np.stack([Z[..., 0], np.ones((4, 5)), Z[..., 1] * Z[..., 2]], axis=-1)
    assert np.array_equal(values, expected)


def test_a_list_of_texts_has_an_output_each():
    target = Target.from_table({"expression": ["z1", "z1*z2 + 1"]})
    assert np.array_equal(target(Z[..., :2]), Target("[z1, z1*z2 + 1]", length=2)(Z[..., :2]))
    assert Target.from_table(target.to_table()).n_outputs == 2


@pytest.mark.parametrize(
    ("function", "part"),
    [
        (lambda z: np.sqrt(z[..., 0] + 0j), "complex"),
        (lambda z: np.full(z.shape[:-1], "one"), "real numbers"),
        (lambda z: np.full(z.shape[:-1], object()), "real numbers"),
    ],
)
def test_values_that_are_not_real_are_refused(function, part):
    refuses(lambda: Target(function, length=2), part)


def test_whole_and_exact_values_become_floats():
    for value in (3, True, Fraction(1, 2)):
        values = Target(lambda z, value=value: np.full(z.shape[:-1], value), length=1)(
            np.ones((2, 1))
        )
        assert values.tolist() == [[float(value)]] * 2


def test_sympy_in_any_symbols_with_the_right_names():
    plain = sympy.symbols("z1 z2")
    real = token_symbols(2)
    for z1, z2 in (plain, real):
        target = Target(sympy.tanh(z1) * z2 + abs(z1) / 3)
        expected = np.tanh(Z[..., 0]) * Z[..., 1] + abs(Z[..., 0]) / 3
        np.testing.assert_allclose(target(Z[..., :2])[..., 0], expected, rtol=1e-14)
    target = Target([plain[0], plain[1] ** 2, "z1*z2"])
    assert target.n_outputs == 3
    assert Target.from_table(target.to_table()).expressions == target.expressions


def test_functions():
    target = Target(lambda z: np.stack([z.sum(axis=-1), z[..., 0]], axis=-1), length=3)
    assert target.n_outputs == 2
    assert target.expressions is None
    assert not target.is_smooth
    assert np.array_equal(target(Z)[..., 1], Z[..., 0])
    assert Target(lambda z: z.sum(axis=-1), length=3)(Z).shape == (4, 5, 1)
    refuses(target.to_table, "cannot be written")


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (lambda: Target(lambda z: z), "needs its length"),
        (lambda: Target(lambda z: z, length=0), "length"),
        (lambda: Target(lambda z: np.zeros(7), length=2), "must keep all axes"),
        (lambda: Target(lambda z: 1.0, length=2), "must keep all axes"),
        (lambda: Target("z1*z4", length=3), "z4"),
        (lambda: Target("z1*b"), "parameter b has no value"),
        (lambda: Target("z1", parameters={"b": 1}), "'b'"),
        (lambda: Target("z1*b", parameters={"b": "x"}), "parameter b"),
        (lambda: Target("z1*b", parameters={"b": [1]}), "parameter b"),
        (lambda: Target("z1*b", parameters={"b": True}), "parameter b"),
        (lambda: Target("z1*b", parameters=3), "table"),
        (lambda: Target("z1*b", parameters="b=2"), "table"),
        (lambda: Target("z1*b", parameters=[("b", 2)]), "table"),
        (lambda: Target("z1", length="2"), "length is '2'"),
        (lambda: Target("z1", length=1.5), "length is 1.5"),
        (lambda: Target(None), "an output is a NoneType"),
        (lambda: Target([object()]), "an output is a object"),
        (lambda: Target([]), "empty"),
        (lambda: Target(sympy.asin(sympy.Symbol("z1"))), "asin"),
        (lambda: Target("z1")(np.ones((4, 2))), "1 tokens"),
        (lambda: Target("z1")(np.float64(1.0)), "1 tokens"),
    ],
)
def test_bad_targets_are_refused(call, part):
    refuses(call, part)


@pytest.mark.parametrize(
    "value", [2, 0.1, "1/3", Fraction(1, 3), sympy.Rational(1, 3), np.int64(3), np.float32(0.1)]
)
def test_tables_keep_parameters_exactly(value):
    target = Target("b*z1^2", length=2, parameters={"b": value})
    table = target.to_table()
    assert type(table["parameters"]["b"]) in (int, float, str)
    again = Target.from_table(table)
    assert again.expressions == target.expressions
    assert again.length == 2


def test_the_table_is_a_copy():
    target = Target("z1")
    target.to_table()["expression"] = "z1^2"
    assert target.to_table()["expression"] == "z1"


@pytest.mark.parametrize(
    ("table", "part"),
    [
        ({}, "either 'expression' or 'name'"),
        ({"expression": "z1", "name": "positional-semantic"}, "either"),
        ({"expression": 3}, "text"),
        ({"expression": ["z1", 2]}, "text"),
        ({"expression": []}, ""),
        ({"expression": [3] * 10_000}, "..."),
        ({"foo": 1}, "label_noise"),
        ({"name": "positional-semantic", "foo": 1}, "a, label_noise, length, name, omega"),
        ({"name": "positional-semantic", "parameters": {"b": 2}}, "give omega and a"),
        ({"expression": "z1", "lenght": 2}, "did you mean 'length'?"),
        ({"expression": "z1", "omega": 0.5}, "omega"),
        ({"name": "positional"}, "did you mean 'positional-semantic'?"),
        ({"name": 3}, "unknown target"),
        ({"name": "positional-semantic"}, "needs omega"),
        ({"name": "positional-semantic", "omega": 0.5}, "needs a"),
        ({"name": "positional-semantic", "omega": 0.5, "a": 1, "cls": 3}, "'cls'"),
        ({"name": "positional-semantic", "omega": 0.5, "a": 1, "length": 3}, "length is 3"),
        ({"name": "positional-semantic", "omga": 0.5, "a": 1}, "did you mean 'omega'?"),
    ],
)
def test_bad_tables_are_refused(table, part):
    refuses(lambda: Target.from_table(table), part)


def test_smoothness():
    assert Target("[z1, tanh(z2)]").is_smooth
    assert not Target("[z1, abs(z2)]").is_smooth


def test_values_that_are_not_finite_come_without_a_warning():
    values = Target("[log(z1), 1/z1, exp(exp(exp(z1)))]")(np.array([[0.0], [-1.0], [5.0]]))
    assert np.isneginf(values[0, 0])
    assert np.isnan(values[1, 0])
    assert np.isposinf(values[[0, 2], [1, 2]]).all()


def test_long_and_deep_expressions():
    length = 1000
    target = Target("sum(z) + sum(z^2) + sum(z^3) + sum(z^4)", length=length)
    # 4000 terms of size 1, each rounded.
    assert target(np.full((1, length), 0.5))[0, 0] == pytest.approx(937.5, rel=1e-12)
    text, value = "z1", 0.3
    for _ in range(30):
        text, value = f"tanh(1 + 2*{text})", np.tanh(1 + 2 * value)
    assert Target(text)(np.array([[0.3]]))[0, 0] == pytest.approx(value, rel=1e-13)


def test_repr_names_the_target():
    assert repr(Target("z1*z2")) == "Target({'expression': 'z1*z2', 'length': 2})"
