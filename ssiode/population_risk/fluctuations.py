r"""The covariance of what one step of SGD adds to the overlaps.

One step of batch size 1 moves :math:`v = (e, m)`, to first order in :math:`1/d`, by

.. math:: -\tfrac\gamma d\Big(\sum_l g_l\,[a_l + \Gamma_{\cdot l} - v\,(\chi_l + e_l)]
          + \tfrac\gamma 2\,v \sum_l g_l^2\Big) .

:math:`a_l` are the products of the token with the rows of the encoding and the teacher, of
covariance :math:`\Gamma`, and :math:`\chi_l = m z_{\star l} + s\,\xi_l` is the one with the
weights; the last term is what the norm of the update takes off the overlaps. Given the fields,
:math:`a_l` is Gaussian with

.. math::

    E\,a_l = \Gamma_{\cdot m}\, z_{\star l} + q\,\xi_l,\qquad
    \mathrm{Cov}\,a_l = C = \Gamma - \Gamma_{\cdot m}\Gamma_{\cdot m}^T - q q^T,\qquad
    q = (v - m\,\Gamma_{\cdot m})/s .

With :math:`h = (g_1, \dots, g_L, \sum_l g_l z_{\star l}, \sum_l g_l \xi_l, \sum_l g_l^2)` the
sum is :math:`B h` plus noise of covariance :math:`V C`, and

.. math:: S(v) = B\,\mathrm{Cov}(h)\,B^T + V C,\qquad
          B = \big(\Gamma_{\cdot l} - v\,e_l,\ \Gamma_{\cdot m} - m\,v,\ q - s\,v,\
          \tfrac\gamma{2b}\,v\big).

A step of batch size b adds the covariance :math:`(\gamma/d)^2 S/b`. For small learning rates the
last column of B vanishes, and S is the covariance of the spherical gradient.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ssiode.errors import whole_number
from ssiode.hermite.numeric.nodes import gauss_hermite_grid
from ssiode.kernels.linker import link, piece
from ssiode.population_risk.averages import NodeSet, orthogonal_overlap, semantic_overlap
from ssiode.population_risk.montecarlo import MonteCarloEngine
from ssiode.population_risk.protocol import Estimate
from ssiode.population_risk.quadrature import QuadratureEngine
from ssiode.threads import map_in_threads

if TYPE_CHECKING:
    from ssiode.problem import Problem

_LONGEST = 2
_MOST_NOISY_OUTPUTS = 2


class Fluctuations:
    """S(v) of one problem, for every loss and student.

    With one or two tokens it is computed by tensor Gauss-Hermite quadrature, else by Monte Carlo on
    a fixed set of samples: products of four gradients and labels have heavy tails.

    Parameters
    ----------
    problem : Problem
    order : int
        Nodes per axis of the quadrature, >= 6.
    samples : int
        Base samples of Monte Carlo, >= 32, each used with both signs of both fields.
    seed : int
        Seed of the samples.

    Raises
    ------
    InputError
        On a number out of range, or where V is known to be infinite.

    Examples
    --------
    The linear problem at m = 0 has g = 2 (x - z*) and S = E g^2 z*^2 - (E g z*)^2 = 12:

    >>> from ssiode import Problem, Target, TiedNetwork
    >>> linear = Problem(Target("z1"), TiedNetwork("identity"))
    >>> S = Fluctuations(linear).covariance(np.zeros((1, 2)), gamma=0.0)
    >>> round(float(S.value[0, 1, 1]), 10), bool(S.error[0, 1, 1] < 1e-10)
    (12.0, True)
    """

    def __init__(
        self, problem: Problem, order: int = 12, samples: int = 2**12, seed: int = 0
    ) -> None:
        order = whole_number("order", order, minimum=6)
        whole_number("samples", samples, minimum=32)
        self.problem = problem
        orders = (order, order - 2) if _suits_quadrature(problem) else ()
        self._rules = [_with_noise(problem, QuadratureEngine(problem, n).nodes) for n in orders]
        if not self._rules:
            self._rules = [MonteCarloEngine(problem, samples, seed).noisy_nodes()]
        student, length = problem.student, problem.length
        pieces = [
            *student.kernel_pieces(length),
            problem.loss.kernel_piece(),
            piece("field_moments"),
        ]
        self._accumulate = link(pieces).accumulate_field_moments
        self._parameters = student.kernel_parameters(length)
        self._workspace_size = student.workspace_size(length)

    def covariance(self, v: np.ndarray, gamma: float, batch: int = 1) -> Estimate:
        """S with errors: the difference of two orders, or standard errors.

        Parameters
        ----------
        v : array of shape (p, L + 1)
        gamma : float
            Learning rate >= 0.
        batch : int
            Samples of one step.

        Returns
        -------
        Estimate
            Arrays of shape (p, L + 1, L + 1).
        """
        value, shift = self.values(v, gamma, batch), gamma / (2 * batch)
        if len(self._rules) > 1:
            return Estimate(value, np.abs(value - self._values(self._rules[1], v, shift)))
        nodes = self._rules[0]
        by_block = np.array(
            [
                [self._of(state, shift, *self._sums(nodes, state, *b)) for b in nodes.blocks]
                for state in v
            ]
        )
        return Estimate(value, by_block.std(axis=1, ddof=1) / np.sqrt(by_block.shape[1]))

    def values(self, v: np.ndarray, gamma: float, batch: int = 1) -> np.ndarray:
        """S alone, by threads over the states; shape (p, L + 1, L + 1)."""
        return self._values(self._rules[0], v, gamma / (2 * batch))

    def _values(self, nodes: NodeSet, v: np.ndarray, shift: float) -> np.ndarray:
        weight = nodes.star_weights.sum()

        def value(state: np.ndarray) -> np.ndarray:
            means, moments = self._sums(nodes, state, 0, len(nodes.star_weights))
            return self._of(state, shift, means / weight, moments / weight)

        return np.array(map_in_threads(value, v))

    def _sums(
        self, nodes: NodeSet, v: np.ndarray, first: int, last: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """E h and E h h^T over groups of nodes."""
        size = self.problem.length + 3
        means, moments = np.zeros(size), np.zeros((size, size))
        self._accumulate(
            first,
            last,
            nodes.z_star,
            nodes.labels,
            nodes.star_weights,
            nodes.noise,
            nodes.noise_weights,
            nodes.noise_counts,
            v[:-1] + self.problem.geometry.injected,
            semantic_overlap(v),
            orthogonal_overlap(v),
            self._parameters,
            np.empty(self._workspace_size),
            means,
            moments,
        )
        return means, moments

    def _of(
        self, v: np.ndarray, shift: float, means: np.ndarray, moments: np.ndarray
    ) -> np.ndarray:
        """S from E h and E h h^T of the loss with scale 1, and gamma / 2b."""
        metric, length = self.problem.geometry.metric, self.problem.length
        scale = self.problem.loss.scale
        m, s = semantic_overlap(v), orthogonal_overlap(v)
        teacher = metric[:, -1]
        # At |m| = 1 the weights are those of the teacher, and q multiplies nothing.
        q = (v - m * teacher) / s if s > 0.0 else np.zeros_like(v)
        along = metric[:, :length] - np.outer(v, v[:length])
        b = np.column_stack([along, teacher - m * v, q - s * v, shift * scale * v])
        rest = metric - np.outer(teacher, teacher) - np.outer(q, q)
        covariance = b @ (moments - np.outer(means, means)) @ b.T + means[-1] * rest
        return covariance * scale**2


def _suits_quadrature(problem: Problem) -> bool:
    """Whether there are few enough axes, with three nodes for the noise of each label."""
    is_noisy = problem.label_noise > 0
    return (
        problem.length <= _LONGEST
        and QuadratureEngine.objection(problem) is None
        and (not is_noisy or problem.target.n_outputs <= _MOST_NOISY_OUTPUTS)
    )


def _with_noise(problem: Problem, nodes: NodeSet) -> NodeSet:
    """Nodes with the noise of the labels: S has the fourth power of it, and three nodes are exact.

    The loss is the squared one; others have no quadrature with noise.
    """
    if problem.label_noise == 0:
        return nodes
    noise, weights = gauss_hermite_grid(3, problem.target.n_outputs)
    shape = (len(nodes.labels), len(noise))
    return replace(
        nodes,
        z_star=np.broadcast_to(nodes.z_star, (*shape, problem.length)).copy(),
        labels=nodes.labels + np.sqrt(problem.label_noise) * noise,
        star_weights=nodes.star_weights * weights,
    )
