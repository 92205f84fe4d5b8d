"""Students, losses and Gaussian averages in plain NumPy, written from their formulas alone.

Nothing here uses the package, so that its results can be compared with these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import erf, expit

Function = Callable[[np.ndarray], np.ndarray]


def softmax_rows(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def attention_matrix(z: np.ndarray) -> np.ndarray:
    """Return A of shape (..., L, L)."""
    return softmax_rows(z[..., :, None] * z[..., None, :])


def attention_jacobian(z: np.ndarray) -> np.ndarray:
    """Return dA_ij/dz_l of shape (..., L, L, L), through ds_ij/dz_l = d_il z_j + z_i d_jl."""
    matrix, eye = attention_matrix(z), np.eye(z.shape[-1])
    scores = np.einsum("il,...j->...ijl", eye, z) + np.einsum("jl,...i->...ijl", eye, z)
    mean = np.einsum("...ik,...ikl->...il", matrix, scores)
    return matrix[..., None] * (scores - mean[..., :, None, :])


@dataclass(frozen=True)
class ReferenceStudent:
    """f: (..., L) -> (..., k) and its Jacobian (..., k, L)."""

    value: Function
    jacobian: Function


def attention_identity(scale: float = 1.0) -> ReferenceStudent:
    def value(z):
        return scale * attention_matrix(z).reshape(*z.shape[:-1], -1)

    def jacobian(z):
        return scale * attention_jacobian(z).reshape(*z.shape[:-1], -1, z.shape[-1])

    return ReferenceStudent(value, jacobian)


def attention_weighted(weights: np.ndarray) -> ReferenceStudent:
    return ReferenceStudent(
        lambda z: np.einsum("...ij,ij->...", attention_matrix(z), weights)[..., None],
        lambda z: np.einsum("...ijl,ij->...l", attention_jacobian(z), weights)[..., None, :],
    )


# sigma and its derivative, by the name of the activation.
ACTIVATIONS: dict[str, tuple[Function, Function]] = {
    "identity": (lambda s: s, np.ones_like),
    "relu": (lambda s: np.where(s > 0, s, 0.0), lambda s: np.where(s > 0, 1.0, 0.0)),
    "tanh": (np.tanh, lambda s: 1 - np.tanh(s) ** 2),
    "sigmoid": (expit, lambda s: expit(s) * expit(-s)),
    "erf": (erf, lambda s: 2 / np.sqrt(np.pi) * np.exp(-(s**2))),
    "square": (lambda s: s**2, lambda s: 2 * s),
    "He3": (lambda s: s**3 - 3 * s, lambda s: 3 * s**2 - 3),
    "s^2 - tanh(2*s)/3": (
        lambda s: s**2 - np.tanh(2 * s) / 3,
        lambda s: 2 * s - 2 * (1 - np.tanh(2 * s) ** 2) / 3,
    ),
}


def tied_network(activation: str, scale: float = 1.0) -> ReferenceStudent:
    sigma, slope = ACTIVATIONS[activation]

    def argument(z):
        return z.sum(axis=-1) / np.sqrt(z.shape[-1])

    def jacobian(z):
        derivative = scale * slope(argument(z)) / np.sqrt(z.shape[-1])
        return np.repeat(derivative[..., None, None], z.shape[-1], axis=-1)

    return ReferenceStudent(lambda z: scale * sigma(argument(z))[..., None], jacobian)


def squared_loss(labels: np.ndarray, outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the loss and its derivative by the outputs."""
    residual = labels - outputs
    return (residual**2).sum(axis=-1), -2 * residual


def frobenius_loss(labels: np.ndarray, outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    residual = labels - outputs
    norm = np.sqrt((residual**2).sum(axis=-1))
    return norm, -residual / np.where(norm > 0, norm, 1.0)[..., None]


def field_samples(
    length: int, m: float, samples: int, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw (z*, z - e) from the covariance [[1, m], [m, 1]], token by token."""
    values, vectors = np.linalg.eigh(np.array([[1.0, m], [m, 1.0]]))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    pairs = generator.standard_normal((samples, length, 2)) @ root.T
    return pairs[..., 0], pairs[..., 1]


def field_nodes(length: int, m: float, order: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes for (z*, z - e) and weights, along the sum and the difference of the two fields.

    These axes differ from z* and xi and stay regular at |m| = 1.
    """
    nodes, weights = hermegauss(order)
    weights = weights / np.sqrt(2 * np.pi)
    grids = np.meshgrid(*[nodes] * (2 * length), indexing="ij")
    points = np.stack([grid.ravel() for grid in grids], axis=-1)
    product = np.prod(np.meshgrid(*[weights] * (2 * length), indexing="ij"), axis=0).ravel()
    kept = product > 1e-18
    points, product = points[kept], product[kept]
    total = np.sqrt(np.clip((1 + m) / 2, 0, 1)) * points[:, :length]
    difference = np.sqrt(np.clip((1 - m) / 2, 0, 1)) * points[:, length:]
    return total + difference, total - difference, product


@dataclass(frozen=True)
class ReferenceRisk:
    """R, its gradient and V by direct quadrature; gradients by differences of R."""

    target: Function
    student: ReferenceStudent
    length: int
    scale: float = 1.0
    injected: tuple[float, ...] | None = None
    label_noise: float = 0.0
    order: int = 18

    def _shift(self, e: np.ndarray) -> np.ndarray:
        return e + (0.0 if self.injected is None else np.array(self.injected))

    def risk(self, e: np.ndarray, m: float) -> float:
        z_star, x, weights = field_nodes(self.length, m, self.order)
        labels, outputs = self.target(z_star), self.student.value(x + self._shift(e))
        noise = self.label_noise * labels.shape[-1]
        return self.scale * (float(weights @ squared_loss(labels, outputs)[0]) + noise)

    def second_moment(self, e: np.ndarray, m: float) -> float:
        z_star, x, weights = field_nodes(self.length, m, self.order)
        z = x + self._shift(e)
        cotangent = squared_loss(self.target(z_star), self.student.value(z))[1]
        jacobian = self.student.jacobian(z)
        gradient = np.einsum("na,nal->nl", cotangent, jacobian)
        square = (gradient**2).sum(axis=-1)
        square += 4 * self.label_noise * (jacobian**2).sum(axis=(-2, -1))
        return self.scale**2 * float(weights @ square)

    def gradient(self, e: np.ndarray, m: float, step: float = 2e-3) -> np.ndarray:
        """Five-point differences; in m one-sided where the interval [-1, 1] ends."""
        gradient = np.empty(self.length + 1)
        for token in range(self.length):
            along = np.eye(self.length)[token]
            values = [self.risk(e + k * step * along, m) for k in (-2, -1, 1, 2)]
            gradient[token] = np.dot(values, [1, -8, 8, -1]) / (12 * step)
        if abs(m) + 2 * step <= 1:
            values = [self.risk(e, m + k * step) for k in (-2, -1, 1, 2)]
            gradient[-1] = np.dot(values, [1, -8, 8, -1]) / (12 * step)
        else:
            inward = -np.sign(m) * step
            values = [self.risk(e, m + k * inward) for k in range(5)]
            gradient[-1] = np.dot(values, [-25, 48, -36, 16, -3]) / (12 * inward)
        return gradient
