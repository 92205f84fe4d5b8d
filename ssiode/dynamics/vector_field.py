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
    is_joint: bool = False,
) -> np.ndarray:
    r"""Drift of v = (e, m) in the ODE time t = gamma * steps / d.

    .. math::

        \dot v = -(\Gamma - v v^T)\,\nabla R(v) - \frac{\gamma}{2b}\, V(v)\, v

    The first term is the spherical gradient flow; the second is the shrinking of the overlaps by
    the noise of the gradient, divided by the batch size b (derived in
    ``ssiode.derivations.sgd_to_ode``, after Arnaboldi et al., arXiv 2506.02651).

    An untied network has such an equation for the :math:`v_l = (e_l, m_l)` of each weight vector,
    with metrics of its own and the common :math:`V_l`. Where the weight vectors share one norm,
    the radial part :math:`v_l^T\nabla_l R` is the mean of those of all of them (derived in
    ``ssiode.derivations.untied_network``).

    Parameters
    ----------
    v, gradient : arrays of shape (..., L + 1), or (..., L, 2) with a row for each weight vector
    metric : array of shape (L + 1, L + 1), or (L, 2, 2)
        Gram matrix Gamma of the encoding and the teacher.
    second_moment : float or array of shape (...), or (..., 1) for rows
        V >= 0.
    gamma : float
        Learning rate >= 0; 0 is gradient flow.
    batch : int
        Samples per step.
    is_joint : bool
        Whether the rows share one norm.

    Examples
    --------
    >>> vector_field(np.array([0.0, 0.5]), np.eye(2), np.array([1.0, -1.0]), 2.0, 0.1).tolist()
    [-1.0, 0.7]
    """
    # Sums of a few terms without BLAS, so that a state does not depend on those beside it.
    descent = np.sum(metric * gradient[..., None, :], axis=-1)
    radial = np.sum(v * gradient, axis=-1, keepdims=True)
    if is_joint:
        radial = radial.mean(axis=-2, keepdims=True)
    flow = descent - v * radial
    return -flow - gamma / (2 * batch) * np.asarray(second_moment)[..., None] * v


def norm_drift(
    v: np.ndarray,
    squared_norms: np.ndarray,
    gradient: np.ndarray,
    second_moment: np.ndarray,
    gamma: float,
    batch: int = 1,
) -> np.ndarray:
    r"""Drift of :math:`q_l = |w_l|^2/d` for weight vectors that share one norm.

    .. math::

        \dot q_l = 2\,q_l\,\frac1L\sum_k v_k^T\nabla_k R - 2\,v_l^T\nabla_l R
            + \frac{\gamma}{b}\,V_l\,(1 - q_l),

    which keeps :math:`\sum_l q_l = L` (derived in ``ssiode.derivations.untied_network``).

    Parameters
    ----------
    v, gradient : arrays of shape (..., L, 2)
    squared_norms : array of shape (..., L)
    second_moment : array of shape (..., 1)
        :math:`V_l`, the same for all rows.
    gamma : float
    batch : int

    Examples
    --------
    >>> v, gradient = np.array([[0.0, 0.5], [0.0, 0.0]]), np.array([[0.0, -1.0], [0.0, 0.0]])
    >>> norm_drift(v, np.ones(2), gradient, np.array([1.0]), 0.1).tolist()
    [0.5, -0.5]
    """
    radial = np.sum(v * gradient, axis=-1)
    mean = radial.mean(axis=-1, keepdims=True)
    noise = gamma / batch * second_moment * (1 - squared_norms)
    return 2 * (squared_norms * mean - radial) + noise
