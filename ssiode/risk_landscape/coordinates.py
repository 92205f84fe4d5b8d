r"""Coordinates of the feasible set: some overlaps that determine all, and an orthonormal frame.

The feasible states v = (e, m) fill the ellipsoid :math:`v^T \Gamma^+ v \le 1` in the range of
:math:`\Gamma`. With r = rank :math:`\Gamma` entries of v that are independent, m the first of them,
:math:`v = B\,v_I`, and in the metric of the encoding :math:`v = F u` with the columns of F such
that the feasible set is the unit ball of u and :math:`u_r = m`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ssiode.geometry import Geometry

# Relative to the norm of a row: what is left of it beyond the rows before is rounding.
_DEPENDENT = 1e-6
_NEAR_RATIO = 1e-13


@dataclass(frozen=True, eq=False)
class FeasibleCoordinates:
    """The independent overlaps of an encoding and a teacher.

    Parameters
    ----------
    geometry : Geometry

    Examples
    --------
    >>> from ssiode import Encoding
    >>> opposite = FeasibleCoordinates(Encoding("opposite", norm=2.0).geometry(2))
    >>> opposite.names, opposite.expansion.tolist()
    (('e', 'm'), [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    >>> opposite.frame.tolist()
    [[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0]]
    """

    geometry: Geometry

    @property
    def dimension(self) -> int:
        """Number r of independent overlaps, m included."""
        return len(self.independent)

    @cached_property
    def independent(self) -> tuple[int, ...]:
        """Indices in v of the independent overlaps, in order, the last one that of m.

        Gram-Schmidt from m on; the rows that are kept are never nearly parallel if others are not.
        """
        rows, length = self.geometry.basis, self.geometry.length
        rest = rows - np.outer(rows @ rows[length], rows[length])
        norms = np.linalg.norm(rows, axis=1)
        kept = []
        for _ in range(self.geometry.rank - 1):
            sizes = np.linalg.norm(rest[:length], axis=1) / np.where(norms > 0, norms, 1)[:length]
            # The first token within rounding of the largest, so that patterns begin with it.
            token = int(np.argmax(sizes >= (1 - _DEPENDENT) * sizes.max()))
            direction = rest[token] / np.linalg.norm(rest[token])
            rest -= np.outer(rest @ direction, direction)
            kept.append(token)
        return (*sorted(kept), length)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the independent overlaps: `e` for a single positional one, and `m`."""
        tokens = self.independent[:-1]
        positional = ("e",) if len(tokens) == 1 else tuple(f"e{token + 1}" for token in tokens)
        return (*positional, "m")

    @cached_property
    def metric(self) -> np.ndarray:
        """Gram matrix of the independent overlaps, shape (r, r), of full rank."""
        kept = list(self.independent)
        return self.geometry.metric[np.ix_(kept, kept)]

    @cached_property
    def expansion(self) -> np.ndarray:
        """B with v = B v_I, shape (L + 1, r)."""
        kept = list(self.independent)
        expansion = np.linalg.solve(self.metric, self.geometry.metric[kept]).T
        expansion[kept] = np.eye(self.dimension)
        # Ratios of whole numbers, as of opposite rows, are meant where rounding leaves them near.
        nearest = np.round(expansion)
        is_near = np.abs(expansion - nearest) <= _NEAR_RATIO
        return np.where(is_near, nearest, expansion) + 0.0

    @cached_property
    def frame(self) -> np.ndarray:
        """F with v = F u, shape (L + 1, r): the feasible set is |u| <= 1, and u_r = m."""
        # A triangular factor from m on keeps u_r = m and makes the positional parts positive.
        reverse = np.arange(self.dimension)[::-1]
        lower = np.linalg.cholesky(self.metric[np.ix_(reverse, reverse)])
        return self.expansion @ lower[np.ix_(reverse, reverse)]

    @cached_property
    def _inverse(self) -> np.ndarray:
        return np.linalg.inv(self.frame[list(self.independent)])

    def overlaps(self, u: np.ndarray) -> np.ndarray:
        """States v of shape (..., L + 1) at coordinates u of shape (..., r)."""
        return u @ self.frame.T

    def coordinates(self, v: np.ndarray) -> np.ndarray:
        """Coordinates u of shape (..., r) of states v in the range of the metric.

        >>> from ssiode import Encoding
        >>> opposite = FeasibleCoordinates(Encoding("opposite").geometry(2))
        >>> opposite.coordinates(np.array([0.6, -0.6, 0.8])).tolist()
        [0.6, 0.8]
        """
        return v[..., list(self.independent)] @ self._inverse.T

    def kind(self, v: np.ndarray, allowed: float) -> str:
        """What a state v moves, up to `allowed` in the orthonormal frame.

        `semantic`: along the teacher; `positional`: orthogonal to it; `mixed`; or `uninformed`.

        >>> from ssiode import Encoding
        >>> opposite = FeasibleCoordinates(Encoding("opposite").geometry(2))
        >>> opposite.kind(np.array([0.6, -0.6, 0.8]), 1e-9), opposite.kind(np.zeros(3), 1e-9)
        ('mixed', 'uninformed')
        """
        u = self.coordinates(v)
        has_position, has_meaning = np.linalg.norm(u[:-1]) > allowed, abs(u[-1]) > allowed
        if has_position:
            return "mixed" if has_meaning else "positional"
        return "semantic" if has_meaning else "uninformed"

    def gradient(self, gradient: np.ndarray) -> np.ndarray:
        """Gradient in u from (dR/de, dR/dm), shape (..., L + 1) to (..., r)."""
        return gradient @ self.frame
