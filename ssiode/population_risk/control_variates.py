r"""Hermite polynomials of the sampled fields, whose means are known, as control variates.

The products :math:`C_{\alpha\beta} = \prod_l He_{\alpha_l}(z_{\star l}) He_{\beta_l}(\xi_l)` have
mean 0. With coefficients B of the least-squares fit of Y by them on a *pilot* of other samples,

.. math:: T = \bar Y - B\,\bar C, \qquad E[T \mid \text{pilot}] = E\,Y,

so T has no bias whatever B is, and blocks of samples stay independent given the pilot; the part of
Y that the polynomials carry no longer adds to its variance (Owen, Monte Carlo theory, methods and
examples, 2013, section 8.9). Samples that are used with both signs of z* and of xi need only even
:math:`|\alpha|` and :math:`|\beta|`.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ssiode.hermite.numeric.axis_rules import hermite_table

_DEGREES = (6, 4, 2)
# Coefficients of p polynomials from n pilot samples add about p / n of the variance that is left,
# and several times that where the samples have tails.
_PILOT_PER_CONTROL = 100
# One sample with more of the squared deviations has the coefficients to itself: for a heavy tail
# these would add more variance than they take.
_LARGEST_SHARE = 0.25


def control_degree(length: int, pilot: int) -> int:
    """Highest total degree whose coefficients so many pilot samples determine, 0 if there is none.

    >>> control_degree(2, 4096), control_degree(2, 2**15), control_degree(8, 4096)
    (4, 6, 0)
    """
    fitting = (d for d in _DEGREES if _PILOT_PER_CONTROL * control_count(length, d) <= pilot)
    return next(fitting, 0)


def control_count(length: int, degree: int) -> int:
    """Number of polynomials.

    >>> control_count(2, 4)
    25
    """
    counts = [math.comb(length + n - 1, n) for n in range(degree + 1)]
    return sum(counts[a] * counts[b] for a, b in _pairs_of_degrees(degree))


def control_values(z_star: np.ndarray, noise: np.ndarray, degree: int) -> np.ndarray:
    """Values of the normalised polynomials at samples.

    Parameters
    ----------
    z_star, noise : arrays of shape (n, L)
    degree : int
        Highest total degree.

    Returns
    -------
    Array of shape (n, number of polynomials).

    >>> control_values(np.array([[2.0]]), np.array([[1.0]]), 2).round(6) + 0.0
    array([[0.     , 2.12132]])
    """
    star, other = (_homogeneous(fields, degree) for fields in (z_star, noise))
    columns = [
        (star[a][:, None, :] * other[b][None, :, :]).reshape(-1, len(z_star))
        for a, b in _pairs_of_degrees(degree)
    ]
    return np.concatenate(columns).T


def _pairs_of_degrees(degree: int) -> list[tuple[int, int]]:
    even = range(0, degree + 1, 2)
    return [(a, b) for a in even for b in even if 0 < a + b <= degree]


def _homogeneous(fields: np.ndarray, degree: int) -> list[np.ndarray]:
    """The products of each total degree, shape (number of products, n)."""
    length = fields.shape[1]
    tables = [hermite_table(fields[:, i], degree) for i in range(length)]
    found = []
    for n in range(degree + 1):
        tokens = itertools.combinations_with_replacement(range(length), n)
        powers = [[chosen.count(i) for i in range(length)] for chosen in tokens]
        rows = [np.prod([t[k] for t, k in zip(tables, p, strict=True)], axis=0) for p in powers]
        found.append(np.array(rows))
    return found


@dataclass(frozen=True, eq=False)
class ControlVariates:
    """Polynomials at samples and at a pilot of others.

    Attributes
    ----------
    degree : int
        Their highest total degree.
    samples, pilot : arrays of shape (n, p), (n_pilot, p)
    """

    degree: int
    samples: np.ndarray
    pilot: np.ndarray

    def coefficients(self, pilot_values: np.ndarray) -> np.ndarray:
        """B of shape (p, q) from values of q quantities at the pilot, shape (n_pilot, q).

        It is 0 for a quantity of which one sample holds a quarter of the squared deviations.

        >>> x = np.linspace(-1, 1, 16)
        >>> controls = ControlVariates(2, x[:, None], x[:, None])
        >>> controls.coefficients(3 * x[:, None] + 5).round(12)
        array([[3.]])
        """
        squares = np.square(pilot_values - pilot_values.mean(axis=0))
        is_light = squares.max(axis=0) <= _LARGEST_SHARE * squares.sum(axis=0)
        # A matrix product would depend on the number of threads.
        fitted = np.einsum("pn,nq->pq", self._projector, pilot_values)
        return np.where(is_light, fitted, 0.0)

    def means(self, blocks: int) -> np.ndarray:
        """Means over each of the blocks, shape (blocks, p)."""
        return self.samples.reshape(blocks, -1, self.samples.shape[1]).mean(axis=1)

    @cached_property
    def _projector(self) -> np.ndarray:
        """Least squares with a constant, without the row of the constant."""
        ones = np.ones((len(self.pilot), 1))
        return np.linalg.pinv(np.hstack([ones, self.pilot]))[1:]
