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
_WEIGHTS_OF_TOKENS = "signs"


def default_students(problem: Problem) -> tuple[str, str]:
    """Tied and untied networks, or a weighted one in the place of the tied one if that is given.

    >>> from ssiode import Problem, Target
    >>> default_students(Problem(Target("z1 - z2"), TiedNetwork("relu", token_weights=(1, -1))))
    ('weighted', 'untied')
    """
    weights = getattr(problem.student, "token_weights", None)
    return DEFAULT_STUDENTS if weights is None else ("weighted", "untied")


def _tied(given: Student) -> Student:
    return TiedNetwork(**_activation(given))


def _weighted(given: Student) -> Student:
    if isinstance(given, TiedNetwork) and given.token_weights is not None:
        return given
    return TiedNetwork(**_activation(given), token_weights=_WEIGHTS_OF_TOKENS)


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
    "weighted": _weighted,
    "untied": _untied,
    "attention": _attention,
    "linear-attention": _linear_attention,
}


def chosen_students(problem: Problem, names: Sequence[str]) -> dict[str, Student]:
    """The students of these names, by name.

    The one of the problem's own kind is that of the problem; networks take its activation and
    scale, and are relu networks where it has none. `weighted` is a tied network with the token
    weights of the problem, or with random signs.

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
