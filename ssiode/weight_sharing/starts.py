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


def reachable_threshold(problem: Problem, threshold: float) -> float:
    r"""The |v| at which a student has recovered what it can.

    Weight vectors of tokens that the target does not contain find nothing. Of an untied network
    whose target contains k of L tokens the root mean square of the m of these k has to reach the
    threshold, so that of all has to reach :math:`\eta\sqrt{k/L}`.

    >>> from ssiode import Problem, Target, UntiedNetwork
    >>> reachable_threshold(Problem(Target("z1*z2", length=8), UntiedNetwork()), 0.5)
    0.25
    """
    length, expressions = problem.length, problem.target.expressions
    if problem.geometry.n_rows == 1 or expressions is None:
        return threshold
    contained = set().union(*(g.free_symbols for g in expressions))
    return threshold * float(np.sqrt(len(contained) / length))


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
