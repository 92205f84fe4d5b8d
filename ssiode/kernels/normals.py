"""Uniform and standard normal numbers from a stream that the caller owns.

A stream is one row of four unsigned 64-bit integers: the state of xoshiro256++ (Blackman and
Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 47, 2021). Normals come from the
ziggurat of Marsaglia and Tsang (J. Stat. Softw. 5, 2000) with 256 layers, Marsaglia's exact
tail, and with layer, sign and magnitude taken from different bits of one 64-bit draw (Doornik,
"An improved ziggurat method to generate normal random samples", 2005). Every function here
advances the row it is given and nothing else, so a stream never depends on threads.
"""

from math import exp, log

import numpy as np
from numba import njit

# With f(x) = exp(-x^2/2), layer 0 is the box [0, R] x [0, f(R)] and the tail beyond R, and each
# of the other 255 layers is a box of the same area V. R is the root for which they end at f(0) = 1.
ZIGGURAT_LAYERS = 256
ZIGGURAT_R = 3.6541528853610088
ZIGGURAT_V = 0.004928673233974655


def ziggurat_edges() -> tuple[np.ndarray, np.ndarray]:
    """Build the right edges x and the heights f(x) of the layers, from the bottom to the top.

    Layer i is the box [0, x[i]] x [f(x[i]), f(x[i+1])]; x[0] = V / f(R) is the width that layer 0
    would have as one box, x[1] = R and x[256] = 0.

    Returns
    -------
    tuple of numpy.ndarray
        Two arrays of 257 numbers.

    Examples
    --------
    >>> edges, heights = ziggurat_edges()
    >>> edges[:2].round(4).tolist(), edges[256].item(), heights[256].item()
    ([3.9108, 3.6542], 0.0, 1.0)
    """
    edges = np.zeros(ZIGGURAT_LAYERS + 1)
    heights = np.ones(ZIGGURAT_LAYERS + 1)
    edges[0] = ZIGGURAT_V / exp(-0.5 * ZIGGURAT_R**2)
    edges[1] = ZIGGURAT_R
    heights[0] = 0.0
    heights[1] = exp(-0.5 * ZIGGURAT_R**2)
    for i in range(2, ZIGGURAT_LAYERS):
        heights[i] = heights[i - 1] + ZIGGURAT_V / edges[i - 1]
        edges[i] = np.sqrt(-2.0 * np.log(heights[i]))
    return edges, heights


# Global arrays are frozen into the compiled code as constants; as arguments they would be
# reference-counted at each call.
ZIGGURAT_EDGES, ZIGGURAT_HEIGHTS = ziggurat_edges()
# The magnitude is an odd integer below 2^53, so that x and -x are equally likely and 0 never is.
ZIGGURAT_SCALES = ZIGGURAT_EDGES[:ZIGGURAT_LAYERS] * 2.0**-53
ZIGGURAT_INNER = ZIGGURAT_EDGES[1:].copy()

# Unsigned and signed operands in one expression would make numba compute in float64.
XOSHIRO_17 = np.uint64(17)
XOSHIRO_19 = np.uint64(19)
XOSHIRO_23 = np.uint64(23)
XOSHIRO_41 = np.uint64(41)
XOSHIRO_45 = np.uint64(45)
ZIGGURAT_LAYER_BITS = np.uint64(0xFF)
UNIFORM_SHIFT = np.uint64(11)
UNIFORM_ODD = np.uint64(1)
UNIFORM_UNIT = 2.0**-53


@njit
def next_uint64(state: np.ndarray) -> np.uint64:
    """Draw 64 random bits and advance the stream by one step.

    Parameters
    ----------
    state : uint64 array, shape (4,)
        The stream, changed in place; not all zero.

    Returns
    -------
    uint64
        The bits.

    Examples
    --------
    >>> int(next_uint64(np.array([1, 2, 3, 4], dtype=np.uint64)))
    41943041
    """
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    bits = s0 + s3
    bits = ((bits << XOSHIRO_23) | (bits >> XOSHIRO_41)) + s0
    shifted = s1 << XOSHIRO_17
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    s3 = (s3 << XOSHIRO_45) | (s3 >> XOSHIRO_19)
    state[0], state[1], state[2], state[3] = s0, s1, s2, s3
    return bits


