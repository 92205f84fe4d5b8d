"""Measuring how many times fewer steps a network takes that shares its weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from ssiode.errors import InputError, choose, finite_number, shown, whole_number
from ssiode.interrupts import held_interrupts
from ssiode.recovery import DEFAULT_THRESHOLD, check_threshold
from ssiode.settings import InitialCondition
from ssiode.target import Target
from ssiode.weight_sharing.measurement import Measurement, Runner
from ssiode.weight_sharing.prediction import predict
from ssiode.weight_sharing.result import Gain, LengthResult
from ssiode.weight_sharing.starts import reachable_threshold, started_problem
from ssiode.weight_sharing.students import chosen_students, default_students

if TYPE_CHECKING:
    from ssiode.problem import Problem

POLICIES = ("equal", "paper", "best")
METHODS = ("ode", "chain", "sgd")
STARTS = ("equal", "random")
_DEFAULT_LENGTHS = (1, 2, 4, 8, 16)
# A student that the ODE does not lead to the threshold is run so many times longer than the
# fastest one.
_HOPELESS_TIMES = 1000.0


def gain(
    problem: Problem,
    lengths: Sequence[int] | None = None,
    *,
    policy: str = "equal",
    method: str = "ode",
    students: Sequence[str] | None = None,
    start: str = "equal",
    overlap: float | None = None,
    threshold: float = DEFAULT_THRESHOLD,
    max_steps: int | None = None,
    replicas: int | None = None,
    seed: int | None = None,
    progress: bool = False,
) -> Gain:
    r"""Measure the steps of weak recovery of several students over the length L of the sequence.

    The gain is the median steps of the last student over those of the others: by default of an
    untied network over those of a tied one. It depends on the learning rates, so every result says
    by which policy they were chosen (Arnaboldi et al., arXiv 2506.02651, Theorem 2):

    - `equal`: all students take the problem's gamma;
    - `paper`: an untied network takes :math:`\gamma/(L \bar r)`, the others gamma, with
      :math:`\bar r = \langle C, \hat 1^{\otimes n}\rangle/|C|_{op}` of the leading tensor C;
    - `best`: each student takes the rate of its own fewest steps, by a search in which noise is
      taken into account.

    Parameters
    ----------
    problem : Problem
        Its target is read anew at every length; activation, scale and constraint of its student,
        and gamma, d, batch, replicas and seed are those of the runs.
    lengths : sequence of int, optional
        By default those of 1, 2, 4, 8, 16 that hold all tokens of the target.
    policy : str
    method : str
        `ode` (seconds), `chain` (minutes) or `sgd` (a check at small d).
    students : sequence of str, optional
        Two or more of `tied`, `weighted` (with token weights), `untied`, `attention`,
        `linear-attention`; the last one is the reference. By default `tied` and `untied`, or
        `weighted` and `untied` where the student has token weights.
    start : str
        `equal` (all weight vectors have one overlap) or `random` (weights uniform on the sphere).
    overlap : float, optional
        That overlap; by default :math:`1/\sqrt d`, with the sign from which those of the student
        grow.
    threshold : float
        eta in (0, 1] of weak recovery, |v| >= eta, with the root mean square of the m of an untied
        network over the tokens that the target contains.
    max_steps : int, optional
        Most steps of a replica; by default 30 times those of the ODE. Students that the ODE does
        not lead to the threshold are run 1000 times longer than the fastest one.
    replicas, seed : int, optional
        Instead of the problem's.
    progress : bool
        Show how far it is on standard error.

    Returns
    -------
    Gain
        After Ctrl-C with status `interrupted` and what was measured up to there.

    Raises
    ------
    InputError
        On numbers out of range, unknown names, a target that cannot be read at a length.

    Examples
    --------
    >>> from ssiode import Problem, Target, TiedNetwork
    >>> found = gain(Problem(Target("sum(He2(z))", length=2), TiedNetwork("relu")), [1, 2, 4])
    >>> [round(ratio, 6) for ratio in found.gain], found.policy
    ([1.0, 2.0, 4.0], 'equal')
    """
    choose("policy", policy, POLICIES)
    choose("method", method, METHODS)
    choose("start", start, STARTS)
    given = {"replicas": replicas, "seed": seed}
    problem = problem.replace(**{k: v for k, v in given.items() if v is not None})
    if problem.sgd.gamma == 0:
        raise InputError("gamma is 0; steps of gradient flow are not counted, give gamma > 0")
    threshold = check_threshold(threshold)
    overlap = _checked_overlap(overlap, start, threshold)
    if max_steps is not None:
        max_steps = whole_number("max_steps", max_steps, minimum=1)
    students = default_students(problem) if students is None else tuple(students)
    chosen_students(problem, students)
    lengths = _checked_lengths(problem, lengths)
    problems = {length: problem_at(problem, length) for length in lengths}
    results: list[LengthResult] = []
    with held_interrupts() as interrupted, _teller(progress) as tell:
        for length, found in problems.items():
            if interrupted():
                break
            runners = {
                name: Runner(
                    student,
                    i,
                    method,
                    reachable_threshold(student, threshold),
                    max_steps,
                    interrupted,
                    tell,
                )
                for i, (name, student) in enumerate(
                    _started(found, students, start, overlap).items()
                )
            }
            _check_starts(runners)
            measured = _measured(runners, policy)
            if not interrupted() or all(m.steps is not None for m in measured.values()):
                results.append(LengthResult.of(length, measured, runners))
        was_interrupted = interrupted()
    return Gain(
        problem=problem,
        policy=policy,
        method=method,
        students=students,
        start=start,
        overlap=overlap,
        threshold=threshold,
        requested_lengths=lengths,
        results=tuple(results),
        was_interrupted=was_interrupted,
    )


def problem_at(problem: Problem, length: int) -> Problem:
    """The problem with its target read at another length.

    Raises
    ------
    InputError
        If the target has no text, or tokens beyond the length.
    """
    table = problem.target.to_table()
    if "expression" not in table:
        raise InputError("the target has one length alone; give an expression, such as sum(He2(z))")
    return problem.replace(target=Target.from_table(table | {"length": length}))


def _checked_overlap(overlap: float | None, start: str, threshold: float) -> float | None:
    if overlap is None:
        return None
    if start == "random":
        raise InputError(
            "overlap is not taken with random starts; give start equal or leave it out"
        )
    overlap = finite_number("overlap", overlap)
    if not 0 < abs(overlap) < threshold:
        raise InputError(
            f"overlap is {overlap:g}; its absolute value must be > 0 and below the threshold "
            f"{threshold:g}"
        )
    return overlap


def _checked_lengths(problem: Problem, given: Sequence[int] | None) -> tuple[int, ...]:
    if given is None:
        return tuple(length for length in _DEFAULT_LENGTHS if _holds(problem, length))
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise InputError(f"lengths is {shown(given)}; it must be a list of numbers such as 1,2,4")
    found = tuple(whole_number("an entry of lengths", n, minimum=1, maximum=1000) for n in given)
    if not found or len(set(found)) < len(found):
        raise InputError(f"lengths is {shown(list(found))}; give different ones, such as 1,2,4,8")
    return tuple(sorted(found))


def _holds(problem: Problem, length: int) -> bool:
    try:
        problem_at(problem, length)
    except InputError:
        return False
    return True


def _started(
    problem: Problem, names: Sequence[str], start: str, overlap: float | None
) -> dict[str, Problem]:
    """The problem with each of the students at its start."""
    students = chosen_students(problem, names)
    # The student is replaced first without a start: overlaps of the file may be of another shape.
    bare = problem.replace(initial=InitialCondition())
    problems = {name: bare.replace(student=student) for name, student in students.items()}
    return {
        name: started_problem(p, start, _growing_overlap(p) if overlap is None else overlap)
        for name, p in problems.items()
    }


def _growing_overlap(problem: Problem) -> float:
    """The overlap 1 / sqrt(d) with the sign from which it grows, where that is known."""
    prediction = predict(problem)
    sign = 1 if prediction is None else prediction.sign
    return float(sign / np.sqrt(problem.sgd.d))


def _check_starts(runners: dict[str, Runner]) -> None:
    """Refuse equal overlaps that have recovered before the first step."""
    for name, runner in runners.items():
        geometry = runner.problem.geometry
        start = runner.problem.initial.fixed_state(geometry)
        if start is not None and geometry.recovered(start) >= runner.threshold:
            raise InputError(
                f"{name} starts at |v| = {geometry.recovered(start):.3g} and has recovered at "
                f"{runner.threshold:.3g}, L = {runner.problem.length}; give a larger d or a "
                "smaller overlap"
            )


def _measured(runners: dict[str, Runner], policy: str) -> dict[str, Measurement]:
    """Measure the students that the ODE leads to the threshold, and then the others beside them."""
    found: dict[str, Measurement] = {}
    for name, runner in sorted(runners.items(), key=lambda pair: not pair[1].ode_recovers):
        steps = [m.steps for m in found.values() if m.steps]
        hopeless = _HOPELESS_TIMES * min(steps, default=np.inf)
        gamma = _rate(runners, name, policy)
        if policy == "best":
            rates = [m.gamma for m in found.values()]
            found[name] = runner.at_best(rates[0] if rates else gamma, hopeless)
        else:
            found[name] = runner.at(gamma, hopeless)
    return {name: found[name] for name in runners}


def _rate(runners: dict[str, Runner], name: str, policy: str) -> float:
    """The learning rate of a student where the policy gives it.

    Raises
    ------
    InputError
        If the ratio of the paper is not known, or zero.
    """
    problem = runners[name].problem
    if policy != "paper" or problem.geometry.n_rows == 1:
        return problem.sgd.gamma
    prediction = runners[name].prediction
    known = None if prediction is None else prediction.alignment
    if known is None or known.paper_ratio == 0:
        why = "not known" if known is None else "0"
        raise InputError(
            f"L rbar, the ratio of the learning rates of policy paper, is {why} at "
            f"L = {problem.length}; choose the policy equal or best"
        )
    return problem.sgd.gamma / abs(known.paper_ratio)


@contextmanager
def _teller(progress: bool) -> Iterator[Callable[[str], None]]:
    """What shows on standard error how far it is."""
    from tqdm import tqdm

    with tqdm(bar_format="{desc} [{elapsed}]", disable=not progress, leave=False) as bar:
        yield bar.set_description_str
