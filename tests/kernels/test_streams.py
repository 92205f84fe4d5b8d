"""Streams: one per replica, the same whatever surrounds it, and independent of the others."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ssiode.errors import InputError
from ssiode.kernels import streams
from ssiode.kernels.normals import fill_standard_normal
from ssiode.kernels.streams import stream_states


def test_shape_and_type():
    states = stream_states(1, 5)
    assert states.shape == (5, 4)
    assert states.dtype == np.uint64
    assert states.flags.c_contiguous


def test_stream_does_not_depend_on_the_number_of_replicas():
    many = stream_states(12, 40, purpose=3)
    for replicas in (1, 2, 39):
        assert np.array_equal(stream_states(12, replicas, purpose=3), many[:replicas])


def test_stream_is_the_documented_seed_sequence():
    sequence = np.random.SeedSequence(12, spawn_key=(3, 7))
    expected = sequence.generate_state(4, np.uint64)
    assert np.array_equal(stream_states(12, 8, purpose=3)[7], expected)


def test_streams_differ_by_seed_purpose_and_replica():
    rows = [
        tuple(row)
        for seed in (0, 1, 2, 2**32, 2**64)
        for purpose in range(4)
        for row in stream_states(seed, 50, purpose)
    ]
    assert len(set(rows)) == len(rows)


def test_no_stream_is_zero(monkeypatch):
    class ZeroSequence:
        def __init__(self, seed, spawn_key):
            self.replica = spawn_key[1]

        def generate_state(self, words, kind):
            return np.full(words, self.replica, dtype=kind)

    monkeypatch.setattr(streams.np.random, "SeedSequence", ZeroSequence)
    states = stream_states(0, 2)
    assert states[0].any()
    assert np.array_equal(states[1], np.ones(4, dtype=np.uint64))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1, "replicas": 1}, "seed is -1; it must be a whole number >= 0"),
        ({"seed": 0.5, "replicas": 1}, "seed is 0.5; it must be a whole number >= 0"),
        ({"seed": None, "replicas": 1}, "seed is None; it must be a whole number >= 0"),
        ({"seed": 0, "replicas": 0}, "replicas is 0; it must be a whole number >= 1"),
        (
            {"seed": 0, "replicas": 1, "purpose": -2},
            "purpose is -2; it must be a whole number >= 0",
        ),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        stream_states(**arguments)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("lag", [0, 1])
def test_streams_are_uncorrelated(power, lag):
    # 64 streams of 20000 draws, half of them of another purpose; 4032 pairs (ordered when lagged,
    # counted twice otherwise) at 6.5 standard errors: 3e-7 a case for the draws themselves. The sum
    # for the squares has skewness 0.06, which makes that at most ten times more.
    count = 20_000
    states = np.concatenate([stream_states(6, 32), stream_states(6, 32, purpose=1)])
    numbers = np.empty((64, count))
    for state, row in zip(states, numbers, strict=True):
        fill_standard_normal(state, row)
    standard = numbers if power == 1 else (numbers**2 - 1.0) / math.sqrt(2.0)
    products = standard[:, lag:] @ standard[:, : count - lag].T / math.sqrt(count - lag)
    np.fill_diagonal(products, 0.0)
    assert np.abs(products).max() < 6.5
