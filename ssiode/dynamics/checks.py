"""What a run of SGD checks before it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.errors import InputError
from ssiode.memory import require_memory
from ssiode.population_risk.averages import finite_labels
from ssiode.threads import thread_count

if TYPE_CHECKING:
    from ssiode.problem import Problem

_TESTED_FIELDS = 1024


def started(problem: Problem, e: Any, m: Any, settings: dict[str, Any]) -> Problem:
    """Return the problem with settings and initial overlaps of one run.

    Raises
    ------
    InputError
        On numbers out of range, d < L + 2, or a target that is not finite.
    """
    if e is not None or m is not None:
        settings = settings | {"initial": problem.initial.with_overlaps(e, m)}
    problem = problem.replace(**settings)
    d, length = problem.sgd.d, problem.length
    if d < length + 2:
        raise InputError(f"d is {d}; SGD with {length} tokens needs d >= {length + 2} (length + 2)")
    # A target that is undefined on a noticeable part of the fields is refused, at always the same.
    fields = np.random.default_rng(0).standard_normal((_TESTED_FIELDS, length))
    finite_labels(problem, fields)
    return problem


def require_memory_for_records(problem: Problem, n_records: int, entries: int) -> None:
    """Refuse a run on vectors of so many entries that needs more memory than there is."""
    replicas, length = problem.sgd.replicas, problem.length
    rank, running = problem.geometry.rank, min(thread_count(), replicas)
    rows = problem.geometry.n_rows
    weights = "d" if entries > replicas else "replicas"
    records = "records" if n_records > replicas else "replicas"
    sizes = [
        (weights, 2.0 * replicas * rows * entries + 24 * replicas),
        ("d", 4.0 * rank * entries + float(running) * (length + 2 * rows) * entries),
        (records, 3.0 * n_records * replicas * (length + 2 * rows)),
    ]
    floats: dict[str, float] = {}
    for setting, size in sizes:
        floats[setting] = floats.get(setting, 0.0) + size
    require_memory(floats)
