"""Hessian and noise at the origin for both losses, against the table and plain sampling."""

from __future__ import annotations

import numpy as np
import pytest

from ssiode import phase_boundaries
from ssiode.phase import at_origin, flip_at_origin
from ssiode.phase.task import Task
from tests.checks import refuses


def test_the_squared_loss_has_the_hessian_of_the_table():
    found = at_origin(0.7, 0.9, loss="squared", shifts=2)
    hessian = Task.of(0.7, 0.9).hessian(0.0, 0.0)
    assert (found.ee, found.mm) == pytest.approx((hessian[0, 0], hessian[1, 1]), abs=1e-9)


def test_the_squared_loss_has_the_flip_of_the_table():
    found = flip_at_origin(0.9, loss="squared", shifts=2)
    assert found.omega == pytest.approx(phase_boundaries(0.9).flip, abs=1e-8)


def sampled(omega: float, a: float, loss: str, count: int) -> np.ndarray:
    """R_ee, R_mm, V_e, V_m and V_0 of each sample, by matrices and differences of the loss."""
    z_star, z, along = np.random.default_rng(5).standard_normal((3, count, 2))

    def softmax(fields):
        exponents = fields[:, :, None] * fields[:, None, :]
        powers = np.exp(exponents - exponents.max(axis=2, keepdims=True))
        return powers / powers.sum(axis=2, keepdims=True)

    v = a * np.array([[1.0, -1.0]])
    target = (1 - omega) * softmax(z_star) + omega * softmax(v)

    def losses(fields):
        square = ((target - softmax(fields)) ** 2).sum(axis=(1, 2))
        return square / 2 if loss == "squared" else np.sqrt(square)

    h = 1e-5
    gradient = np.stack(
        [(losses(z + h * row) - losses(z - h * row)) / (2 * h) for row in np.eye(2)], axis=1
    )
    u = (z[:, 0] - z[:, 1]) / np.sqrt(2)
    cross = (z_star[:, :, None] * z_star[:, None, :] * z[:, :, None] * z[:, None, :]).sum(
        axis=(1, 2)
    )
    norms = (z_star**2).sum(axis=1) + (z**2).sum(axis=1)
    value = losses(z)
    return np.column_stack(
        [
            2 * value * (u**2 - 1),
            value * (cross - norms + 2),
            (gradient * (along + np.array([1, -1]))).sum(axis=1) ** 2,
            (gradient * z_star).sum(axis=1) ** 2,
            (gradient**2).sum(axis=1),
        ]
    )


@pytest.mark.parametrize("loss", ["squared", "frobenius"])
def test_plain_samples_agree(loss):
    # Ten comparisons with samples at 4.5 standard errors: a false alarm in 15000 runs.
    found = at_origin(0.63, 1.0, loss=loss, shifts=4)
    values = sampled(0.63, 1.0, loss, 400_000)
    mean, error = values.mean(axis=0), values.std(axis=0) / np.sqrt(len(values))
    names = ("ee", "mm", "noise_e", "noise_m", "noise")
    for name, expected, width in zip(names, mean, error, strict=True):
        assert abs(getattr(found, name) - expected) < 4.5 * np.hypot(width, found.errors[name])


def test_the_flip_of_the_frobenius_norm():
    found = flip_at_origin(1.0)
    assert found.omega == pytest.approx(0.627805, abs=5 * found.error)
    assert found.error < 1e-5
    # Not that of the squared loss.
    assert abs(found.omega - 0.640963) > 100 * found.error


def test_seeds():
    one, other = (flip_at_origin(1.0, shifts=4, seed=seed) for seed in (0, 1))
    assert one.omega != other.omega
    assert one == flip_at_origin(1.0, shifts=4, seed=0)
    assert abs(one.omega - other.omega) < 5 * np.hypot(one.error, other.error)


def test_no_flip_for_weak_positional_parts():
    assert flip_at_origin(0.5, shifts=2).omega is None


def test_hostile_input():
    refuses(lambda: flip_at_origin(0.0), "a")
    refuses(lambda: flip_at_origin(1.0, loss="frob"), "frobenius")
    refuses(lambda: flip_at_origin(1.0, shifts=1), "shifts")
    refuses(lambda: at_origin(float("nan"), 1.0), "omega")
