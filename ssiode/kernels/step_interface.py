"""What a method of running SGD brings to the loops over replicas: signatures only.

The linker puts the functions of `direct_sgd` or `overlap_chain` in their place. A model is what
stays the same for all replicas; a sample holds the buffers that each sample overwrites.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def numbers_of_sample(model: Any) -> int:
    """How many normal numbers stand for the tokens of one sample."""
    return 0


def has_linked_sizes(model: Any, sample: Any, weights: np.ndarray, update: np.ndarray) -> bool:
    """Whether all arrays have the sizes that the kernel was linked for."""
    return True


def write_overlaps(weights: np.ndarray, model: Any, overlaps: np.ndarray) -> None:
    """Write (e_1, ..., e_L) and m, one for each row of the weights."""


def draw_teacher_fields(token_stream: np.ndarray, model: Any, sample: Any) -> None:
    """Draw the tokens of one sample and write their teacher fields z*."""


def draw_fields(token_stream: np.ndarray, weights: np.ndarray, model: Any, sample: Any) -> None:
    """Draw the tokens of one sample and write z* and z, with the overlaps that the sample holds."""


def add_sample_gradient(factor: float, model: Any, sample: Any, update: np.ndarray) -> None:
    """Add what one sample changes, times a factor, to the update of the weights."""


def finish_step(weights: np.ndarray, update: np.ndarray, streams: np.ndarray, model: Any) -> bool:
    """Add the update, set it to 0 and normalise; return False if the weights are not finite."""
    return True


def squared_norm(row: np.ndarray) -> float:
    """|w|^2 / d of one row of the weights."""
    return 0.0
