"""The exact Markov chain of the sufficient statistics: SGD at any d for the price of L."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.dynamics.methods import Purpose
from ssiode.dynamics.replicas import KernelMethod
from ssiode.dynamics.run import run_method
from ssiode.dynamics.start import coordinate_weights
from ssiode.recovery import DEFAULT_THRESHOLD

if TYPE_CHECKING:
    from ssiode.problem import Problem
    from ssiode.results import Ensemble


class OverlapChain(KernelMethod):
    """Steps of the coordinates that the chain keeps."""

    name = "chain"
    kernel = "overlap_chain"
    purposes = (Purpose.TOKENS, Purpose.LABEL_NOISE, Purpose.LEFT_OUT)
    sums_beside = 1
    is_unrolled = True

    def entries(self, problem: Problem) -> int:
        """See :meth:`Method.entries`."""
        return problem.geometry.rank + 1

    def directions(self, problem: Problem) -> np.ndarray:
        """The orthonormal basis itself, shape (r, r)."""
        return np.eye(problem.geometry.rank)

    def weights(self, problem: Problem, directions: np.ndarray, replica: int) -> np.ndarray:
        """See :meth:`KernelMethod.weights`."""
        return coordinate_weights(problem, replica)


def run_chain(
    problem: Problem,
    *,
    e: Any = None,
    m: Any = None,
    records: int = 200,
    spacing: str = "linear",
    threshold: float = DEFAULT_THRESHOLD,
    fresh_samples: int = 32,
    first_replica: int = 0,
    save: str | Path | None = None,
    progress: bool = False,
    **settings: Any,
) -> Ensemble:
    r"""Run the chain that the overlaps of spherical SGD follow exactly, at every finite d.

    For Gaussian tokens the r coordinates u of the weights in the span of encoding and teacher, and
    the length :math:`\rho` of the rest, are a Markov chain. A step draws
    :math:`A_l \sim N(0, I_r)`, :math:`c_l \sim N(0, 1)` for every token and one
    :math:`K \sim \chi^2_{d-r-1}`, and with :math:`z_{\star l} = A_l\cdot b_\star`,
    :math:`z_l = A_l\cdot u + \rho c_l + e_l` and :math:`g_l = \partial\ell/\partial z_l`

    .. math::

        \tilde u = u - \tfrac\gamma d \sum_l g_l (A_l + p_l), \quad
        \tilde\rho = \rho - \tfrac\gamma d \sum_l g_l c_l, \quad
        n^2 = |\tilde u|^2 + \tilde\rho^2 + \tfrac{\gamma^2}{d^2} |g|^2 K, \quad
        u \leftarrow \tilde u / n .

    Its overlaps have the law of those of :func:`ssiode.run_sgd`, but their cost does not grow
    with d. An untied network has such coordinates and a :math:`K` for each weight vector.
    Parameters, result and errors are those of that function.

    Parameters
    ----------
    problem : Problem
    e, m, records, spacing, threshold, fresh_samples, first_replica, save, progress, **settings
        See :func:`ssiode.run_sgd`.

    Returns
    -------
    Ensemble

    Raises
    ------
    InputError
        On numbers out of range, d < L + 2, an infeasible initial state, a target that is not
        finite, more memory than there is, or a file that cannot be written.

    Examples
    --------
    >>> from ssiode import Problem, Target, TiedNetwork
    >>> linear = Problem(Target("z1"), TiedNetwork("identity"))
    >>> run = run_chain(linear, m=0.1, gamma=0.2, d=10**8, steps=1000, replicas=4, records=2)
    >>> run.method, bool(abs(run.m - 0.1).max() < 1e-4)
    ('chain', True)
    """
    return run_method(
        "chain",
        problem,
        e=e,
        m=m,
        records=records,
        spacing=spacing,
        threshold=threshold,
        fresh_samples=fresh_samples,
        first_replica=first_replica,
        save=save,
        progress=progress,
        settings=settings,
    )
