"""A loss that is no polynomial: attention with two tokens, reduced by the trace.

The prediction is the trace of the row softmax of z z^T; the target is z*_1 z*_2 + tanh(z*_1) and
the loss is squared. All is written out in NumPy and shares nothing with the symbolic proofs.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def target(z_star: Array) -> Array:
    """Evaluate g on the target fields, which lie along the last axis."""
    return z_star[..., 0] * z_star[..., 1] + np.tanh(z_star[..., 0])


def prediction(z: Array) -> Array:
    """Evaluate the trace of the attention matrix on the student fields.

    >>> prediction(np.zeros(2)).item()
    1.0
    """
    first, second = z[..., 0], z[..., 1]
    return _sigmoid(first * (first - second)) + _sigmoid(second * (second - first))


def prediction_gradient(z: Array) -> Array:
    """Differentiate :func:`prediction` by the student fields."""
    first, second = z[..., 0], z[..., 1]
    slope_first = _sigmoid_slope(first * (first - second))
    slope_second = _sigmoid_slope(second * (second - first))
    by_first = slope_first * (2 * first - second) - slope_second * second
    by_second = slope_second * (2 * second - first) - slope_first * first
    return np.stack([by_first, by_second], axis=-1)


def loss(z_star: Array, z: Array) -> Array:
    """Evaluate the squared loss."""
    return (target(z_star) - prediction(z)) ** 2


def loss_gradient(z_star: Array, z: Array) -> Array:
    """Evaluate g_l, the derivative of the loss by z_l, along the last axis."""
    residual = target(z_star) - prediction(z)
    return -2.0 * residual[..., None] * prediction_gradient(z)


def risk(e: Array, m: float) -> float:
    """Average the loss by quadrature, the fields written through (z* + x) and (z* - x).

    Parameters
    ----------
    e : ndarray
        The positional overlaps.
    m : float
        The semantic overlap.

    Returns
    -------
    float
        The population risk; quadrature error below 1e-5 for |e| <= 1.
    """
    nodes, weights = product_rule()
    even, odd = np.sqrt((1 + m) / 2) * nodes[:, :2], np.sqrt((1 - m) / 2) * nodes[:, 2:]
    return float(weights @ loss(even - odd, even + odd + e))


def fields(e: Array, m: float) -> tuple[Array, Array, Array, Array]:
    """Quadrature nodes for (z*, z, xi) with z = e + m z* + s xi, and their weights.

    Parameters
    ----------
    e : ndarray
        The positional overlaps.
    m : float
        The semantic overlap.

    Returns
    -------
    z_star, z, xi, weights : ndarray
        One row a node; the weights sum to one.
    """
    nodes, weights = product_rule()
    z_star, xi = nodes[:, :2], nodes[:, 2:]
    return z_star, e + m * z_star + np.sqrt(1 - m**2) * xi, xi, weights


@functools.cache
def product_rule(order: int = 24) -> tuple[Array, Array]:
    """Gauss-Hermite nodes and weights for four independent standard normals.

    >>> nodes, weights = product_rule(3)
    >>> nodes.shape, round(float(weights @ nodes[:, 0] ** 4), 12)
    ((81, 4), 3.0)
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(order)
    weights = weights / weights.sum()
    grid = np.stack([axis.ravel() for axis in np.meshgrid(*[nodes] * 4, indexing="ij")], axis=-1)
    product = np.einsum("i,j,k,l->ijkl", *[weights] * 4).ravel()
    return grid, product


def _sigmoid(x: Array) -> Array:
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def _sigmoid_slope(x: Array) -> Array:
    return 0.25 * (1.0 - np.tanh(0.5 * x) ** 2)
