"""The losses' kernels against their formulas, and what the classes refuse."""

from __future__ import annotations

import numpy as np
import pytest

from ssiode.kernels.linker import link
from ssiode.loss import FrobeniusLoss, Loss, SquaredLoss
from tests import reference
from tests.checks import refuses

LOSSES = {
    "squared": (SquaredLoss(), reference.squared_loss),
    "frobenius": (FrobeniusLoss(), reference.frobenius_loss),
}


def kernel(loss):
    return link([loss.kernel_piece()]).loss_forward


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("n_outputs", [1, 4])
@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
def test_value_and_derivative(name, n_outputs, size):
    loss, formula = LOSSES[name]
    generator = np.random.default_rng(0)
    for _ in range(5):
        labels, outputs = size * generator.standard_normal((2, n_outputs))
        cotangent = np.full(n_outputs, np.nan)
        value = kernel(loss)(labels, outputs, cotangent)
        expected_value, expected = formula(labels, outputs)
        # A few roundings.
        assert value == pytest.approx(expected_value, rel=1e-14)
        np.testing.assert_allclose(cotangent, expected, rtol=1e-14)


@pytest.mark.parametrize("name", LOSSES)
def test_derivative_is_that_of_the_value(name):
    loss, _ = LOSSES[name]
    labels, outputs = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.4, 0.5])
    cotangent, unused, step = np.empty(3), np.empty(3), 1e-5
    kernel(loss)(labels, outputs, cotangent)
    for a in range(3):
        shift = step * np.eye(3)[a]
        above = kernel(loss)(labels, outputs + shift, unused)
        below = kernel(loss)(labels, outputs - shift, unused)
        # Truncation 1e-10 and rounding 1e-11 of a central difference.
        assert cotangent[a] == pytest.approx((above - below) / (2 * step), abs=1e-9)


@pytest.mark.parametrize("name", LOSSES)
def test_perfect_match_has_no_loss_and_no_derivative(name):
    loss, _ = LOSSES[name]
    labels, cotangent = np.array([1.0, -2.0]), np.full(2, np.nan)
    assert kernel(loss)(labels, labels.copy(), cotangent) == 0.0
    assert np.all(cotangent == 0.0)


@pytest.mark.parametrize("name", LOSSES)
def test_nan_is_kept(name):
    loss, _ = LOSSES[name]
    assert np.isnan(kernel(loss)(np.array([np.nan]), np.array([1.0]), np.empty(1)))


def test_tables_round_trip():
    for loss in (SquaredLoss(), SquaredLoss(0.5), FrobeniusLoss(3)):
        assert Loss.from_table(loss.to_table()) == loss
    assert type(Loss.from_table({"kind": "frobenius", "scale": 3}).scale) is float


@pytest.mark.parametrize(
    ("table", "part"),
    [
        ({"kind": "square"}, "did you mean 'squared'?"),
        ({"kind": "squared", "scal": 1.0}, "did you mean 'scale'?"),
        ({"kind": "squared", "scale": 0.0}, "must be > 0"),
        ({"kind": "squared", "scale": -1.0}, "loss scale"),
        ({"kind": "squared", "scale": "1"}, "loss scale"),
        ({"kind": "squared", "scale": [1]}, "loss scale"),
        ({"kind": "squared", "scale": True}, "loss scale"),
        ({"kind": "frobenius", "scale": float("nan")}, "loss scale"),
    ],
)
def test_bad_losses_are_refused(table, part):
    refuses(lambda: Loss.from_table(table), part)
