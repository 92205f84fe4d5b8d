"""Gaussian averages on grids of Gauss-Legendre panels, split at kinks: nothing of the package."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import sympy
from scipy.special import erf

OPERATIONS = {
    "exp": np.exp,
    "sin": np.sin,
    "cos": np.cos,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "log": np.log,
    "erf": erf,
    "tanh": np.tanh,
    "Abs": np.abs,
    "sign": np.sign,
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Heaviside": lambda x, at_zero=0.5: np.heaviside(x, 0.5),
    "Max": lambda *x: np.maximum.reduce(np.broadcast_arrays(*x)),
    "Min": lambda *x: np.minimum.reduce(np.broadcast_arrays(*x)),
    "He": lambda n, x: hermite(int(n), x)[-1],
    "Add": lambda *x: sum(x),
    "Mul": lambda *x: math.prod(x),
    "Pow": lambda x, n: x**n,
}


def hermite(order: int, x: np.ndarray) -> list[np.ndarray]:
    """He_0, ..., He_order."""
    values = [np.ones_like(x), x]
    for n in range(1, order):
        values.append(x * values[n] - n * values[n - 1])
    return values[: order + 1]


def numeric(expression: sympy.Expr, values: dict) -> np.ndarray | float:
    """Value of an expression by walking over it."""
    if expression in values:
        return values[expression]
    if not expression.free_symbols:
        return float(expression)
    arguments = [numeric(argument, values) for argument in expression.args]
    return OPERATIONS[type(expression).__name__](*arguments)


def axis(length: int, kinks: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and Gaussian weights of panels from -12 to 12."""
    panels, nodes = {1: (24, 24), 2: (8, 20), 3: (4, 18)}[length]
    edges = sorted({*np.linspace(-12, 12, panels + 1), *kinks})
    x, w = np.polynomial.legendre.leggauss(nodes)
    points, weights = [], []
    for low, high in itertools.pairwise(edges):
        points.append((low + high) / 2 + (high - low) / 2 * x)
        weights.append((high - low) / 2 * w)
    points, weights = np.concatenate(points), np.concatenate(weights)
    return points, weights * np.exp(-(points**2) / 2) / math.sqrt(2 * math.pi)


def averages(expression, tokens, highest, kinks=(), direction=None):
    """Tables by alpha of E[g He_alpha] and of E|g He_alpha| up to an order.

    The kinks are those of every token or, given a direction of two tokens, those of the
    normalised form along it and of the one across.
    """
    length = len(tokens)
    points, weights = axis(length, kinks)
    grids = np.meshgrid(*[points] * length, indexing="ij")
    density = math.prod(np.meshgrid(*[weights] * length, indexing="ij"))
    if direction is not None:
        a, b = np.array(direction) / np.hypot(*direction)
        u, v = grids
        grids = [a * u - b * v, b * u + a * v]
    g = density * numeric(expression, dict(zip(tokens, grids, strict=True)))
    polynomials = [hermite(highest, x) for x in grids]
    found, sizes = {}, {}
    for alpha in np.ndindex(*[highest + 1] * length):
        if sum(alpha) <= highest:
            parts = [p[n] for p, n in zip(polynomials, alpha, strict=True)]
            found[alpha] = float(np.sum(g * math.prod(parts)))
            sizes[alpha] = float(np.sum(np.abs(g * math.prod(parts))))
    return found, sizes
