"""The same target and student under several encodings, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ssiode.encoding import Encoding, encoding_kinds
from ssiode.errors import InputError, unknown_name
from ssiode.settings import InitialCondition

if TYPE_CHECKING:
    from ssiode.problem import Problem

_INJECTED = "injected"
_OWN_MATRIX = ("matrix", "gram")


def encoded_problems(problem: Problem, names: Sequence[str]) -> dict[str, Problem]:
    """The problem with each of the named encodings.

    Parameters
    ----------
    problem : Problem
        Its encoding gives norm, dimension, seed, teacher overlap and matrix where a kind takes
        them, and the injected constant.
    names : sequence of str
        Kinds of encodings, without injection; with `+injected` behind with the constant of the
        problem, and `injected` for that constant alone.

    Raises
    ------
    InputError
        On an unknown or repeated name, or one that needs what the problem's encoding does not have.

    Examples
    --------
    >>> from ssiode import Attention, Problem, Target
    >>> problem = Problem(Target("z1 + z2"), Attention("trace"), Encoding(injected=(1, 1)))
    >>> [p.encoding.kind for p in encoded_problems(problem, ["injected", "opposite"]).values()]
    ['none', 'opposite']
    """
    if not names:
        raise InputError("no encodings to compare; give kinds, such as none,opposite,random")
    if len(set(names)) < len(names):
        raise InputError(f"encodings to compare are {','.join(names)}; give each of them once")
    # The overlaps of a fixed start may not be feasible under another encoding.
    return {
        name: replace(problem, encoding=_encoding(problem, name), initial=InitialCondition())
        for name in dict.fromkeys(names)
    }


def _encoding(problem: Problem, name: str) -> Encoding:
    own = problem.encoding
    kind, plus, suffix = name.partition("+")
    with_injected = kind == _INJECTED or bool(plus)
    if (plus and suffix != _INJECTED) or kind not in (*encoding_kinds(), _INJECTED):
        raise unknown_name("encoding", name, (*encoding_kinds(), _INJECTED, "KIND+injected"))
    if with_injected and own.injected is None:
        raise InputError(f"encoding {name!r} needs the constant; give --injected")
    injected = own.injected if with_injected else None
    if kind in (_INJECTED, "none"):
        return Encoding("none", injected=injected)
    if kind == own.kind:
        return replace(own, injected=injected)
    if kind in _OWN_MATRIX:
        raise InputError(f"encoding {kind!r} is not that of the problem; give it with --matrix")
    return Encoding(kind, norm=own.norm, teacher_overlap=own.teacher_overlap, injected=injected)
