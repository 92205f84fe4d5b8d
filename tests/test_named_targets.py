"""The targets of the literature against their formulas."""

from __future__ import annotations

import numpy as np
import pytest

from ssiode.named_targets import NAMED_TARGETS, named_target, read_named_target
from ssiode.target import Target
from tests.checks import refuses
from tests.reference import softmax_rows


@pytest.mark.parametrize("omega", [0.0, 0.3, 0.67, 1.0])
@pytest.mark.parametrize("a", [0.25, 1.0])
def test_positional_semantic(omega, a):
    z = 2 * np.random.default_rng(0).standard_normal((50, 2))
    semantic = softmax_rows(z[:, :, None] * z[:, None, :])
    positional = softmax_rows(a**2 * np.array([[1.0, -1.0], [-1.0, 1.0]]))
    expected = ((1 - omega) * semantic + omega * positional).reshape(50, 4)
    target = Target.named("positional-semantic", omega=omega, a=a)
    # Rounding of z^2 - z1 z2 with |z| up to 6, inside a sigmoid.
    np.testing.assert_allclose(target(z), expected, rtol=1e-12, atol=1e-15)
    assert target.is_smooth


def test_large_fields_saturate():
    target = Target.named("positional-semantic", omega=0.0, a=1.0)
    values = target(np.array([[1e3, -1e3], [1e200, 1.0]]))
    assert values[0].tolist() == [1.0, 0.0, 0.0, 1.0]
    assert np.all(np.isfinite(values))


def test_tables_round_trip():
    target = Target.named("positional-semantic", omega=0.67, a=1)
    assert target.to_table() == {"name": "positional-semantic", "omega": 0.67, "a": 1.0}
    assert Target.from_table(target.to_table()).expressions == target.expressions


@pytest.mark.parametrize(
    ("parameters", "part"),
    [
        ({"omega": 1.1, "a": 1}, "omega is 1.1"),
        ({"omega": -0.1, "a": 1}, "[0, 1]"),
        ({"omega": 0.5, "a": 0}, "(0, 1]"),
        ({"omega": 0.5, "a": 2}, "a is 2"),
        ({"omega": "0.5", "a": 1}, "omega is '0.5'"),
        ({"omega": np.nan, "a": 1}, "nan"),
        ({"omega": 0.5}, "needs a"),
        ({"omega": 0.5, "a": 1, "b": 2}, "allowed: a, omega"),
        ({"omega": 0.5, "a": 1, "name": 2}, "'name'"),
    ],
)
def test_bad_parameters_are_refused(parameters, part):
    refuses(lambda: Target.named("positional-semantic", **parameters), part)


def test_names():
    refuses(lambda: named_target("positional_semantic"), "did you mean 'positional-semantic'?")


@pytest.mark.parametrize("name", NAMED_TARGETS)
def test_each_target_can_be_built_in_the_middle_of_its_ranges(name):
    known = named_target(name)
    middle = {key: (low + high) / 2 for key, (low, high, _) in known.ranges.items()}
    target = Target.named(name, **middle)
    assert target.length == known.length
    assert np.all(np.isfinite(target(np.zeros((1, known.length)))))
    assert "\n" not in known.description


@pytest.mark.parametrize(
    ("parameters", "length", "part"),
    [
        ({}, None, "--param omega=1/2 --param a=1/2"),
        ({"omega": 0}, None, "needs a;"),
        ({"omega": "3/2", "a": 1}, None, "omega is 1.5"),
        ({"omega": "1/2", "a": "b"}, None, "parameter a is 'b'"),
        ({"omega": "1/2", "a": 1, "b": 1}, None, "allowed: a, omega"),
        ({"omega": "1/2", "a": 1}, 3, "length is 3"),
    ],
)
def test_exact_parameters_that_are_refused(parameters, length, part):
    refuses(lambda: read_named_target("positional-semantic", length, parameters), part)


def test_exact_parameters_stay_exact():
    first = read_named_target("positional-semantic", parameters={"omega": "1/3", "a": "1"})
    assert str(first.outputs[0]).startswith("2*sigmoid(z1**2 - z1*z2)/3 + sigmoid(2)/3")
