r"""Conditions on a task at which the phase changes, as curves omega(a) in the phase diagram.

R is linear in (A, B) = (1 - omega, omega alpha) up to a constant, so a linear condition on R, as
the flip :math:`R_{ee} = R_{mm}` at the origin, is a straight line in (A, B):

.. math:: \ell_0 - 2A\,\ell_C - 2B\,\ell_1 = 0 \quad\Longrightarrow\quad
          \omega = \frac{2\ell_C - \ell_0}{2\ell_C - 2\alpha\ell_1},

where :math:`\ell_0, \ell_C, \ell_1` are the values of the condition for S_2, C and S_1. A pair of
conditions at a place x of the arc is a point of the plane, and a curve as x moves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from ssiode.phase.polynomials import evaluate
from ssiode.phase.table import PhaseTable
from ssiode.phase.task import positional_weight

_GAUSS_POINTS = 40
_HALVINGS = 52


@dataclass(frozen=True)
class LinearCondition:
    """A condition that is linear in R.

    Attributes
    ----------
    terms : tuple of three floats
        Its values for S_2, C and S_1.
    errors : tuple of three floats
        Of these.
    """

    terms: tuple[float, float, float]
    errors: tuple[float, float, float]

    def omegas(self, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return omega at strengths a, and its errors, of their shape; NaN outside of [0, 1]."""
        still, semantic, positional = self.terms
        alpha = positional_weight(a)
        rate = 2 * semantic - 2 * alpha * positional
        rate = np.where(rate == 0, np.nan, rate)
        omega = (2 * semantic - still) / rate
        omega = np.where((omega >= 0) & (omega <= 1), omega, np.nan)
        weights = np.stack(np.broadcast_arrays(1.0, 2 * (1 - omega), 2 * omega * alpha), axis=-1)
        return omega, weights @ np.array(self.errors) / np.abs(rate)


def flip(table: PhaseTable) -> LinearCondition:
    """R_ee = R_mm at the origin: the steepest direction turns.

    Examples
    --------
    >>> from ssiode.phase.table import phase_table
    >>> omega, error = flip(phase_table()).omegas(np.array([1.0]))
    >>> omega.round(6).tolist(), bool(error < 1e-9)
    ([0.640963], True)
    """
    return _slope_difference(table, 0.0, 0.0)


def positional_corner(table: PhaseTable) -> LinearCondition:
    """No slope along the arc at (1, 0): the positional minimum is born or dies."""
    return _slope_difference(table, 1.0, 0.0)


def semantic_corner(table: PhaseTable) -> LinearCondition:
    """No slope along the arc at (0, 1)."""
    return _slope_difference(table, 0.0, 1.0)


def equal_corners(table: PhaseTable) -> LinearCondition:
    """R(1, 0) = R(0, 1)."""
    ends = [evaluate(table.derivative(0, 0)[k], *np.eye(2)) for k in range(3)]
    terms = [float(positional - semantic) for positional, semantic in ends]
    return LinearCondition(tuple(terms), tuple(2 * table.derivative_error(0, 0)))


def no_semantic_part() -> LinearCondition:
    """A = 0: the task omega = 1."""
    return LinearCondition((0.0, 1.0, 0.0), (0.0, 0.0, 0.0))


def meeting(one: LinearCondition, other: LinearCondition) -> tuple[float, float]:
    """(omega, alpha) at which two conditions hold."""
    values = np.array([one.terms, other.terms])
    part, other_part = np.linalg.solve(2 * values[:, 1:], values[:, 0])
    return float(1 - part), float(other_part / (1 - part))


def _slope_difference(table: PhaseTable, x: float, y: float) -> LinearCondition:
    """dR/dx - dR/dy = 0 at x = e^2, y = m^2."""
    place = np.array(x), np.array(y)
    in_x, in_y = table.derivative(1, 0), table.derivative(0, 1)
    terms = [float(evaluate(in_x[k], *place) - evaluate(in_y[k], *place)) for k in range(3)]
    errors = table.derivative_error(1, 0) + table.derivative_error(0, 1)
    return LinearCondition(tuple(terms), tuple(errors))


Pair = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class PlaceCurve:
    """Two linear conditions at a place x = e^2 of the arc, which fix (A, B).

    Attributes
    ----------
    pair : callable
        From x of shape (n,) to the values of both conditions for S_2, C and S_1, (2, 3, n).
    error : float
        Of these values.
    """

    pair: Pair
    error: float

    def tasks(self, x: np.ndarray) -> np.ndarray:
        """(omega, alpha) at which both conditions hold at places of shape (n,); shape (n, 2)."""
        values = np.moveaxis(self.pair(x), -1, 0)
        parts = np.linalg.solve(2 * values[..., 1:], values[..., :1])[..., 0]
        return np.column_stack([1 - parts[:, 0], parts[:, 1] / (1 - parts[:, 0])])

    @cached_property
    def ends(self) -> np.ndarray:
        """(omega, alpha) at x = 0 and x = 1, shape (2, 2); alpha grows from one to the other."""
        return self.tasks(np.array([0.0, 1.0]))

    def omegas(self, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return omega at strengths a of shape (n,), and its errors; NaN where none passes."""
        alpha = positional_weight(a)
        passes = (alpha >= self.ends[0, 1]) & (alpha <= self.ends[1, 1])
        omega, error = np.full(alpha.shape, np.nan), np.full(alpha.shape, np.nan)
        if passes.any():
            x = self._places(alpha[passes])
            first = self.pair(x)[0]
            # The second condition says that the first does not change with x: only omega moves.
            rate = 2 * first[1] - 2 * alpha[passes] * first[2]
            omega[passes], error[passes] = self.tasks(x)[:, 0], self.error / np.abs(rate)
        return omega, error

    def _places(self, alpha: np.ndarray) -> np.ndarray:
        """The x at which the curve has these alpha, by bisection."""
        low, high = np.zeros(alpha.shape), np.ones(alpha.shape)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            is_low = self.tasks(middle)[:, 1] < alpha
            low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
        return (low + high) / 2


@cache
def fold(table: PhaseTable) -> PlaceCurve:
    """F' = F'' = 0: a minimum and a saddle on the arc are born together."""
    error = float(np.array([1.0, 2.0, 2.0]) @ table.arc_error(1))

    def pair(x: np.ndarray) -> np.ndarray:
        return np.array([[evaluate(f, x) for f in row] for row in table.arc[1:3]])

    return PlaceCurve(pair, error)


@cache
def equal_to_semantic(table: PhaseTable) -> PlaceCurve:
    r"""F(x) = F(0) and F'(x) = 0: a minimum on the arc is as deep as the semantic one.

    Written as :math:`(F(x) - F(0))/x = \int_0^1 F'(tx)\,dt` and
    :math:`(F'(x) - (F(x) - F(0))/x)/x = \int_0^1 t F''(tx)\,dt`, which lose no digits at x = 0.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_GAUSS_POINTS)
    t, weights = (nodes + 1) / 2, weights / 2

    def pair(x: np.ndarray) -> np.ndarray:
        points = t[:, None] * x
        slope, curvature = (np.array([evaluate(f, points) for f in g]) for g in table.arc[1:3])
        return np.array([weights @ slope, (t * weights) @ curvature])

    return PlaceCurve(pair, float(np.array([1.0, 2.0, 2.0]) @ table.arc_error(1)))
