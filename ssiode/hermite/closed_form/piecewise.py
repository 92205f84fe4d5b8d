r"""Piecewise polynomials of one affine form of the tokens, and their signs.

Everything with a kink comes from the sign, exactly:

.. math:: |x| = x\,\mathrm{sign}(x), \quad \mathrm{relu}(x) = \tfrac12 (x + |x|), \quad
          H(x) = \tfrac12(1 + \mathrm{sign}(x)), \quad
          \max(x, y) = \tfrac12 (x + y + |x - y|).

The sign of a piecewise polynomial is constant between its break points and roots.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sympy import QQ

from ssiode.hermite.closed_form.field import Constant, NoClosedForm, add, freeze, rational, scale
from ssiode.hermite.closed_form.functions import UNIT, FrozenForm, Function, Functions, Term
from ssiode.hermite.closed_form.roots import evaluate, ordered, real_roots
from ssiode.hermite.closed_form.verdict import sign

Polynomial = list[Constant]


class Pieces(NamedTuple):
    """A piecewise polynomial in the variable of one direction.

    Attributes
    ----------
    direction : int
        The number of the direction.
    points : list
        Break points, from left to right.
    polynomials : list
        One more than break points, as coefficients from the lowest power on, without zeros last.
    """

    direction: int
    points: list[Constant]
    polynomials: list[Polynomial]


def pieces(functions: Functions, function: Function) -> Pieces:
    """Return a function that is not constant as a piecewise polynomial of one affine form.

    Raises
    ------
    NoClosedForm
        If it is not one.

    Examples
    --------
    >>> from ssiode.hermite.closed_form.field import Field
    >>> functions = Functions(Field())
    >>> found = pieces(functions, functions.power(functions.token(0), 2))
    >>> len(found.points), len(found.polynomials[0])
    (0, 3)
    """
    by_step: dict[tuple[tuple[int, int], ...], Function] = {}
    for term, value in function.items():
        if term.exponent or term.erfs or term.opaque or len(term.steps) > 1:
            raise _not_piecewise()
        by_step.setdefault(term.steps, {})[Term(powers=term.powers)] = value
    parts = {step: functions.in_tokens(part) for step, part in by_step.items()}
    found = {step[0][0] for step in parts if step}
    if len(found) > 1:
        raise _not_piecewise()
    direction = found.pop() if found else _direction(functions, parts[()])
    current = _univariate(functions, parts.pop((), {}), direction)
    numbers = {step[0][1]: part for step, part in parts.items()}
    points = functions.breaks[direction]
    order = ordered(functions.field, [points[number] for number in numbers])
    polynomials = [current]
    for point in order:
        jump = _univariate(functions, numbers[points.index(point)], direction)
        current = _sum(current, jump)
        polynomials.append(current)
    return Pieces(direction, order, polynomials)


def sign_function(functions: Functions, function: Function) -> Function:
    """Return the sign of a piecewise polynomial of one affine form.

    Raises
    ------
    NoClosedForm
        If it is not one, or its roots are not exact.

    Examples
    --------
    >>> from ssiode.hermite.closed_form.field import Field
    >>> functions = Functions(Field())
    >>> square = functions.power(functions.token(0), 2)
    >>> sign_function(functions, square) == functions.constant(rational(1))
    True
    """
    function = functions.in_tokens(function)
    if set(function) <= {UNIT}:
        side = sign(functions.field, function.get(UNIT, {}))
        return functions.constant(rational(side))
    return _by_sign(functions, function, lambda _, side: functions.constant(rational(side)))


def absolute_function(functions: Functions, function: Function) -> Function:
    """Return the absolute value of a piecewise polynomial of one affine form.

    Raises
    ------
    NoClosedForm
        If it is not one, or its roots are not exact.

    Examples
    --------
    >>> from ssiode.hermite.closed_form.field import Field
    >>> functions = Functions(Field())
    >>> z1 = functions.token(0)
    >>> absolute = absolute_function(functions, z1)
    >>> absolute == functions.multiply(z1, sign_function(functions, z1))
    True
    """
    function = functions.in_tokens(function)
    if set(function) <= {UNIT}:
        return functions.multiply(function, sign_function(functions, function))
    return _by_sign(functions, function, lambda piece, side: functions.scale(piece, rational(side)))


def _by_sign(
    functions: Functions, function: Function, image: Callable[[Function, int], Function]
) -> Function:
    """Join the images of the pieces between roots, each made from the piece and its sign."""
    segments = _segments(functions, pieces(functions, function))
    images = [
        image(_along(functions, segments.direction, polynomial), side)
        for polynomial, side in zip(segments.polynomials, segments.signs, strict=True)
    ]
    return _joined(functions, segments.direction, segments.points, images)


def map_pieces(
    functions: Functions, function: Function, image: Callable[[Function], Function]
) -> Function:
    """Return the function that `image` gives on each piece.

    Examples
    --------
    >>> from ssiode.hermite.closed_form.field import Field
    >>> functions = Functions(Field())
    >>> z1 = functions.token(0)
    >>> map_pieces(functions, z1, lambda x: functions.power(x, 2)) == functions.power(z1, 2)
    True
    """
    function = functions.in_tokens(function)
    if set(function) <= {UNIT}:
        return image(function)
    found = pieces(functions, function)
    images = [image(_along(functions, found.direction, p)) for p in found.polynomials]
    return _joined(functions, found.direction, found.points, images)


class _Segments(NamedTuple):
    """A piecewise polynomial cut at its roots too, with the sign of each piece."""

    direction: int
    points: list[Constant]
    polynomials: list[Polynomial]
    signs: list[int]


def _segments(functions: Functions, found: Pieces) -> _Segments:
    field = functions.field
    ends = [None, *found.points, None]
    points, polynomials, signs = [], [], []
    for number, polynomial in enumerate(found.polynomials):
        low, high = ends[number], ends[number + 1]
        cuts = [low, *_roots_between(functions, polynomial, low, high), high]
        for left, right in itertools.pairwise(cuts):
            signs.append(sign(field, evaluate(field, polynomial, _between(left, right))))
            points.append(right)
            polynomials.append(polynomial)
    return _Segments(found.direction, points[:-1], polynomials, signs)


def _along(functions: Functions, direction: int, polynomial: Polynomial) -> Function:
    """Return a polynomial in t_d as a function."""
    variable = functions.variable(direction)
    total, power = [], functions.constant(rational(1))
    for coefficient in polynomial:
        total.append(functions.scale(power, coefficient))
        power = functions.multiply(power, variable)
    return functions.add(total)


def _joined(
    functions: Functions, direction: int, points: Sequence[Constant], images: Sequence[Function]
) -> Function:
    """Return the function that is each of `images` between two points."""
    total = [images[0]]
    for point, (left, right) in zip(points, itertools.pairwise(images), strict=True):
        step = functions.step_at(direction, point)
        total.append(functions.multiply(functions.subtract(right, left), step))
    return functions.add(total)


def _roots_between(
    functions: Functions, polynomial: Polynomial, low: Constant | None, high: Constant | None
) -> list[Constant]:
    if not polynomial:
        return []
    field = functions.field

    def is_inside(point: Constant) -> bool:
        above = low is None or sign(field, add(point, scale(low, -1))) > 0
        return above and (high is None or sign(field, add(high, scale(point, -1))) > 0)

    return [root for root in real_roots(field, polynomial) if is_inside(root)]


def _between(low: Constant | None, high: Constant | None) -> Constant:
    if low is None and high is None:
        return {}
    if low is None:
        return add(high, rational(-1))
    return add(low, rational(1)) if high is None else scale(add(low, high), QQ(1, 2))


def _direction(functions: Functions, polynomial: Function) -> int:
    """Return the direction of which a polynomial may be a function: that of its highest power."""
    degree = max(sum(k for _, k in term.powers) for term in polynomial)
    top = {t: c for t, c in polynomial.items() if sum(k for _, k in t.powers) == degree}
    first = min(term.powers[0][0] for term in top)
    lead = top.get(Term(powers=((first, degree),)))
    if lead is None:
        raise _not_piecewise()
    field = functions.field
    inverse = field.inverse(scale(lead, degree))
    form: dict[int, Constant] = {first: rational(1)}
    for term, value in top.items():
        variables = dict(term.powers)
        others = [v for v in variables if v != first]
        if len(others) == 1 and variables[others[0]] == 1:
            form[others[0]] = field.multiply(value, inverse)
    frozen: FrozenForm = tuple((token, freeze(value)) for token, value in sorted(form.items()))
    return functions.direction_number(frozen)


def _univariate(functions: Functions, function: Function, direction: int) -> Polynomial:
    """Return a polynomial in the tokens as one in t_d, by setting all tokens but one to zero."""
    form = functions.directions[direction]
    first = form[0][0]
    powers: dict[int, Constant] = {}
    for term, value in function.items():
        if not term.powers:
            powers[0] = value
        elif len(term.powers) == 1 and term.powers[0][0] == first:
            powers[term.powers[0][1]] = value
    index = first if len(form) == 1 else -1 - direction
    again = {Term(powers=((index, k),) if k else ()): value for k, value in powers.items()}
    if functions.subtract(functions.in_tokens(again), function):
        raise _not_piecewise()
    return [powers.get(k, {}) for k in range(max(powers, default=-1) + 1)]


def _sum(left: Polynomial, right: Polynomial) -> Polynomial:
    size = max(len(left), len(right))
    total = [
        add(left[k] if k < len(left) else {}, right[k] if k < len(right) else {})
        for k in range(size)
    ]
    while total and not total[-1]:
        total.pop()
    return total


def _not_piecewise() -> NoClosedForm:
    return NoClosedForm("it is not a piecewise polynomial of one affine form")
