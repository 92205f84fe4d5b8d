"""Direct SGD on d-dimensional vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ssiode.dynamics.checks import require_memory_for_records, started
from ssiode.dynamics.records import record_steps
from ssiode.dynamics.replicas import Replicas
from ssiode.dynamics.start import start_of_vectors
from ssiode.errors import whole_number
from ssiode.recovery import DEFAULT_THRESHOLD

if TYPE_CHECKING:
    from ssiode.problem import Problem
    from ssiode.results import Ensemble


def run_sgd(
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
    r"""Run spherical SGD, one new sample (or batch) a step, for several independent replicas.

    A step is :math:`w \leftarrow \sqrt d\,(w+\delta w)/|w+\delta w|` with
    :math:`\delta w = -\gamma\,\nabla_w \ell`. Encoding and teacher are drawn once a run with the
    problem's overlaps, initial weights for each replica.

    Parameters
    ----------
    problem : Problem
    e, m : optional
        Initial overlaps, the same for all replicas; by default the problem's initial condition.
    records : int
        Number of times, >= 1, at which overlaps and loss are recorded besides the start.
    spacing : str
        `linear` or `log` spacing of the records.
    threshold : float
        eta in (0, 1] of weak recovery.
    fresh_samples : int
        Samples, >= 1, of which each recorded loss is the mean; they are not trained on.
    progress : bool
        Show a progress bar on standard error.
    **settings
        `gamma`, `d`, `batch`, `steps`, `replicas` or `seed` instead of the problem's.

    Returns
    -------
    Ensemble
        After Ctrl-C with status `interrupted` and all records up to there.

    Raises
    ------
    InputError
        On numbers out of range, d < L + 2, an infeasible initial state, a target that is not
        finite, or more memory than there is.

    Examples
    --------
    >>> from ssiode import Problem, Target, TiedNetwork
    >>> linear = Problem(Target("z1"), TiedNetwork("identity"))
    >>> run = run_sgd(linear, m=0.1, gamma=0.2, d=100, steps=2000, replicas=4, records=2)
    >>> run.steps.tolist(), bool(run.m[:, -1].min() > 0.9)
    ([0, 1000, 2000], True)
    """
    problem = started(problem, e, m, settings)
    fresh_samples = whole_number("fresh_samples", fresh_samples, minimum=1)
    steps = record_steps(problem.sgd.steps, records, spacing)
    require_memory_for_records(problem, len(steps), problem.sgd.d)
    start = start_of_vectors(problem)
    return Replicas.start(problem, start, "sgd", fresh_samples, threshold).record(steps, progress)
