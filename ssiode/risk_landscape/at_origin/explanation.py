"""Why a student does not see what the target has, and how SGD leaves the origin, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ssiode.risk_landscape.at_origin.numbers import number_text, total
from ssiode.risk_landscape.coordinates import FeasibleCoordinates

if TYPE_CHECKING:
    from ssiode.geometry import Geometry
    from ssiode.risk_landscape.at_origin.descent import Descent
    from ssiode.risk_landscape.at_origin.flatness import Flatness
    from ssiode.risk_landscape.at_origin.taylor import TaylorExpansion

# Of a direction of length 1, far above the rounding of its eigenvectors.
_NEGLIGIBLE = 1e-9
_DIRECTIONS = {
    "semantic": "m, the semantic direction",
    "positional": "e, a positional direction",
    "mixed": "a direction that mixes e and m",
}


def explanations(expansion: TaylorExpansion, last_order: int) -> tuple[str, ...]:
    """Name the reasons of zeros: parity, tensors that cancel, and encodings that are not seen.

    Parameters
    ----------
    expansion : TaylorExpansion
    last_order : int
        Orders of the target up to this one are looked at, up to the first that is seen.

    Examples
    --------
    >>> from ssiode import Attention, Problem, Target
    >>> from ssiode.risk_landscape.at_origin.taylor import TaylorExpansion
    >>> problem = Problem(Target("He3(z1) + He3(z2)"), Attention("trace"))
    >>> explanations(TaylorExpansion(problem), 4)[0].partition(":")[0]
    'the student is even and the order 3 of the target is odd'
    """
    return (*_blind_orders(expansion, last_order), *_unseen_encoding(expansion))


def _blind_orders(expansion: TaylorExpansion, last_order: int) -> Iterator[str]:
    """One sentence for each order that the target has and the student does not see."""
    teacher, seen = expansion.teacher, expansion.seen
    highest = last_order if teacher.highest_order is None else teacher.highest_order
    for n in range(1, min(highest, last_order) + 1):
        power = (*[0] * (seen.dimension - 1), n)
        if not teacher.is_proved_nonzero(n):
            continue
        if not expansion.form(n).coefficient(power).is_zero:
            return
        yield f"{_reason(expansion, n)}: the risk has no term of order {n} in m alone"


def _reason(expansion: TaylorExpansion, n: int) -> str:
    problem, teacher, student = expansion.problem, expansion.teacher, expansion.student
    if student.highest_order == 0:
        return "the student is constant"
    is_even = problem.student.is_even(problem.length) and not problem.geometry.injected.any()
    if n % 2 and is_even:
        return f"the student is even and the order {n} of the target is odd"
    along = teacher.at_order(n)
    if not any(along):
        is_plain = problem.student.is_symmetric(problem.length)
        seen = "the all-ones direction" if is_plain else "the direction of the token weights"
        return (
            f"the tensor of order {n} of the target is orthogonal to {seen}, the only one that the "
            "student sees"
        )
    keys = [student.key(a, alpha) for a, table in enumerate(along) for alpha in table]
    if all(sign == 0 or student.number(key).is_zero for key, sign in keys):
        return f"the student has no coefficient of order {n} where the target has one"
    is_symmetric = problem.student.is_symmetric(problem.length)
    if is_symmetric and total(x for table in along for x in table.values()).is_zero:
        return (
            f"the coefficients of order {n} of the target cancel in the sum over tokens, and the "
            "student treats all tokens alike"
        )
    return f"the coefficients of order {n} of student and target are orthogonal"


def _unseen_encoding(expansion: TaylorExpansion) -> Iterator[str]:
    geometry, seen = expansion.problem.geometry, expansion.seen
    hidden = geometry.rank - seen.dimension
    if hidden:
        directions = "direction" if hidden == 1 else "directions"
        yield (
            f"{hidden} positional {directions} of the encoding "
            f"{'is' if hidden == 1 else 'are'} not seen: the student sees the sum of the tokens"
        )


def verdict(geometry: Geometry, flatness: Flatness, descent: Descent, exponent: int | None) -> str:
    """Say in a sentence or two how SGD leaves the origin.

    Parameters
    ----------
    geometry : Geometry
        In which the direction of the descent is told to be semantic, positional or mixed.
    flatness : Flatness
    descent : Descent
    exponent : int or None
        The Sequence Information Exponent of the target, if it is known.
    """
    target = "" if exponent is None else f", though the exponent of the target is {exponent}"
    if descent.status == "flat":
        return f"the risk does not depend on the overlaps: nothing is learned{target}"
    if descent.status == "minimum":
        return f"the origin is a local minimum: {descent.reason}, and SGD does not leave it{target}"
    if descent.order is None:
        return f"how SGD leaves the origin is not determined: {descent.reason}"
    direction = _DIRECTIONS[FeasibleCoordinates(geometry).kind(descent.direction, _NEGLIGIBLE)]
    path = f"along a curve tangent to {direction}" if descent.is_curved else f"along {direction}"
    length = "|v|" if descent.order == 1 else f"|v|^{descent.order}"
    slope = number_text(descent.slope, descent.slope_error)
    fall = f"R falls by {slope} {length} along the steepest direction"
    sentence = f"SGD leaves the origin at order {descent.order}, {path}: {fall}"
    if flatness.index is not None and flatness.index < descent.order:
        sentence += f"; the flatness index {flatness.index} is lower, but its form only rises"
    if descent.status == "undetermined":
        sentence = f"not proved: {sentence} ({descent.reason})"
    return sentence
