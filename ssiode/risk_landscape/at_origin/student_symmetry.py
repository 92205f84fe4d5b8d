r"""Symmetries of a student with its injected constant, and the coefficients that they make equal.

With the injected constant c, :math:`\tilde f(x) = f(x + c)`. Where f is unchanged by permutations
of the fields, a permutation :math:`\pi` with :math:`\pi c = c` leaves :math:`\tilde f` unchanged;
where f is even too, one with :math:`\pi c = -c` gives :math:`\tilde f(-\pi x) = \tilde f(x)`, so
:math:`c_{\pi\beta} = (-1)^{|\beta|} c_\beta`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ssiode.problem import Problem

Beta = tuple[int, ...]


@dataclass(frozen=True)
class StudentSymmetry:
    """Which coefficients of a student are equal up to sign, or zero.

    Attributes
    ----------
    places : tuple of tuples
        Groups of tokens that may be permuted among each other.
    mirror : tuple of int or None
        The group that each group is mapped to together with the sign of the fields.

    Examples
    --------
    Attention with the trace and the injected constant (1, -1):

    >>> symmetry = StudentSymmetry(((0,), (1,)), (1, 0))
    >>> symmetry.representative((0, 3)), symmetry.representative((1, 2))
    (((3, 0), -1), ((2, 1), -1))
    """

    places: tuple[tuple[int, ...], ...]
    mirror: tuple[int, ...] | None

    @classmethod
    def of(cls, problem: Problem) -> StudentSymmetry:
        """The symmetries that student and injected constant have together.

        >>> from ssiode import Attention, Problem, Target
        >>> StudentSymmetry.of(Problem(Target("z1 + z2"), Attention("trace")))
        StudentSymmetry(places=((0, 1),), mirror=(0,))
        """
        student, length = problem.student, problem.length
        injected = [x + 0.0 for x in problem.geometry.injected.tolist()]
        values = sorted(set(injected)) if student.is_symmetric(length) else []
        groups = [tuple(i for i, x in enumerate(injected) if x == value) for value in values]
        if not values:
            groups, values = [(i,) for i in range(length)], injected
        mirror = None
        if student.is_even(length):
            if student.is_symmetric(length):
                mirror = _mirrored(values, groups)
            elif not any(injected):
                mirror = tuple(range(length))
        return cls(tuple(groups), mirror)

    def representative(self, beta: Sequence[int]) -> tuple[Beta, int]:
        """The name of a coefficient and its sign relative to that, 0 if it is zero.

        >>> StudentSymmetry(((0, 1),), (0,)).representative((1, 0))
        ((1, 0), 0)
        """
        sorted_groups = [sorted((beta[i] for i in group), reverse=True) for group in self.places]
        plain = self._joined(sorted_groups)
        if self.mirror is None:
            return plain, 1
        mirrored = self._joined([sorted_groups[group] for group in self.mirror])
        sign = -1 if sum(beta) % 2 else 1
        if mirrored == plain:
            return plain, (1 + sign) // 2
        return max((plain, 1), (mirrored, sign))

    def _joined(self, powers: Sequence[Sequence[int]]) -> Beta:
        entries = {
            place: power
            for group, row in zip(self.places, powers, strict=True)
            for place, power in zip(group, row, strict=True)
        }
        return tuple(entries[i] for i in range(len(entries)))


def _mirrored(values: Sequence[float], groups: Sequence[tuple[int, ...]]) -> tuple[int, ...] | None:
    """The group of the opposite constant of each group, None if one has none of its size."""
    sizes = {value: len(group) for value, group in zip(values, groups, strict=True)}
    if any(sizes.get(-value + 0.0) != size for value, size in sizes.items()):
        return None
    return tuple(values.index(-value + 0.0) for value in values)
