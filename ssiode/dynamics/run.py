"""What all methods of running replicas have in common, from the arguments to the result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssiode.dynamics.checks import require_memory_for_records, started
from ssiode.dynamics.methods import METHODS, Method
from ssiode.dynamics.recording import Recording
from ssiode.dynamics.records import record_steps
from ssiode.dynamics.replicas import Replicas
from ssiode.errors import InputError, whole_number
from ssiode.recovery import check_threshold

if TYPE_CHECKING:
    from ssiode.problem import Problem
    from ssiode.results import Ensemble


def run_method(
    method: Method,
    problem: Problem,
    *,
    e: Any,
    m: Any,
    records: int,
    spacing: str,
    threshold: float,
    fresh_samples: int,
    first_replica: int,
    save: str | Path | None,
    progress: bool,
    settings: dict[str, Any],
) -> Ensemble:
    """Check the arguments of :func:`ssiode.run_sgd` and run the replicas by the method."""
    problem = started(problem, e, m, settings)
    if save is not None:
        problem.to_tables()
    threshold = check_threshold(threshold)
    fresh_samples = whole_number("fresh_samples", fresh_samples, minimum=1)
    first_replica = whole_number("first_replica", first_replica, minimum=0)
    steps = record_steps(problem.sgd.steps, records, spacing)
    require_memory_for_records(problem, len(steps), method.entries(problem))
    run = Replicas.start(problem, method, threshold, first_replica)
    path = None if save is None else Path(save)
    return Recording(run, steps, fresh_samples, first_replica, path).go(progress)


def resume_run(
    ensemble: Ensemble, *, save: str | Path | None = None, progress: bool = False
) -> Ensemble:
    """Go on with a run that was cut short; the numbers are those of a run that was not.

    Parameters
    ----------
    ensemble : Ensemble
        An interrupted run, or one that :meth:`Ensemble.load` read from its file.
    save, progress : optional
        See :func:`ssiode.run_sgd`.

    Returns
    -------
    Ensemble

    Raises
    ------
    InputError
        If the run is over, or cannot be saved.
    """
    if ensemble.checkpoint is None:
        raise InputError(
            f"the run has ended ({ensemble.message}) and cannot be resumed; start one with more "
            "steps"
        )
    if save is not None:
        ensemble.problem.to_tables()
    run = Replicas.resumed(ensemble, METHODS[ensemble.method])
    path = None if save is None else Path(save)
    return Recording.resumed(run, ensemble, path).go(progress)
