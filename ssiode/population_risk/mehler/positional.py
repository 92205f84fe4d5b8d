"""The directions of the positional overlaps that a student sees, and how far they reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ssiode.problem import Problem


def positional_box(problem: Problem, axes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Directions of e that the student sees, shape (q, L), and the largest |coordinate| on each.

    A feasible e = P w / sqrt(d) has |b.e| <= |P^T b| for every direction b.
    """
    gram = problem.geometry.gram
    seen = axes.T @ axes @ gram @ axes.T @ axes
    values, vectors = np.linalg.eigh(seen)
    kept = values > 1e-13 * np.trace(gram)
    basis = vectors[:, kept].T
    widths = np.sqrt(np.einsum("qi,ij,qj->q", basis, gram, basis))
    return basis, widths * (1 + 1e-9)


def adapted_axes(basis: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Orthonormal axes of what the student sees, the positional directions first."""
    if len(basis) in (0, len(seen)):
        return basis if len(basis) else seen
    others = seen - seen @ basis.T @ basis
    _, _, directions = np.linalg.svd(others)
    return np.concatenate([basis, directions[: len(seen) - len(basis)]])
