r"""The noise that decides between e and m near the origin, where the drift is linear.

Of gradient noise and drift at the origin (:mod:`ssiode.phase.origin`), e and m are independent
Ornstein-Uhlenbeck processes of rates :math:`\lambda_e = -R_{ee} - \gamma V_0/2` and
:math:`\lambda_m`, so at large d they are Gaussian with the variances

.. math::

    \sigma^2(t) = \frac1d\Big[s_0\,e^{2\lambda t}
                  + \gamma V\,\frac{e^{2\lambda t} - 1}{2\lambda}\Big],

with :math:`s_0 = 1` for random weights and 0 from e = m = 0, and

.. math:: P(|m| > |e|) = \frac2\pi \arctan\frac{\sigma_m(t)}{\sigma_e(t)} .

The dimension is in it through the time alone, at which the overlaps become large.
"""

from __future__ import annotations

import numpy as np

from ssiode.phase.origin import Origin

STARTS = ("origin", "random")


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
    for curvature, noise in ((origin.ee, origin.noise_e), (origin.mm, origin.noise_m)):
        rate = -2 * (curvature + gamma * origin.noise / 2)
        grown = np.expm1(rate * t) / rate if rate else t
        variances.append(gamma * noise * grown + (start == "random") * np.exp(rate * t))
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
    >>> round(times[1] - times[0], 1)  # about log(10) / (2 * 0.0875)
    13.8
    """
    from scipy.optimize import brentq

    fastest = -min(origin.ee, origin.mm) - gamma * origin.noise / 2
    if fastest <= 0:
        return None

    def excess(t: float) -> float:
        return float(np.log(np.hypot(*deviations(origin, gamma, d, t, start)) / threshold))

    last = 1 / fastest
    while excess(last) < 0:
        last *= 2
    return 0.0 if excess(1e-12) >= 0 else float(brentq(excess, 1e-12, last))
