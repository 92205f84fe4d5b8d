r"""A tabulated risk as a polynomial of at most two coordinates, with bounds of its derivatives.

.. math:: p(y) = \sum_{n,k} c_{nk}\, m^n\, T_k(x), \qquad x = \alpha_1 y_1 + \alpha_2 m,

with m the last coordinate. A polynomial q of degree p in x is bounded on [-1, 1] by its values at
N > p Chebyshev points, :math:`\max |q| \le \max_i |q(x_i)| / \cos(\pi p / 2 N)` (Ehlich and Zeller
1964); in m absolute values are summed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb, perm
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial import chebyshev

from ssiode.risk_landscape.minima.error_sums import weighted_error

if TYPE_CHECKING:
    from ssiode.risk_landscape.minima.reduced_risk import ReducedRisk

HIGHEST = 4
# Nodes of a bound for each degree, and the constant 1 / cos(pi / 8) that follows.
_NODES_A_DEGREE = 4
_EXCESS = 1.0 / np.cos(np.pi / (2 * _NODES_A_DEGREE))
_ROUNDING = 2.0**-50
# Points for which the values of all terms are held at a time.
_AT_ONCE = 4096
# What a term adds to fourth derivatives relative to the risk, below which it is left out.
_NEGLIGIBLE = 1e-18
# Errors grow with |m|; they are taken at the next of these values.
_LEVELS = np.concatenate([[0.0], 1.0 - 2.0 ** (-np.arange(1, 161) / 4), [1.0]])


@dataclass(frozen=True, eq=False)
class RiskPolynomial:
    """The polynomial that the engine of a reduced risk of dimension s <= 2 sums.

    Parameters
    ----------
    risk : ReducedRisk

    Raises
    ------
    ValueError
        If the engine has no table, or one over more variables.

    Examples
    --------
    >>> from ssiode import Problem, Target, TiedNetwork
    >>> from ssiode.population_risk import make_engine
    >>> from ssiode.risk_landscape.minima.reduced_risk import ReducedRisk
    >>> problem = Problem(Target("z1"), TiedNetwork("identity"))
    >>> p = RiskPolynomial(ReducedRisk(make_engine(problem)))  # 2 - 2 m
    >>> p.derivatives(np.array([[0.5]]), 2)[0, :3].round(12).tolist()
    [[1.0], [-2.0], [0.0]]
    """

    risk: ReducedRisk

    def __post_init__(self) -> None:
        if (objection := self.objection(self.risk)) is not None:
            raise ValueError(objection)

    @staticmethod
    def objection(risk: ReducedRisk) -> str | None:
        """Why there is no such polynomial, or None if there is one."""
        if risk.dimension > 2:
            return f"the student sees {risk.dimension} overlaps and the proof is for at most two"
        table = risk.engine.tabulated_risk()
        if table is None:
            return f"engine {risk.engine.name!r} has no bounds of third derivatives"
        if len(table.projection) > 1:
            return "the teacher lies in the span of an encoding of two directions"
        return None

    @cached_property
    def _table(self) -> np.ndarray:
        """Coefficients of shape (N + 1, p) of R, without orders that are rounding."""
        c = self._rows[0]
        sizes = np.abs(c).sum(axis=1) * np.arange(1.0, len(c) + 1) ** HIGHEST
        kept = np.flatnonzero(sizes > _NEGLIGIBLE * np.abs(c).sum())
        return c[: kept[-1] + 1] if len(kept) else c[:1]

    @cached_property
    def _rows(self) -> np.ndarray:
        """Coefficients of R and dR/de, shape (L + 1, N + 1, p)."""
        c = self.risk.engine.tabulated_risk().coefficients
        return c.reshape(*c.shape[:2], -1)

    @cached_property
    def _slopes(self) -> np.ndarray:
        """(alpha_1, alpha_2); alpha_1 is 0 in one dimension."""
        projection = self.risk.engine.tabulated_risk().projection
        alpha = projection.sum(axis=0) @ self.risk.frame[:-1]  # one row, or none
        return np.concatenate([np.zeros(2 - len(alpha)), alpha])

    def derivatives(self, y: np.ndarray, order: int) -> np.ndarray:
        r"""Derivatives :math:`\partial_1^i \partial_m^j p` at points of shape (n, s).

        Shape (order + 1, order + 1, n), zero for i + j > order.
        """
        if len(y) > _AT_ONCE:
            parts = np.array_split(y, len(y) // _AT_ONCE + 1)
            return np.concatenate([self.derivatives(part, order) for part in parts], axis=-1)
        m, first = y[:, -1], y[:, 0] if y.shape[1] == 2 else np.zeros(len(y))
        x = self._slopes[0] * first + self._slopes[1] * m
        powers = np.stack([_powers(m, j, len(self._table)) for j in range(order + 1)])
        values = np.zeros((order + 1, order + 1, len(y)))
        for i in range(order + 1):
            rows = chebyshev.chebvander(x, self._degree) @ self._derived[i].T
            for j in range(order + 1 - i):
                values[i, j] = np.einsum("pn,pn->p", rows, powers[j])
        return self._turned(values)

    @property
    def _degree(self) -> int:
        return self._table.shape[1] - 1

    @cached_property
    def _derived(self) -> list[np.ndarray]:
        """Coefficients of the derivatives in x of every order."""
        return [_derived(self._table, i) for i in range(HIGHEST + 1)]

    def _turned(self, values: np.ndarray) -> np.ndarray:
        """From derivatives in (x, m) to those in (y_1, m)."""
        alpha, beta = self._slopes
        turned = np.zeros_like(values)
        for i in range(len(values)):
            for j in range(len(values) - i):
                for k in range(j + 1):
                    turned[i, j] += alpha**i * comb(j, k) * beta**k * values[i + k, j - k]
        return turned

    def bound(self, order: int, largest: np.ndarray) -> np.ndarray:
        """Bound of the norm of the derivative of an order <= 4 where abs(m) <= largest, any shape.

        The Frobenius norm, which is at least the largest value on unit vectors.
        """
        powers = [_powers(largest.ravel(), j, len(self._table)) for j in range(order + 1)]
        alpha, beta = np.abs(self._slopes)
        square = np.zeros(largest.size)
        for i in range(order + 1):
            j = order - i
            value = sum(
                comb(j, k) * beta**k * powers[j - k] @ self._sizes[i + k] for k in range(j + 1)
            )
            square += comb(order, i) * (alpha**i * value) ** 2
        return np.sqrt(square).reshape(largest.shape)

    @cached_property
    def _sizes(self) -> np.ndarray:
        """Bounds over x in [-1, 1] of the derivatives in x of each t_n, shape (5, N + 1)."""
        nodes = _NODES_A_DEGREE * max(self._degree, 1)
        x = np.cos(np.pi * (np.arange(nodes) + 0.5) / nodes)
        basis = chebyshev.chebvander(x, self._degree)
        return np.array([_EXCESS * np.abs(basis @ c.T).max(axis=0) for c in self._derived])

    def gradient_error(self, largest: np.ndarray) -> np.ndarray:
        """Bounds of how far grad p is from grad R where abs(m) <= largest, shape (..., s)."""
        # The next level, and the first of all for zero.
        return self._errors[np.searchsorted(_LEVELS, largest)]

    @cached_property
    def _errors(self) -> np.ndarray:
        """What the engine states, where p is not what the engine gives for dR/de, and rounding."""
        risk = self.risk
        states = np.zeros((len(_LEVELS), risk.engine.problem.length + 1))
        states[:, -1] = _LEVELS
        stated = risk.engine.estimates(states).error[:, 1:-1]
        errors = weighted_error(np.abs(risk.frame.T), stated[:, None])
        slopes = self._slopes[-risk.dimension :, None, None] * _derived(self._rows[0], 1)
        given = np.einsum("ls,lnk->snk", risk.frame[:-1], self._rows[1:])
        powers = _LEVELS[:, None] ** np.arange(self._rows.shape[1])
        errors += powers @ np.abs(slopes - given).sum(axis=2).T
        return errors + _ROUNDING * self.bound(1, _LEVELS)[:, None]


def _derived(coefficients: np.ndarray, order: int) -> np.ndarray:
    """Chebyshev coefficients of a derivative, of the same shape (N + 1, p)."""
    derived = chebyshev.chebder(coefficients, order, axis=1) if order else coefficients
    return np.pad(derived, [(0, 0), (0, coefficients.shape[1] - derived.shape[1])])


def _powers(m: np.ndarray, order: int, count: int) -> np.ndarray:
    """Derivatives of m^n, shape (points, count).

    >>> _powers(np.array([2.0]), 1, 4).tolist()
    [[0.0, 1.0, 4.0, 12.0]]
    """
    powers = np.zeros((len(m), count))
    factors = [perm(n, order) for n in range(order, count)]
    powers[:, order:] = np.vander(m, max(count - order, 0), increasing=True) * factors
    return powers
