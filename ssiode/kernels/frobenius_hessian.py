"""Curvatures at the origin of E |T - S|, by weighted nodes of the four fields of two tokens."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import njit


@njit(error_model="numpy", nogil=True, cache=True)
def accumulate_curvatures(
    labels: np.ndarray,
    label_moments: np.ndarray,
    counts: np.ndarray,
    outputs: np.ndarray,
    moments: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Add (R_ee, R_mm), with l = sqrt(2 |(T_11 - S_11, T_22 - S_22)|^2).

    R_ee = 2 E l He_2(u) and R_mm = E l [He_2(u*) He_2(u) + He_2(s*) He_2(s) + 2 u* s* u s].

    Parameters
    ----------
    labels : array of shape (n, 2)
        T_11 and T_22 at the nodes (u*, s*).
    label_moments : array of shape (n, 4)
        Weights times 1, He_2(u*), He_2(s*) and u* s*.
    counts : integer array of shape (n,)
        How many of the nodes (u, s) each uses, from the first on.
    outputs, moments : arrays of shape (N, 2), (N, 4)
        The same at the nodes (u, s), with S.
    sums : array of shape (2,)
    """
    for i in range(labels.shape[0]):
        first, second = labels[i, 0], labels[i, 1]
        in_u = in_s = mixed = 0.0
        for j in range(counts[i]):
            one, other = first - outputs[j, 0], second - outputs[j, 1]
            loss = sqrt(2.0 * (one * one + other * other))
            in_u += loss * moments[j, 1]
            in_s += loss * moments[j, 2]
            mixed += loss * moments[j, 3]
        sums[0] += 2.0 * label_moments[i, 0] * in_u
        sums[1] += label_moments[i, 1] * in_u + label_moments[i, 2] * in_s
        sums[1] += 2.0 * label_moments[i, 3] * mixed
