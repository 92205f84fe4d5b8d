"""Weak recovery: the first time at which the overlaps are of order one."""

from __future__ import annotations

from ssiode.errors import InputError, finite_number

DEFAULT_THRESHOLD = 0.5


def check_threshold(threshold: float) -> float:
    """Return the threshold eta of |v| >= eta, which must be in (0, 1].

    |v| is the Euclidean norm of (e, m).

    >>> check_threshold(0.5)
    0.5
    """
    eta = finite_number("threshold eta", threshold)
    if not 0 < eta <= 1:
        raise InputError(f"threshold eta is {eta:g}; it must be in (0, 1]")
    return eta
