r"""What a point of no slope is: a minimum, how well its place is known, and whether it is alone.

Directions in which the curvature is known to be positive give the error of the place,
:math:`2\,\varepsilon/\lambda` for an error :math:`\varepsilon` of the slope. Along the others the
slope itself is followed outwards, until it is larger than its error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ssiode.risk_landscape.minima.error_sums import SLOPE_ERRORS, weighted_error
from ssiode.risk_landscape.minima.projected_descent import intrinsic_hessian, is_held, residual

if TYPE_CHECKING:
    from ssiode.risk_landscape.minima.reduced_risk import ReducedRisk

# Curvatures are told from zero beyond so many of their errors, and this part of the largest.
_SIGNIFICANT, _RELATIVE = 10.0, 1e-7
# Where errors are dear, slopes below this part of the steepest are not looked at: where the
# student saturates all are.
_UNSEEN = {True: 0.0, False: 1e-10}
# A risk that costs little and is known well is followed from closer by.
_DISTANCES = {True: 2.0 ** np.arange(-30.0, -1.5), False: 4.0 ** np.arange(-9.0, -0.5)}
_N_MIXED = 12
# Directions that lead out of the ball.
_OUTWARD = 0.5
_FARTHEST = 0.25
_CORRECTIONS = 2


@dataclass(frozen=True, eq=False)
class StationaryPoint:
    """A point of the ball without a slope that can be followed.

    Attributes
    ----------
    y : array of shape (s,)
    is_boundary : bool
    curvature, curvature_error : float
        Smallest second derivative along geodesics, inf on the boundary of a segment; and the error
        of the differences that give it.
    is_minimum : bool
        Whether no direction descends.
    is_soft : bool
        Whether some curvature is not known to differ from zero and none is negative.
    is_isolated : bool
        Whether the risk rises, beyond its error, in every direction.
    position_error : float
        Distance beyond which the slopes exceed their errors; inf if they do not.
    """

    y: np.ndarray
    is_boundary: bool
    curvature: float
    curvature_error: float
    is_minimum: bool
    is_soft: bool
    is_isolated: bool
    position_error: float


def examine(risk: ReducedRisk, y: np.ndarray, scale: float) -> tuple[StationaryPoint, np.ndarray]:
    """Examine one point of shape (s,); also return directions that descend, shape (k, s).

    The scale is the slope elsewhere: curvatures that are small beside it are not relied on.
    """
    point = y[None]
    gradient, hessian = risk.gradient(point), risk.hessian(point)
    on_sphere = bool(is_held(point, gradient)[0])
    slope_error = risk.errors(point)[1][0]
    radial = float(y @ gradient[0])
    # Where nothing presses a point against the boundary, ways inwards are ways like others.
    held = on_sphere and radial < -_SIGNIFICANT * weighted_error(np.abs(y), slope_error)
    matrix = intrinsic_hessian(point, gradient, hessian.value) if held else hessian.value
    values, vectors = np.linalg.eigh(matrix[0])
    if held:
        # The direction of the normal is not one of those that curve.
        tangential = np.sort(np.argsort(np.abs(y @ vectors), kind="stable")[: len(y) - 1])
        values, vectors = values[tangential], vectors[:, tangential]
    scale = max(scale, float(np.linalg.norm(hessian.value[0])), abs(radial))
    blur = float(np.linalg.norm(np.abs(vectors.T) @ hessian.error[0] @ np.abs(vectors)))
    noise = max(_SIGNIFICANT * blur, _RELATIVE * scale)
    left = residual(point, gradient)[0]
    along = np.abs(left @ vectors) + weighted_error(np.abs(vectors.T), slope_error)
    falling, hard = values < -noise, values > noise
    errors = np.where(hard, SLOPE_ERRORS * along / np.where(hard, values, 1.0), np.inf)
    # A place that is known to no better than this is looked at along the slope.
    hard &= errors <= _FARTHEST
    position_error = float(errors[hard].max(initial=0.0))
    descents = [vectors[:, falling].T, -vectors[:, falling].T]
    soft = vectors[:, ~hard & ~falling]
    is_soft = bool(soft.shape[1]) and not falling.any()
    is_isolated = True
    if is_soft:
        unseen = _UNSEEN[risk.is_tabulated] * scale
        walk = _Walk(risk, y, held, values[hard], vectors[:, hard], unseen)
        for direction in _soft_directions(soft):
            if on_sphere and not held and direction @ y > _OUTWARD:
                continue
            sign, distance = walk.first_slope(direction)
            position_error = max(position_error, distance)
            is_isolated &= sign > 0
            if sign < 0:
                descents.append(direction[None])
    directions = np.concatenate(descents)
    found = StationaryPoint(
        y=y,
        is_boundary=on_sphere,
        curvature=float(values.min(initial=np.inf)),
        curvature_error=blur,
        is_minimum=not len(directions),
        is_soft=is_soft,
        is_isolated=bool(is_isolated) and not len(directions),
        position_error=position_error,
    )
    return found, directions


def _soft_directions(soft: np.ndarray) -> np.ndarray:
    """Both senses of each axis, and some fixed mixtures of several; rows."""
    axes = soft.T
    if len(axes) > 1:
        mixtures = np.random.default_rng(0).standard_normal((_N_MIXED, len(axes)))
        mixtures /= np.linalg.norm(mixtures, axis=1, keepdims=True)
        axes = np.concatenate([axes, mixtures @ axes])
    return np.concatenate([axes, -axes])


@dataclass(frozen=True, eq=False)
class _Walk:
    """Ways from a point along the bottom of a valley."""

    risk: ReducedRisk
    y: np.ndarray
    held: bool
    curvatures: np.ndarray
    across: np.ndarray
    unseen: float

    def first_slope(self, direction: np.ndarray) -> tuple[int, float]:
        """Sign of the first slope larger than its error, and where; 0 and inf if there is none."""
        distances = _DISTANCES[self.risk.is_tabulated]
        start = self.y + distances[:, None] * direction
        ends = self._retracted(start)
        for _ in range(_CORRECTIONS if len(self.curvatures) else 0):
            slopes = self.risk.gradient(ends) @ self.across
            ends = self._retracted(ends - (slopes / self.curvatures) @ self.across.T)
        outward = ends - self.y
        if self.held:
            outward -= ends * np.sum(outward * ends, axis=1, keepdims=True)
        length = np.linalg.norm(outward, axis=1)
        inside = (np.linalg.norm(ends, axis=1) <= 1.0 + 1e-12) & (length > 0)
        outward /= np.maximum(length, 1e-300)[:, None]
        slopes = np.sum(self.risk.gradient(ends) * outward, axis=1)
        # Errors are dear without a table, and the first slope that is seen decides.
        places = np.flatnonzero(inside & (np.abs(slopes) > self.unseen))
        groups = [places] if self.risk.is_tabulated else list(places[:, None])
        for group in groups:
            errors = weighted_error(np.abs(outward[group]), self.risk.errors(ends[group])[1])
            counts = group[np.abs(slopes[group]) > SLOPE_ERRORS * errors]
            if len(counts):
                return int(np.sign(slopes[counts[0]])), float(distances[counts[0]])
        return 0, np.inf

    def _retracted(self, ends: np.ndarray) -> np.ndarray:
        norms = np.linalg.norm(ends, axis=1, keepdims=True)
        return ends / (norms if self.held else np.where(norms > 1.0, norms, 1.0))
