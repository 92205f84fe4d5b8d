"""Neighbourhoods of known minima in which there are no others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ssiode.risk_landscape.minima.boundary_proof import Circle

if TYPE_CHECKING:
    from ssiode.risk_landscape.minima.risk_polynomial import RiskPolynomial
    from ssiode.risk_landscape.minima.stationary import StationaryPoint

_LARGEST = 0.25
# Around points without curvature this many position errors count as known.
_SOFT_MARGIN, _LARGEST_SOFT = 4.0, 0.02


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """A ball in the feasible set, or an arc of its boundary.

    Attributes
    ----------
    centre : array of shape (s,)
    radius : float
        Of the ball; of an arc half its angle.
    is_arc : bool
    is_convex : bool
        Whether p is strictly convex in it; else only the error of a place is known.
    """

    centre: np.ndarray
    radius: float
    is_arc: bool = False
    is_convex: bool = False


def neighbourhoods(polynomial: RiskPolynomial, point: StationaryPoint) -> list[Neighbourhood]:
    """The ball and the arc around a minimum, as far as they are known."""
    # An end of a segment is a place by itself.
    found = [Neighbourhood(point.y, 0.0)] if point.is_boundary and len(point.y) == 1 else []
    radius = _ball_radius(polynomial, point.y)
    if radius > 0:
        found.append(Neighbourhood(point.y, radius, False, True))
    if point.is_boundary and len(point.y) == 2:
        radius = _arc_radius(polynomial, point.y)
        if radius > 0:
            found.append(Neighbourhood(point.y, radius, True, True))
    return found + soft_neighbourhoods(point)


def soft_neighbourhoods(point: StationaryPoint) -> list[Neighbourhood]:
    """What surrounds a point without curvature within some errors of its place."""
    radius = _SOFT_MARGIN * point.position_error
    if not point.is_soft or radius > _LARGEST_SOFT:
        return []
    places = [Neighbourhood(point.y, radius)]
    return [*places, Neighbourhood(point.y, radius, True)] if point.is_boundary else places


def _ball_radius(polynomial: RiskPolynomial, y: np.ndarray) -> float:
    """Radius within which the lowest eigenvalue of the Hessian is positive, 0 if there is none."""
    values = polynomial.derivatives(y[None], 3)[..., 0]
    if len(y) == 1:
        lowest, third = values[0, 2], abs(values[0, 3])
    else:
        hessian = [[values[2, 0], values[1, 1]], [values[1, 1], values[0, 2]]]
        lowest = np.linalg.eigvalsh(hessian)[0]
        third = np.sqrt(
            values[3, 0] ** 2 + 3 * values[2, 1] ** 2 + 3 * values[1, 2] ** 2 + values[0, 3] ** 2
        )
    return _radius(float(lowest), float(third), float(polynomial.bound(4, np.ones(1))[0]))


def _arc_radius(polynomial: RiskPolynomial, y: np.ndarray) -> float:
    """Half the angle within which p is convex along the circle, 0 if there is none."""
    circle = Circle(polynomial)
    angle = np.arctan2(y[1:], y[:1])
    _, second, third = circle.derivatives(angle)
    fourth = circle.fourth(angle, _LARGEST)
    return _radius(float(second[0]), abs(float(third[0])), float(fourth[0]))


def _radius(second: float, third: float, fourth: float) -> float:
    """Where second - third r - fourth r^2 / 2 falls to zero, a little less.

    >>> round(_radius(2.0, 1.0, 0.0), 3), _radius(-1.0, 1.0, 0.0)
    (0.25, 0.0)
    """
    if second <= 0:
        return 0.0
    root = np.sqrt(third**2 + 2 * second * fourth)
    return min(_LARGEST, 0.999 * 2 * second / max(third + root, 1e-300))
