"""Errors of sums whose terms may have unknown, infinite errors."""

from __future__ import annotations

import numpy as np

# Weights of rounding, as those of directions that are orthogonal.
_NONE = 1e-12


def weighted_error(weights: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Sum of weights times errors, both >= 0 and broadcast, over the last axis.

    >>> weighted_error(np.array([1.0, 0.0]), np.array([0.5, np.inf]))
    np.float64(0.5)
    """
    weights, errors = np.broadcast_arrays(weights, errors)
    terms = np.zeros(weights.shape)
    np.multiply(weights, errors, out=terms, where=weights > _NONE)
    return terms.sum(axis=-1)
