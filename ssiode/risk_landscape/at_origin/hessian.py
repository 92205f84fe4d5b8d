r"""The Hessian of the population risk at the origin, and its eigenvalues in the metric.

.. math::

    \frac{\partial^2 R}{\partial m^2} = -4 \sum_{|\alpha| = 2}
        \frac{c_\alpha(f) c_\alpha(g)}{\alpha!}, \quad
    \frac{\partial^2 R}{\partial e_i \partial e_j} = c_{ij}(|f|^2) - 2 E[g]\, c_{ij}(f), \quad
    \frac{\partial^2 R}{\partial e_j \partial m} = -2 \sum_l c_l(g)\, c_{lj}(f)

(after Arnaboldi et al., arXiv 2506.02651). Near the origin :math:`\dot v = -\Gamma H v`, so rates
of growth are minus the eigenvalues of :math:`\Gamma^{1/2} H \Gamma^{1/2}`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ssiode.risk_landscape.at_origin.forms import HomogeneousForm
from ssiode.risk_landscape.at_origin.numbers import Number
from ssiode.risk_landscape.seen_overlaps import SeenOverlaps


@dataclass(frozen=True, eq=False)
class Hessian:
    """Second derivatives of R at the origin in the independent overlaps that the student sees.

    Attributes
    ----------
    form : HomogeneousForm
        Of order 2.
    seen : SeenOverlaps

    Examples
    --------
    >>> from ssiode import LinearAttention, Problem, Target
    >>> from ssiode.risk_landscape.at_origin.taylor import TaylorExpansion
    >>> expansion = TaylorExpansion(Problem(Target("He2(z1) + He2(z2)"), LinearAttention()))
    >>> hessian = Hessian(expansion.form(2), expansion.seen)
    >>> hessian.mm, hessian.ee, hessian.eigenvalues.tolist()
    (-8.0, None, [-8.0])
    """

    form: HomogeneousForm
    seen: SeenOverlaps

    @cached_property
    def matrix(self) -> np.ndarray:
        """Second derivatives, shape (r, r), m last."""
        return self._filled(lambda number: number.value)

    @cached_property
    def error(self) -> np.ndarray:
        """Bounds of their errors, shape (r, r)."""
        return self._filled(lambda number: number.error)

    def _filled(self, part: Any) -> np.ndarray:
        size = len(self.form.names)
        matrix = np.empty((size, size))
        for i, j in np.ndindex(size, size):
            powers = [0] * size
            powers[i] += 1
            powers[j] += 1
            number: Number = self.form.coefficient(powers)
            matrix[i, j] = part(number) * (2 if i == j else 1)
        return matrix

    @property
    def mm(self) -> float:
        """d2R/dm2."""
        return float(self.matrix[-1, -1])

    @property
    def ee(self) -> float | list[list[float]] | None:
        """d2R/de2: a number for one positional overlap, a matrix for several, None for none."""
        block = self.matrix[:-1, :-1]
        return block.tolist() if len(block) > 1 else (float(block[0, 0]) if len(block) else None)

    @property
    def em(self) -> float | list[float] | None:
        """d2R/de dm: a number for one positional overlap, a list for several, None for none."""
        row = self.matrix[-1, :-1]
        return row.tolist() if len(row) > 1 else (float(row[0]) if len(row) else None)

    @cached_property
    def in_frame(self) -> np.ndarray:
        """The matrix in orthonormal coordinates w, shape (r, r)."""
        return self.seen.frame.T @ self.matrix @ self.seen.frame

    @cached_property
    def eigenvalue_error(self) -> float:
        """Bound of the error of every eigenvalue: the norm of that of the matrix."""
        frame = np.abs(self.seen.frame)
        spread = frame.T @ (self.error + 2.0**-50 * np.abs(self.matrix)) @ frame
        return float(np.linalg.norm(spread))

    @cached_property
    def _spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        return np.linalg.eigh(self.in_frame)

    @property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues in the metric of the encoding, ascending, shape (r,)."""
        return self._spectrum[0]

    @cached_property
    def directions(self) -> np.ndarray:
        """Unit eigenvectors as states (e, m), shape (r, L + 1), in the order of the eigenvalues."""
        return self.seen.states(self._spectrum[1].T)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "ee": self.ee,
            "em": self.em,
            "mm": self.mm,
            "overlaps": list(self.form.names),
            "error": float(self.error.max(initial=0.0)),
            "eigenvalues": self.eigenvalues.tolist(),
            "eigenvalue_error": self.eigenvalue_error,
            "eigenvectors": [{"e": v[:-1].tolist(), "m": float(v[-1])} for v in self.directions],
        }
