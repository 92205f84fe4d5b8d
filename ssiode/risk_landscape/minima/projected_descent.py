"""Many descents at once on the closed ball: projected gradients, then Newton steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ssiode.risk_landscape.minima.reduced_risk import ReducedRisk

# A point this close to the sphere is on it.
_ON_SPHERE = 1e-12
_FIRST_MOVE, _LARGEST_MOVE = 0.1, 0.5
_SMALLEST_MOVE = 1e-8
_LARGEST_NEWTON = 0.1
_SUFFICIENT = 0.1
# Curvatures below this part of the largest are not divided by.
_FLAT = 1e-13
_CONVERGED = 1e-14
# A step that lowers the slope may raise R by this part of it, its rounding.
_LEVEL = 1e-9
_SETTLING, _VALLEY = 4, 1e-6


def projected(y: np.ndarray) -> np.ndarray:
    """Nearest points of the unit ball, shape (p, s).

    >>> projected(np.array([[3.0, 4.0], [0.1, 0.0]])).round(12).tolist()
    [[0.6, 0.8], [0.1, 0.0]]
    """
    return y / np.maximum(np.linalg.norm(y, axis=1, keepdims=True), 1.0)


def is_held(y: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Whether points of shape (p, s) lie on the sphere and descend outwards, shape (p,)."""
    is_outside = np.linalg.norm(y, axis=1) >= 1.0 - _ON_SPHERE
    return is_outside & (np.sum(y * gradient, axis=1) <= 0)


def residual(y: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """The part of the gradient that can be followed, tangential on the boundary; (p, s)."""
    held = is_held(y, gradient)[:, None]
    return gradient - np.where(held, y * np.sum(y * gradient, axis=1, keepdims=True), 0.0)


def intrinsic_hessian(y: np.ndarray, gradient: np.ndarray, hessian: np.ndarray) -> np.ndarray:
    r"""Second derivatives along geodesics: H inside, and a matrix with the tangential ones outside.

    .. math:: P H P - (y \cdot \nabla R)\,P + |H|\,y y^T, \qquad P = 1 - y y^T,

    holds on the boundary, where the last term keeps the normal, along which no step is made, away.
    Shapes (p, s), (p, s) and (p, s, s) to (p, s, s).
    """
    held = is_held(y, gradient)[:, None, None]
    normal = y[:, :, None] * y[:, None, :]
    plane = np.eye(y.shape[1]) - normal
    radial = np.sum(y * gradient, axis=1)[:, None, None]
    size = np.linalg.norm(hessian, axis=(1, 2))[:, None, None] + np.abs(radial)
    return np.where(held, plane @ hessian @ plane - radial * plane + size * normal, hessian)


def descend(risk: ReducedRisk, starts: np.ndarray, iterations: int) -> np.ndarray:
    """Follow projected gradients from points of shape (p, s) in the ball, with steps of their own.

    Steps that lower R too little are shortened; others follow Barzilai and Borwein (1988).
    """
    y = projected(starts)
    value, gradient = risk.value_and_gradient(y)
    size = np.linalg.norm(gradient, axis=1)
    step = _FIRST_MOVE / np.maximum(size, 1e-300)
    active = size > 0
    for _ in range(iterations):
        i = np.flatnonzero(active)
        if not len(i):
            break
        trial = projected(y[i] - step[i, None] * gradient[i])
        move = trial - y[i]
        new_value, new_gradient = risk.value_and_gradient(trial)
        fall = _SUFFICIENT * np.sum(gradient[i] * move, axis=1)
        taken = new_value <= value[i] + fall
        change = np.sum((new_gradient - gradient[i]) * move, axis=1)
        square = np.sum(move**2, axis=1)
        longest = _LARGEST_MOVE / np.maximum(np.linalg.norm(new_gradient, axis=1), 1e-300)
        with np.errstate(divide="ignore", invalid="ignore"):
            secant = np.where(change > 0, square / change, np.inf)
        step[i] = np.where(taken, np.minimum(secant, longest), 0.25 * step[i])
        kept = i[taken]
        y[kept], value[kept], gradient[kept] = trial[taken], new_value[taken], new_gradient[taken]
        active[i] = np.sqrt(square) > _SMALLEST_MOVE
    return y


def polish(risk: ReducedRisk, points: np.ndarray, iterations: int, nodes: int = 7) -> np.ndarray:
    """Newton steps along geodesics from points of shape (p, s), away from saddles.

    Every curvature enters by its absolute value, so that each step descends. A step that raises R,
    as one onto a plateau does, or lowers neither R nor the slope is shortened. `nodes` are those of
    :meth:`ReducedRisk.hessian`.
    """
    y = points.copy()
    value, gradient = risk.value_and_gradient(y)
    shrink = np.ones(len(y))
    active = np.ones(len(y), dtype=bool)
    for _ in range(iterations):
        i = np.flatnonzero(active)
        if not len(i):
            break
        trial = _newton_trial(risk, y[i], gradient[i], shrink[i], nodes)
        new_value, new_gradient = risk.value_and_gradient(trial)
        before = np.linalg.norm(residual(y[i], gradient[i]), axis=1)
        after = np.linalg.norm(residual(trial, new_gradient), axis=1)
        is_level = new_value <= value[i] + _LEVEL * np.abs(value[i])
        taken = (after < before) & is_level | (new_value < value[i])
        move = np.linalg.norm(trial - y[i], axis=1)
        kept = i[taken]
        y[kept], value[kept], gradient[kept] = trial[taken], new_value[taken], new_gradient[taken]
        shrink[i] = np.where(taken, np.minimum(1.0, 4 * shrink[i]), 0.25 * shrink[i])
        active[i] = (move > _CONVERGED) & (after > 0) & (shrink[i] > 1e-6)
    return y


def settle(risk: ReducedRisk, points: np.ndarray, scale: float) -> np.ndarray:
    """Newton steps across valleys only, from points of shape (p, s) near their bottom.

    Directions with curvatures that are small beside the scale are left alone.
    """
    y = points
    for _ in range(_SETTLING):
        gradient = risk.gradient(y)
        values, vectors = np.linalg.eigh(intrinsic_hessian(y, gradient, risk.hessian(y).value))
        slopes = np.einsum("pi,pij->pj", residual(y, gradient), vectors)
        steps = np.where(values > _VALLEY * scale, slopes / np.maximum(values, 1e-300), 0.0)
        moved = y - np.einsum("pij,pj->pi", vectors, steps)
        norms = np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-300)
        y = np.where(is_held(y, gradient)[:, None], moved / norms, projected(moved))
    return y


def _newton_trial(
    risk: ReducedRisk, y: np.ndarray, gradient: np.ndarray, shrink: np.ndarray, nodes: int
) -> np.ndarray:
    hessian = risk.hessian(y, nodes).value
    values, vectors = np.linalg.eigh(intrinsic_hessian(y, gradient, hessian))
    slopes = np.einsum("pi,pij->pj", residual(y, gradient), vectors)
    sizes = np.abs(values)
    sizes = np.maximum(sizes, np.maximum(_FLAT * sizes.max(axis=1, keepdims=True), 1e-300))
    step = -np.einsum("pij,pj->pi", vectors, slopes / sizes)
    length = np.linalg.norm(step, axis=1)
    step *= (shrink * np.minimum(1.0, _LARGEST_NEWTON / np.maximum(length, 1e-300)))[:, None]
    trial = y + step
    held = is_held(y, gradient)
    norms = np.maximum(np.linalg.norm(trial, axis=1, keepdims=True), 1e-300)
    return np.where(held[:, None], trial / norms, projected(trial))
