"""Gauss-Hermite nodes for averages over standard normal variables."""

from __future__ import annotations

from functools import cache

import numpy as np


@cache
def gauss_hermite(order: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights with sum_i w_i p(x_i) = E[p(x)] for polynomials of degree <= 2 order - 1.

    Both have shape (order,) and are read-only; the nodes are exactly symmetric about 0, so odd
    functions average to rounding.

    >>> nodes, weights = gauss_hermite(3)
    >>> float(weights @ nodes**4)
    3.0
    """
    from scipy.special import roots_hermitenorm

    nodes, weights = roots_hermitenorm(order)
    nodes = (nodes - nodes[::-1]) / 2
    weights = weights + weights[::-1]
    weights /= weights.sum()
    for array in (nodes, weights):
        array.flags.writeable = False
    return nodes, weights


def gauss_hermite_grid(order: int, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Tensor product of the one-dimensional rule: shapes (order^dimension, dimension) and flat.

    >>> points, weights = gauss_hermite_grid(4, 2)
    >>> points.shape, round(float(weights @ (points[:, 0] * points[:, 1]) ** 2), 12)
    ((16, 2), 1.0)
    """
    nodes, weights = gauss_hermite(order)
    axes = np.meshgrid(*[nodes] * dimension, indexing="ij")
    factors = np.meshgrid(*[weights] * dimension, indexing="ij")
    points = np.stack(axes, axis=-1).reshape(-1, dimension)
    return points, np.prod(factors, axis=0).ravel()
