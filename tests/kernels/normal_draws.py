"""Streams and numbers for the tests of the normal numbers."""

from __future__ import annotations

import numpy as np

from ssiode.kernels.normals import (
    fill_standard_normal,
)
from ssiode.kernels.streams import stream_states


def fresh_state(seed: int) -> np.ndarray:
    return stream_states(seed, 1)[0]


def draw_normals(seed: int, count: int) -> np.ndarray:
    out = np.empty(count)
    fill_standard_normal(fresh_state(seed), out)
    return out
