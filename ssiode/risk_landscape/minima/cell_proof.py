"""Cells of the disc that can hold no minimum in their inside, by adaptive subdivision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ssiode.risk_landscape.minima.error_sums import is_narrow, weighted_error

if TYPE_CHECKING:
    from ssiode.risk_landscape.minima.neighbourhoods import Neighbourhood
    from ssiode.risk_landscape.minima.risk_polynomial import RiskPolynomial

_FIRST = 8
_LEVELS, _MOST_CELLS = 26, 100_000
# Where cells are small, so many are not left by the last ones around a point.
_SMALL, _MOST_SMALL = 2.0**-9, 2_000
_QUARTERS = np.array([[-0.5, -0.5], [-0.5, 0.5], [0.5, -0.5], [0.5, 0.5]])


def uncertified_cells(
    polynomial: RiskPolynomial, known: Sequence[Neighbourhood]
) -> tuple[np.ndarray, int]:
    """Centres of cells of the disc that are left, shape (k, 2), and the number of cells seen."""
    half = 1.0 / _FIRST
    axis = np.arange(-1.0 + half, 1.0, 2 * half)
    cells = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    balls = [place for place in known if not place.is_arc]
    seen = 0
    for _ in range(_LEVELS):
        cells = cells[_distance(cells, half) < 1.0]
        seen += len(cells)
        for ball in balls:
            reach = np.linalg.norm(np.abs(cells - ball.centre) + half, axis=1)
            cells = cells[reach > ball.radius]
        if len(cells):
            cells = cells[~_is_excluded(polynomial, cells, half)]
        is_stuck = half < _SMALL and len(cells) > _MOST_SMALL
        if not len(cells) or is_stuck or seen > _MOST_CELLS:
            break
        cells = (cells[:, None, :] + half * _QUARTERS).reshape(-1, 2)
        half /= 2
    return _clustered(cells), seen


def _distance(cells: np.ndarray, half: float) -> np.ndarray:
    """Distance of square cells from the origin."""
    return np.linalg.norm(np.maximum(np.abs(cells) - half, 0.0), axis=1)


def _is_excluded(polynomial: RiskPolynomial, cells: np.ndarray, half: float) -> np.ndarray:
    """Whether p falls or curves down along one direction throughout each cell in the disc."""
    # What is expanded around is in the disc, where the bounds hold, and so is all on the way.
    norms = np.linalg.norm(cells, axis=1, keepdims=True)
    centres = cells / np.maximum(norms, 1.0)
    h = half + np.abs(centres - cells)
    largest = np.minimum(np.abs(cells[:, 1]) + half, 1.0)
    p = polynomial.derivatives(centres, 3)
    fourth = polynomial.bound(4, largest)
    error = polynomial.gradient_error(largest)
    gradient = np.stack([p[1, 0], p[0, 1]], axis=-1)
    hessian = np.stack([p[2, 0], p[1, 1], p[1, 1], p[0, 2]], axis=-1).reshape(-1, 2, 2)
    thirds = [p[3, 0], p[2, 1], p[2, 1], p[1, 2], p[2, 1], p[1, 2], p[1, 2], p[0, 3]]
    third = np.stack(thirds, axis=-1).reshape(-1, 2, 2, 2)
    size = np.linalg.norm(gradient, axis=1)
    length = np.linalg.norm(h, axis=1)
    values, vectors = np.linalg.eigh(hessian)
    excluded = np.zeros(len(cells), dtype=bool)
    # In a narrow valley the slope along it decides, which is small beside that across.
    for d in (gradient / np.maximum(size, 1e-300)[:, None], vectors[:, :, 0], vectors[:, :, 1]):
        change = np.sum(np.abs(np.einsum("nij,nj->ni", hessian, d)) * h, axis=1)
        second = np.abs(np.einsum("nijk,nk->nij", third, d))
        change += 0.5 * np.einsum("nij,ni,nj->n", second, h, h)
        change += fourth * length**3 / 6 + weighted_error(np.abs(d), error)
        excluded |= np.abs(np.sum(gradient * d, axis=1)) > change
    d = vectors[:, :, 0]
    change = np.sum(np.abs(np.einsum("nijk,nj,nk->ni", third, d, d)) * h, axis=1)
    highest = values[:, 0] + change + fourth * length**2 / 2
    return excluded | is_narrow(highest, error.sum(axis=1))


def _clustered(cells: np.ndarray) -> np.ndarray:
    """One of each group of cells that are close to each other, in the disc."""
    centres = cells / np.maximum(np.linalg.norm(cells, axis=1, keepdims=True), 1.0)
    kept: list[np.ndarray] = []
    for centre in centres[:: max(1, len(centres) // 2000)]:
        if all(np.linalg.norm(centre - other) > 1e-3 for other in kept):
            kept.append(centre)
    return np.array(kept).reshape(-1, 2)
