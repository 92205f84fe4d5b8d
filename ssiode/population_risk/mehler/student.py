r"""The student's side of Mehler's series: functions of its outputs and derivatives.

With :math:`g = E g + W h` (W with orthonormal columns), :math:`\bar f = f - E g` and
:math:`f_{al} = \partial_l f_a`,

.. math::

    |g - f|^2 &= |\bar f|^2 - 2\,h\cdot W^T\!\bar f + |h|^2, \\
    \partial_{z_l} |g - f|^2 &= 2 s_l - 2\,h\cdot W^T\! f_l, \qquad s_l = \bar f\cdot f_l, \\
    \sum_l (\partial_{z_l} |g - f|^2)^2 &= 4 \sum_l s_l^2 - 8\,h\cdot \sum_l s_l W^T\! f_l
        + 4 \sum_{ab} h_a h_b \sum_l (W^T\! f_l)_a (W^T\! f_l)_b .
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ssiode.kernels.linker import link, piece

if TYPE_CHECKING:
    from ssiode.population_risk.mehler.teacher import Teacher
    from ssiode.problem import Problem


class StudentFunctions:
    """What is averaged with 1, with h_a and with h_a h_b for the quantities of one problem.

    The quantities are R, dR/de_1, ..., dR/de_L, V. The functions are those that meet 1, one for
    each quantity; then for each quantity those that meet h_1, ..., h_k'; then, for V alone, those
    that meet h_a h_b for the pairs a <= b in order.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem: Problem) -> None:
        student = problem.student
        pieces = [*student.kernel_pieces(problem.length), piece("series_functions")]
        self._tabulate = link(pieces).tabulate_series_functions
        self._parameters = student.kernel_parameters(problem.length)
        self._workspace_size = student.workspace_size(problem.length)
        self._label_noise = problem.label_noise
        self.n_quantities = problem.length + 2

    def __call__(self, fields: np.ndarray, teacher: Teacher) -> np.ndarray:
        """Values at fields z of shape (n, L); returns shape (number of functions, n)."""
        n_mixed = teacher.mixing.shape[1]
        count = self.n_quantities * (1 + n_mixed) + n_mixed * (n_mixed + 1) // 2
        values = np.empty((count, len(fields)))
        self._tabulate(
            np.ascontiguousarray(fields),
            self._parameters,
            np.empty(self._workspace_size),
            teacher.mean,
            np.ascontiguousarray(teacher.mixing),
            self._label_noise,
            values,
        )
        return values

    def parities(self, teacher: Teacher) -> np.ndarray:
        """Signs H(-z) / H(z) of all functions for an even student, in their order.

        All are even but those with one derivative.
        """
        n_mixed = teacher.mixing.shape[1]
        signs = np.ones(self.n_quantities)
        signs[1:-1] = -1.0
        products = np.ones(n_mixed * (n_mixed + 1) // 2)
        return np.concatenate([signs, np.repeat(signs, n_mixed), products])
