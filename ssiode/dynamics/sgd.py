"""Direct SGD on d-dimensional vectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.dynamics.methods import Purpose
from ssiode.dynamics.replicas import KernelMethod
from ssiode.dynamics.run import run_method
from ssiode.dynamics.start import random_directions, vector_weights
from ssiode.recovery import DEFAULT_THRESHOLD

if TYPE_CHECKING:
    from ssiode.problem import Problem
    from ssiode.results import Ensemble


class DirectSGD(KernelMethod):
    """Steps on d-dimensional vectors."""

    name = "sgd"
    kernel = "direct_sgd"
    purposes = (Purpose.TOKENS, Purpose.LABEL_NOISE)

    def entries(self, problem: Problem) -> int:
        """See :meth:`Method.entries`."""
        return problem.sgd.d

    def directions(self, problem: Problem) -> np.ndarray:
        """See :meth:`KernelMethod.directions`."""
        return random_directions(problem)

    def weights(self, problem: Problem, directions: np.ndarray, replica: int) -> np.ndarray:
        """See :meth:`KernelMethod.weights`."""
        return vector_weights(problem, directions, replica)


def run_sgd(
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
    r"""Run spherical SGD, one new sample (or batch) a step, for several independent replicas.

    A step is :math:`w \leftarrow \sqrt d\,(w+\delta w)/|w+\delta w|` with
    :math:`\delta w = -\gamma\,\nabla_w \ell`; for an untied network row by row, or with the norm of
    all rows. Encoding and teacher are drawn once a run with the problem's overlaps, initial weights
    for each replica.

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
    first_replica : int
        Number, >= 0, of the first replica: a run may be split into parts that give the same
        replicas.
    save : path, optional
        File that keeps the run: written at the start, about every minute, and at the end.
    progress : bool
        Show a progress bar on standard error.
    **settings
        `gamma`, `d`, `batch`, `steps`, `replicas` or `seed` instead of the problem's.

    Returns
    -------
    Ensemble
        After Ctrl-C with status `interrupted` and all records up to there, for
        :func:`ssiode.resume_run`.

    Raises
    ------
    InputError
        On numbers out of range, d < L + 2, an infeasible initial state, a target that is not
        finite, more memory than there is, or a file that cannot be written; what was computed
        before the latter is its `result`.

    Examples
    --------
    >>> from ssiode import Problem, Target, TiedNetwork
    >>> linear = Problem(Target("z1"), TiedNetwork("identity"))
    >>> run = run_sgd(linear, m=0.1, gamma=0.2, d=100, steps=2000, replicas=4, records=2)
    >>> run.steps.tolist(), bool(run.m[:, -1].min() > 0.9)
    ([0, 1000, 2000], True)
    """
    return run_method(
        "sgd",
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
