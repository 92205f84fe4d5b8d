"""The distribution that the normal numbers follow.

Seeds are fixed, so a test either always passes or always fails; the stated false-alarm rates are
the probabilities that a correct generator would fail with a seed drawn at random. All statistical
tests together, slow ones included, stay below 1e-4.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import bdtr, bdtrc, chdtr, chdtrc, kolmogorov, ndtr

from ssiode.kernels.normals import (
    ZIGGURAT_R,
    fill_standard_normal,
    ziggurat_edges,
    ziggurat_outside,
)
from tests.kernels.normal_draws import draw_normals, fresh_state

DRAWS = 4_000_000
FALSE_ALARM = 1e-6


@pytest.fixture(scope="module")
def sample():
    numbers = draw_normals(2024, DRAWS)
    numbers.setflags(write=False)
    return numbers


def double_factorial(n: int) -> int:
    return math.prod(range(n, 0, -2))


def moment(order: int) -> int:
    return 0 if order % 2 else double_factorial(order - 1)


def binomial_p_value(count: int, trials: int, probability: float) -> float:
    """Return the exact two-sided p-value of a count, twice the smaller tail."""
    below = bdtr(count, trials, probability)
    above = bdtrc(count - 1, trials, probability) if count > 0 else 1.0
    return min(1.0, 2.0 * min(below, above))


def tail_p_values(numbers: np.ndarray) -> list[float]:
    """Return p-values of the counts beyond each bound, on the left, on the right and together."""
    values = []
    for bound in (3.0, ZIGGURAT_R, 4.0, 5.0):
        right, left = int((numbers > bound).sum()), int((numbers < -bound).sum())
        one_side = float(ndtr(-bound))
        values += [
            binomial_p_value(right, numbers.size, one_side),
            binomial_p_value(left, numbers.size, one_side),
            binomial_p_value(right + left, numbers.size, 2.0 * one_side),
        ]
    return values


def chi_square_p_value(statistic: float, degrees: int) -> float:
    return 2.0 * min(chdtr(degrees, statistic), chdtrc(degrees, statistic))


def layer_counts(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Count in the 512 cells between the edges of the layers; return also the probabilities."""
    positive = ziggurat_edges()[0][1:256][::-1]
    bounds = np.concatenate(([-np.inf], -positive[::-1], [0.0], positive, [np.inf]))
    # Differences of the lower tail keep their relative precision on the left; mirror them.
    left = np.diff(ndtr(bounds[:257]))
    counts = np.bincount(np.searchsorted(bounds[1:-1], numbers), minlength=512)
    return counts, np.concatenate((left, left[::-1]))


def layer_p_value(numbers: np.ndarray) -> float:
    counts, probabilities = layer_counts(numbers)
    expected = numbers.size * probabilities
    return chi_square_p_value(float(((counts - expected) ** 2 / expected).sum()), 511)


def kolmogorov_p_value(cumulative: np.ndarray) -> float:
    """Return the asymptotic p-value; `cumulative` is the distribution function at the draws."""
    n = cumulative.size
    cumulative = np.sort(cumulative)
    ranks = np.arange(n)
    distance = max((cumulative - ranks / n).max(), ((ranks + 1) / n - cumulative).max())
    return float(kolmogorov(math.sqrt(n) * distance))


@pytest.mark.parametrize("order", range(1, 9))
def test_moments(sample, order):
    # 5 standard errors, two sides: 6e-7 an order. The mean of the x^8 has skewness 0.06, so the
    # normal law is close enough.
    error = math.sqrt((moment(2 * order) - moment(order) ** 2) / DRAWS)
    assert abs((sample**order).mean() - moment(order)) < 5.0 * error


def test_kolmogorov_smirnov(sample):
    # False alarm 1e-6.
    assert kolmogorov_p_value(ndtr(sample)) > FALSE_ALARM


def test_layers_hold_their_share(sample):
    # False alarm 1e-6.
    assert layer_p_value(sample) > FALSE_ALARM


def test_missing_wedge_test_is_found():
    # Negative control: a ziggurat that accepts whole boxes.
    edges = ziggurat_edges()[0]
    generator = np.random.default_rng(1)
    layer = generator.integers(0, 256, DRAWS)
    numbers = generator.uniform(-1.0, 1.0, DRAWS) * edges[layer]
    right = (layer > 0) | (np.abs(numbers) < ZIGGURAT_R)
    assert layer_p_value(numbers[right]) < FALSE_ALARM


def test_tails(sample):
    # False alarm 12 times 1e-6 at most.
    assert min(tail_p_values(sample)) > FALSE_ALARM


def test_missing_tail_is_found(sample):
    # Negative control: a ziggurat that draws again instead of going beyond R.
    assert min(tail_p_values(sample[np.abs(sample) < ZIGGURAT_R])) < FALSE_ALARM


def test_tail_follows_the_normal_law():
    # The tail alone, 2e5 draws of what comes once in 3900; false alarm 1e-6 a side.
    state = fresh_state(17)
    for side in (1.0, -1.0):
        tail = np.array([side * ziggurat_outside(state, 0, side) for _ in range(100_000)])
        assert tail.min() > ZIGGURAT_R
        assert kolmogorov_p_value(ndtr(-tail) / ndtr(-ZIGGURAT_R)) > FALSE_ALARM


def test_symmetry(sample):
    # False alarm 1e-6 each, for the sign and for the sign within each layer.
    assert binomial_p_value(int((sample > 0.0).sum()), DRAWS, 0.5) > FALSE_ALARM
    counts, _ = layer_counts(sample)
    left, right = counts[:256], counts[256:][::-1]
    statistic = ((left - right) ** 2 / (left + right)).sum()
    assert chi_square_p_value(float(statistic), 256) > FALSE_ALARM


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("lag", [1, 2, 3, 4, 8, 64])
def test_successive_draws_are_uncorrelated(sample, power, lag):
    # 5 standard errors, two sides: 6e-7 a case.
    standard = (sample - moment(1)) if power == 1 else (sample**2 - 1.0) / math.sqrt(2.0)
    products = standard[lag:] @ standard[:-lag]
    assert abs(products) < 5.0 * math.sqrt(DRAWS - lag)


@pytest.mark.slow
def test_hundred_million_draws():
    # Counts in 2^20 cells of equal probability. The distance at the cell bounds is at most the
    # Kolmogorov-Smirnov distance, so the false alarm is at most 1e-6; likewise chi-square and
    # each of the 12 tail counts.
    draws, chunk, cells = 100_000_000, 1_000_000, 2**20
    state, numbers = fresh_state(31), np.empty(chunk)
    counts = np.zeros(cells, dtype=np.int64)
    beyond = []
    for _ in range(draws // chunk):
        fill_standard_normal(state, numbers)
        index = np.minimum((ndtr(numbers) * cells).astype(np.int64), cells - 1)
        counts += np.bincount(index, minlength=cells)
        beyond.append(numbers[np.abs(numbers) > 3.0])
    excess = np.cumsum(counts) / draws - np.arange(1, cells + 1) / cells
    assert kolmogorov(math.sqrt(draws) * np.abs(excess).max()) > FALSE_ALARM
    expected = draws / cells
    statistic = float(((counts - expected) ** 2).sum() / expected)
    assert chi_square_p_value(statistic, cells - 1) > FALSE_ALARM
    # Padding with zeros restores the number of trials without keeping the draws.
    padded = np.zeros(draws, dtype=np.float32)
    padded[: sum(map(len, beyond))] = np.concatenate(beyond)
    assert min(tail_p_values(padded)) > FALSE_ALARM
