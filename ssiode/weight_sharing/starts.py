"""From which overlaps the students start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ssiode.settings import InitialCondition

if TYPE_CHECKING:
    from ssiode.problem import Problem

# Random starts over which the ODE takes its median, and their stream beside those of runs.
_DRAWS = 9
_STREAM = 7_000


def started_problem(problem: Problem, start: str, overlap: float) -> Problem:
    """The problem with equal overlaps of all its weight vectors, or with random weights."""
    if start == "random":
        return problem.replace(initial=InitialCondition())
    return problem.replace(initial=InitialCondition("fixed", m=overlap))


def ode_starts(problem: Problem, growing_sign: int) -> np.ndarray:
    """States from which the ODE of a problem starts, shape (k, number of overlaps).

    Of random weights these are nine draws. Where a single m grows from one sign alone, draws of
    the other one are turned round: runs that start there are not counted either.

    >>> from ssiode import Problem, Target, TiedNetwork
    >>> problem = started_problem(Problem(Target("z1"), TiedNetwork()), "equal", 0.1)
    >>> ode_starts(problem, 0).tolist()
    [[0.0, 0.1]]
    """
    geometry, sgd = problem.geometry, problem.sgd
    fixed = problem.initial.fixed_state(geometry)
    if fixed is not None:
        return fixed[None]
    generator = np.random.default_rng(np.random.SeedSequence(sgd.seed, spawn_key=(_STREAM,)))
    states = np.array([geometry.random_state(sgd.d, generator) for _ in range(_DRAWS)])
    if growing_sign and geometry.n_rows == 1:
        states *= growing_sign * np.sign(states[:, -1:])
    return states
