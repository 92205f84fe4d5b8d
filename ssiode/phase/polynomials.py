"""Chebyshev polynomials on [0, 1] and on its square, with their bounds."""

from __future__ import annotations

import numpy as np
from numpy.polynomial import chebyshev


def unit_nodes(count: int) -> np.ndarray:
    """Chebyshev nodes of [0, 1], shape (count,).

    >>> unit_nodes(2).round(6).tolist()
    [0.146447, 0.853553]
    """
    return (1 - np.cos(_angles(count))) / 2


def _angles(count: int) -> np.ndarray:
    return np.pi * (np.arange(count) + 0.5) / count


def coefficients_from_nodes(values: np.ndarray, axis: int = 0) -> np.ndarray:
    """Chebyshev coefficients of the polynomials through values at :func:`unit_nodes`.

    >>> coefficients_from_nodes(unit_nodes(3)).round(12).tolist()
    [0.5, 0.5, 0.0]
    """
    moved = np.moveaxis(values, axis, 0)
    count = len(moved)
    n = np.arange(count)[:, None]
    # By cosines: recurrences lose digits as n^2.
    transform = 2 / count * (-1.0) ** n * np.cos(n * _angles(count))
    transform[0] /= 2
    return np.moveaxis(np.tensordot(transform, moved, axes=1), 0, axis)


def derivative(coefficients: np.ndarray, axis: int = 0, times: int = 1) -> np.ndarray:
    """Coefficients of a derivative along one axis, of the same shape.

    >>> derivative(np.array([0.5, 0.5, 0.0])).tolist()
    [1.0, 0.0, 0.0]
    """
    for _ in range(times):
        found = 2 * chebyshev.chebder(coefficients, axis=axis)
        widths = [(0, 0)] * coefficients.ndim
        widths[axis] = (0, coefficients.shape[axis] - found.shape[axis])
        coefficients = np.pad(found, widths)
    return coefficients


def evaluate(coefficients: np.ndarray, *points: np.ndarray) -> np.ndarray:
    """Values at points of [0, 1] (one argument) or of its square (two), of their shape.

    >>> float(evaluate(np.array([0.5, 0.5]), np.array(0.25)))
    0.25
    """
    moved = [2 * np.asarray(x, dtype=float) - 1 for x in points]
    if len(moved) == 1:
        return chebyshev.chebval(moved[0], coefficients)
    return chebyshev.chebval2d(*moved, coefficients)


def bound(coefficients: np.ndarray) -> float:
    """A bound of a polynomial over [0, 1] or its square: Chebyshev polynomials are at most 1.

    >>> bound(np.array([0.5, -0.5]))
    1.0
    """
    return float(np.abs(coefficients).sum())


def derivative_weights(count: int, times: int) -> np.ndarray:
    """Largest value of each d^k T_n(2 x - 1) / dx^k over [0, 1], that at 1; shape (count,).

    >>> derivative_weights(3, 1).tolist()
    [0.0, 2.0, 8.0]
    """
    n = np.arange(count, dtype=float)
    weights = np.full(count, 2.0**times)
    for k in range(times):
        weights *= (n**2 - k**2) / (2 * k + 1)
    return weights
