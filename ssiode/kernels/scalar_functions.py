"""The functions of a printed expression, on numba scalars."""

from math import cos, cosh, erf, exp, log, sin, sinh, sqrt, tan, tanh  # noqa: F401

from numba import njit


@njit
def absolute(x):
    return abs(x)


@njit
def square(x):
    return x * x


@njit
def sign(x):
    return 1.0 if x > 0.0 else (-1.0 if x < 0.0 else x * 0.0)


@njit
def maximum(x, y):
    return x if x > y or x != x else y


@njit
def minimum(x, y):
    return x if x < y or x != x else y


@njit
def relu(x):
    return x if x > 0.0 or x != x else 0.0


@njit
def heaviside(x, at_zero=0.5):
    return 1.0 if x > 0.0 else (0.0 if x < 0.0 else at_zero)


@njit
def sigmoid(x):
    t = exp(-abs(x))
    return 1.0 / (1.0 + t) if x >= 0.0 else t / (1.0 + t)


@njit
def hermite(order, x):
    previous, current = 0.0, 1.0
    for n in range(order):
        previous, current = current, x * current - n * previous
    return current
