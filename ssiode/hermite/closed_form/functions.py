r"""Sums of products of elementary functions of the tokens, in one normal form.

A term is an exact constant times

.. math:: \prod_i z_i^{k_i}\, \prod_d t_d^{j_d}\, e^{\lambda\cdot z}\,
          \prod_d H(t_d - b_d)\, \prod_e \mathrm{erf}(a_e\cdot z + c_e)

with directions :math:`t_d = z_{i_d} + \dots`, whose first coefficient is 1, and at most one step
H for each, by :math:`H(t - b) H(t - c) = H(t - \max(b, c))`. Complex :math:`\lambda` stand for
sines and cosines. Steps are only known almost everywhere, which is all that averages see.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import NamedTuple

from ssiode.errors import InputError
from ssiode.hermite.closed_form.field import (
    Constant,
    Field,
    Frozen,
    add,
    freeze,
    rational,
    scale,
)
from ssiode.hermite.closed_form.verdict import sign

MAX_TERMS = 3000
MAX_WORK = 200_000
MAX_DEGREE = 60
MAX_BREAKS = 64
_PRODUCT_COST = 3

Powers = tuple[tuple[int, int], ...]
FrozenForm = tuple[tuple[int, Frozen], ...]


class Term(NamedTuple):
    """The functions in a term; variables below 0 are directions, -1 - d for number d.

    Attributes
    ----------
    powers : tuple of (int, int)
        Variables and their exponents.
    exponent : tuple
        The linear form in the exponential.
    steps : tuple of (int, int)
        Directions and the numbers of their break points.
    erfs : tuple of int
        Numbers of error functions.
    opaque : tuple of int
        Numbers of functions without closed form, which may still cancel.
    """

    powers: Powers = ()
    exponent: FrozenForm = ()
    steps: tuple[tuple[int, int], ...] = ()
    erfs: tuple[int, ...] = ()
    opaque: tuple[int, ...] = ()

    @property
    def is_monomial(self) -> bool:
        """Whether only powers occur."""
        return not (self.exponent or self.steps or self.erfs or self.opaque)


Function = dict[Term, Constant]
UNIT = Term()


@dataclass(frozen=True)
class Affine:
    """An affine form in the tokens.

    Attributes
    ----------
    form : tuple of (int, Frozen)
        Tokens and their coefficients, in the order of the tokens.
    offset : dict
        The constant.
    """

    form: FrozenForm
    offset: Constant = dataclass_field(hash=False)


class Functions:
    """The functions of one target, with the directions and break points they use.

    Parameters
    ----------
    field : Field
        Where the constants live.

    Examples
    --------
    >>> functions = Functions(Field())
    >>> z1 = functions.token(0)
    >>> step = functions.step(Affine(functions.direction(z1), {}))
    >>> functions.multiply(step, step) == step
    True
    """

    def __init__(self, field: Field) -> None:
        self.field = field
        self.directions: list[FrozenForm] = []
        self.breaks: list[list[Constant]] = []
        self.error_functions: list[Affine] = []
        self.opaque_names: list[str] = []
        self._opaque_numbers: dict[object, int] = {}
        self._direction_numbers: dict[FrozenForm, int] = {}
        self._erf_numbers: dict[tuple[FrozenForm, Frozen], int] = {}
        self._larger: dict[tuple[int, int, int], int] = {}
        self._work = 0

    def restart(self) -> None:
        """Allow `MAX_WORK` more steps, for another question."""
        self._work = 0

    def spend(self, steps: int) -> None:
        """Count products of constants, so that none of the loops goes on for long.

        Raises
        ------
        InputError
            If there were more than `MAX_WORK`.
        """
        self._work += steps
        if self._work > MAX_WORK:
            raise InputError(
                "the target is too large once it is multiplied out; simplify it, or use fewer "
                "tokens or a lower order"
            )

    def token(self, index: int) -> Function:
        """Return a token."""
        return {Term(powers=((index, 1),)): rational(1)}

    def constant(self, value: Constant) -> Function:
        """Return a constant function."""
        return {UNIT: value} if value else {}

    def add(self, functions: Iterable[Function]) -> Function:
        """Return a sum."""
        total: Function = {}
        for function in functions:
            for term, value in function.items():
                now = add(total[term], value) if term in total else value
                if now:
                    total[term] = now
                else:
                    del total[term]
        return _limited(total)

    def scale(self, function: Function, constant: Constant) -> Function:
        """Return a constant multiple."""
        scaled = {term: self.field.multiply(value, constant) for term, value in function.items()}
        return {term: value for term, value in scaled.items() if value}

    def subtract(self, left: Function, right: Function) -> Function:
        """Return a difference."""
        return self.add([left, self.scale(right, rational(-1))])

    def multiply(self, left: Function, right: Function) -> Function:
        """Return a product.

        Raises
        ------
        InputError
            If it is too large.
        """
        self.spend(_PRODUCT_COST * len(left) * len(right))
        total: Function = {}
        for a, p in left.items():
            for b, q in right.items():
                self.spend(len(p) * len(q))
                term = self._product(a, b)
                value = self.field.multiply(p, q)
                total[term] = add(total[term], value) if term in total else value
        return _limited({term: value for term, value in total.items() if value})

    def power(self, function: Function, exponent: int) -> Function:
        """Return a whole power, from 0."""
        result = self.constant(rational(1))
        if exponent > MAX_DEGREE and function.keys() - {UNIT}:
            raise InputError(f"a power {exponent} in the target is higher than {MAX_DEGREE}")
        if not function.keys() - {UNIT}:
            return self.constant(self.field.power(function.get(UNIT, {}), exponent))
        for _ in range(exponent):
            result = self.multiply(result, function)
        return result

    def direction(self, function: Function) -> FrozenForm:
        """Return the linear part of an affine function."""
        affine = self.affine(function)
        if affine is None:
            raise InputError("the function is not affine in the tokens")
        return affine.form

    def affine(self, function: Function) -> Affine | None:
        """Return a function as an affine form in the tokens, None if it is not one."""
        form: dict[int, Constant] = {}
        for term, value in function.items():
            if not term.is_monomial or sum(power for _, power in term.powers) > 1:
                return None
            for variable, _ in term.powers:
                pieces = (
                    [(variable, rational(1))]
                    if variable >= 0
                    else [(i, dict(c)) for i, c in self.directions[-1 - variable]]
                )
                for token, factor in pieces:
                    form[token] = add(form.get(token, {}), self.field.multiply(value, factor))
        frozen = tuple((token, freeze(c)) for token, c in sorted(form.items()) if c)
        return Affine(frozen, function.get(UNIT, {}))

    def exponential(self, affine: Affine, imaginary: bool = False) -> Function:
        """Return exp of an affine form, or exp of i times it."""
        form, offset = affine.form, affine.offset
        if imaginary:
            form = tuple((t, freeze(self.field.imaginary(dict(c)))) for t, c in form)
            offset = self.field.imaginary(offset)
        return {Term(exponent=form): self.field.exp(offset)}

    def step(self, affine: Affine) -> Function:
        """Return the step H of an affine form that is not constant."""
        lead = dict(affine.form[0][1])
        number = self.direction_number(affine.form)
        at = scale(self.field.multiply(affine.offset, self.field.inverse(lead)), -1)
        step = self.step_at(number, at)
        if sign(self.field, lead) > 0:
            return step
        return self.subtract(self.constant(rational(1)), step)

    def step_at(self, direction: int, point: Constant) -> Function:
        """Return H(t_d - b)."""
        points = self.breaks[direction]
        if point not in points:
            if len(points) >= MAX_BREAKS:
                raise InputError(f"the target has more than {MAX_BREAKS} kinks along one form")
            points.append(point)
        return {Term(steps=((direction, points.index(point)),)): rational(1)}

    def direction_number(self, form: FrozenForm) -> int:
        """Return the number of the direction of a linear form, whatever its length."""
        inverse = self.field.inverse(dict(form[0][1]))
        normal = tuple((t, freeze(self.field.multiply(dict(c), inverse))) for t, c in form)
        if normal not in self._direction_numbers:
            self._direction_numbers[normal] = len(self.directions)
            self.directions.append(normal)
            self.breaks.append([])
        return self._direction_numbers[normal]

    def variable(self, direction: int) -> Function:
        """Return t_d: the token itself if the direction has one."""
        form = self.directions[direction]
        index = form[0][0] if len(form) == 1 else -1 - direction
        return {Term(powers=((index, 1),)): rational(1)}

    def erf(self, affine: Affine) -> Function:
        """Return the error function of an affine form; it is odd."""
        form, offset = affine.form, affine.offset
        if not form:
            return self.constant(self.field.erf(offset))
        negative = form[0][1][0][1] < 0
        if negative:
            form = tuple((t, freeze(scale(dict(c), -1))) for t, c in form)
            offset = scale(offset, -1)
        key = (form, freeze(offset))
        if key not in self._erf_numbers:
            self._erf_numbers[key] = len(self.error_functions)
            self.error_functions.append(Affine(form, offset))
        return {Term(erfs=(self._erf_numbers[key],)): rational(-1 if negative else 1)}

    def opaque(self, name: str, argument: Function, text: str) -> Function:
        """Return a function without closed form of an argument in normal form."""
        key = (name, frozenset((term, freeze(value)) for term, value in argument.items()))
        if key not in self._opaque_numbers:
            self._opaque_numbers[key] = len(self.opaque_names)
            self.opaque_names.append(text)
        return {Term(opaque=(self._opaque_numbers[key],)): rational(1)}

    def in_tokens(self, function: Function, keep_stepped: bool = False) -> Function:
        """Write powers of directions out in the tokens, but not next to their step if so wished."""
        return self.add(
            [self._written_out(term, value, keep_stepped) for term, value in function.items()]
        )

    def _written_out(self, term: Term, value: Constant, keep_stepped: bool) -> Function:
        stepped = {-1 - direction for direction, _ in term.steps} if keep_stepped else set()
        kept = tuple((v, k) for v, k in term.powers if v >= 0 or v in stepped)
        written: Function = {term._replace(powers=kept): value}
        for variable, power in term.powers:
            if variable < 0 and variable not in stepped:
                form = self.directions[-1 - variable]
                linear = {Term(powers=((token, 1),)): dict(c) for token, c in form}
                written = self.multiply(written, self.power(linear, power))
        return written

    def tokens(self, term: Term) -> set[int]:
        """Return the tokens a term depends on, those of opaque functions aside."""
        found = {token for token, _ in term.exponent}
        numbers = [d for d, _ in term.steps]
        for variable, _ in term.powers:
            if variable >= 0:
                found.add(variable)
            else:
                numbers.append(-1 - variable)
        for direction in numbers:
            found |= {token for token, _ in self.directions[direction]}
        for number in term.erfs:
            found |= {token for token, _ in self.error_functions[number].form}
        return found

    def _product(self, left: Term, right: Term) -> Term:
        if left == UNIT:
            return right
        if right == UNIT:
            return left
        powers = dict(left.powers)
        for variable, power in right.powers:
            powers[variable] = powers.get(variable, 0) + power
        if sum(powers.values()) > 2 * MAX_DEGREE:
            raise InputError(f"the degree of the target is higher than {2 * MAX_DEGREE}")
        return Term(
            tuple(sorted(powers.items())),
            self._sum_of_exponents(left.exponent, right.exponent),
            self._product_of_steps(left.steps, right.steps),
            tuple(sorted(left.erfs + right.erfs)),
            tuple(sorted(left.opaque + right.opaque)),
        )

    def _sum_of_exponents(self, left: FrozenForm, right: FrozenForm) -> FrozenForm:
        if not left or not right:
            return left or right
        total = {token: dict(value) for token, value in left}
        for token, value in right:
            total[token] = add(total.get(token, {}), dict(value))
        return tuple((token, freeze(value)) for token, value in sorted(total.items()) if value)

    def _product_of_steps(
        self, left: tuple[tuple[int, int], ...], right: tuple[tuple[int, int], ...]
    ) -> tuple[tuple[int, int], ...]:
        if not left or not right:
            return left or right
        points = dict(left)
        for direction, number in right:
            points[direction] = (
                self._larger_break(direction, points[direction], number)
                if direction in points
                else number
            )
        return tuple(sorted(points.items()))

    def _larger_break(self, direction: int, left: int, right: int) -> int:
        if left == right:
            return left
        key = (direction, left, right)
        if key not in self._larger:
            points = self.breaks[direction]
            difference = add(points[left], scale(points[right], -1))
            self._larger[key] = left if sign(self.field, difference) > 0 else right
        return self._larger[key]


def _limited(function: Function) -> Function:
    if len(function) > MAX_TERMS:
        raise InputError(f"the target has more than {MAX_TERMS} terms once it is multiplied out")
    return function
