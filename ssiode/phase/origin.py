r"""The risk and the noise of SGD at the origin e = m = 0, for both losses.

There the fields u, s of the student (see :mod:`ssiode.phase.softmax_moments`) and those of the
teacher, u* and s*, are independent. For a loss :math:`\ell(T - S)`

.. math::

    R_{ee} = 2\,E\,\ell\,He_2(u), \qquad
    R_{mm} = E\,\ell\,[He_2(u_\star)He_2(u) + He_2(s_\star)He_2(s) + 2\,u_\star s_\star u s],

and R_em = 0. One step changes e and m by -gamma / d times the gradients
:math:`\sum_l g_l\,(x_l\cdot p)` and :math:`\sum_l g_l z_{\star l}`, whose second moments are

.. math::

    V_e = E\,[3\,\ell_u^2 + \ell_s^2], \qquad V_m = E\,(\ell_u u_\star + \ell_s s_\star)^2 .

In each of the d - 2 other directions it is :math:`V_0 = E\,[\ell_u^2 + \ell_s^2]`, by which the
weights grow, and their normalisation shrinks all overlaps at the rate gamma V_0 / 2.

The Frobenius loss :math:`\ell = \sqrt{2\,[(T_{11}-S_{11})^2 + (T_{22}-S_{22})^2]}` has a kink where
T = S, so grids converge slowly; the average over random shifts of a grid has no bias and tells its
error.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ssiode.errors import choose, whole_number
from ssiode.phase.softmax_moments import softmax_entry
from ssiode.phase.task import (
    check_mixture,
    check_strength,
    positional_weight,
    steepest_direction,
)
from ssiode.threads import map_in_threads

LOSSES = ("squared", "frobenius")
_STEP = 0.25
# What lies outside of this radius changes the averages by 1e-9.
_RADIUS = 8.0
_ROOT, _BESIDE = 1e-10, 1e-4


@dataclass(frozen=True)
class Origin:
    """The risk and the noise at the origin, with standard errors.

    Attributes
    ----------
    omega, a, loss : float, float, str
        `squared` is half of the square of the Frobenius norm.
    ee, mm : float
        R_ee and R_mm; e leaves the origin at the rate -R_ee - gamma V_0 / 2 per ODE time.
    noise_e, noise_m, noise : float
        V_e, V_m and V_0; per ODE time the variance of e grows by gamma V_e / d.
    errors : dict
        Of these five.
    shifts, seed : int
    """

    omega: float
    a: float
    loss: str
    ee: float
    mm: float
    noise_e: float
    noise_m: float
    noise: float
    errors: dict[str, float]
    shifts: int
    seed: int

    @property
    def steepest_direction(self) -> dict[str, float] | None:
        """Its e and m; None where R does not fall."""
        return steepest_direction(self.ee, self.mm)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        data = dataclasses.asdict(self)
        data["hessian"] = {"ee": data.pop("ee"), "em": 0.0, "mm": data.pop("mm")}
        return data | {"steepest_direction": self.steepest_direction}


@dataclass(frozen=True)
class Flip:
    """Where R_ee = R_mm for one loss.

    Attributes
    ----------
    a, loss : float, str
    omega, error : float or None
        Standard error; None if there is no flip in [0, 1].
    shifts, seed : int
    """

    a: float
    loss: str
    omega: float | None
    error: float | None
    shifts: int
    seed: int

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        data = dataclasses.asdict(self)
        return {"flip": data.pop("omega"), "flip_error": data.pop("error"), **data}


def check_loss(loss: object) -> str:
    """Return one of `LOSSES`, else raise `InputError`."""
    return choose("loss", loss, LOSSES)


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
        """S_11 and S_22 and their derivatives in u and in s, shape (n, 6)."""
        u, s = self.nodes.T
        one, other = softmax_entry(u, s), softmax_entry(u, -s)
        rate, other_rate = one * (1 - one), other * (1 - other)
        return np.column_stack(
            [one, other, rate * (2 * u + s), other_rate * (2 * u - s), rate * u, -other_rate * u]
        )


@dataclass(frozen=True, eq=False)
class _Shifts:
    """Pairs of grids, of (u*, s*) and (u, s)."""

    loss: str
    pairs: tuple[tuple[ShiftedGrid, ShiftedGrid], ...]

    @classmethod
    def drawn(cls, loss: str, shifts: int, seed: int) -> _Shifts:
        loss = check_loss(loss)
        shifts = whole_number("shifts", shifts, minimum=2, maximum=10**4)
        seed = whole_number("seed", seed, minimum=0)
        draws = np.random.default_rng(seed).random((shifts, 2, 2))
        return cls(loss, tuple((ShiftedGrid(one), ShiftedGrid(other)) for one, other in draws))

    def averages(self, omega: float, a: float) -> np.ndarray:
        """R_ee, R_mm, V_e, V_m and V_0 by each pair, shape (shifts, 5)."""
        from ssiode.kernels.linker import link, piece

        kernel = link([piece("two_token_origin")]).accumulate_at_origin

        def by_one(pair: tuple[ShiftedGrid, ShiftedGrid]) -> np.ndarray:
            star, student = pair
            diagonal = (1 - omega) * star.softmax[:, :2] + omega * positional_weight(a)
            labels = np.column_stack([star.nodes, diagonal])
            counts = np.searchsorted(student.squares, _RADIUS**2 - star.squares, side="right")
            sums = np.zeros(5)
            kernel(
                self.loss == "squared",
                labels,
                star.moments,
                counts,
                student.softmax,
                student.moments,
                sums,
            )
            return sums

        return np.array(map_in_threads(by_one, self.pairs))


def at_origin(
    omega: float, a: float, *, loss: str = "frobenius", shifts: int = 16, seed: int = 0
) -> Origin:
    """Compute the Hessian of the risk and the noise of SGD at the origin.

    Parameters
    ----------
    omega, a : float
        In [0, 1] and (0, 1].
    loss : str
        `frobenius`, or `squared` as a check of the exact table.
    shifts : int
        Random shifts of the grid, >= 2.
    seed : int
        Of the shifts.

    Raises
    ------
    InputError
        If the loss is unknown, or a number out of its range.

    Examples
    --------
    >>> found = at_origin(0.63, 1.0, shifts=2)
    >>> round(found.ee, 3), round(found.mm, 3)
    (-0.17, -0.167)
    """
    omega, a = check_mixture(omega), check_strength(a)
    found = _Shifts.drawn(loss, shifts, seed).averages(omega, a)
    names = ("ee", "mm", "noise_e", "noise_m", "noise")
    errors = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    return Origin(
        omega=omega,
        a=a,
        loss=loss,
        **dict(zip(names, found.mean(axis=0).tolist(), strict=True)),
        errors=dict(zip(names, errors.tolist(), strict=True)),
        shifts=shifts,
        seed=seed,
    )


def flip_at_origin(a: float, *, loss: str = "frobenius", shifts: int = 16, seed: int = 0) -> Flip:
    """Find where the steepest direction at the origin turns.

    |T - S|_F is the loss that the published training minimises; the published analysis is of its
    square, for which :func:`ssiode.phase_boundaries` has the flip to all digits.

    Parameters
    ----------
    a, loss, shifts, seed
        See :func:`at_origin`.

    Raises
    ------
    InputError
        If the loss is unknown, or a number out of its range.

    Examples
    --------
    >>> found = flip_at_origin(1.0, shifts=4)
    >>> abs(found.omega - 0.627804) < 5 * found.error, found.error < 1e-4
    (True, True)
    """
    from scipy.optimize import brentq

    a, grids = check_strength(a), _Shifts.drawn(loss, shifts, seed)

    def differences(omega: float) -> np.ndarray:
        averages = grids.averages(omega, a)
        return averages[:, 0] - averages[:, 1]

    # Without semantic part R_mm = 0, and it is R_ee that decides.
    if differences(0.0).mean() <= 0 or differences(1.0).mean() >= 0:
        return Flip(a, loss, None, None, shifts, seed)
    omega = float(brentq(lambda w: differences(w).mean(), 0.0, 1.0, xtol=_ROOT))
    rate = np.diff([differences(omega + x).mean() for x in (-_BESIDE, _BESIDE)])[0] / (2 * _BESIDE)
    error = differences(omega).std(ddof=1) / np.sqrt(shifts) / abs(rate)
    return Flip(a, loss, omega, float(error), shifts, seed)
