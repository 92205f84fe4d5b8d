"""Intervals of a segment, and arcs of the circle, that can hold no minimum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ssiode.risk_landscape.minima.error_sums import is_narrow, weighted_error

if TYPE_CHECKING:
    from ssiode.risk_landscape.minima.neighbourhoods import Neighbourhood
    from ssiode.risk_landscape.minima.risk_polynomial import RiskPolynomial

_FIRST, _LEVELS, _MOST = 32, 32, 2_000


@dataclass(frozen=True, eq=False)
class Curve(ABC):
    """The polynomial along a curve of unit speed, with parameters t of shape (n,)."""

    start: ClassVar[float]
    length: ClassVar[float]

    polynomial: RiskPolynomial

    @abstractmethod
    def points(self, t: np.ndarray) -> np.ndarray:
        """Points y, shape (n, s)."""

    @abstractmethod
    def derivatives(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """First to third derivatives along the curve, each of shape (n,)."""

    @abstractmethod
    def fourth(self, t: np.ndarray, half: float) -> np.ndarray:
        """Bound of the fourth derivative within `half` of t, shape (n,)."""

    @abstractmethod
    def error(self, t: np.ndarray, half: float) -> np.ndarray:
        """Bound of the error of the first derivative within `half` of t, shape (n,)."""

    def rises_inside(self, t: np.ndarray, half: float) -> np.ndarray:
        """Whether R falls from all points within `half` of t into the feasible set, (n,)."""
        return np.zeros(len(t), dtype=bool)

    def unknown_ends(self, known: Sequence[Neighbourhood]) -> np.ndarray:
        """Parameters of the ends of the curve that may be minima and are not known."""
        return np.zeros(0)


class Segment(Curve):
    """The segment m in [-1, 1], the feasible set of one overlap."""

    start, length = -1.0, 2.0

    def points(self, t: np.ndarray) -> np.ndarray:
        """See :meth:`Curve.points`."""
        return t[:, None]

    def derivatives(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See :meth:`Curve.derivatives`."""
        values = self.polynomial.derivatives(t[:, None], 3)[0]
        return values[1], values[2], values[3]

    def fourth(self, t: np.ndarray, half: float) -> np.ndarray:
        """See :meth:`Curve.fourth`."""
        return self.polynomial.bound(4, np.minimum(np.abs(t) + half, 1.0))

    def error(self, t: np.ndarray, half: float) -> np.ndarray:
        """See :meth:`Curve.error`."""
        return self.polynomial.gradient_error(np.minimum(np.abs(t) + half, 1.0))[:, 0]

    def unknown_ends(self, known: Sequence[Neighbourhood]) -> np.ndarray:
        """See :meth:`Curve.unknown_ends`: an end where R does not fall inwards is a minimum."""
        ends = np.array([-1.0, 1.0])
        outward = ends * self.derivatives(ends)[0]
        is_known = np.array(
            [any(abs(end - p.centre[0]) <= p.radius for p in known) for end in ends]
        )
        return ends[~is_known & ~(outward > self.error(ends, 0.0))]


