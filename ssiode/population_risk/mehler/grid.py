r"""Product grids on which functions are tabulated once, and averaged about any centre.

.. math:: \hat c_\beta(H(\cdot + o)) = \int H(y)
          \prod_i \frac{He_{\beta_i}(y_i - o_i)}{\sqrt{\beta_i!}}\,\varphi(y_i - o_i)\,dy .

A shift of the function is a shift of the weights, which are products over the axes: the function
is never evaluated again. Smooth functions are averaged by the trapezoidal rule, whose error falls
like :math:`e^{-2\pi a/h}` with the step h for functions analytic in a strip of half-width a;
functions of one axis with kinks by a rule split there.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ssiode.hermite.numeric.axis_rules import AxisRule, hermite_table

_FARTHEST = 37.0
# Against a tolerance of 1e-6 on four axes; a sphere has more room than an axis.
_NEGLIGIBLE_ON_SPHERE = 1e-15


@dataclass(frozen=True)
class Axis:
    """One axis of a grid.

    Attributes
    ----------
    level : int
        The step is 2^(-level/2).
    reach : float
        The nodes lie in [-reach, reach].
    breaks : tuple of float
        Kinks of the tabulated functions.
    """

    level: int
    reach: float
    breaks: tuple[float, ...] = ()

    @cached_property
    def _rule(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes, and weights for integrals over the line."""
        if self.breaks:
            nodes, weights = AxisRule(self.reach, self.breaks).nodes(self.level)
            return nodes, weights * np.exp(nodes**2 / 2) * np.sqrt(2 * np.pi)
        step = 2.0 ** (-self.level / 2)
        half = step * (np.arange(np.ceil(self.reach / step)) + 0.5)
        nodes = np.concatenate([-half[::-1], half])
        return nodes, np.full(len(nodes), step)

    @property
    def nodes(self) -> np.ndarray:
        """The points, symmetric about 0 where there are no kinks."""
        return self._rule[0]

    def table(self, centre: float, top: int) -> np.ndarray:
        """Weights of all normalised coefficients up to an order about a centre.

        Returns an array of shape (top + 1, number of nodes).

        >>> axis = Axis(6, 12.0)
        >>> (axis.table(1.0, 2) @ axis.nodes**2 + 0.0).round(12)
        array([2.        , 2.        , 1.41421356])
        """
        shifted = self.nodes - centre
        density = np.exp(-(shifted**2) / 2) / np.sqrt(2 * np.pi)
        return hermite_table(shifted, top) * (density * self._rule[1])


def needed_reach(
    functions: Callable[[np.ndarray], np.ndarray], dimension: int, top: int, shift: float = 0.0
) -> float | None:
    """How far out averages with He_0, ..., He_top matter, None if they do not converge.

    Parameters
    ----------
    functions : callable
        From points of shape (n, dimension) to values of shape (number of functions, n).
    dimension : int
    top : int
        Highest order.
    shift : float
        How far the centre of the averages may move on any axis.

    Examples
    --------
    >>> needed_reach(lambda x: np.exp(x.T), 1, 4) > needed_reach(lambda x: x.T, 1, 4)
    True
    >>> needed_reach(lambda x: np.exp(x.T**2), 1, 4)
    """
    far = np.arange(6.0, _FARTHEST, 0.25)
    envelope = np.abs(hermite_table(far, top)).max(axis=0) * np.exp(-(far**2) / 2)
    base = np.random.default_rng(0).standard_normal((8, dimension))
    sizes = np.zeros(len(far))
    with np.errstate(over="ignore", invalid="ignore"):
        for axis, sign in itertools.product(range(dimension), (1, -1)):
            points = np.repeat(base, len(far), axis=0)
            points[:, axis] = sign * (np.tile(far, len(base)) + shift)
            values = np.abs(functions(points)).max(axis=0).reshape(len(base), -1)
            sizes = np.maximum(sizes, np.nan_to_num(values, nan=np.inf).max(axis=0))
        typical = np.abs(functions(base)).max()
        # Functions less their means do not decay even where the functions do.
        beyond = envelope * np.maximum(sizes, typical)
    negligible = beyond <= 1e-17 * typical
    # Growth that wins in the end is seen at the end.
    if not negligible.any() or not negligible[-1]:
        return None
    return float(far[np.argmax(negligible)] + shift)


def is_negligible_on_sphere(
    functions: Callable[[np.ndarray], np.ndarray],
    dimension: int,
    top: int,
    radius: float,
    shift: float = 0.0,
) -> bool:
    """Whether averages with He_0, ..., He_top, about centres within `shift`, end at a radius.

    It is seen along all diagonals and 64 random directions.

    >>> is_negligible_on_sphere(lambda x: np.ones((1, len(x))), 3, 4, 11.0)
    True
    >>> is_negligible_on_sphere(lambda x: np.exp(2 * x.sum(axis=1))[None], 3, 4, 11.0)
    False
    """
    generator = np.random.default_rng(0)
    diagonals = np.array(list(itertools.product((1.0, -1.0), repeat=dimension)))
    directions = np.concatenate([diagonals, generator.standard_normal((64, dimension))])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    distance = np.array([radius - shift])
    # Polynomials of one order are largest, up to a small factor, along a single axis.
    envelope = np.abs(hermite_table(distance, top)).max() * np.exp(-(distance[0] ** 2) / 2)
    with np.errstate(over="ignore", invalid="ignore"):
        typical = np.abs(functions(generator.standard_normal((64, dimension)))).max()
        largest = np.abs(functions(radius * directions)).max()
    return bool(envelope * max(largest, typical) <= _NEGLIGIBLE_ON_SPHERE * typical)


def product_points(axes: list[np.ndarray]) -> np.ndarray:
    """All points of the product of nodes, the last axis fastest; shape (number, axes).

    >>> product_points([np.array([0.0, 1.0]), np.array([5.0])]).tolist()
    [[0.0, 5.0], [1.0, 5.0]]
    """
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))


def contract(table: np.ndarray, values: np.ndarray, axis: int) -> np.ndarray:
    """Replace an axis of values at nodes by an axis of orders.

    >>> contract(np.ones((3, 2)), np.ones((4, 2, 5)), 1).shape
    (4, 3, 5)
    """
    shape = values.shape
    if axis == len(shape) - 1:
        return values @ table.T
    flat = values.reshape(-1, shape[axis], math.prod(shape[axis + 1 :]))
    return (table @ flat).reshape(*shape[:axis], len(table), *shape[axis + 1 :])


def total_order(top: int, dimension: int) -> np.ndarray:
    """Return |beta| on the box of multi-indices up to `top` on every axis.

    >>> total_order(1, 2)
    array([[0, 1],
           [1, 2]])
    """
    return sum(np.ogrid[(slice(top + 1),) * dimension], start=np.zeros(1, dtype=int))
