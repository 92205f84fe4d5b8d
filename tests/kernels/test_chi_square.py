"""Chi-square numbers against their law."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from scipy.stats import chi2, kstest

from ssiode.kernels.chi_square import chi_square_width, next_chi_square
from ssiode.kernels.streams import stream_states


@njit
def draw(state, degrees, out):
    width = chi_square_width(degrees)
    for i in range(out.size):
        out[i] = next_chi_square(state, degrees, width)


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 17, 1000, 10**8])
def test_the_law_is_chi_square(degrees):
    out = np.empty(100_000)
    draw(stream_states(3, 1)[0], degrees, out)
    # One test in a million fails by chance.
    assert kstest(out, chi2(degrees).cdf).pvalue > 1e-6
    deviations = (out.mean() - degrees) / np.sqrt(2 * degrees / out.size)
    assert abs(deviations) < 5


def test_no_degrees_give_zero():
    out = np.ones(3)
    draw(stream_states(3, 1)[0], 0, out)
    assert np.array_equal(out, np.zeros(3))


def test_a_shift_of_one_degree_is_noticed():
    out = np.empty(100_000)
    draw(stream_states(3, 1)[0], 17, out)
    assert kstest(out, chi2(18).cdf).pvalue < 1e-6
