"""Uniform and normal numbers: the algorithm bit by bit, and the distribution they follow.

Seeds are fixed, so a test either always passes or always fails; the stated false-alarm rates are
the probabilities that a correct generator would fail with a seed drawn at random. All statistical
tests together, slow ones included, stay below 1e-4.
"""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Iterator

import mpmath
import numpy as np
import pytest
from numba import njit
from scipy.special import bdtr, bdtrc, chdtr, chdtrc, erfc, kolmogorov, ndtr

from ssiode.kernels import normals
from ssiode.kernels.normals import (
    ZIGGURAT_R,
    fill_standard_normal,
    next_standard_normal,
    next_uint64,
    next_uniform,
    ziggurat_edges,
    ziggurat_outside,
)
from ssiode.kernels.streams import stream_states

DRAWS = 4_000_000
FALSE_ALARM = 1e-6
MASK = (1 << 64) - 1


def fresh_state(seed: int) -> np.ndarray:
    return stream_states(seed, 1)[0]


def draw_normals(seed: int, count: int) -> np.ndarray:
    out = np.empty(count)
    fill_standard_normal(fresh_state(seed), out)
    return out


@pytest.fixture(scope="module")
def sample():
    numbers = draw_normals(2024, DRAWS)
    numbers.setflags(write=False)
    return numbers


# Independent versions in plain Python ---------------------------------------------------------


def rotate_left(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (64 - bits))) & MASK


