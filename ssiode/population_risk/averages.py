r"""From weighted nodes to the risk, its gradient and the second moment.

With :math:`x = m z_\star + s\,\xi`, :math:`s = \sqrt{1-m^2}`, :math:`z = x + e` and
:math:`g_l = \partial\ell/\partial z_l` (Arnaboldi et al., arXiv 2506.02651, and Stein's lemma):

.. math::

    R = E\,\ell,\qquad \partial R/\partial e_l = E\,g_l,\qquad
    \partial R/\partial m = E\sum_l g_l z_{\star l} - \frac m s\, E\sum_l g_l \xi_l,\qquad
    V = E\sum_l g_l^2.

The quotient :math:`s^{-1} E\sum_l g_l\xi_l` stays finite at :math:`|m| = 1`: for nodes that are
symmetric in :math:`\xi` it is a central difference of the gradient, taken over a small s there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ssiode.errors import InputError
from ssiode.kernels.linker import link, piece
from ssiode.threads import map_in_threads

if TYPE_CHECKING:
    from ssiode.problem import Problem

# A central difference over 1e-5 has a truncation error of 1e-10 and a rounding error of 1e-11.
_STEP = 1e-5
# A jump of the gradient is seen by a fraction of about the step of all samples.
_KINKED_STEP = 1e-3
# Sums keep this relative error, and this of the absolute values of their terms.
ROUNDING = 3e-14
SUM_ROUNDING = 2e-16
# Handing a block to a thread costs as much as some thousand evaluations of the loss.
_WORTH_THREADS = 8192


def finite_labels(problem: Problem, z_star: np.ndarray) -> np.ndarray:
    """Labels g(z*) of shape (..., k), all finite.

    Raises
    ------
    InputError
        If the target is infinite or undefined at one of the fields.
    """
    labels = problem.target(z_star)
    finite = np.isfinite(labels).all(axis=-1)
    if not finite.all():
        where = ", ".join(f"{field:.4g}" for field in z_star[~finite][0])
        raise InputError(
            f"the target is not finite at z = ({where}); it must be finite at all real fields"
        )
    return labels


def semantic_overlap(v: np.ndarray) -> float:
    """The m of a state, in [-1, 1]."""
    return float(np.clip(v[-1], -1.0, 1.0))


def orthogonal_overlap(v: np.ndarray) -> float:
    """The s = sqrt(1 - m^2) of a state, without cancellation.

    >>> round(orthogonal_overlap(np.array([0.0, -0.6])), 15)
    0.8
    """
    m = semantic_overlap(v)
    return float(np.sqrt((1.0 - m) * (1.0 + m)))


@dataclass(frozen=True, eq=False)
class NodeSet:
    """Groups of nodes: in each group A teacher nodes times B orthogonal ones.

    Attributes
    ----------
    z_star, labels, star_weights : arrays of shape (n_groups, A, L), (n_groups, A, k), (n_groups, A)
        Teacher fields, labels g(z*) and weights.
    noise, noise_weights : arrays of shape (n_noise_groups, B, L), (n_noise_groups, B)
        Orthogonal fields xi; group i uses entry i modulo n_noise_groups.
    noise_counts : integer array of shape (n_groups,)
        How many of the B orthogonal nodes a group uses, from the first on.
    blocks : tuple of (first, last)
        Ranges of groups that are summed apart.
    """

    z_star: np.ndarray
    labels: np.ndarray
    star_weights: np.ndarray
    noise: np.ndarray
    noise_weights: np.ndarray
    noise_counts: np.ndarray
    blocks: tuple[tuple[int, int], ...]

    @property
    def size(self) -> int:
        """Number of evaluations of the loss."""
        return int(self.noise_counts.sum()) * self.star_weights.shape[1]


class Averager:
    """Evaluates the averages of one problem on node sets with the linked kernel.

    Attributes
    ----------
    kernel : tuple of str
        The piece that sums over nodes, and its function.
    """

    kernel: ClassVar[tuple[str, str]] = ("expectation", "accumulate_averages")

    def __init__(self, problem: Problem) -> None:
        student, length = problem.student, problem.length
        name, function = self.kernel
        pieces = [*student.kernel_pieces(length), problem.loss.kernel_piece(), piece(name)]
        self._accumulate = getattr(link(pieces), function)
        self._parameters = student.kernel_parameters(length)
        self._workspace_size = student.workspace_size(length)
        self._problem = problem
        self._step = _STEP if problem.is_smooth else _KINKED_STEP
        self._noise_is_apart = problem.label_noise > 0 and problem.loss.noise_is_additive

    @property
    def units(self) -> np.ndarray:
        """What R, its gradient and V are to be multiplied by: the scale of the loss."""
        scale = self._problem.loss.scale
        with np.errstate(over="ignore"):
            n_overlaps = self._problem.geometry.n_overlaps
            return np.append(np.full(n_overlaps + 1, scale), np.square(scale))

    def __call__(self, nodes: NodeSet, v: np.ndarray) -> np.ndarray:
        """Rows (R, dR/de_1, ..., dR/de_L, dR/dm, V), one for each block, at loss scale 1."""
        weights = np.array([nodes.star_weights[slice(*block)].sum() for block in nodes.blocks])

        def averages(s: float) -> np.ndarray:
            return self._averages(nodes, v, s)

        return self._moments(averages, v, weights)

    def by_group(self, nodes: NodeSet, v: np.ndarray, block: tuple[int, int]) -> np.ndarray:
        """The same rows, one for each group of one block; their sum is the row of the block."""

        def averages(s: float) -> np.ndarray:
            return self._block_averages(nodes, v, s, block, by_group=True)

        return self._moments(averages, v, nodes.star_weights[slice(*block)].sum(axis=-1))

    def slope_square(self, nodes: NodeSet, v: np.ndarray) -> float:
        """E |grad f|^2 of the student, by the first block."""
        block, s = nodes.blocks[0], self._orthogonal_overlap(v)
        return float(self._block_averages(nodes, v, s, block, with_slope=True)[-1])

    def rounding(self, moments: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Rounding errors of (R, dR/de, dR/dm, V), each on its own scale.

        The terms of dR/de_l have the absolute sum E |g_l| <= sqrt(V), those of dR/dm by
        Cauchy-Schwarz sqrt(L V) (1 + |m| / s); what vanishes by symmetry keeps an error of their
        last digit only.
        """
        error = ROUNDING * np.abs(moments)
        size = np.sqrt(max(moments[-1], 0.0))
        error[1:-2] += SUM_ROUNDING * size
        slope = abs(v[-1]) / max(orthogonal_overlap(v), _STEP)
        error[-2] += SUM_ROUNDING * np.sqrt(self._problem.length) * size * (1.0 + slope)
        return error

    def neighbour_of_pole(self, v: np.ndarray) -> np.ndarray | None:
        """State near v where dR/dm is a difference over twice the step, or None off |m| = 1.

        The two values of dR/dm differ by its error; where it diverges at |m| = 1, as for a loss
        with a kink at a perfect match, the difference is as large as the value.
        """
        if self._orthogonal_overlap(v) >= self._step:
            return None
        return self._shortened(v, np.sqrt(1.0 - 4.0 * self._step**2))

    def _orthogonal_overlap(self, v: np.ndarray) -> float:
        """The s of z = m z* + s xi + e."""
        return orthogonal_overlap(v)

    def _shortened(self, v: np.ndarray, size: float) -> np.ndarray:
        """The state with this |m|."""
        return np.append(v[:-1], np.copysign(size, v[-1]))

    def _block_averages(
        self,
        nodes: NodeSet,
        v: np.ndarray,
        s: float,
        block: tuple[int, int],
        by_group: bool = False,
        with_slope: bool = False,
    ) -> np.ndarray:
        """The averages of the kernel at x = m z* + s xi over one block, or over its groups."""
        averages = np.zeros((block[1] - block[0] if by_group else 1, self._problem.length + 5))
        self._accumulate(
            *block,
            nodes.z_star,
            nodes.labels,
            nodes.star_weights,
            nodes.noise,
            nodes.noise_weights,
            nodes.noise_counts,
            *self._law(v),
            s,
            self._parameters,
            np.empty(self._workspace_size),
            self._noise_is_apart or with_slope,
            averages,
        )
        return averages if by_group else averages[0]

    def _law(self, v: np.ndarray) -> tuple[Any, Any]:
        """Mean of the student's fields, and their overlap with those of the teacher."""
        return v[:-1] + self._problem.geometry.injected, semantic_overlap(v)

    def _averages(self, nodes: NodeSet, v: np.ndarray, s: float) -> np.ndarray:
        """The averages of the kernel, one row for each block."""

        def block_averages(block: tuple[int, int]) -> np.ndarray:
            return self._block_averages(nodes, v, s, block)

        if nodes.size < _WORTH_THREADS:
            return np.array([block_averages(block) for block in nodes.blocks])
        return np.array(map_in_threads(block_averages, nodes.blocks))

    def _moments(
        self, averages: Callable[[float], np.ndarray], v: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        problem, length = self._problem, self._problem.length
        s = self._orthogonal_overlap(v)
        rows = averages(s)
        step = max(s, self._step)
        quotient = (rows if s >= self._step else averages(step))[:, length + 2] / step
        moments = np.empty((len(rows), problem.geometry.n_overlaps + 2))
        moments[:, 0], moments[:, -1] = rows[:, 0], rows[:, length + 3]
        self._write_gradient(moments[:, 1:-1], rows, quotient, v)
        if self._noise_is_apart:
            # y = g + noise adds Delta per output to E |y - f|^2 and 4 Delta E |grad f|^2 to V.
            moments[:, 0] += problem.label_noise * problem.target.n_outputs * weights
            moments[:, -1] += 4 * problem.label_noise * rows[:, length + 4]
        return moments

    def _write_gradient(
        self, gradient: np.ndarray, rows: np.ndarray, quotient: np.ndarray, v: np.ndarray
    ) -> None:
        """Write dR/dv from the averages of the kernel and E sum g xi / s."""
        length = self._problem.length
        gradient[:, :length] = rows[:, 1 : length + 1]
        gradient[:, length] = rows[:, length + 1] - semantic_overlap(v) * quotient
