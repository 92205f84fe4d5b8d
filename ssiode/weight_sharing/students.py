"""The students that are measured side by side, all after the settings of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ssiode.errors import InputError, choose
from ssiode.student import Attention, LinearAttention, TiedNetwork, UntiedNetwork

if TYPE_CHECKING:
    from ssiode.problem import Problem
    from ssiode.student import Student

DEFAULT_STUDENTS = ("tied", "untied")


def _tied(given: Student) -> Student:
    if isinstance(given, TiedNetwork):
        return given
    return TiedNetwork(**_activation(given))


def _untied(given: Student) -> Student:
    return given if isinstance(given, UntiedNetwork) else UntiedNetwork(**_activation(given))


def _activation(given: Student) -> dict[str, object]:
    """Activation and scale of another network; defaults for students that have none."""
    kept = ("activation", "scale") if hasattr(given, "activation") else ()
    return {name: getattr(given, name) for name in kept}


def _attention(given: Student) -> Student:
    return given if isinstance(given, Attention) else Attention("trace")


def _linear_attention(given: Student) -> Student:
    return given if isinstance(given, LinearAttention) else LinearAttention()


STUDENTS: dict[str, Callable[[Student], Student]] = {
    "tied": _tied,
    "untied": _untied,
    "attention": _attention,
    "linear-attention": _linear_attention,
}


def chosen_students(problem: Problem, names: Sequence[str]) -> dict[str, Student]:
    """The students of these names, by name.

    The one of the problem's own kind is that of the problem; networks take its activation and
    scale, and are relu networks where it has none.

    Raises
    ------
    InputError
        On an unknown name, a repeated one, or fewer than two.

    Examples
    --------
    >>> from ssiode import Problem, Target
    >>> problem = Problem(Target("z1"), TiedNetwork("tanh"))
    >>> chosen_students(problem, ["tied", "untied"])["untied"].activation
    'tanh'
    """
    for name in names:
        choose("student", name, STUDENTS)
    if len(names) < 2 or len(set(names)) < len(names):
        raise InputError(
            f"students is {','.join(names)}; give two or more different ones of "
            f"{', '.join(STUDENTS)}"
        )
    return {name: STUDENTS[name](problem.student) for name in names}
