"""What is refused, and that the refusal is one short line."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import sympy

from ssiode.errors import InputError, choose, finite_number, number_list, unknown_name, whole_number
from tests.checks import refuses

NOT_NUMBERS = [
    "0.5",
    b"1",
    "",
    None,
    True,
    np.True_,
    1 + 2j,
    [1.0],
    {"a": 1},
    np.zeros((3, 3)),
    np.zeros(1),
    object(),
    float("nan"),
    float("inf"),
    -np.inf,
    10**400,
    10**5000,
]


def test_input_error_is_a_value_error():
    assert issubclass(InputError, ValueError)


@pytest.mark.parametrize("value", NOT_NUMBERS, ids=lambda v: type(v).__name__)
def test_what_is_not_a_finite_number_is_refused(value):
    refuses(lambda: finite_number("gamma", value), "gamma is", "finite number")


@pytest.mark.parametrize("value", [0, -1.5, np.float32(0.5), np.int64(3), Fraction(1, 4)])
def test_finite_numbers_are_returned_as_floats(value):
    number = finite_number("x", value)
    assert type(number) is float
    assert number == float(value)


def test_sympy_numbers_are_numbers():
    assert finite_number("x", sympy.Rational(1, 4)) == 0.25
    assert whole_number("n", sympy.Integer(4), minimum=0) == 4


def test_bounds_are_kept():
    assert finite_number("x", 0.0, minimum=0) == 0.0
    refuses(lambda: finite_number("x", -1e-300, minimum=0), ">= 0")
    assert whole_number("n", 5, minimum=5, maximum=5) == 5
    refuses(lambda: whole_number("n", 4, minimum=5), ">= 5")
    refuses(lambda: whole_number("n", 6, minimum=5, maximum=5), "<= 5")


NOT_WHOLE = [0.5, np.nan, *NOT_NUMBERS[:-2]]


@pytest.mark.parametrize("value", NOT_WHOLE, ids=lambda v: type(v).__name__)
def test_what_is_not_whole_is_refused(value):
    refuses(lambda: whole_number("steps", value, minimum=1), "steps is", "whole number >= 1")


@pytest.mark.parametrize("value", [3, 3.0, np.float64(3), np.uint8(3), Fraction(3)])
def test_whole_numbers_are_returned_as_integers(value):
    number = whole_number("n", value, minimum=0)
    assert type(number) is int
    assert number == 3


def test_large_integers_are_kept_exactly():
    assert whole_number("seed", 2**128 + 1, minimum=0) == 2**128 + 1
    refuses(lambda: whole_number("seed", -(10**5000), minimum=0), "seed is too long to show")


@pytest.mark.parametrize("value", [[1, 0.5], (1, 0.5), np.array([1, 0.5]), iter([1, 0.5])])
def test_lists_of_numbers(value):
    assert number_list("left", value) == (1.0, 0.5)


@pytest.mark.parametrize("value", ["12", 3, None, ["1"], [[1.0]], [True], [np.nan], {"a": 1}])
def test_what_is_not_a_list_of_numbers_is_refused(value):
    refuses(lambda: number_list("left", value), "left")


@pytest.mark.parametrize("given", ["relu\nx", "x" * 1000, "\x00", "é", "", 3, None, ["a"]])
def test_unknown_names_are_shown_in_one_line(given):
    refuses(lambda: choose("activation", given, ["relu", "tanh"]), "unknown activation", "relu")


def test_the_nearest_name_is_offered():
    assert "did you mean 'gamma'?" in str(unknown_name("key", "gama", ["gamma", "batch"]))
    assert "did you mean" not in str(unknown_name("key", "xyz", ["gamma", "batch"]))
    assert choose("loss", "squared", {"squared": 1}) == "squared"