@njit
def next_uniform(state: np.ndarray) -> float:
    """Draw a uniform number in the open interval (0, 1): an odd multiple of 2^-53.

    Parameters
    ----------
    state : uint64 array, shape (4,)
        The stream, advanced by one step.

    Returns
    -------
    float
        The number; neither 0 nor 1, and u is as likely as 1 - u.
    """
    return np.float64((next_uint64(state) >> UNIFORM_SHIFT) | UNIFORM_ODD) * UNIFORM_UNIT


@njit
def ziggurat_outside(state: np.ndarray, layer: int, x: float) -> float:
    """Finish a candidate x that lies outside the part of its layer under the next one.

    Returns
    -------
    float
        The normal number, or 0.0 (which is never one) if the candidate is rejected.
    """
    if layer == 0:
        while True:
            beyond = -log(next_uniform(state)) / ZIGGURAT_R
            if -2.0 * log(next_uniform(state)) >= beyond * beyond:
                return ZIGGURAT_R + beyond if x > 0.0 else -ZIGGURAT_R - beyond
    low, high = ZIGGURAT_HEIGHTS[layer], ZIGGURAT_HEIGHTS[layer + 1]
    if low + next_uniform(state) * (high - low) < exp(-0.5 * x * x):
        return x
    return 0.0


@njit(inline="always")
def next_standard_normal(state: np.ndarray) -> float:
    """Draw one standard normal number, the same that :func:`fill_standard_normal` would draw.

    Parameters
    ----------
    state : uint64 array, shape (4,)
        The stream, changed in place; not all zero.
    """
    x = 0.0
    while x == 0.0:
        bits = next_uint64(state)
        layer = np.intp(bits & ZIGGURAT_LAYER_BITS)
        x = np.float64((np.int64(bits) >> 10) | 1) * ZIGGURAT_SCALES[layer]
        if abs(x) >= ZIGGURAT_INNER[layer]:
            x = ziggurat_outside(state, layer, x)
    return x


@njit
def fill_standard_normal(state: np.ndarray, out: np.ndarray) -> None:
    """Fill a one-dimensional array with independent standard normal numbers.

    Filling in one call or in several gives the same numbers bit by bit.

    Parameters
    ----------
    state : uint64 array, shape (4,)
        The stream, changed in place; not all zero. A row of a two-dimensional array will do.
    out : float64 array, shape (n,)
        Where the numbers go. A row of a two-dimensional array will do.

    Examples
    --------
    >>> state, numbers = np.array([1, 2, 3, 4], dtype=np.uint64), np.zeros(1000)
    >>> fill_standard_normal(state, numbers)
    >>> bool(abs(numbers.mean()) < 0.15 and abs(numbers.var() - 1.0) < 0.25)
    True
    """
    # The state lives in registers, and the step is written out here once more: a call would pass
    # it through memory, at several times the cost.
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    for k in range(out.size):
        x = 0.0
        while x == 0.0:
            bits = s0 + s3
            bits = ((bits << XOSHIRO_23) | (bits >> XOSHIRO_41)) + s0
            shifted = s1 << XOSHIRO_17
            s2 ^= s0
            s3 ^= s1
            s1 ^= s2
            s0 ^= s3
            s2 ^= shifted
            s3 = (s3 << XOSHIRO_45) | (s3 >> XOSHIRO_19)
            # Bits 0 to 7 are the layer, 11 to 63 the signed magnitude, made odd by bit 10.
            layer = np.intp(bits & ZIGGURAT_LAYER_BITS)
            x = np.float64((np.int64(bits) >> 10) | 1) * ZIGGURAT_SCALES[layer]
            if abs(x) >= ZIGGURAT_INNER[layer]:
                state[0], state[1], state[2], state[3] = s0, s1, s2, s3
                x = ziggurat_outside(state, layer, x)
                s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
        out[k] = x
    state[0], state[1], state[2], state[3] = s0, s1, s2, s3
