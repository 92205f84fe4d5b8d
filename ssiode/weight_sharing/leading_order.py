r"""The drift at small overlaps, and the hitting times and learning rates that follow from it.

With :math:`K = 2c_n/(n-1)!`, the leading tensor C of the target and V the second moment of the
gradient at zero overlap, a tied network that sees the tokens along the unit vector b moves by

.. math:: \dot m = K \langle C, b^{\otimes n}\rangle\, m^{n-1} - \frac{\gamma}{2b} V m,

and an untied one, with :math:`a = (m_1, \dots, m_L)/\sqrt L`, under either constraint by

.. math:: \dot a = \frac1L \Big[ K\, C a^{n-1} - \frac{\gamma}{2b} V a \Big]:

drift and noise are both smaller by the factor L (derived in
``ssiode.derivations.tied_and_untied``, after Arnaboldi et al., arXiv 2506.02651, Theorem 2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ssiode.hermite.tensor.symmetric import SymmetricTensor

# From so small a part of the drift on, noise changes no time.
_NEGLIGIBLE = 1e-12
# A direction of a tensor is one of its eigenvectors within rounding.
_ALIGNED = 1e-10
# In units of the fastest growth at the start; noise escapes from smaller starts.
_LONGEST, _SMALLEST = 1e3, 1e-6
_RTOL = 1e-9
# Logarithms of a number of steps that is never reached, and of the smallest rate that is tried.
_NEVER, _SMALLEST_SHARE = 1e4, -12.0


@dataclass(frozen=True)
class LeadingLine:
    r"""The drift :math:`\dot m = (A m^{n-1} - \frac\gamma2 V m)/s` on a line of slowness s.

    Attributes
    ----------
    order : int
        n >= 1.
    growth : float
        A; no overlap grows where it is not positive.
    noise : float
        V / b > 0, with the batch size b.
    slowness : float
        s: 1 for a tied network, L for an untied one.

    Examples
    --------
    >>> line = LeadingLine(order=2, growth=1.0, noise=2.0)
    >>> line.largest_gamma(0.1), round(line.hitting_time(0.0, 0.1, 0.5), 12)
    (1.0, 1.609437912434)
    """

    order: int
    growth: float
    noise: float
    slowness: float = 1.0

    def largest_gamma(self, start: float) -> float:
        """The learning rate up to which an overlap grows at a start > 0; 0 if none does.

        :math:`2 A m_0^{n-2}/V`: it does not depend on the slowness.
        """
        return max(0.0, 2 * self.growth * start ** (self.order - 2) / self.noise)

    def hitting_time(self, gamma: float, start: float, threshold: float) -> float:
        """ODE time from a start to a threshold, infinite if it is not reached."""
        if start >= threshold:
            return 0.0
        if self.growth <= 0 or gamma >= self.largest_gamma(self._steepest(start, threshold)):
            return np.inf
        noise, power = 0.5 * gamma * self.noise / self.growth, 2 - self.order
        # The part of the drift that noise takes at both ends.
        shares = [noise * m**power for m in (start, threshold)]
        if power == 0:
            time = np.log(threshold / start) / (1 - noise)
        elif max(shares) < _NEGLIGIBLE:
            time = (threshold**power - start**power) / power
        else:
            time = (np.log1p(-shares[0]) - np.log1p(-shares[1])) / (power * noise)
        return float(self.slowness * time / self.growth)

    def _steepest(self, start: float, threshold: float) -> float:
        """The overlap at which noise is largest beside the drift."""
        return threshold if self.order == 1 else start

    def best_gamma(self, start: float, threshold: float) -> float | None:
        """The learning rate of the fewest steps, t d / gamma; None if no overlap grows.

        >>> line = LeadingLine(order=3, growth=1.0, noise=1.0)
        >>> round(line.best_gamma(1e-6, 0.5) / line.largest_gamma(1e-6), 4)
        0.7153
        """
        largest = self.largest_gamma(self._steepest(start, threshold))
        return fewest_steps(lambda gamma: self.hitting_time(gamma, start, threshold), largest)


def fewest_steps(time: Callable[[float], float], largest: float) -> float | None:
    """The learning rate below `largest` that minimises time(gamma) / gamma; None if there is none.

    >>> round(fewest_steps(lambda gamma: 1 / (1 - gamma), 1.0), 6)
    0.5
    """
    from scipy.optimize import minimize_scalar

    if not 0 < largest < np.inf:
        return None

    def log_steps(log_share: float) -> float:
        gamma = largest * np.exp(log_share)
        steps = time(gamma) / gamma
        # Beyond the rates that recover the search is led back.
        return float(np.log(steps)) if np.isfinite(steps) else _NEVER + log_share

    found = minimize_scalar(
        log_steps, bounds=(_SMALLEST_SHARE, -1e-9), method="bounded", options={"xatol": 1e-7}
    )
    return float(largest * np.exp(found.x)) if found.fun < _NEVER / 2 else None


class LeadingFlow:
    """The drift of an untied network in R^L, whose shape its tensor decides.

    Parameters
    ----------
    tensor : SymmetricTensor
        C.
    strength, noise : float
        K, and V / b.

    Examples
    --------
    From equal overlaps a symmetric target keeps them equal, L times slower than shared ones:

    >>> from ssiode.hermite.tensor.symmetric import SymmetricTensor
    >>> tensor = SymmetricTensor(2, 2, {(2, 0): 2, (0, 2): 2})
    >>> flow = LeadingFlow(tensor, strength=1.0, noise=1.0)
    >>> start = np.full(2, 0.1 / np.sqrt(2))
    >>> round(flow.hitting_time(0.0, start, 0.5), 6)
    1.609438
    """

    def __init__(self, tensor: SymmetricTensor, strength: float, noise: float) -> None:
        from ssiode.hermite.tensor.operator_norm import operator_norm
        from ssiode.hermite.tensor.sphere_search import Form

        self._form, self._strength, self._noise = Form(tensor), strength, noise
        self._length, self._norm = tensor.length, operator_norm(tensor).upper

    def largest_gamma(self, start: np.ndarray, threshold: float) -> float:
        """A bound of the learning rates at which |a| can grow."""
        order = self._form.order
        radius = threshold if order <= 2 else float(np.linalg.norm(start))
        return 2 * abs(self._strength) * self._norm * radius ** (order - 2) / self._noise

    def line(self, start: np.ndarray) -> LeadingLine | None:
        """The line through a start that does not leave it; None if there is no such."""
        radius = float(np.linalg.norm(start))
        if radius == 0:
            return None
        unit = start / radius
        pull = self._pull(unit)
        along = float(pull @ unit)
        if np.linalg.norm(pull - along * unit) > _ALIGNED * np.linalg.norm(pull):
            return None
        return LeadingLine(self._form.order, along, self._noise, self._length)

    def _pull(self, a: np.ndarray) -> np.ndarray:
        return self._strength * self._form.gradient(a[None])[0]

    def hitting_time(self, gamma: float, start: np.ndarray, threshold: float) -> float:
        """ODE time at which |a| reaches a threshold; infinite if it does not."""
        if (line := self.line(start)) is not None:
            return line.hitting_time(gamma, float(np.linalg.norm(start)), threshold)
        from scipy.integrate import solve_ivp

        def drift(_: float, a: np.ndarray) -> np.ndarray:
            return (self._pull(a) - 0.5 * gamma * self._noise * a) / self._length

        def passed(_: float, a: np.ndarray) -> float:
            return float(a @ a - threshold**2)

        passed.terminal, passed.direction = True, 1
        radius = max(float(np.linalg.norm(start)), _SMALLEST)
        fastest = abs(self._strength) * self._norm * radius ** (self._form.order - 2)
        longest = _LONGEST * self._length / fastest
        found = solve_ivp(
            drift, (0, longest), start, "DOP853", events=passed, rtol=_RTOL, atol=1e-14
        )
        times = found.t_events[0]
        return float(times[0]) if len(times) else np.inf
