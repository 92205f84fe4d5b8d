r"""Whether averages of a target exist: growth far out and singular points.

An expansion needs :math:`E[g^2] < \infty`. Far out g must stay below :math:`e^{u^2/4}`, which is
read off at radii where everything slower is negligible; near a singular point s it must stay below
:math:`|u - s|^{-1/2}`, which is read off from the slope of log|g| against log|u - s|.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mpmath import mp

from ssiode.errors import InputError
from ssiode.hermite.numeric.precise import PreciseFunction, TooFastError


class InfiniteMomentError(InputError):
    """E|g|^p is not finite for a power p of 1 or 2, and why."""

    def __init__(self, power: int, why: str) -> None:
        self.power, self.why = power, why
        super().__init__(f"{('E|g|', 'E[g^2]')[power - 1]} is not finite: {why}")


_RADII = (1e3, 1e4)
_TOLERANCE = 1e-4
_DISTANCES = (1e-4, 1e-7)
_SLOPE_TOLERANCE = 0.01


def growth_rate(function: PreciseFunction, matrix: np.ndarray) -> float:
    r"""Return the largest r with :math:`|g| \sim e^{r |u|^2}` over rays, 0 if it is negative.

    Parameters
    ----------
    function : PreciseFunction
        g of the tokens.
    matrix : numpy.ndarray
        z = Q u.

    Raises
    ------
    InfiniteMomentError
        If E|g| or E[g^2] is not finite for this growth.
    """
    rate = max((_rate(function, matrix @ ray) for ray in _rays(matrix.shape[1])), default=0.0)
    if rate > 0.5 - _TOLERANCE:
        raise InfiniteMomentError(1, "the target grows like exp(z^2/2) or faster")
    if rate > 0.25 - _TOLERANCE:
        raise InfiniteMomentError(
            2, "the target grows like exp(z^2/4) or faster and has no expansion"
        )
    return max(rate, 0.0)


def _rays(dimension: int) -> list[np.ndarray]:
    if dimension == 1:
        return [np.array([1.0]), np.array([-1.0])]
    if dimension == 2:
        angles = np.arange(48) * math.pi / 24
        return [np.array([math.cos(a), math.sin(a)]) for a in angles]
    rays = [np.array(signs) for signs in itertools.product((-1.0, 0.0, 1.0), repeat=2)]
    rng = np.random.default_rng(1)
    full = [np.concatenate([ray, np.zeros(dimension - 2)]) for ray in rays if ray.any()]
    full += [sign * axis for axis in np.eye(dimension) for sign in (1, -1)]
    full += list(rng.choice([-1.0, 1.0], size=(24, dimension)))
    full += list(rng.normal(size=(24, dimension)))
    return [ray / np.linalg.norm(ray) for ray in full]


def _rate(function: PreciseFunction, direction: np.ndarray) -> float:
    sizes = []
    with mp.workdps(30):
        for radius in _RADII:
            # A little off the round numbers, where periodic functions have their zeros.
            point = [mp.mpf(float(x)) * (radius + 0.3183) for x in direction]
            try:
                value = abs(function(*point))
            except TooFastError:
                return math.inf
            except (ZeroDivisionError, ValueError):
                return 0.0
            sizes.append(float(mp.log(value)) if value else -math.inf)
    if not all(map(math.isfinite, sizes)):
        return 0.0
    (first, second), (near, far) = sizes, _RADII
    # Fits r |u|^2 + c |u|, so that exp(u^2/5 + 100 u) is told from exp(u^2/4).
    return (second / far - first / near) / (far - near)


def check_singular_points(
    value: Callable[[Any], Any], points: Sequence[float], where: Callable[[float], str]
) -> float:
    """Return the smallest power p with |g| ~ |u - s|^p at singular points s, at most 0.

    Parameters
    ----------
    value : callable
        g along a line, on mpmath numbers.
    points : sequence of float
        The s.
    where : callable
        The name of a point for the message.

    Raises
    ------
    InfiniteMomentError
        If E|g| or E[g^2] is not finite.
    """
    smallest = 0.0
    for point in points:
        power = min(_local_power(value, point, side) for side in (-1, 1))
        if power < -1 + _SLOPE_TOLERANCE:
            raise InfiniteMomentError(1, f"the target has a pole at {where(point)}")
        if power < -0.5 + _SLOPE_TOLERANCE:
            raise InfiniteMomentError(2, f"the target is singular at {where(point)}")
        smallest = min(smallest, power)
    return smallest


def _local_power(value: Callable[[Any], Any], point: float, side: int) -> float:
    logs = []
    with mp.workdps(40):
        for distance in _DISTANCES:
            try:
                size = abs(value(mp.mpf(point) + side * mp.mpf(distance)))
            except (ZeroDivisionError, ValueError):
                return 0.0
            except TooFastError:
                return -math.inf
            logs.append(float(mp.log(size)) if size else -math.inf)
    if not all(map(math.isfinite, logs)):
        return 0.0
    return (logs[1] - logs[0]) / math.log(_DISTANCES[1] / _DISTANCES[0])
