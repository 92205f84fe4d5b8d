"""Fits against laws that are put in, and how often they are wrong by chance."""

import numpy as np
import pytest

from ssiode import InputError
from ssiode.recovery_scaling.fits import (
    corrected_power_fit,
    least_squares,
    logarithm_fits,
    pooled_errors,
    power_fit,
)
from ssiode.recovery_scaling.law import RecoveryLaw

DIMS = np.geomspace(1e2, 1e6, 9)
ERRORS = np.full(9, 0.05)


def noisy(medians, seed, errors=ERRORS):
    return medians * np.exp(errors * np.random.default_rng(seed).standard_normal(len(medians)))


@pytest.mark.parametrize("order", [1, 3, 4])
def test_an_exact_power_is_found(order):
    law = RecoveryLaw(order)
    fit = power_fit(DIMS, 3 * DIMS**law.power, ERRORS, law)
    assert fit.value == pytest.approx(fit.expected, abs=1e-10)
    assert fit.expected == law.power
    assert np.exp(fit.parameters[0]) == pytest.approx(3)
    assert fit.p_value == pytest.approx(1)


def test_deviations_in_errors_are_standard_normal():
    law = RecoveryLaw(3)
    fits = [power_fit(DIMS, noisy(DIMS**2, seed), ERRORS, law) for seed in range(300)]
    scores = np.array([(fit.value - 2) / fit.error for fit in fits])
    # Errors are never below those of the bootstrap, so the spread is a little below 1.
    assert 0.75 < scores.std() < 1.05
    assert abs(scores.mean()) < 0.2
    p_values = np.array([fit.p_value for fit in fits])
    assert 0.02 < (p_values < 0.05).mean() < 0.1


def test_residuals_beyond_the_bootstrap_raise_the_error():
    medians = DIMS**2 * np.exp(0.3 * (-1.0) ** np.arange(9))
    fit = power_fit(DIMS, medians, ERRORS, RecoveryLaw(3))
    smooth = power_fit(DIMS, DIMS**2, ERRORS, RecoveryLaw(3))
    assert fit.error == pytest.approx(smooth.error * np.sqrt(fit.chi_square / 7))
    assert fit.error > 5 * smooth.error
    assert fit.p_value < 1e-6


def test_the_correction_of_finite_d_is_taken_out():
    medians = 5 * DIMS**2 * np.exp(-2 / np.sqrt(DIMS))
    plain, corrected = (
        fit(DIMS, medians, ERRORS / 10, RecoveryLaw(3)) for fit in (power_fit, corrected_power_fit)
    )
    assert plain.deviation > 3
    assert corrected.value == pytest.approx(2, abs=1e-9)
    assert corrected.error > plain.error / np.sqrt(plain.chi_square / 7)
    assert corrected_power_fit(DIMS[:3], medians[:3], ERRORS[:3], RecoveryLaw(3)) is None
    assert corrected_power_fit(DIMS, medians, ERRORS, RecoveryLaw(2)) is None


def test_a_logarithm_with_a_shift_is_a_line():
    logs = np.log(DIMS)
    medians = 0.3 * DIMS * logs * (logs - 1.5)
    _, line, curvature = logarithm_fits(DIMS, medians, ERRORS)
    assert line.value == pytest.approx(0.3)
    assert line.parameters[0] / line.value == pytest.approx(-1.5)
    assert abs(curvature.value) < 1e-10
    exact, _, _ = logarithm_fits(DIMS, DIMS * logs**2, ERRORS)
    assert exact.value == pytest.approx(2)
    assert logarithm_fits(DIMS[:3], medians[:3], ERRORS[:3])[2] is None


@pytest.mark.parametrize("power", [1.0, 1.5])
def test_powers_and_plain_logarithms_are_no_such_line(power):
    # Negative controls: d, and d^1.5, at the errors of the demonstration.
    _, line, curvature = logarithm_fits(DIMS, noisy(DIMS**power, 1), ERRORS)
    assert line.value < 0 or (line.p_value < 1e-6 and curvature.value > 5 * curvature.error)
    _, line, _ = logarithm_fits(DIMS, noisy(DIMS * np.log(DIMS), 1), ERRORS)
    assert abs(line.value) < 3 * line.error


def test_at_order_2_the_expected_power_is_that_of_the_law_itself():
    law = RecoveryLaw(2)
    medians = np.array([law.steps(d) for d in DIMS])
    fit = power_fit(DIMS, medians, ERRORS, law)
    assert fit.value == pytest.approx(fit.expected, abs=1e-12)
    assert 1.1 < fit.expected < 1.3


def test_pooled_errors_share_one_factor():
    errors = np.array([0.08, 0.02, 0.05])
    dims, medians = np.array([1e2, 1e4, 1e6]), np.array([1e3, 1e7, 1e11])
    for order, shape in ((1, dims**-0.5), (2, 1 / np.log(dims)), (3, np.ones(3))):
        pooled = pooled_errors(dims, medians, errors, order)
        assert np.ptp(pooled / shape) < 1e-12 * (pooled / shape).max()
        assert np.mean((errors / pooled) ** 2) == pytest.approx(1)


def test_too_few_values_are_refused():
    with pytest.raises(InputError, match="2 or more"):
        least_squares("a line", [np.ones(1), np.ones(1)], np.ones(1), np.ones(1), 0)
    two = least_squares("a line", [np.ones(2), np.arange(2.0)], np.ones(2), np.ones(2), 1)
    assert (two.degrees_of_freedom, two.p_value) == (0, None)
