"""The exact Markov chain of the sufficient statistics: SGD at any d for the price of L."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ssiode.dynamics.checks import require_memory_for_records, started
from ssiode.dynamics.records import record_steps
from ssiode.dynamics.replicas import Replicas
from ssiode.dynamics.start import start_of_coordinates
from ssiode.errors import whole_number
from ssiode.recovery import DEFAULT_THRESHOLD

if TYPE_CHECKING:
    from ssiode.problem import Problem
    from ssiode.results import Ensemble


def run_chain(
    problem: Problem,
    *,
    e: Any = None,
    m: float | None = None,
    records: int = 200,
    spacing: str = "linear",
    threshold: float = DEFAULT_THRESHOLD,
    fresh_samples: int = 32,
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
    with d. Parameters, result and errors are those of that function.

    Parameters
    ----------
    problem : Problem
    e, m, records, spacing, threshold, fresh_samples, progress, **settings
        See :func:`ssiode.run_sgd`.

    Returns
    -------
    Ensemble

    Raises
    ------
    InputError
        On numbers out of range, d < L + 2, an infeasible initial state, a target that is not
        finite, or more memory than there is.

    Examples
    --------
    >>> from ssiode import Problem, Target, TiedNetwork
    >>> linear = Problem(Target("z1"), TiedNetwork("identity"))
    >>> run = run_chain(linear, m=0.1, gamma=0.2, d=10**8, steps=1000, replicas=4, records=2)
    >>> run.method, bool(abs(run.m - 0.1).max() < 1e-4)
    ('chain', True)
    """
    problem = started(problem, e, m, settings)
    fresh_samples = whole_number("fresh_samples", fresh_samples, minimum=1)
    steps = record_steps(problem.sgd.steps, records, spacing)
    require_memory_for_records(problem, len(steps), problem.geometry.rank + 1)
    start = start_of_coordinates(problem)
    return Replicas.start(problem, start, "chain", fresh_samples, threshold).record(steps, progress)
