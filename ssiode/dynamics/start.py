"""Where the weights of an SGD run start: encoding, teacher and students in d dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ssiode.problem import Problem


def random_directions(problem: Problem, purpose: int) -> np.ndarray:
    """Random orthonormal vectors that span the encoding and the teacher, shape (r, d)."""
    sequence = np.random.SeedSequence(problem.sgd.seed, spawn_key=(purpose,))
    shape = (problem.sgd.d, problem.geometry.rank)
    orthonormal, _ = np.linalg.qr(np.random.default_rng(sequence).standard_normal(shape))
    return np.ascontiguousarray(orthonormal.T)


def initial_weights(problem: Problem, directions: np.ndarray, purpose: int) -> np.ndarray:
    """Unit vectors with the problem's initial overlaps, or uniform; shape (replicas, d)."""
    fixed = problem.initial.fixed_state(problem.geometry)
    weights = np.empty((problem.sgd.replicas, problem.sgd.d))
    for replica, row in enumerate(weights):
        sequence = np.random.SeedSequence(problem.sgd.seed, spawn_key=(purpose, replica))
        row[:] = np.random.default_rng(sequence).standard_normal(problem.sgd.d)
        if fixed is None:
            row /= np.linalg.norm(row)
            continue
        inside = problem.geometry.coordinates(fixed)
        row -= (directions @ row) @ directions
        row *= np.sqrt(max(0.0, 1.0 - inside @ inside)) / np.linalg.norm(row)
        row += inside @ directions
        row /= np.linalg.norm(row)
    return weights
