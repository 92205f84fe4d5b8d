r"""The teacher's factors of the series: one homogeneous polynomial of each order.

.. math:: T_n(a) = \frac{\langle C_n(G), a^{\otimes n}\rangle}{\sqrt{n!}}
          = \sum_{|\alpha| = n} \sqrt{\frac{n!}{\alpha!}}\,\hat c_\alpha(G)\,a^\alpha, \qquad
          \hat c_\alpha = \frac{c_\alpha}{\sqrt{\alpha!}} .
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ssiode.population_risk.mehler.teacher import Table, root_of_factorials

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class HomogeneousSums:
    """All T_n of one function of L fields, from its coefficients that do not vanish.

    Attributes
    ----------
    tokens, powers : integer arrays of shape (number of coefficients, s)
        Each monomial is the product of a[tokens]**powers; unused places have the power 0.
    factors : array of shape (number of coefficients,)
        sqrt(n! / alpha!) times the normalised coefficient.
    length, top : int
        L and the highest order N.

    Examples
    --------
    He2(z1) + z1 z2 has T_2 = (a_1^2 + a_1 a_2) sqrt(2):

    >>> table = {((0, 2),): 2**0.5, ((0, 1), (1, 1)): 1.0}
    >>> sums = HomogeneousSums.of(table, length=2, top=2)
    >>> values, slopes = sums(np.array([[0.5, 0.2]]))
    >>> bool(np.isclose(values[0, 2], 2**0.5 * (0.25 + 0.1)))
    True
    >>> bool(np.allclose(slopes[0, :, 2], 2**0.5 * np.array([2 * 0.5 + 0.2, 0.5])))
    True
    """

    tokens: np.ndarray
    powers: np.ndarray
    factors: np.ndarray
    length: int
    top: int

    @classmethod
    def of(cls, table: Table, length: int, top: int) -> HomogeneousSums:
        """From normalised coefficients by the pairs of token and power of their index."""
        kept = {index: value for index, value in table.items() if value != 0}
        width = max((len(index) for index in kept), default=0)
        tokens = np.zeros((len(kept), width), dtype=int)
        powers = np.zeros((len(kept), width), dtype=int)
        factors = np.zeros(len(kept))
        for row, (index, value) in enumerate(kept.items()):
            for place, (token, power) in enumerate(index):
                tokens[row, place], powers[row, place] = token, power
            order = sum(power for _, power in index)
            share = math.sqrt(math.factorial(order)) / root_of_factorials(index)
            factors[row] = value * share
        return cls(tokens, powers, factors, length, top)

    @cached_property
    def _orders(self) -> np.ndarray:
        return self.powers.sum(axis=1)

    @cached_property
    def _by_order(self) -> csr_array:
        """Sums monomials of the same order, shape (N + 1, number of coefficients)."""
        from scipy.sparse import csr_array

        count = len(self.factors)
        shape = (self.top + 1, count)
        return csr_array((self.factors, (self._orders, np.arange(count))), shape=shape)

    @cached_property
    def _by_token_and_order(self) -> list[csr_array]:
        """For each place, sums of the derivatives of monomials, shape (L (N + 1), number)."""
        from scipy.sparse import csr_array

        count = len(self.factors)
        shape = (self.length * (self.top + 1), count)
        return [
            csr_array(
                (
                    self.factors * self.powers[:, place],
                    (self.tokens[:, place] * (self.top + 1) + self._orders, np.arange(count)),
                ),
                shape=shape,
            )
            for place in range(self.tokens.shape[1])
        ]

    def __call__(self, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """T_n and dT_n/da_l at points of shape (p, L); shapes (p, N + 1) and (p, L, N + 1)."""
        places = range(self.tokens.shape[1])
        powers = self._power_table(a)
        factors = [powers[:, self.tokens[:, i], self.powers[:, i]] for i in places]
        slopes = np.zeros((len(a), self.length * (self.top + 1)))
        for i in places:
            product = powers[:, self.tokens[:, i], np.maximum(self.powers[:, i] - 1, 0)]
            for other in places:
                if other != i:
                    product = product * factors[other]
            slopes += (self._by_token_and_order[i] @ product.T).T
        return self._sums(factors, len(a)), slopes.reshape(len(a), self.length, self.top + 1)

    def values(self, a: np.ndarray) -> np.ndarray:
        """T_n alone, shape (p, N + 1)."""
        powers = self._power_table(a)
        places = range(self.tokens.shape[1])
        return self._sums([powers[:, self.tokens[:, i], self.powers[:, i]] for i in places], len(a))

    def _sums(self, factors: list[np.ndarray], count: int) -> np.ndarray:
        monomials = np.ones((count, len(self.factors)))
        for factor in factors:
            monomials = monomials * factor
        return (self._by_order @ monomials.T).T

    def _power_table(self, a: np.ndarray) -> np.ndarray:
        """Powers 0 to N of each entry, shape (p, L, N + 1)."""
        powers = np.ones((*a.shape, self.top + 1))
        np.cumprod(
            np.broadcast_to(a[..., None], (*a.shape, self.top)), axis=-1, out=powers[..., 1:]
        )
        return powers
