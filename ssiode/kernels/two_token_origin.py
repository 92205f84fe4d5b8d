"""Curvatures and gradient noise at the origin, for attention on two tokens with opposite rows."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import njit


@njit(error_model="numpy", nogil=True, cache=True)
def accumulate_at_origin(
    is_squared: bool,
    labels: np.ndarray,
    label_moments: np.ndarray,
    counts: np.ndarray,
    outputs: np.ndarray,
    moments: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Add (R_ee, R_mm, V_e, V_m, V_0) for l = |T - S|, or for l = |T - S|^2 / 2.

    |T - S|^2 = 2 |(T_11 - S_11, T_22 - S_22)|^2, and with l_u = dl/du and l_s = dl/ds

    R_ee = 2 E l He_2(u), R_mm = E l [He_2(u*) He_2(u) + He_2(s*) He_2(s) + 2 u* s* u s],
    V_e = E [3 l_u^2 + l_s^2], V_m = E (l_u u* + l_s s*)^2, V_0 = E [l_u^2 + l_s^2].

    Parameters
    ----------
    is_squared : bool
    labels : array of shape (n, 4)
        u*, s*, T_11 and T_22 at the nodes.
    label_moments : array of shape (n, 4)
        Weights times 1, He_2(u*), He_2(s*) and u* s*.
    counts : integer array of shape (n,)
        How many of the nodes (u, s) each uses, from the first on.
    outputs : array of shape (N, 6)
        S_11, S_22 and their derivatives in u and then in s at the nodes (u, s).
    moments : array of shape (N, 4)
        Weights times 1, He_2(u), He_2(s) and u s.
    sums : array of shape (5,)
    """
    for i in range(labels.shape[0]):
        u_star, s_star = labels[i, 0], labels[i, 1]
        first, second = labels[i, 2], labels[i, 3]
        in_u = in_s = mixed = in_m = along_positions = beyond = 0.0
        for j in range(counts[i]):
            one, other = outputs[j, 0] - first, outputs[j, 1] - second
            loss = one * one + other * other
            factor = 2.0
            if not is_squared:
                loss = sqrt(2.0 * loss)
                factor = 2.0 / loss if loss > 0.0 else 0.0
            by_u = factor * (one * outputs[j, 2] + other * outputs[j, 3])
            by_s = factor * (one * outputs[j, 4] + other * outputs[j, 5])
            along = by_u * u_star + by_s * s_star
            in_u += loss * moments[j, 1]
            in_s += loss * moments[j, 2]
            mixed += loss * moments[j, 3]
            in_m += moments[j, 0] * along * along
            along_positions += moments[j, 0] * 2.0 * by_u * by_u
            beyond += moments[j, 0] * (by_u * by_u + by_s * by_s)
        weight = label_moments[i, 0]
        sums[0] += 2.0 * weight * in_u
        sums[1] += label_moments[i, 1] * in_u + label_moments[i, 2] * in_s
        sums[1] += 2.0 * label_moments[i, 3] * mixed
        sums[2] += weight * (beyond + along_positions)
        sums[3] += weight * in_m
        sums[4] += weight * beyond
