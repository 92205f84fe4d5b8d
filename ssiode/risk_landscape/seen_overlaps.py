r"""The overlaps that a student sees: those along its directions, and m.

A student of y = U z depends on the positional overlaps through o = U e alone, so its risk is a
function of (o, m) with the metric of the encoding U P.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ssiode.geometry import Geometry
from ssiode.risk_landscape.coordinates import FeasibleCoordinates

if TYPE_CHECKING:
    from ssiode.problem import Problem

_INVISIBLE = 1e-13
_ROUNDING = 1e-14


class SeenOverlaps:
    """The independent overlaps of (o, m), and the shortest states (e, m) with given ones.

    Parameters
    ----------
    problem : Problem

    Examples
    --------
    A tied network sees the sum of the positional overlaps.

    >>> from ssiode import Encoding, Problem, Target, TiedNetwork
    >>> tied = Problem(Target("z1*z2"), TiedNetwork("relu"), Encoding("orthonormal"))
    >>> seen = SeenOverlaps(tied)
    >>> seen.names, seen.states(np.array([[1.0, 0.0]])).round(6).tolist()
    (('e_sum', 'm'), [[0.707107, 0.707107, 0.0]])
    """

    def __init__(self, problem: Problem) -> None:
        self._full = problem.geometry
        self._axes = problem.student.axes(problem.length)
        gram = self._axes @ self._full.gram @ self._axes.T
        largest = np.diag(self._full.gram).max(initial=0.0)
        hidden = np.diag(gram) <= _INVISIBLE * largest * problem.length
        gram[hidden] = gram[:, hidden] = 0.0
        overlap = np.where(hidden, 0.0, self._axes @ self._full.teacher_overlap)
        self.coordinates = FeasibleCoordinates(Geometry(gram, overlap, np.zeros(len(gram))))

    @property
    def dimension(self) -> int:
        """Number of independent overlaps, m included."""
        return self.coordinates.dimension

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the independent overlaps; `e_sum` is the sum of e over sqrt(L)."""
        names = self.coordinates.names
        is_sum = len(self._axes) < self._full.length and len(names) > 1
        return ("e_sum", *names[1:]) if is_sum else names

    @cached_property
    def frame(self) -> np.ndarray:
        """Independent overlaps of the orthonormal coordinates w, shape (r, r)."""
        return self.coordinates.frame[list(self.coordinates.independent)]

    def states(self, w: np.ndarray) -> np.ndarray:
        """The states v = (e, m) of orthonormal coordinates w with v^T Gamma^+ v = |w|^2.

        Arrays of shape (p, r) and (p, L + 1).
        """
        kept = list(self.coordinates.independent)
        to_seen = np.zeros((len(self._axes) + 1, self._full.length + 1))
        to_seen[:-1, :-1], to_seen[-1, -1] = self._axes, 1.0
        lifted = self._full.metric @ to_seen[kept].T @ np.linalg.inv(self.coordinates.metric)
        v = w @ (lifted @ self.frame).T
        return np.where(np.abs(v) > _ROUNDING * np.linalg.norm(v, axis=-1, keepdims=True), v, 0.0)
