"""Uniform and normal numbers: the algorithm bit by bit, in one call or in parts."""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Iterator

import mpmath
import numpy as np
from numba import njit
from scipy.special import erfc

from ssiode.kernels import normals
from ssiode.kernels.normals import (
    ZIGGURAT_R,
    fill_standard_normal,
    next_standard_normal,
    next_uint64,
    next_uniform,
    ziggurat_edges,
)
from ssiode.kernels.streams import stream_states
from tests.kernels.normal_draws import draw_normals, fresh_state

MASK = (1 << 64) - 1


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
