"""Where replicas start: as d-dimensional vectors, or as the coordinates that the chain keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ssiode.dynamics.methods import Purpose, generator
from ssiode.geometry import random_rows
from ssiode.threads import one_blas_thread

if TYPE_CHECKING:
    from ssiode.problem import Problem


def random_directions(problem: Problem) -> np.ndarray:
    """Random orthonormal vectors of R^d for encoding and teacher, shape (r, d)."""
    normals = generator(problem, Purpose.DIRECTIONS).standard_normal(
        (problem.sgd.d, problem.geometry.rank)
    )
    with one_blas_thread():  # the last digits must not depend on their number
        orthonormal, _ = np.linalg.qr(normals)
    return np.ascontiguousarray(orthonormal.T)


def vector_weights(problem: Problem, directions: np.ndarray, replica: int) -> np.ndarray:
    """Weights with the problem's initial overlaps, or uniform ones, shape (rows, d)."""
    geometry = problem.geometry
    rows = generator(problem, Purpose.WEIGHTS, replica).standard_normal(
        (geometry.n_rows, problem.sgd.d)
    )
    fixed = problem.initial.fixed_state(geometry)
    if fixed is None:
        return geometry.normalised(rows)
    inside = geometry.row_coordinates(fixed)
    rows -= (rows @ directions.T) @ directions
    rows *= np.sqrt(_rest(inside) / np.sum(rows**2, axis=1, keepdims=True))
    rows += inside @ directions
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def coordinate_weights(problem: Problem, replica: int) -> np.ndarray:
    """The r coordinates of weights of the same law and the norm of their rest, (rows, r + 1)."""
    geometry = problem.geometry
    fixed = problem.initial.fixed_state(geometry)
    if fixed is None:
        return random_rows(geometry, problem.sgd.d, generator(problem, Purpose.WEIGHTS, replica))
    inside = geometry.row_coordinates(fixed)
    rows = np.column_stack([inside, np.sqrt(_rest(inside))])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _rest(inside: np.ndarray) -> np.ndarray:
    """Squared norms of unit vectors beside their coordinates, shape (rows, 1)."""
    return np.maximum(0.0, 1.0 - np.sum(inside**2, axis=1, keepdims=True))
