"""What all methods of running replicas have in common, from the arguments to the result."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssiode.dynamics.checks import require_memory_for_records, started
from ssiode.dynamics.methods import Method, RunState
from ssiode.dynamics.recording import Recording
from ssiode.dynamics.records import record_steps
from ssiode.errors import InputError, choose, whole_number
from ssiode.recovery import check_threshold

if TYPE_CHECKING:
    from ssiode.problem import Problem
    from ssiode.results import Ensemble


def run_method(
    name: str,
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
    options: Mapping[str, Any] | None = None,
) -> Ensemble:
    """Check the arguments of :func:`ssiode.run_sgd` and run the replicas by the method."""
    method = Method.known[name]
    problem = started(problem, e, m, settings)
    if save is not None:
        problem.to_tables()
    threshold = check_threshold(threshold)
    fresh_samples = whole_number("fresh_samples", fresh_samples, minimum=1)
    first_replica = whole_number("first_replica", first_replica, minimum=0)
    steps = record_steps(problem.sgd.steps, records, spacing)
    require_memory_for_records(problem, len(steps), method.entries(problem))
    run = method.start(problem, threshold, first_replica, options or {})
    path = None if save is None else Path(save)
    return Recording(run, name, steps, fresh_samples, first_replica, path).go(progress)


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
        If the run is over, is damaged, or cannot be saved.
    """
    if ensemble.checkpoint is None:
        raise InputError(
            f"the run has ended ({ensemble.message}) and cannot be resumed; start one with more "
            "steps"
        )
    if save is not None:
        ensemble.problem.to_tables()
    method = Method.known[choose("method", ensemble.method, Method.known)]
    method.check(ensemble)
    run = method.resumed(RunState.stopped(ensemble))
    path = None if save is None else Path(save)
    return Recording.resumed(run, ensemble, path).go(progress)