class Circle(Curve):
    """The circle y = (cos t, sin t), the boundary of the feasible set of two overlaps."""

    start, length = -np.pi, 2 * np.pi

    def points(self, t: np.ndarray) -> np.ndarray:
        """See :meth:`Curve.points`."""
        return np.column_stack([np.cos(t), np.sin(t)])

    def derivatives(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See :meth:`Curve.derivatives`."""
        radial, along, second = self._first_two(t)
        c, s = np.cos(t), np.sin(t)
        p = self.polynomial.derivatives(self.points(t), 3)
        cross = -s * (p[2, 0] * c + p[1, 1] * s) + c * (p[1, 1] * c + p[0, 2] * s)
        cubic = -(s**3) * p[3, 0] + 3 * s**2 * c * p[2, 1] - 3 * s * c**2 * p[1, 2]
        return along, second - radial, cubic + c**3 * p[0, 3] - 3 * cross - along

    def _first_two(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Slopes outwards and along the circle, and the curvature of p along its tangent."""
        c, s = np.cos(t), np.sin(t)
        p = self.polynomial.derivatives(self.points(t), 2)
        second = s * s * p[2, 0] - 2 * s * c * p[1, 1] + c * c * p[0, 2]
        return c * p[1, 0] + s * p[0, 1], -s * p[1, 0] + c * p[0, 1], second

    def _largest(self, t: np.ndarray, half: float) -> np.ndarray:
        return np.minimum(np.abs(np.sin(t)) + half, 1.0)

    def fourth(self, t: np.ndarray, half: float) -> np.ndarray:
        """See :meth:`Curve.fourth`."""
        largest = self._largest(t, half)
        first, second, third, fourth = (self.polynomial.bound(k, largest) for k in range(1, 5))
        return fourth + 6 * third + 7 * second + first

    def error(self, t: np.ndarray, half: float) -> np.ndarray:
        """See :meth:`Curve.error`."""
        errors = self.polynomial.gradient_error(self._largest(t, half))
        across = np.minimum(np.abs(np.cos(t)) + half, 1.0)
        return weighted_error(np.column_stack([self._largest(t, half), across]), errors)

    def rises_inside(self, t: np.ndarray, half: float) -> np.ndarray:
        """See :meth:`Curve.rises_inside`: the slope outwards is positive."""
        largest = self._largest(t, half)
        radial, along, _ = self._first_two(t)
        c, s = np.cos(t), np.sin(t)
        p = self.polynomial.derivatives(self.points(t), 2)
        turn = along - s * (p[2, 0] * c + p[1, 1] * s) + c * (p[1, 1] * c + p[0, 2] * s)
        first, second, third = (self.polynomial.bound(k, largest) for k in range(1, 4))
        change = np.abs(turn) * half + (third + 3 * second + first) * half**2 / 2
        return radial > change + self.polynomial.gradient_error(largest).sum(axis=1)


def uncertified_intervals(curve: Curve, known: Sequence[Neighbourhood]) -> tuple[np.ndarray, int]:
    """Parameters of intervals that are left, shape (k,), and the number of intervals seen."""
    half = curve.length / (2 * _FIRST)
    t = curve.start + half * (2 * np.arange(_FIRST) + 1)
    seen = 0
    for _ in range(_LEVELS):
        seen += len(t)
        t = t[~_is_known(curve, t, half, known)]
        if len(t):
            t = t[~_is_excluded(curve, t, half)]
        if not len(t) or len(t) > _MOST:
            break
        t = (t[:, None] + half * np.array([-0.5, 0.5])).ravel()
        half /= 2
    kept = [one for i, one in enumerate(t) if not i or one - t[i - 1] > 1e-3]
    return np.concatenate([kept, curve.unknown_ends(known)]), seen


def _is_known(
    curve: Curve, t: np.ndarray, half: float, known: Sequence[Neighbourhood]
) -> np.ndarray:
    """Whether intervals lie in the neighbourhood of a known minimum."""
    points = curve.points(t)
    found = np.zeros(len(t), dtype=bool)
    for place in known:
        chord = np.linalg.norm(points - place.centre, axis=1)
        angle = 2 * np.arcsin(np.minimum(chord / 2, 1.0)) if place.is_arc else chord
        found |= angle + half <= place.radius
    return found


def _is_excluded(curve: Curve, t: np.ndarray, half: float) -> np.ndarray:
    """Whether p falls or curves down along the curve throughout, or falls off it."""
    first, second, third = curve.derivatives(t)
    fourth = curve.fourth(t, half)
    error = curve.error(t, half)
    change = np.abs(second) * half + np.abs(third) * half**2 / 2 + fourth * half**3 / 6
    falls = np.abs(first) > change + error
    curves_down = is_narrow(second + np.abs(third) * half + fourth * half**2 / 2, error)
    return falls | curves_down | curve.rises_inside(t, half)