def python_xoshiro(words: list[int]) -> Iterator[int]:
    s = list(words)
    while True:
        yield (rotate_left((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate_left(s[3], 45)


def python_normals(bits: Iterator[int], edges: list[float]) -> Iterator[tuple[str, float]]:
    """Give each normal number with the branch that made it, from Doornik's description."""

    def uniform():
        return (2 * (next(bits) >> 12) + 1) / 2**53

    def density(x):
        return math.exp(-x * x / 2)

    while True:
        word = next(bits)
        layer = word % 256
        top = word >> 63
        # Two's complement of the upper 53 bits, at the middle of its cell.
        fraction = ((word >> 11) - (top << 53) + 0.5) / 2**52
        x = fraction * edges[layer]
        if abs(x) < edges[layer + 1]:
            yield "inner", x
        elif layer == 0:
            while True:
                beyond = -math.log(uniform()) / edges[1]
                height = -math.log(uniform())
                if 2 * height >= beyond**2:
                    break
            yield "tail", math.copysign(edges[1] + beyond, x)
        else:
            low, high = (density(edges[layer]), density(edges[layer + 1]))
            if low + (high - low) * uniform() < density(x):
                yield "wedge", x


def precise_layers() -> tuple[mpmath.mpf, mpmath.mpf, list[mpmath.mpf]]:
    """Solve for R by bisection with 40 digits; return R, V and the 257 edges."""

    def area(right):
        return right * mpmath.exp(-(right**2) / 2) + mpmath.sqrt(mpmath.pi / 2) * mpmath.erfc(
            right / mpmath.sqrt(2)
        )

    def edges_from(right):
        """Return as many edges as fit below height 1."""
        volume = area(right)
        edges, height = [right], mpmath.exp(-(right**2) / 2)
        while len(edges) < 256:
            height += volume / edges[-1]
            if height >= 1:
                break
            edges.append(mpmath.sqrt(-2 * mpmath.log(height)))
        return edges

    with mpmath.workdps(40):
        low, high = mpmath.mpf("3.6"), mpmath.mpf("3.7")
        # With R too small the layers are too thick, and fewer than 255 boxes fit under the top.
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (low, middle) if len(edges_from(middle)) > 255 else (middle, high)
        edges = edges_from(low)
        return low, area(low), [area(low) / mpmath.exp(-(low**2) / 2), *edges[:255], mpmath.mpf(0)]


def test_xoshiro_gives_the_published_numbers():
    # Output of the authors' xoshiro256plusplus.c from state 1, 2, 3, 4, as used in the tests of
    # the Rust crate rand_xoshiro.
    published = [
        41943041,
        58720359,
        3588806011781223,
        3591011842654386,
        9228616714210784205,
        9973669472204895162,
        14011001112246962877,
        12406186145184390807,
        15849039046786891736,
        10450023813501588000,
    ]
    state = np.array([1, 2, 3, 4], dtype=np.uint64)
    assert [int(next_uint64(state)) for _ in published] == published
    python = python_xoshiro([1, 2, 3, 4])
    assert [next(python) for _ in published] == published


def test_xoshiro_equals_python_integers():
    for seed in range(5):
        state = fresh_state(seed)
        python = python_xoshiro([int(word) for word in state])
        for _ in range(500):
            assert int(next_uint64(state)) == next(python)


def test_uniform_equals_python_integers():
    state = fresh_state(11)
    python = python_xoshiro([int(word) for word in state])
    for _ in range(500):
        assert float(next_uniform(state)) == (2 * (next(python) >> 12) + 1) / 2**53


def test_uniform_is_never_zero_or_one():
    zero_bits = np.array([0, 1, 2, 0], dtype=np.uint64)
    one_bits = np.array([0, 1, 2, MASK], dtype=np.uint64)
    assert float(next_uniform(zero_bits)) == 2.0**-53
    assert float(next_uniform(one_bits)) == 1.0 - 2.0**-53


def test_layers_are_solved_to_full_precision():
    right, volume, edges = precise_layers()
    assert float(right) == ZIGGURAT_R
    assert float(volume) == normals.ZIGGURAT_V
    ours, heights = ziggurat_edges()
    # The recursion upwards multiplies rounding errors; near the top x is sqrt of a difference.
    np.testing.assert_allclose(ours, np.array([float(x) for x in edges]), rtol=2e-13)
    np.testing.assert_allclose(heights[1:], np.exp(-0.5 * ours[1:] ** 2), rtol=4e-15)
    areas = ours[:-1] * np.diff(np.concatenate(([0.0], heights[1:])))
    np.testing.assert_allclose(areas[1:], normals.ZIGGURAT_V, rtol=1e-12)
    tail = math.sqrt(math.pi / 2) * float(erfc(ZIGGURAT_R / math.sqrt(2)))
    assert math.isclose(ZIGGURAT_R * heights[1] + tail, normals.ZIGGURAT_V, rel_tol=1e-14)


def test_normals_equal_plain_python():
    state = fresh_state(3)
    edges = [float(x) for x in precise_layers()[2]]
    python = python_normals(python_xoshiro([int(word) for word in state]), edges)
    out = np.empty(40_000)
    fill_standard_normal(state, out)
    branches, expected = zip(*(next(python) for _ in out), strict=True)
    assert set(branches) == {"inner", "wedge", "tail"}
    # The tables agree to 2e-13 and so do the numbers.
    np.testing.assert_allclose(out, expected, rtol=1e-12)


def test_piece_imports_nothing_of_the_package():
    tree = ast.parse(inspect.getsource(normals))
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(node.module)
    assert modules == {"math", "numba", "numpy"}


# Reproducibility ------------------------------------------------------------------------------


def test_chunking_does_not_change_a_bit():
    whole, parts = np.empty(1000), np.empty(1000)
    state_whole, state_parts = fresh_state(5), fresh_state(5)
    fill_standard_normal(state_whole, whole)
    fill_standard_normal(state_parts, parts[:300])
    fill_standard_normal(state_parts, parts[300:300])
    fill_standard_normal(state_parts, parts[300:])
    assert whole.tobytes() == parts.tobytes()
    assert np.array_equal(state_whole, state_parts)


@njit
def fill_rows(states, out):
    for i in range(states.shape[0]):
        fill_standard_normal(states[i], out[i])


def test_one_at_a_time_are_the_same_numbers():
    @njit
    def one_by_one(state, out):
        for i in range(out.size):
            out[i] = next_standard_normal(state)

    out = np.empty(100_000)
    one_by_one(fresh_state(3), out)
    assert np.array_equal(out, draw_normals(3, out.size))
    # Tails and wedges are among them.
    assert np.abs(out).max() > ZIGGURAT_R


def test_rows_of_a_matrix_are_filled_from_rows_of_states():
    states, out = stream_states(9, 3), np.empty((3, 400))
    fill_rows(states, out)
    for replica, state in enumerate(stream_states(9, 3)):
        alone = np.empty(400)
        fill_standard_normal(state, alone)
        assert np.array_equal(out[replica], alone)
        assert np.array_equal(states[replica], state)


# Distribution ---------------------------------------------------------------------------------


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
