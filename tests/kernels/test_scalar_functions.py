"""The scalar functions of generated kernels, compiled and as Python, against NumPy and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermeval
from scipy.special import expit

from ssiode.kernels import scalar_functions

X = np.array([-1e300, -800.0, -3.5, -1e-300, -0.0, 0.0, 1e-300, 0.5, 1.0, 40.0, 800.0, 1e300])
REFERENCES = {
    "absolute": np.abs,
    "square": lambda x: x * x,
    "sign": np.sign,
    "relu": lambda x: np.where(x > 0, x, 0.0),
    "heaviside": lambda x: np.heaviside(x, 0.5),
    "sigmoid": expit,
}


def both(name):
    compiled = getattr(scalar_functions, name)
    return compiled, compiled.py_func


@pytest.mark.parametrize("name", REFERENCES)
def test_one_argument(name):
    with np.errstate(over="ignore"):
        expected = REFERENCES[name](X)
    # An ulp of the exponential.
    np.testing.assert_allclose([both(name)[0](x) for x in X], expected, rtol=1e-15, atol=5e-324)


@pytest.mark.parametrize("name", [*REFERENCES, "maximum", "minimum", "hermite"])
def test_nan_is_kept(name):
    compiled, _ = both(name)
    if name == "heaviside":
        return  # its argument is compared only; a field that is NaN shows elsewhere
    arguments = {"maximum": [(np.nan, 1.0), (1.0, np.nan)], "hermite": [(3, np.nan)]}
    arguments["minimum"] = arguments["maximum"]
    for given in arguments.get(name, [(np.nan,)]):
        assert np.isnan(compiled(*given))


def test_heaviside_at_zero():
    compiled, _ = both("heaviside")
    assert [compiled(0.0, c) for c in (0.0, 0.25, 1.0)] == [0.0, 0.25, 1.0]
    assert compiled(-0.0) == 0.5


@pytest.mark.parametrize("x", [-2.0, 0.0, 3.0, np.inf])
@pytest.mark.parametrize("y", [-2.0, -0.5, 3.0, -np.inf])
def test_maximum_and_minimum(x, y):
    assert both("maximum")[0](x, y) == max(x, y)
    assert both("minimum")[0](x, y) == min(x, y)


@pytest.mark.parametrize("order", [0, 1, 2, 3, 7, 20])
def test_hermite(order):
    compiled, python = both("hermite")
    for x in np.linspace(-4, 4, 17):
        expected = hermeval(x, np.eye(order + 1)[order])
        # The recurrence loses digits near roots, relative to the size of its terms.
        size = hermeval(1j * abs(x), np.eye(order + 1)[order])
        assert compiled(order, x) == pytest.approx(expected, abs=1e-14 * abs(size))
        assert python(order, x) == compiled(order, x)
