"""Roots of whole numbers, brought to their lowest order without factoring into primes."""

from __future__ import annotations

import math
from typing import Any

import sympy
from sympy import QQ


def without_powers(radicand: int, order: int) -> tuple[int, int]:
    """Return the same root with the lowest order.

    Examples
    --------
    >>> without_powers(36, 4), without_powers(27, 3)
    ((6, 2), (3, 1))
    """
    for prime in sympy.primefactors(order):
        while order % prime == 0:
            root, is_exact = sympy.integer_nthroot(radicand, prime)
            if not is_exact:
                break
            radicand, order = int(root), order // prime
    return radicand, order


def rational_root(numerator: int, denominator: int, order: int) -> Any | None:
    """Return the root of a positive fraction if it is rational, else None.

    Examples
    --------
    >>> rational_root(8, 18, 2) == QQ(2, 3), rational_root(8, 9, 2)
    (True, None)
    """
    common = math.gcd(numerator, denominator)
    top, is_exact = sympy.integer_nthroot(numerator // common, order)
    if not is_exact:
        return None
    bottom, is_exact = sympy.integer_nthroot(denominator // common, order)
    return QQ(int(top), int(bottom)) if is_exact else None
