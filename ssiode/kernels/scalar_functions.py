"""The functions of a printed expression, on numba scalars."""

from __future__ import annotations

from math import cos, cosh, erf, exp, log, sin, sinh, sqrt, tan, tanh  # noqa: F401

from numba import njit


@njit
def absolute(x: float) -> float:
    """Absolute value."""
    return abs(x)


@njit
def square(x: float) -> float:
    """Square."""
    return x * x


@njit
def sign(x: float) -> float:
    """Sign, with 0 at 0 and NaN kept."""
    return 1.0 if x > 0.0 else (-1.0 if x < 0.0 else x * 0.0)


@njit
def maximum(x: float, y: float) -> float:
    """Larger of two numbers; NaN if either is."""
    return x if x > y or x != x else y


@njit
def minimum(x: float, y: float) -> float:
    """Smaller of two numbers; NaN if either is."""
    return x if x < y or x != x else y


@njit
def relu(x: float) -> float:
    """Positive part, with NaN kept."""
    return x if x > 0.0 or x != x else 0.0


@njit
def heaviside(x: float, at_zero: float = 0.5) -> float:
    """Step function with the value `at_zero` at 0."""
    return 1.0 if x > 0.0 else (0.0 if x < 0.0 else at_zero)


@njit
def sigmoid(x: float) -> float:
    """Logistic function 1 / (1 + exp(-x)) without overflow."""
    t = exp(-abs(x))
    return 1.0 / (1.0 + t) if x >= 0.0 else t / (1.0 + t)


@njit
def hermite(order: int, x: float) -> float:
    """Probabilists' Hermite polynomial by He_{n+1} = x He_n - n He_{n-1}."""
    previous, current = 0.0, 1.0
    for n in range(order):
        previous, current = current, x * current - n * previous
    return current
