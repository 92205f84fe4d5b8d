"""The ways to run replicas of SGD: a kernel, and where its replicas start."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ssiode.problem import Problem


class Purpose(IntEnum):
    """Uses of random numbers, each with streams of its own, so that records do not change a run."""

    TOKENS = 0
    LABEL_NOISE = 1
    FRESH_TOKENS = 2
    FRESH_NOISE = 3
    WEIGHTS = 4
    DIRECTIONS = 5
    LEFT_OUT = 6


class Method(NamedTuple):
    """One way to run replicas.

    Attributes
    ----------
    name : str
        Of the method, on its results.
    kernel : str
        Piece that advances one replica.
    purposes : tuple of Purpose
        Streams that the kernel reads.
    entries : function of the problem
        Number of entries of a weight vector.
    sums_beside : int
        Sums that the kernel keeps beside the update of each entry.
    directions : function of the problem
        Orthonormal vectors that span the encoding and the teacher, shape (r, entries).
    weights : function of (problem, directions, replica)
        Initial weights of one replica, shape (rows, entries).
    """

    name: str
    kernel: str
    purposes: tuple[Purpose, ...]
    entries: Callable[[Problem], int]
    sums_beside: int
    directions: Callable[[Problem], np.ndarray]
    weights: Callable[[Problem, np.ndarray, int], np.ndarray]


METHODS: dict[str, Method] = {}


def register(method: Method) -> Method:
    """Make a method known by its name, so that its runs can be resumed."""
    METHODS[method.name] = method
    return method


def generator(problem: Problem, *key: int) -> np.random.Generator:
    """The generator of one purpose, or of one purpose and replica."""
    return np.random.default_rng(np.random.SeedSequence(problem.sgd.seed, spawn_key=key))
