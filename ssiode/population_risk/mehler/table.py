r"""Mehler's series of R, its gradient and V, tabulated over the positional overlaps.

With the correlation m between teacher and student fields and functions G of the one and H of the
other (Mehler's formula),

.. math::

    E[G(z_\star)\,H(x + o)] = \sum_n m^n\,t_n(o), \qquad
    t_n(o) = \sum_{|\beta| = n} \hat c_\beta(G)\,\hat c_\beta(H(\cdot + o)),

where the offset o = e + injected. The :math:`t_n` are entire functions of o; over the box that
holds all feasible e they are interpolated by Chebyshev polynomials: a point costs no integral.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ssiode.kernels.linker import link, piece

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, eq=False)
class MehlerTable:
    """Chebyshev coefficients of all t_n.

    Attributes
    ----------
    basis : array of shape (q, L)
        Orthonormal directions of the positional overlaps that the student sees.
    half_widths : array of shape (q,)
        The coordinates xi = basis @ e lie in [-half_width, half_width].
    coefficients : array of shape (L + 2, N + 1, p_1, ..., p_q)
        For R, dR/de_1, ..., dR/de_L, V.
    largest : array of shape (L + 2, N + 1)
        Largest |t_n| over the box.
    term_errors : array of shape (L + 2, N + 1)
        Errors of quadrature, interpolation and rounding of each t_n.
    left_out : array of shape (L + 2,)
        Bounds of the sum of all |t_n| beyond N; 0 where the series ends by itself.
    is_finite : bool
        Whether the series ends by itself.
    settings : str
        Rule and sizes in words.
    """

    basis: np.ndarray
    half_widths: np.ndarray
    coefficients: np.ndarray
    largest: np.ndarray
    term_errors: np.ndarray
    left_out: np.ndarray
    is_finite: bool
    settings: str

    def sums(self, v: np.ndarray, units: np.ndarray) -> np.ndarray:
        """R, dR/de_1, ..., dR/de_L, dR/dm, V at states of shape (p, L + 1), times their units."""
        values = np.empty((len(v), len(self.coefficients) + 1))
        self._kernel(*self._flat, self._projection, np.ascontiguousarray(v), units, values)
        return values

    @cached_property
    def _projection(self) -> np.ndarray:
        projection = np.zeros((self.basis.shape[1], 2))
        projection[:, : len(self.basis)] = self.basis.T / self.half_widths
        return projection

    @cached_property
    def _flat(self) -> tuple[np.ndarray, tuple[int, int], np.ndarray]:
        """Coefficients with one axis for all polynomials, their numbers, and sizes by order."""
        shape = (*self.coefficients.shape[2:], 1, 1)[:2]
        flat = self.coefficients.reshape(*self.coefficients.shape[:2], -1)
        sizes = self.largest / np.maximum(self.largest.max(axis=1, keepdims=True), 1e-300)
        return np.ascontiguousarray(flat), shape, sizes.max(axis=0)

    @cached_property
    def _kernel(self) -> Callable[..., None]:
        return link([piece("mehler_sum")]).sum_series

    def perturbed(self) -> MehlerTable:
        """The table with every t_n moved by its error, at the lowest degree that it has.

        The last one moves also by the bound of all that the series leaves out.
        """
        errors = self.term_errors.copy()
        errors[:, -1] += self.left_out
        moves = np.random.default_rng(0).choice([-1.0, 1.0], errors.shape) * errors
        moved = self.coefficients.copy()
        origin = (slice(None), slice(None), *[0] * len(self.basis))
        is_odd = moved[origin] == 0
        moved[origin] += np.where(is_odd, 0.0, moves)
        for axis in range(len(self.basis)):
            linear = [*origin]
            linear[2 + axis] = 1
            moved[tuple(linear)] += np.where(is_odd, moves, 0.0)
        return dataclasses.replace(self, coefficients=moved)
