r"""The noise that decides between e and m near the origin, where the drift is linear.

Of gradient noise and drift at the origin (:mod:`ssiode.phase.origin`), e and m are independent
Ornstein-Uhlenbeck processes of rates :math:`\lambda_e = -R_{ee} - \gamma V_0/2` and
:math:`\lambda_m`, so at large d they are Gaussian with the variances

.. math::

    \sigma^2(t) = \frac1d\Big[s_0\,e^{2\lambda t}
                  + \gamma V\,\frac{e^{2\lambda t} - 1}{2\lambda}\Big],

with :math:`s_0 = 1` for random weights and 0 from e = m = 0, and

.. math:: P(|m| > |e|) = \frac2\pi \arctan\frac{\sigma_m(t)}{\sigma_e(t)} .

At one time the dimension does not matter. Runs that end at recovery, |(e, m)| = eta, end later at
larger d. From a time T with :math:`\sigma_e^2 + \sigma_m^2 = \eta^2` to its own end, a replica that
has (e, m) = (sigma_e x, sigma_m y) at T follows the drift, by which e grows as
:math:`e^{\lambda_e\tau}`. Both overlaps end at :math:`\eta/\sqrt2` if

.. math:: \frac{\sigma_m |y|}{\eta/\sqrt2} =
          \Big(\frac{\sigma_e |x|}{\eta/\sqrt2}\Big)^{\lambda_m/\lambda_e},

and replicas with a larger y are semantic. This takes the drift to be linear up to eta.
"""

from __future__ import annotations

import numpy as np

from ssiode.phase.origin import Origin

STARTS = ("origin", "random")
_FARTHEST, _NODES = 9.0, 400


def rates(origin: Origin, gamma: float) -> tuple[float, float]:
    """Return lambda_e and lambda_m, per ODE time."""
    lost = gamma * origin.noise / 2
    return -origin.ee - lost, -origin.mm - lost


def deviations(origin: Origin, gamma: float, d: int, t: float, start: str) -> tuple[float, float]:
    """Return sigma_e and sigma_m after an ODE time t.

    Examples
    --------
    >>> from ssiode.phase.origin import at_origin
    >>> origin = at_origin(0.6, 1.0, loss="squared", shifts=2)
    >>> [round(x, 5) for x in deviations(origin, 0.05, 1000, 15.0, "origin")]
    [0.0122, 0.01259]
    """
    variances = []
    noises = (origin.noise_e, origin.noise_m)
    for rate, noise in zip(rates(origin, gamma), noises, strict=True):
        grown = np.expm1(2 * rate * t) / (2 * rate) if rate else t
        variances.append(gamma * noise * grown + (start == "random") * np.exp(2 * rate * t))
    e, m = np.sqrt(np.array(variances) / d).tolist()
    return e, m


def leading_probability(origin: Origin, gamma: float, t: float, start: str) -> float:
    """Return P(|m| > |e|) after an ODE time t, at large d.

    Examples
    --------
    >>> from ssiode.phase.origin import at_origin
    >>> origin = at_origin(0.6, 1.0, loss="squared", shifts=2)
    >>> round(leading_probability(origin, 0.05, 15.0, "origin"), 3)
    0.51
    """
    e, m = deviations(origin, gamma, 1, t, start)
    return float(2 / np.pi * np.arctan2(m, e))


def time_to(origin: Origin, gamma: float, d: int, start: str, threshold: float) -> float | None:
    """ODE time at which the root mean square of (e, m) is the threshold; None if never.

    Examples
    --------
    >>> from ssiode.phase.origin import at_origin
    >>> origin = at_origin(0.6, 1.0, loss="squared", shifts=2)
    >>> times = [time_to(origin, 0.05, d, "origin", 0.5) for d in (1000, 10000)]
    >>> round(times[1] - times[0], 1)
    13.5
    """
    from scipy.optimize import brentq

    fastest = max(rates(origin, gamma))
    if fastest <= 0:
        return None

    def excess(t: float) -> float:
        return float(np.log(np.hypot(*deviations(origin, gamma, d, t, start)) / threshold))

    last = 1 / fastest
    while excess(last) < 0:
        last *= 2
    return 0.0 if excess(1e-12) >= 0 else float(brentq(excess, 1e-12, last))


def recovery_probability(
    origin: Origin, gamma: float, d: int, start: str, threshold: float
) -> float | None:
    """Return P(|m| > |e|) at recovery; None if the origin is not left.

    Examples
    --------
    >>> from ssiode.phase.origin import at_origin
    >>> origin = at_origin(0.6, 1.0, loss="squared", shifts=2)
    >>> [round(recovery_probability(origin, 0.05, d, "origin", 0.5), 3) for d in (100, 10**8)]
    [0.717, 0.971]
    """
    from scipy.special import erf, erfc

    t = time_to(origin, gamma, d, start, threshold)
    if t is None:
        return None
    end = threshold / np.sqrt(2)
    e, m = (sigma / end for sigma in deviations(origin, gamma, d, t, start))
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    x = _FARTHEST / 2 * (nodes + 1)
    weights = _FARTHEST / 2 * weights * np.sqrt(2 / np.pi) * np.exp(-(x**2) / 2)
    in_e, in_m = rates(origin, gamma)
    # By the faster overlap, whose rate is positive.
    if in_e >= in_m:
        return float(weights @ erfc((e * x) ** (in_m / in_e) / m / np.sqrt(2)))
    return float(weights @ erf((m * x) ** (in_e / in_m) / e / np.sqrt(2)))
