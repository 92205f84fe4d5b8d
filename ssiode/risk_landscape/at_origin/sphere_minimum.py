"""The smallest value of a form on the unit sphere of some coordinates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ssiode.risk_landscape.at_origin.forms import HomogeneousForm

_ANGLES = 2880
_STARTS, _STEPS = 128, 400
_ROUNDING = 1e-13


class SphereMinimum(NamedTuple):
    """The smallest value of a form on a sphere.

    Attributes
    ----------
    value, error : float
        The value that is attained, and the error of the form there.
    lower_bound : float
        No value is below it; minus infinity where none is known.
    direction : array of shape (r,)
        Where, in orthonormal coordinates.
    """

    value: float
    error: float
    lower_bound: float
    direction: np.ndarray


def sphere_minimum(form: HomogeneousForm, frame: np.ndarray) -> SphereMinimum:
    """Minimise a form on the unit sphere of the coordinates w, the overlaps being frame @ w.

    Exact for quadratic forms and in one dimension; in two a grid with Bernstein's bound of the
    second derivative by n^2 times the largest value, and a polish; beyond a search from many
    starts.

    Parameters
    ----------
    form : HomogeneousForm
        Of order n.
    frame : array of shape (r, q)
        Independent overlaps of q orthonormal coordinates.

    Examples
    --------
    >>> from ssiode.risk_landscape.at_origin.numbers import Number
    >>> form = HomogeneousForm(2, ("e", "m"), {(1, 1): Number.of_float(2.0, 0.0)})
    >>> round(sphere_minimum(form, np.eye(2)).value, 12)
    -1.0
    """
    dimension = frame.shape[1]
    if dimension == 1:
        w = np.array([[1.0], [-1.0]])
        lowest = np.inf
    elif form.order == 2:
        _, vectors = np.linalg.eigh(_quadratic_matrix(form, frame))
        w, lowest = vectors.T, np.inf
    elif dimension == 2:
        angles = 2 * np.pi * np.arange(_ANGLES) / _ANGLES
        grid = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
        values = form(grid @ frame.T)
        # |f''| <= n^2 max |f|, and the maximum exceeds that on the grid by as little.
        gap = form.order**2 * (np.pi / _ANGLES) ** 2 / 2
        lowest = values.min() - gap / (1 - gap) * np.abs(values).max()
        w = _polished(form, frame, grid[np.argsort(values)[:8]])
    else:
        starts = np.random.default_rng(0).standard_normal((_STARTS, dimension))
        w, lowest = _polished(form, frame, starts), -np.inf
    w = _positive_ends(w, form.order)
    values = form(w @ frame.T)
    best = int(np.argmin(np.round(values / max(np.abs(values).max(), 1e-300), 12)))
    point = w[best]
    error = float(form.error(point[None] @ frame.T)[0]) + _ROUNDING * abs(values[best])
    return SphereMinimum(float(values[best]), error, min(lowest, float(values[best])), point)


def _quadratic_matrix(form: HomogeneousForm, frame: np.ndarray) -> np.ndarray:
    units = np.eye(len(form.names))
    return frame.T @ form.gradient(units) @ frame / 2


def _polished(form: HomogeneousForm, frame: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Descend on the sphere by gradient steps that shrink where the form does not fall."""
    w = starts / np.linalg.norm(starts, axis=1, keepdims=True)
    values, step = form(w @ frame.T), np.full(len(w), 0.1)
    for _ in range(_STEPS):
        slope = form.gradient(w @ frame.T) @ frame
        slope -= w * np.sum(w * slope, axis=1, keepdims=True)
        size = np.linalg.norm(slope, axis=1, keepdims=True)
        moved = w - step[:, None] * slope / np.maximum(size, 1e-300)
        moved /= np.linalg.norm(moved, axis=1, keepdims=True)
        new = form(moved @ frame.T)
        is_lower = new < values
        w = np.where(is_lower[:, None], moved, w)
        values = np.where(is_lower, new, values)
        step = np.where(is_lower, 1.5 * step, 0.5 * step)
        if step.max() < 1e-9:
            break
    return w


def _positive_ends(w: np.ndarray, order: int) -> np.ndarray:
    """For even forms the one of w and -w whose last entry that matters is positive."""
    if order % 2:
        return np.concatenate([w, -w])
    matters = np.abs(w) > 1e-9
    last = w.shape[1] - 1 - np.argmax(matters[:, ::-1], axis=1)
    signs = np.sign(np.take_along_axis(w, last[:, None], axis=1))
    return w * np.where(signs == 0, 1.0, signs)
