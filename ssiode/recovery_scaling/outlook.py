r"""What the population risk says before anything is run: from where, how fast, at which rates.

Along the m axis, with e = 0, the ODE of the problem is

.. math:: \frac{dm}{dt} = (1 - m^2)\,D(m) - \frac\gamma{2b} V(m)\,m, \qquad D = -\partial_m R,

with :math:`D \approx a\,m^{n-1}` near the origin: n is the order that the student sees of the
target. Noise, the last term, lets an overlap grow only at :math:`\gamma < 2 b D / (V m)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ssiode.errors import InputError

if TYPE_CHECKING:
    from ssiode.problem import Problem

# Median of |m_0| sqrt(d) for weights uniform on the sphere.
MEDIAN_START = 0.6744897501960817

_LOWEST = 0.05
_SMALLEST_RANGE = 4.0
_POINTS = 13
_ERRORS = 4.0
_EXACT = 1e-8
_CLEAR_ORDER = 0.25
# The default learning rate is this part of the one at which noise stops the growth, from d = 100.
_SAFE_SHARE = 0.5
_REFERENCE_D = 100


@dataclass(frozen=True, eq=False)
class Outlook:
    """Drift and noise on the m axis.

    Attributes
    ----------
    threshold : float
        eta.
    overlaps : array of shape (n,)
        Overlaps |m|, increasing from 0.05 to eta, or to 0.2 if that is larger.
    drift : array of shape (2, n)
        Growth :math:`(1 - m^2) D` of |m| without noise, at positive and at negative m; 0 where it
        is not larger than four times its error.
    noise : array of shape (2, n)
        V / b there.
    seen_order : int or None
        The order n, if the drift shows it.
    is_whole : bool
        Whether m is the only overlap, so that nothing else can lead away from the origin.
    is_exact : bool
        Whether a drift near the origin that is not seen is zero, and not lost in errors.
    """

    threshold: float
    overlaps: np.ndarray
    drift: np.ndarray
    noise: np.ndarray
    seen_order: int | None
    is_whole: bool
    is_exact: bool

    @property
    def sides(self) -> tuple[int, ...] | None:
        """Signs of m from which |m| grows; None if m is not the only overlap, or if unknown."""
        if not self.is_whole or not (self.is_exact or self.drift[:, 0].all()):
            return None
        return tuple(
            sign for sign, drift in zip((1, -1), self.drift[:, 0], strict=True) if drift > 0
        )

    @property
    def is_flat(self) -> bool:
        """Whether no drift is seen near the origin at all."""
        return not self.drift[:, 0].any()

    @property
    def _best(self) -> int:
        """The side with the larger drift at small overlaps."""
        return int(np.argmax(self.drift[:, 0]))

    def safe_constant(self, order: int) -> float | None:
        """Constant C of learning rates at which noise takes at most half of the drift.

        It is so at median starts at all d >= 100; None if no drift leads up to the threshold.
        """
        from ssiode.recovery_scaling.law import RecoveryLaw

        drift, noise = self.drift[self._best], self.noise[self._best]
        if not np.all(drift > 0):
            return None
        bounds = 2 * drift / (noise * self.overlaps)
        if order == 1:
            bound = bounds.min()
        else:
            start = MEDIAN_START / np.sqrt(_REFERENCE_D)
            at_start = bounds[0] * (start / self.overlaps[0]) ** (order - 2)
            beyond = bounds[self.overlaps >= start]
            bound = min(at_start, beyond.min()) / RecoveryLaw(order).rate(_REFERENCE_D)
        return float(f"{_SAFE_SHARE * bound:.2g}")

    def turning_steps(self, d: int, gamma: float) -> float:
        """Steps in which noise alone makes overlaps smaller by a factor e."""
        return 2 * d / (gamma**2 * float(self.noise[:, 0].max()))

    def steps(self, d: int, gamma: float, order: int) -> float | None:
        """Steps from a median start to the threshold by the ODE; None if it does not get there."""
        drift, noise = self.drift[self._best], self.noise[self._best]
        # At order 1 the median run starts at m = 0, as half of the starts have the other sign.
        end = min(self.threshold, self.overlaps[-1])
        start = 1e-3 * end if order == 1 else MEDIAN_START / np.sqrt(d)
        grid = np.geomspace(start, end, 400)
        powers = drift[0] * (grid / self.overlaps[0]) ** (order - 1)
        drifts = np.where(grid < self.overlaps[0], powers, np.interp(grid, self.overlaps, drift))
        growth = drifts - 0.5 * gamma * np.interp(grid, self.overlaps, noise) * grid
        if start >= end or not np.all(growth > 0):
            return None
        return float(np.trapezoid(1 / growth, grid) * d / gamma)


def look_ahead(problem: Problem, threshold: float) -> Outlook | None:
    """Return the outlook, or None where the risk is not available or is not that of a single m.

    >>> from ssiode import Problem, Target, TiedNetwork
    >>> found = look_ahead(Problem(Target("He2(z1)"), TiedNetwork("square")), 0.5)
    >>> found.seen_order, found.sides
    (2, (1, -1))
    """
    from ssiode.population_risk import make_engine

    if problem.geometry.n_rows > 1:
        return None
    highest = max(threshold, _SMALLEST_RANGE * _LOWEST)
    overlaps = np.geomspace(_LOWEST, highest * (1 - 1e-9), _POINTS)
    signed = np.concatenate([overlaps, -overlaps])
    try:
        states = np.array([problem.geometry.state(None, m) for m in signed])
        found = make_engine(problem).estimates(states)
    except InputError:
        return None
    drift, error = -found.value[:, -2], found.error[:, -2]
    drift = np.where(np.abs(drift) > _ERRORS * error, drift, 0.0)
    growth = (np.sign(signed) * drift * (1 - signed**2)).reshape(2, _POINTS)
    noise = found.value[:, -1].reshape(2, _POINTS) / problem.sgd.batch
    if not np.all(np.isfinite(growth)) or not np.all(noise > 0):
        return None
    near = error.reshape(2, _POINTS)[:, 0]
    return Outlook(
        threshold=threshold,
        overlaps=overlaps,
        drift=growth,
        noise=noise,
        seen_order=_seen_order(overlaps, growth),
        is_whole=problem.geometry.rank == 1,
        # The root of V is the size that the drift of one sample has.
        is_exact=bool(np.all(near < _EXACT * np.sqrt(found.value[0, -1]))),
    )


def _seen_order(overlaps: np.ndarray, growth: np.ndarray) -> int | None:
    second = int(np.searchsorted(overlaps, 2 * overlaps[0]))
    near, far = (np.abs(growth[:, i]) / (1 - overlaps[i] ** 2) for i in (0, second))
    if not np.all(near > 0) or not np.all(far > 0):
        return None
    # The mean over both signs has no correction of the next order.
    slope = np.log(far.mean() / near.mean()) / np.log(overlaps[second] / overlaps[0])
    order = round(slope) + 1
    return order if abs(slope + 1 - order) < _CLEAR_ORDER and order >= 1 else None
