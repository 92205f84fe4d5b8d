r"""The Frobenius loss :math:`E\,|T - S|_F`, whose Hessian at the origin flips at another omega.

With the fields u, s of :mod:`ssiode.phase.softmax_moments`, those of the teacher u*, s*, and

.. math::

    \ell = \sqrt{2\,[(T_{11}-S_{11})^2 + (T_{22}-S_{22})^2]},

.. math::

    R_{ee} = 2\,E\,\ell\,He_2(u), \qquad
    R_{mm} = E\,\ell\,[He_2(u_\star)He_2(u) + He_2(s_\star)He_2(s) + 2\,u_\star s_\star u s]

at e = m = 0, where student and teacher fields are independent. The loss has a kink where T = S, so
grids converge slowly; their average over random shifts has no bias and tells its error.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ssiode.errors import whole_number
from ssiode.phase.softmax_moments import softmax_entry
from ssiode.phase.task import check_mixture, check_strength, positional_weight
from ssiode.threads import map_in_threads

_STEP = 0.25
# Weights outside of this radius add up to 1e-8 of the whole.
_RADIUS = 6.8
_ROOT = 1e-10


@dataclass(frozen=True)
class FrobeniusHessian:
    """R_ee and R_mm at the origin, R_em = 0, with standard errors.

    Attributes
    ----------
    omega, a : float
    ee, mm, ee_error, mm_error : float
    shifts, seed : int
    """

    omega: float
    a: float
    ee: float
    mm: float
    ee_error: float
    mm_error: float
    shifts: int
    seed: int


@dataclass(frozen=True)
class FrobeniusFlip:
    """Where R_ee = R_mm for the Frobenius loss.

    Attributes
    ----------
    a : float
    omega, error : float or None
        Standard error; None if there is no flip in [0, 1].
    shifts, seed : int
    """

    a: float
    omega: float | None
    error: float | None
    shifts: int
    seed: int


@dataclass(frozen=True, eq=False)
class ShiftedGrid:
    """Nodes of one plane of fields, sorted by their distance from the origin.

    Attributes
    ----------
    shift : array of shape (2,)
        In [0, 1), in steps.
    """

    shift: np.ndarray

    @cached_property
    def nodes(self) -> np.ndarray:
        """Nodes (u, s) within the radius, shape (n, 2)."""
        count = int(_RADIUS / _STEP) + 1
        axis = np.arange(-count, count + 1)
        u, s = np.meshgrid(*(_STEP * (axis + shift) for shift in self.shift), indexing="ij")
        nodes = np.column_stack([u.ravel(), s.ravel()])
        squares = (nodes**2).sum(axis=1)
        order = np.argsort(squares, kind="stable")
        return nodes[order[: int((squares <= _RADIUS**2).sum())]]

    @cached_property
    def squares(self) -> np.ndarray:
        """u^2 + s^2, ascending, shape (n,)."""
        return (self.nodes**2).sum(axis=1)

    @cached_property
    def moments(self) -> np.ndarray:
        """Weights times 1, He_2(u), He_2(s) and u s, shape (n, 4)."""
        u, s = self.nodes.T
        weights = _STEP**2 / (2 * np.pi) * np.exp(-self.squares / 2)
        return weights[:, None] * np.column_stack([np.ones(len(u)), u * u - 1, s * s - 1, u * s])

    @cached_property
    def softmax(self) -> np.ndarray:
        """S_11 and S_22, shape (n, 2)."""
        u, s = self.nodes.T
        return np.column_stack([softmax_entry(u, s), softmax_entry(u, -s)])


@dataclass(frozen=True, eq=False)
class _Shifts:
    """Pairs of grids, of (u*, s*) and (u, s)."""

    pairs: tuple[tuple[ShiftedGrid, ShiftedGrid], ...]

    @classmethod
    def drawn(cls, shifts: int, seed: int) -> _Shifts:
        shifts = whole_number("shifts", shifts, minimum=2, maximum=10**6)
        seed = whole_number("seed", seed, minimum=0)
        draws = np.random.default_rng(seed).random((shifts, 2, 2))
        return cls(tuple((ShiftedGrid(one), ShiftedGrid(other)) for one, other in draws))

    def curvatures(self, omega: float, a: float) -> np.ndarray:
        """R_ee and R_mm by each pair, shape (shifts, 2)."""
        from ssiode.kernels.linker import link, piece

        kernel = link([piece("frobenius_hessian")]).accumulate_curvatures

        def by_one(pair: tuple[ShiftedGrid, ShiftedGrid]) -> np.ndarray:
            star, student = pair
            labels = (1 - omega) * star.softmax + omega * positional_weight(a)
            counts = np.searchsorted(student.squares, _RADIUS**2 - star.squares, side="right")
            sums = np.zeros(2)
            kernel(labels, star.moments, counts, student.softmax, student.moments, sums)
            return sums

        return np.array(map_in_threads(by_one, self.pairs))


def frobenius_hessian(
    omega: float, a: float, *, shifts: int = 32, seed: int = 0
) -> FrobeniusHessian:
    """Compute the Hessian of E |T - S|_F at the origin.

    Parameters
    ----------
    omega, a : float
        In [0, 1] and (0, 1].
    shifts : int
        Random shifts of the grid, >= 2.
    seed : int
        Of the shifts.

    Raises
    ------
    InputError
        If a number is out of its range.
    """
    omega, a = check_mixture(omega), check_strength(a)
    found = _Shifts.drawn(shifts, seed).curvatures(omega, a)
    errors = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    return FrobeniusHessian(omega, a, *found.mean(axis=0).tolist(), *errors.tolist(), shifts, seed)


def frobenius_flip(a: float, *, shifts: int = 32, seed: int = 0) -> FrobeniusFlip:
    """Find where the steepest direction at the origin turns for the loss |T - S|_F.

    This is the loss that the published training minimises; the published analysis is of its
    square, see :func:`ssiode.phase_boundaries`.

    Parameters
    ----------
    a, shifts, seed
        See :func:`frobenius_hessian`.

    Raises
    ------
    InputError
        If a number is out of its range.
    """
    from scipy.optimize import brentq

    a, grids = check_strength(a), _Shifts.drawn(shifts, seed)

    def differences(omega: float) -> np.ndarray:
        return -np.diff(grids.curvatures(omega, a), axis=1)[:, 0]

    # Without semantic part R_mm = 0, and it is R_ee that decides.
    if differences(0.0).mean() <= 0 or differences(1.0).mean() >= 0:
        return FrobeniusFlip(a, None, None, shifts, seed)
    omega = float(brentq(lambda w: differences(w).mean(), 0.0, 1.0, xtol=_ROOT))
    beside = 1e-4
    rate = (differences(omega + beside) - differences(omega - beside)).mean() / (2 * beside)
    error = differences(omega).std(ddof=1) / np.sqrt(shifts) / abs(rate)
    return FrobeniusFlip(a, omega, float(error), shifts, seed)
