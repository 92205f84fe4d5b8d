r"""The crossing and the width of a transition, from counts at several omega.

In the linear regime (:mod:`ssiode.phase.linear_regime`) the logarithm of
:math:`\sigma_m/\sigma_e` is smooth in omega and 0 at the crossing, so to first order

.. math:: P(\omega) = \frac2\pi\arctan e^{-(\omega - \omega_c)/w} .
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ssiode.phase.ends import EndCounts

_SMALLEST_P = 1e-300
_WIDTHS = np.geomspace(1e-4, 1.0, 41)


@dataclass(frozen=True)
class TransitionFit:
    """The maximum of the likelihood.

    Attributes
    ----------
    crossing, crossing_error : float
        omega_c, where P = 1/2.
    width, width_error : float
        The w of the formula; P falls from 0.92 to 0.08 within 4 w.
    deviance : float
        Twice the logarithm of the likelihood ratio to free probabilities; about
        `degrees_of_freedom` if the law holds and most counts are neither 0 nor all.
    degrees_of_freedom : int
    """

    crossing: float
    crossing_error: float
    width: float
    width_error: float
    deviance: float
    degrees_of_freedom: int


def law(omega: np.ndarray, crossing: float, width: float) -> np.ndarray:
    """P(omega).

    >>> law(np.array([0.5]), 0.5, 0.1).tolist()
    [0.5]
    """
    return 2 / np.pi * np.arctan(np.exp(np.clip((crossing - omega) / width, -700, 700)))


def fit_transition(points: Sequence[EndCounts]) -> TransitionFit | None:
    """Fit the law; None where the counts do not tell the width.

    They do not if they go from all to none between two neighbouring omega, or not through 1/2.
    """
    from scipy.optimize import minimize

    known = [point for point in points if point.replicas]
    omega = np.array([point.omega for point in known])
    n = np.array([point.replicas for point in known], dtype=float)
    k = np.array([point.semantic for point in known], dtype=float)
    if not _tells_the_width(omega, k / n if len(n) else n):
        return None

    def loss(parameters: np.ndarray) -> float:
        return -_log_likelihood(law(omega, parameters[0], np.exp(parameters[1])), k, n)

    start = min(
        ((c, np.log(w)) for c in np.linspace(omega.min(), omega.max(), 41) for w in _WIDTHS),
        key=lambda pair: loss(np.array(pair)),
    )
    found = minimize(loss, np.array(start), method="Nelder-Mead", options={"xatol": 1e-8})
    crossing, width = float(found.x[0]), float(np.exp(found.x[1]))
    errors = _errors(omega, n, crossing, width)
    if errors is None:
        return None
    free = _log_likelihood(k / n, k, n)
    deviance = 2 * (free + float(found.fun))
    return TransitionFit(crossing, errors[0], width, errors[1], max(deviance, 0.0), len(n) - 2)


def _tells_the_width(omega: np.ndarray, p: np.ndarray) -> bool:
    if len(np.unique(omega)) < 3 or p.max() <= 0.5 or p.min() >= 0.5:
        return False
    return bool(np.any((p > 0) & (p < 1)))


def _log_likelihood(p: np.ndarray, k: np.ndarray, n: np.ndarray) -> float:
    from scipy.special import xlogy

    terms = xlogy(k, np.maximum(p, _SMALLEST_P)) + xlogy(n - k, np.maximum(1 - p, _SMALLEST_P))
    return float(terms.sum())


def _errors(
    omega: np.ndarray, n: np.ndarray, crossing: float, width: float
) -> tuple[float, float] | None:
    """Standard errors, by the Fisher information."""
    p = law(omega, crossing, width)
    # dP/dy = 1 / (pi cosh y) at y = (omega_c - omega) / w.
    y = np.clip((crossing - omega) / width, -300, 300)
    rate = 1 / (np.pi * np.cosh(y))
    jacobian = np.stack([rate / width, -rate * y / width])
    weights = n / np.maximum(p * (1 - p), _SMALLEST_P)
    information = (jacobian * weights) @ jacobian.T
    if np.linalg.cond(information) > 1e12:
        return None
    variances = np.diag(np.linalg.inv(information))
    return float(np.sqrt(variances[0])), float(np.sqrt(variances[1]))
