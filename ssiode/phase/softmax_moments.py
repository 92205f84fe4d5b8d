r"""Gaussian averages of the diagonal entry of a softmax of two tokens.

With :math:`u = (z_1 - z_2)/\sqrt2` and :math:`s = (z_1 + z_2)/\sqrt2` the first diagonal entry of
softmax(z z^T) is :math:`p(u, s) = \sigma(u^2 + u s)`, the second is :math:`p(u, -s)`, and opposite
encodings shift u by :math:`\sqrt2\,e`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ssiode.hermite.numeric.axis_rules import hermite_table


@dataclass(frozen=True)
class Rule:
    """The trapezoidal rule for a Gaussian axis, which converges geometrically for p.

    Attributes
    ----------
    step, reach : float
        Nodes are the multiples of the step up to the reach.
    order : int
        Highest total order of the Hermite coefficients.
    """

    step: float
    reach: float
    order: int

    @cached_property
    def nodes(self) -> np.ndarray:
        """Nodes, shape (n,)."""
        count = round(self.reach / self.step)
        return self.step * np.arange(-count, count + 1)

    @cached_property
    def weights(self) -> np.ndarray:
        """Weights of the standard Gaussian, shape (n,)."""
        return self.step / np.sqrt(2 * np.pi) * np.exp(-(self.nodes**2) / 2)

    @cached_property
    def weighted_hermite(self) -> np.ndarray:
        """Weights times He_n / sqrt(n!) at the nodes, shape (order + 1, n)."""
        return hermite_table(self.nodes, self.order) * self.weights

    @cached_property
    def total_orders(self) -> np.ndarray:
        """Orders i + j of the coefficients, shape (order + 1, order + 1)."""
        n = np.arange(self.order + 1)
        return n[:, None] + n

    def coefficients(self, function: np.ndarray) -> np.ndarray:
        """Normalised coefficients E[h He_i He_j] / sqrt(i! j!) of a function of shape (n, n)."""
        return self.weighted_hermite @ function @ self.weighted_hermite.T

    def mean(self, function: np.ndarray) -> float:
        """E h(u, s)."""
        return float(self.weights @ function @ self.weights)

    def summed_by_order(self, products: np.ndarray) -> np.ndarray:
        """Sums over i + j = n, shape (order + 1,)."""
        sums = np.bincount(self.total_orders.ravel(), products.ravel())
        return sums[: self.order + 1]


def softmax_entry(u: np.ndarray, s: np.ndarray) -> np.ndarray:
    """The diagonal entry p(u, s) of softmax(z z^T).

    >>> float(softmax_entry(np.array(0.0), np.array(1.0)))
    0.5
    """
    from scipy.special import expit

    return expit(u * u + u * s)
