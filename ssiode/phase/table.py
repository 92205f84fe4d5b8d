r"""The table that every task of the positional-semantic model shares.

The risk (Arnaboldi et al., arXiv 2506.02651, section 4) is bilinear in the task: with
:math:`A = 1-\omega`, :math:`\alpha = \sigma(2a^2)`, :math:`B = \omega\alpha`, and the averages of p
of :mod:`ssiode.phase.softmax_moments`,

.. math::

    R = 2\,[A^2 K_{tt} + 2AB K_t + B^2 + S_2(e) - 2A\,C(e, m) - 2B\,S_1(e)],

.. math::

    S_1 = E\,p(\cdot+e), \quad S_2 = E\,p(\cdot+e)^2, \quad C = \sum_n m^n c_n(e), \quad
    c_n = \sum_{i+j=n} \frac{\hat p_{ij}\,\hat p_{ij}(e)}{i!\,j!},

:math:`K_t = S_1(0)`, :math:`K_{tt} = S_2(0)`. As p(-u, -s) = p(u, s), all is even in e and in m: a
function of :math:`x = e^2` and :math:`y = m^2`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from math import comb

import numpy as np

from ssiode.phase.polynomials import (
    coefficients_from_nodes,
    derivative,
    derivative_weights,
    unit_nodes,
)
from ssiode.phase.softmax_moments import Rule, softmax_entry
from ssiode.phase.storage import stored

# The coarse rule is off by 1e-12, the fine one by rounding.
FINE, COARSE = Rule(0.1, 14.0, 400), Rule(0.125, 13.0, 320)
# Coefficients in x fall below rounding before the last one, and so do those in y.
N_X, N_Y = 15, 41
_ROUNDING = 2.0**-51
# All that the arrays depend on.
_KEY = f"phase table 2 {FINE} {COARSE} {N_X}"


@dataclass(frozen=True, eq=False)
class PhaseTable:
    """Averages as Chebyshev series in x = e^2 over [0, 1].

    Attributes
    ----------
    first, second : arrays of shape (N_X,)
        Of S_1 and S_2.
    orders : array of shape (N / 2 + 1, N_X)
        Of c_0, c_2, c_4, ...; those of odd order vanish.
    first_error, second_error, order_errors : arrays of the same shapes
        Errors of these coefficients: differences from a coarser rule, and rounding.

    Examples
    --------
    >>> table = phase_table()
    >>> at_zero = float(table.first @ (-1.0) ** np.arange(N_X))
    >>> bool(abs(at_zero - (1 - np.sqrt(2) / 4)) < table.error), table.error < 1e-13
    (True, True)
    """

    first: np.ndarray
    second: np.ndarray
    orders: np.ndarray
    first_error: np.ndarray
    second_error: np.ndarray
    order_errors: np.ndarray

    @cached_property
    def _derivatives(self) -> dict[tuple[int, int], np.ndarray]:
        return {}

    def derivative(self, dx: int, dy: int) -> np.ndarray:
        """Coefficients in x and y of a derivative of S_2, C and S_1, shape (3, N_X, N_Y)."""
        known = self._derivatives
        if (dx, dy) not in known:
            functions = np.zeros((3, N_X, N_Y))
            if dy == 0:
                functions[0, :, 0] = derivative(self.second, times=dx)
                functions[2, :, 0] = derivative(self.first, times=dx)
            in_x = self._powers(unit_nodes(N_Y), dy) @ derivative(self.orders, axis=1, times=dx)
            functions[1] = coefficients_from_nodes(in_x).T
            known[dx, dy] = functions
        return known[dx, dy]

    def derivative_error(self, dx: int, dy: int) -> np.ndarray:
        """Errors of a derivative of S_2, C and S_1 over the feasible set, shape (3,)."""
        weights = derivative_weights(N_X, dx)
        in_y = self._powers(np.ones(1), dy) @ (self.order_errors @ weights)
        still = dy == 0
        return np.array(
            [still * self.second_error @ weights, in_y[0], still * self.first_error @ weights]
        )

    @property
    def error(self) -> float:
        """Largest error of S_1, S_2 and C over the feasible set."""
        return float(self.derivative_error(0, 0).max())

    @cached_property
    def arc(self) -> tuple[np.ndarray, ...]:
        """Coefficients in x on the arc y = 1 - x: of S_2, C and S_1 and three derivatives."""
        x = unit_nodes(N_Y)
        bases = _bases(x, 1 - x)
        return tuple(
            coefficients_from_nodes(
                sum(
                    comb(times, k)
                    * (-1) ** k
                    * np.einsum("fij,ni,nj->fn", self.derivative(times - k, k), *bases)
                    for k in range(times + 1)
                ),
                axis=1,
            )
            for times in range(4)
        )

    def arc_error(self, times: int) -> np.ndarray:
        """Errors of a derivative along the arc, shape (3,)."""
        return sum(comb(times, k) * self.derivative_error(times - k, k) for k in range(times + 1))

    def _powers(self, y: np.ndarray, dy: int) -> np.ndarray:
        """Derivatives of y^k, shape (n, N / 2 + 1)."""
        k = np.arange(len(self.orders))
        factors = np.prod([k - j for j in range(dy)], axis=0) if dy else np.ones(len(k))
        return factors * y[:, None] ** np.maximum(k - dy, 0)


def _bases(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    chebvander = np.polynomial.chebyshev.chebvander
    return chebvander(2 * x - 1, N_X - 1), chebvander(2 * y - 1, N_Y - 1)


def compute_table() -> PhaseTable:
    """Compute the table by quadrature, in a quarter of a second; :func:`phase_table` keeps it."""
    fine, coarse = _averages(FINE), _averages(COARSE)
    errors = []
    for one, other in zip(fine, coarse, strict=True):
        missing = np.zeros_like(one)
        missing[: len(other)] = other
        largest = np.abs(one).max(axis=-1, keepdims=True)
        errors.append(np.abs(one - missing) + _ROUNDING * largest)
    return PhaseTable(*fine, *errors)


def _averages(rule: Rule) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients in x of S_1, S_2 and the c_n of even order."""
    teacher = rule.coefficients(softmax_entry(rule.nodes[:, None], rule.nodes))
    rows = []
    for x in unit_nodes(N_X):
        p = softmax_entry(rule.nodes[:, None] + np.sqrt(2 * x), rule.nodes)
        c = rule.summed_by_order(teacher * rule.coefficients(p))
        rows.append([rule.mean(p), rule.mean(p * p), *c[::2]])
    columns = coefficients_from_nodes(np.array(rows)).T
    return columns[0], columns[1], columns[2:]


@cache
def phase_table() -> PhaseTable:
    """Return the table: from the cache folder, or computed once and kept there."""
    return stored(_KEY, compute_table, PhaseTable)
