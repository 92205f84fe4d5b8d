import math

import numpy as np
import pytest

import ssiode
from ssiode.errors import InputError
from ssiode.hermite.numeric.nodes import gauss_hermite_grid


def hermite_product(alpha, z):
    columns = [
        np.polynomial.hermite_e.hermeval(z[:, i], np.eye(n + 1)[n]) for i, n in enumerate(alpha)
    ]
    return np.prod(columns, axis=0)


@pytest.mark.parametrize(
    ("text", "length", "order"),
    [
        ("z1^3*z2 - 2*z2^2 + 1", 2, 4),
        ("exp(z1/2)*cos(z2)", 2, 5),
        ("tanh(z1) + z2^2", 2, 3),
        ("erf(z1 + z2)", 2, 3),
    ],
)
def test_coefficients_and_what_is_left_out(text, length, order):
    found = ssiode.hermite_coefficients(text, order)
    target = ssiode.Target(text)
    z, weights = gauss_hermite_grid(100, length)
    g = target(z)[:, 0]
    partial = np.zeros(len(z))
    for term in found.terms:
        basis = hermite_product(term.alpha, z)
        # The reference rule of 100 nodes converges to 1e-9 on these functions.
        assert term.value == pytest.approx(weights @ (g * basis), abs=1e-8 + term.error)
        partial += term.value / math.prod(map(math.factorial, term.alpha)) * basis
    left_out = math.sqrt(weights @ (g - partial) ** 2)
    assert found.left_out_norm[0] == pytest.approx(left_out, abs=1e-7 + found.left_out_error[0])


def test_a_polynomial_is_whole_at_its_degree():
    found = ssiode.hermite_coefficients("z1^2*z2", order=3)
    assert found.left_out_norm == (0.0,)
    assert r"\dots" not in found.latex()
    assert {t.alpha: t.coefficient for t in found.terms} == {(0, 1): "1", (2, 1): "2"}


def test_outputs_apart():
    found = ssiode.hermite_coefficients("[z1, z2^2]", order=2)
    assert [(t.output, t.alpha) for t in found.terms] == [(0, (1, 0)), (1, (0, 0)), (1, (0, 2))]
    assert found.latex(1) == r"1 + \mathrm{He}_{2}(z_{2})"


def test_latex_keeps_signs_and_sums_legible():
    text = ssiode.hermite_coefficients("-z1 + (1 - sqrt(2))*z2", order=1).latex()
    assert text.startswith(r"-\mathrm{He}_{1}(z_{1}) + \left(1 - \sqrt{2}\right)")


@pytest.mark.parametrize("order", [-1, 1.5, "2", None])
def test_bad_orders_are_refused(order):
    with pytest.raises(InputError, match="order"):
        ssiode.hermite_coefficients("z1", order)
