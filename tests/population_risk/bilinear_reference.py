"""R, its gradient and V of the squared loss to rounding, by sums over pairs of fields.

The densities of the pairs (z*_l, z_l) are written down; no expansion and no interpolation is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from numpy.polynomial.legendre import leggauss
from threadpoolctl import threadpool_limits

from tests.reference import ReferenceStudent

_REACH = 9.5


def smooth_target(function: Callable[[np.ndarray], np.ndarray]) -> ReferenceStudent:
    """Give a target of complex fields its Jacobian, by a complex step."""

    def jacobian(z):
        steps = 1e-30j * np.eye(z.shape[-1])
        return np.stack([function(z + step).imag / 1e-30 for step in steps], axis=-1)

    return ReferenceStudent(function, jacobian)


def _grid(length: int, step: float) -> tuple[np.ndarray, np.ndarray]:
    axis = (np.arange(-round(_REACH / step), round(_REACH / step)) + 0.5) * step
    return axis, np.stack(np.meshgrid(*[axis] * length, indexing="ij"), axis=-1)


@dataclass(frozen=True)
class BilinearReference:
    """Trapezoidal sums for smooth functions of L <= 2 tokens."""

    target: ReferenceStudent
    student: ReferenceStudent
    length: int
    scale: float = 1.0
    injected: tuple[float, ...] | None = None
    label_noise: float = 0.0

    @threadpool_limits.wrap(limits=1, user_api="blas")
    def moments(self, v: np.ndarray) -> np.ndarray:
        """(R, dR/de, dR/dm, V) at one state."""
        e, m = v[:-1] + np.array(self.injected or [0.0] * self.length), float(v[-1])
        width = math.sqrt((1 - m) * (1 + m))
        # A Gaussian of width 1.5 steps is summed to exp(-2 pi^2 1.5^2) = 5e-20.
        step = 0.1 if width == 0 else min(0.1, width / 1.5)
        axis, points = _grid(self.length, step)
        z_star = points if width > 0 else m * points
        g = np.moveaxis(self.target.value(z_star), -1, 0)
        slopes_of_g = np.moveaxis(self.target.jacobian(z_star), (-2, -1), (0, 1))
        f = np.moveaxis(self.student.value(points + e), -1, 0)
        slopes = np.moveaxis(self.student.jacobian(points + e), (-2, -1), (0, 1))
        kernel = _pair_density(axis, m, width, step)
        density = step * np.exp(-(axis**2) / 2) / np.sqrt(2 * np.pi)
        alone = density if self.length == 1 else np.multiply.outer(density, density)

        def met(left, right):
            """E[left(z*) right(z)], with nothing to correlate at |m| = 1."""
            if width == 0:
                return float((alone * left * right).sum())
            moved = kernel @ right
            return float((left * (moved if self.length == 1 else moved @ kernel.T)).sum())

        risk = (alone * ((g**2).sum(0) + (f**2).sum(0))).sum() + self.label_noise * len(g)
        risk -= 2 * sum(map(met, g, f))
        s = np.einsum("a...,al...->l...", f, slopes)
        towards_e = [
            2 * (alone * s[i]).sum() - 2 * sum(map(met, g, slopes[:, i]))
            for i in range(self.length)
        ]
        towards_m = -2 * sum(
            met(slopes_of_g[a, i], slopes[a, i]) for a, i in np.ndindex(*slopes.shape[:2])
        )
        square = (alone * ((s**2).sum(0) + self.label_noise * (slopes**2).sum((0, 1)))).sum()
        square -= 2 * sum(met(g[a], (s * slopes[a]).sum(0)) for a in range(len(g)))
        for a, b in combinations_with_replacement(range(len(g)), 2):
            product = met(g[a] * g[b], (slopes[a] * slopes[b]).sum(0))
            square += product * (1 if a == b else 2)
        first = self.scale * np.array([risk, *towards_e, towards_m])
        return np.append(first, self.scale**2 * 4 * square)


def _pair_density(axis: np.ndarray, m: float, width: float, step: float) -> np.ndarray:
    if width == 0:
        return np.zeros((0, 0))
    distance = (axis[:, None] - m * axis) / width
    return step**2 * np.exp(-(distance**2 + axis**2) / 2) / (2 * np.pi * width)


@dataclass(frozen=True)
class SummedFieldsReference:
    """Polynomial targets and f = sigma(sum_l z_l / sqrt(L)) with kinks, for any number of tokens.

    The field of the student is integrated piece by piece, that of the target given it by rules
    that are exact for polynomials.
    """

    target: ReferenceStudent
    activation: tuple[Callable, Callable]
    length: int
    kinks: tuple[float, ...] = (0.0,)
    label_noise: float = 0.0

    @threadpool_limits.wrap(limits=1, user_api="blas")
    def moments(self, v: np.ndarray) -> np.ndarray:
        """(R, dR/de, dR/dm, V) at one state."""
        unit = np.full(self.length, 1 / math.sqrt(self.length))
        m, offset = float(v[-1]), float(v[:-1] @ unit)
        s, weights = _panels([kink - offset for kink in self.kinks])
        nodes, node_weights = hermegauss(9)
        node_weights = node_weights / node_weights.sum()
        mesh = np.stack(np.meshgrid(*[nodes] * self.length, indexing="ij"), -1)
        mesh = mesh.reshape(-1, self.length)
        mesh_weights = np.prod(
            np.meshgrid(*[node_weights] * self.length, indexing="ij"), axis=0
        ).ravel()
        # z* given the student's field: mean m s along the sum, variance 1 - m^2 there, 1 across.
        shrunk = np.eye(self.length) - (1 - math.sqrt((1 - m) * (1 + m))) * np.outer(unit, unit)
        z_star = m * s[:, None, None] * unit + mesh @ shrunk
        g, slopes_of_g = self.target.value(z_star)[..., 0], self.target.jacobian(z_star)[..., 0, :]
        f, slope = (function(s + offset) for function in self.activation)
        mean, square = g @ mesh_weights, g**2 @ mesh_weights
        g_slope = (slopes_of_g @ unit) @ mesh_weights
        towards_e = weights @ ((f - mean) * slope) * 2 * unit
        loss_square = square - 2 * mean * f + f**2 + self.label_noise
        risk, second = weights @ loss_square, 4 * weights @ (loss_square * slope**2)
        return np.array([risk, *towards_e, -2 * weights @ (g_slope * slope), second])


def _panels(edges: list[float]) -> tuple[np.ndarray, np.ndarray]:
    base, base_weights = leggauss(20)
    bounds = np.unique([*np.linspace(-_REACH, _REACH, 24), *edges])
    half = np.diff(bounds)[:, None] / 2
    nodes = bounds[:-1, None] + half + half * base
    weights = half * base_weights * np.exp(-(nodes**2) / 2) / np.sqrt(2 * np.pi)
    return nodes.ravel(), weights.ravel()
