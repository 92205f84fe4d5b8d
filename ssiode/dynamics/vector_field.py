"""The right-hand side of the ODE on the sufficient statistics."""

from __future__ import annotations

import numpy as np


def vector_field(
    v: np.ndarray,
    metric: np.ndarray,
    gradient: np.ndarray,
    second_moment: float | np.ndarray,
    gamma: float,
    batch: int = 1,
) -> np.ndarray:
    r"""Drift of v = (e, m) in the ODE time t = gamma * steps / d.

    .. math::

        \dot v = -(\Gamma - v v^T)\,\nabla R(v) - \frac{\gamma}{2b}\, V(v)\, v

    The first term is the spherical gradient flow; the second is the shrinking of the overlaps by
    the noise of the gradient, divided by the batch size b (derived in
    ``ssiode.derivations.sgd_to_ode``, after Arnaboldi et al., arXiv 2506.02651).

    Parameters
    ----------
    v, gradient : arrays of shape (..., L + 1)
    metric : array of shape (L + 1, L + 1)
        Gram matrix Gamma of the encoding and the teacher.
    second_moment : float or array of shape (...)
        V >= 0.
    gamma : float
        Learning rate >= 0; 0 is gradient flow.
    batch : int
        Samples per step.

    Examples
    --------
    >>> vector_field(np.array([0.0, 0.5]), np.eye(2), np.array([1.0, -1.0]), 2.0, 0.1).tolist()
    [-1.0, 0.7]
    """
    # Sums of a few terms without BLAS, so that a state does not depend on those beside it.
    descent = np.sum(metric * gradient[..., None, :], axis=-1)
    flow = descent - v * np.sum(v * gradient, axis=-1, keepdims=True)
    return -flow - gamma / (2 * batch) * np.asarray(second_moment)[..., None] * v
