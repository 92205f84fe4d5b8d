r"""From weighted nodes to the risk of a network with one weight vector for each token.

With :math:`a_l = m_l/\sqrt L`, :math:`\rho = \sqrt{1 - |a|^2}` and
:math:`s = \bar e + a\cdot z_\star + \rho\,\xi` for the sum of the fields, and the gradient
:math:`g = \ell'(s)/\sqrt L` that is the same for all of them,

.. math:: \partial R/\partial e_l = E\,g,\qquad
          \partial R/\partial m_l = E\,g\,z_{\star l} - \frac{a_l}{\rho}\,E\,g\,\xi,\qquad
          V_l = E\,g^2,

so that L + 1 Gaussian variables are enough, not 2 L.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ssiode.population_risk.averages import ROUNDING, SUM_ROUNDING, Averager


class RowAverager(Averager):
    """Evaluates the averages of a network of the sum of its fields; see :class:`Averager`."""

    kernel: ClassVar[tuple[str, str]] = ("row_expectation", "accumulate_row_averages")

    def rounding(self, moments: np.ndarray, v: np.ndarray) -> np.ndarray:
        """See :meth:`Averager.rounding`; the terms of dR/dm_l have the size of those of dR/de."""
        slope = 1.0 / max(self._orthogonal_overlap(v), self._step)
        size = np.sqrt(max(moments[-1], 0.0))
        error = ROUNDING * np.abs(moments)
        error[1:-1] += SUM_ROUNDING * size * (1.0 + slope)
        return error

    def _direction(self, v: np.ndarray) -> np.ndarray:
        return v[self._problem.length :] / np.sqrt(self._problem.length)

    def _orthogonal_overlap(self, v: np.ndarray) -> float:
        """The rho of the sum."""
        a = self._direction(v)
        return float(np.sqrt(max(0.0, 1.0 - a @ a)))

    def _shortened(self, v: np.ndarray, size: float) -> np.ndarray:
        """The state with this root mean square of m."""
        length, a = self._problem.length, self._direction(v)
        return np.append(v[:length], v[length:] * size / np.linalg.norm(a))

    def _law(self, v: np.ndarray) -> tuple[Any, Any]:
        """Mean of the sum, and its overlaps with the fields of the teacher."""
        length = self._problem.length
        mean = (v[:length] + self._problem.geometry.injected).sum() / np.sqrt(length)
        return float(mean), self._direction(v)

    def _write_gradient(
        self, gradient: np.ndarray, rows: np.ndarray, quotient: np.ndarray, v: np.ndarray
    ) -> None:
        length = self._problem.length
        gradient[:, :length] = rows[:, 1:2]
        gradient[:, length:] = rows[:, 2 : length + 2] - self._direction(v) * quotient[:, None]
