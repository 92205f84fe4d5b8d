"""One step of SGD on real vectors, many times over, against the drift of the ODE.

Nothing is projected here: tokens are drawn in dimension d, the weights are moved, put back on the
sphere, and the overlaps are read off with scalar products. The loss is that of
:mod:`.attention_example`; the gradient of its risk is taken by differences of a quadrature.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from .attention_example import Array, fields, loss_gradient, risk


@dataclass(frozen=True)
class Geometry:
    """Encoding, teacher and student in orthonormal coordinates of span(P_1, P_2, w* / sqrt(d)).

    Parameters
    ----------
    encoding : tuple of tuple of float
        Coordinates p_l of the rows of the encoding.
    teacher : tuple of float
        Coordinates of w* / sqrt(d), a unit vector.
    student : tuple of float
        Coordinates u of w / sqrt(d), of norm below 1.

    Examples
    --------
    >>> geometry = Geometry(((1.0, 0.0), (-1.0, 0.0)), (0.0, 1.0), (0.5, 0.5))
    >>> geometry.statistics.tolist()
    [0.5, -0.5, 0.5]
    """

    encoding: tuple[tuple[float, ...], ...]
    teacher: tuple[float, ...]
    student: tuple[float, ...]

    @property
    def directions(self: Self) -> Array:
        """The rows p_1, p_2 and b*."""
        return np.array([*self.encoding, self.teacher])

    @property
    def metric(self: Self) -> Array:
        """Gamma, the Gram matrix of the directions."""
        return self.directions @ self.directions.T

    @property
    def statistics(self: Self) -> Array:
        """The sufficient statistics v = (e, m)."""
        return self.directions @ np.array(self.student)


@dataclass(frozen=True)
class Increments:
    """Mean increment of v over one step, times d / gamma, with its standard errors."""

    mean: Array
    error: Array


def measure_increments(
    geometry: Geometry, *, dimension: int, gamma: float, batches: int, batch: int, seed: int
) -> Increments:
    """Make one step of SGD from the same weights with many independent samples.

    Parameters
    ----------
    geometry : Geometry
        Encoding, teacher and student.
    dimension : int
        Dimension d of a token.
    gamma : float
        Learning rate.
    batches, batch : int
        Independent steps are drawn `batches` times `batch` at once.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    Increments
        In units of the drift.
    """
    generator = np.random.Generator(np.random.SFC64(seed))
    rank = len(geometry.teacher)
    basis = np.linalg.qr(generator.standard_normal((dimension, rank + 1)))[0].T
    student = np.array(geometry.student)
    root = np.sqrt(dimension)
    encoding = np.array(geometry.encoding) @ basis[:rank]
    teacher = root * np.array(geometry.teacher) @ basis[:rank]
    outside = np.sqrt(1 - student @ student)
    weights = root * (np.append(student, outside) @ basis)
    before = np.append(encoding @ weights / root, teacher @ weights / dimension)
    readings = []
    for _ in range(batches):
        tokens = generator.standard_normal((batch, 2, dimension))
        tokens /= root
        z_star = tokens @ teacher
        tokens += encoding / root
        slopes = loss_gradient(z_star, tokens @ weights)
        moved = weights - gamma * np.einsum("nl,nld->nd", slopes, tokens)
        moved *= root / np.linalg.norm(moved, axis=1, keepdims=True)
        after = np.column_stack([moved @ encoding.T / root, moved @ teacher / dimension])
        readings.append((after - before) * dimension / gamma)
    samples = np.concatenate(readings)
    return Increments(samples.mean(axis=0), samples.std(axis=0) / np.sqrt(len(samples)))


@dataclass(frozen=True)
class Landscape:
    """Gradient of the risk and second moment of the loss gradient at one point, by quadrature.

    The drift is written out here once more so that wrong versions of it can be tried.
    """

    gradient: Array
    second_moment: float

    @classmethod
    def at(cls: type[Self], v: Array, step: float = 1e-4) -> Self:
        """Evaluate both at v, the gradient by central differences of the risk.

        Parameters
        ----------
        v : ndarray
            The sufficient statistics (e_1, e_2, m).
        step : float
            Step of the differences.

        Returns
        -------
        Landscape
            With errors below 1e-3.
        """
        gradient = [
            (risk((v + shift)[:2], (v + shift)[2]) - risk((v - shift)[:2], (v - shift)[2]))
            / (2 * step)
            for shift in step * np.eye(len(v))
        ]
        z_star, z, _, node_weights = fields(v[:2], v[2])
        squares = (loss_gradient(z_star, z) ** 2).sum(axis=1)
        return cls(np.array(gradient), float(node_weights @ squares))

    def drift(self: Self, metric: Array, v: Array, gamma: float, radial: float = 1.0) -> Array:
        """Evaluate -(metric - radial v v^T) grad R - (gamma / 2) V v.

        Parameters
        ----------
        metric : ndarray
            Gamma, or a wrong matrix.
        v : ndarray
            The sufficient statistics.
        gamma : float
            Learning rate in the second term.
        radial : float
            Factor of v v^T, 1 in the right formula.

        Returns
        -------
        ndarray
            dv/dt.
        """
        flow = -(metric - radial * np.outer(v, v)) @ self.gradient
        return flow - 0.5 * gamma * self.second_moment * v


def largest_deviation(increments: Increments, drift: Array) -> float:
    """Compare means with a drift: the largest difference in standard errors.

    >>> increments = Increments(np.array([1.0, 2.0]), np.array([0.5, 0.1]))
    >>> largest_deviation(increments, np.array([1.0, 1.5]))
    5.0
    """
    return float(np.max(np.abs(increments.mean - drift) / increments.error))
