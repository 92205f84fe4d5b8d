"""Errors of slopes, which may be unknown and then are infinite, and what they leave open."""

from __future__ import annotations

import numpy as np

# Weights of rounding, as those of directions that are orthogonal.
_NONE = 1e-12
# A slope counts beyond so many of its errors.
SLOPE_ERRORS = 2.0
# Minima of the risk itself in basins smaller than this are not spoken about.
NARROWEST = 1e-3


def weighted_error(weights: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Sum of weights times errors, both >= 0 and broadcast, over the last axis.

    >>> weighted_error(np.array([1.0, 0.0]), np.array([0.5, np.inf]))
    np.float64(0.5)
    """
    weights, errors = np.broadcast_arrays(weights, errors)
    terms = np.zeros(weights.shape)
    np.multiply(weights, errors, out=terms, where=weights > _NONE)
    return terms.sum(axis=-1)


def is_narrow(curvature: np.ndarray, slope_error: np.ndarray) -> np.ndarray:
    r"""Whether p curves down so much that a minimum of R has to be narrower than `NARROWEST`.

    From a point without slope R falls by :math:`\kappa \ell^2/2 - 2 \varepsilon \ell` over a way
    :math:`\ell` along which p curves down by :math:`\kappa` or more, positive beyond
    :math:`4 \varepsilon/\kappa`.

    >>> is_narrow(np.array([-1.0, -1.0, 0.1]), np.array([1e-5, 0.1, 0.0])).tolist()
    [True, False, False]
    """
    return -curvature * NARROWEST > 4 * slope_error
