"""Where the replicas of a run start: as d-dimensional vectors, or as their coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ssiode.problem import Problem

# Purposes of random numbers, beside those of the steps.
_WEIGHTS, _DIRECTIONS = 4, 5


@dataclass(frozen=True, eq=False)
class Start:
    """Students and the directions of encoding and teacher, as vectors of so many entries.

    Attributes
    ----------
    weights : array of shape (replicas, entries)
        Unit vectors.
    directions : array of shape (r, entries)
        Orthonormal vectors that span the encoding and the teacher.
    """

    weights: np.ndarray
    directions: np.ndarray


def start_of_vectors(problem: Problem) -> Start:
    """Random directions, and weights with the problem's initial overlaps, or uniform ones."""
    sequence = np.random.SeedSequence(problem.sgd.seed, spawn_key=(_DIRECTIONS,))
    shape = (problem.sgd.d, problem.geometry.rank)
    orthonormal, _ = np.linalg.qr(np.random.default_rng(sequence).standard_normal(shape))
    directions = np.ascontiguousarray(orthonormal.T)
    fixed = problem.initial.fixed_state(problem.geometry)
    weights = np.empty((problem.sgd.replicas, problem.sgd.d))
    for row, generator in zip(weights, _generators(problem), strict=True):
        row[:] = generator.standard_normal(problem.sgd.d)
        if fixed is None:
            row /= np.linalg.norm(row)
            continue
        inside = problem.geometry.coordinates(fixed)
        row -= (directions @ row) @ directions
        row *= np.sqrt(max(0.0, 1.0 - inside @ inside)) / np.linalg.norm(row)
        row += inside @ directions
        row /= np.linalg.norm(row)
    return Start(weights, directions)


def start_of_coordinates(problem: Problem) -> Start:
    """The r coordinates of each student and the length of its rest, from the same laws."""
    geometry, d = problem.geometry, problem.sgd.d
    fixed = problem.initial.fixed_state(geometry)
    weights = np.empty((problem.sgd.replicas, geometry.rank + 1))
    for row, generator in zip(weights, _generators(problem), strict=True):
        v = geometry.random_state(d, generator) if fixed is None else fixed
        row[:-1] = geometry.coordinates(v)
        row[-1] = np.sqrt(max(0.0, 1.0 - row[:-1] @ row[:-1]))
        row /= np.linalg.norm(row)
    return Start(weights, np.eye(geometry.rank, geometry.rank + 1))


def _generators(problem: Problem) -> Iterator[np.random.Generator]:
    """One generator a replica, which does not depend on the number of replicas."""
    for replica in range(problem.sgd.replicas):
        sequence = np.random.SeedSequence(problem.sgd.seed, spawn_key=(_WEIGHTS, replica))
        yield np.random.default_rng(sequence)
