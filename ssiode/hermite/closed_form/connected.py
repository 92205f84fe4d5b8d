r"""Hermite coefficients of one product of elementary functions of the tokens.

With :math:`G(x) = E[g(z + x)] = \sum_\alpha c_\alpha x^\alpha/\alpha!`, exponentials and functions
:math:`f_d(a_d\cdot z)` along orthogonal directions give

.. math:: g = e^{\lambda\cdot z}\prod_d f_d(a_d\cdot z): \qquad
   G(x) = e^{|\lambda|^2/2 + \lambda\cdot x} \prod_d F_d(a_d\cdot x), \qquad
   F_d(y) = E[f_d(a_d\cdot(z + \lambda) + y)],

so each factor is of rank one, :math:`a^\alpha D_{|\alpha|}`, and their sequences are convolved.
Powers of tokens multiply afterwards, by :math:`x He_n = He_{n+1} + n He_{n-1}`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from sympy import QQ

from ssiode.errors import InputError
from ssiode.hermite.closed_form.field import (
    Constant,
    Field,
    NoClosedForm,
    add,
    is_real,
    rational,
    scale,
)
from ssiode.hermite.closed_form.functions import Function, Functions, Term
from ssiode.hermite.closed_form.univariate import Edge, Ridge, hermite_multiplication
from ssiode.hermite.polynomial.exact import SparseIndex

MAX_COEFFICIENTS = 20_000

Table = dict[SparseIndex, Constant]
_Form = Mapping[int, Constant]
_Block = tuple[_Form, Callable[[int], Constant]]


class FunctionCoefficients:
    """Coefficients of a sum of terms, by order.

    Parameters
    ----------
    functions : Functions
        What the terms are made of.
    function : dict
        The terms with their constants.

    Raises
    ------
    NoClosedForm
        If a term is outside the families.

    Examples
    --------
    >>> functions = Functions(Field())
    >>> z1 = functions.token(0)
    >>> cube = FunctionCoefficients(functions, functions.power(z1, 3))
    >>> cube.at_order(1) == {((0, 1),): rational(3)}
    True
    """

    def __init__(self, functions: Functions, function: Function) -> None:
        written = functions.in_tokens(function, keep_stepped=True)
        self.terms = [_TermCoefficients(functions, t, value) for t, value in written.items()]
        self._tables: dict[int, Table] = {}

    def at_order(self, order: int) -> Table:
        """Return the non-zero coefficients of one order."""
        if order not in self._tables:
            self._tables[order] = sum_of_tables([term.at_order(order) for term in self.terms])
        return self._tables[order]


def sum_of_tables(tables: Sequence[Table]) -> Table:
    """Return the sum of tables, zeros left out."""
    total: Table = {}
    for table in tables:
        for index, value in table.items():
            total[index] = add(total[index], value) if index in total else value
    return {index: value for index, value in total.items() if value}


def product_at_order(
    functions: Functions, factors: Sequence[Callable[[int], Table]], order: int
) -> Table:
    """Return the coefficients of a product of functions of separate tokens.

    Raises
    ------
    InputError
        If there are too many.
    """
    current: dict[int, Table] = {0: {(): rational(1)}}
    for number, factor in enumerate(factors, 1):
        is_last = number == len(factors)
        following: dict[int, Table] = {}
        for done, left in current.items():
            for more in range(order - done if is_last else 0, order - done + 1):
                _tensor(functions, left, factor(more), following.setdefault(done + more, {}))
        current = {n: table for n, table in following.items() if table}
    return current.get(order, {})


def _tensor(functions: Functions, left: Table, right: Table, total: Table) -> None:
    for first, a in left.items():
        for second, b in right.items():
            functions.spend(len(a) * len(b))
            index = tuple(sorted(first + second)) if second else first
            value = functions.field.multiply(a, b)
            total[index] = add(total[index], value) if index in total else value
        check_count(len(total))


def check_count(count: int) -> None:
    """Refuse a table with too many coefficients."""
    if count > MAX_COEFFICIENTS:
        raise InputError(
            f"the target has more than {MAX_COEFFICIENTS} coefficients of one order; "
            "use fewer tokens or a lower order"
        )


class _TermCoefficients:
    """Coefficients of one term: a product over sets of tokens that no factor connects."""

    def __init__(self, functions: Functions, term: Term, value: Constant) -> None:
        if term.opaque:
            name = functions.opaque_names[term.opaque[0]]
            raise NoClosedForm(f"{name} has no closed form here")
        self.functions = functions
        self.field = functions.field
        self.exponent = {token: dict(c) for token, c in term.exponent}
        blocks = _directional_blocks(functions, term, self.exponent)
        powers = {variable: power for variable, power in term.powers if variable >= 0}
        squares: Constant = {}
        for coefficient in self.exponent.values():
            squares = add(squares, self.field.multiply(coefficient, coefficient))
        growth = self.field.exp(scale(squares, QQ(1, 2)))
        self.constant = self.field.multiply(value, growth)
        self.components = [
            _Component(functions, sorted(tokens), members, self.exponent, powers)
            for tokens, members in _connected(blocks, [*self.exponent, *powers])
        ]

    def at_order(self, order: int) -> Table:
        factors = [component.at_order for component in self.components]
        table = product_at_order(self.functions, factors, order)
        self.functions.spend(len(self.constant) * len(table))
        scaled = {i: self.field.multiply(self.constant, value) for i, value in table.items()}
        return {index: value for index, value in scaled.items() if value}


class _Component:
    """Coefficients of blocks of rank one that share tokens, times powers of the tokens."""

    def __init__(
        self,
        functions: Functions,
        tokens: Sequence[int],
        blocks: Sequence[_Block],
        exponent: _Form,
        powers: Mapping[int, int],
    ) -> None:
        self.functions = functions
        self.field = functions.field
        self.tokens = tokens
        self.powers = [powers.get(token, 0) for token in tokens]
        shared = {token: exponent[token] for token in tokens if token in exponent}
        self.blocks = [*blocks, *([(shared, lambda order: rational(1))] if shared else [])]
        self._bases: dict[tuple[int, tuple[int, ...]], Constant] = {}
        self._forms: dict[tuple[int, int, int], Constant] = {}
        self._tables: dict[int, Table] = {}

    def at_order(self, order: int) -> Table:
        if order not in self._tables:
            check_count(math.comb(order + len(self.tokens) - 1, order))
            table: Table = {}
            for alpha in _compositions(order, len(self.tokens)):
                value = self._coefficient(alpha)
                if value:
                    pairs = zip(self.tokens, alpha, strict=True)
                    table[tuple((token, n) for token, n in pairs if n)] = value
            self._tables[order] = table
        return self._tables[order]

    def _coefficient(self, alpha: tuple[int, ...]) -> Constant:
        self.functions.spend(1)
        if not any(self.powers):
            return self._base(0, alpha)
        total: Constant = {}
        choices = [hermite_multiplication(k, n) for k, n in zip(self.powers, alpha, strict=True)]
        self.functions.spend(math.prod(map(len, choices)))
        for choice in itertools.product(*choices):
            factor = math.prod(value for _, value in choice)
            total = add(total, scale(self._base(0, tuple(n for n, _ in choice)), factor))
        return total

    def _base(self, first: int, alpha: tuple[int, ...]) -> Constant:
        """Return the coefficient of the product of the blocks from number `first` on."""
        if first >= len(self.blocks):
            return {} if any(alpha) else rational(1)
        if (first, alpha) not in self._bases:
            is_last = first == len(self.blocks) - 1
            value = self._block(first, alpha) if is_last else self._convolved(first, alpha)
            self._bases[first, alpha] = value
        return self._bases[first, alpha]

    def _convolved(self, first: int, alpha: tuple[int, ...]) -> Constant:
        total: Constant = {}
        form = self.blocks[first][0]
        ranges = [range(n + 1 if t in form else 1) for t, n in zip(self.tokens, alpha, strict=True)]
        self.functions.spend(math.prod(map(len, ranges)))
        for beta in itertools.product(*ranges):
            left = self._block(first, beta)
            if not left:
                continue
            right = self._base(first + 1, tuple(n - m for n, m in zip(alpha, beta, strict=True)))
            if right:
                choices = math.prod(map(math.comb, alpha, beta))
                total = add(total, scale(self.field.multiply(left, right), choices))
        return total

    def _block(self, number: int, alpha: tuple[int, ...]) -> Constant:
        """Return a^alpha D_|alpha|."""
        value = self.blocks[number][1](sum(alpha))
        for token, power in zip(self.tokens, alpha, strict=True):
            if power and value:
                value = self.field.multiply(value, self._form_power(number, token, power))
        return value

    def _form_power(self, number: int, token: int, power: int) -> Constant:
        key = (number, token, power)
        if key not in self._forms:
            coefficient = self.blocks[number][0].get(token, {})
            self._forms[key] = self.field.power(coefficient, power)
        return self._forms[key]


def _directional_blocks(functions: Functions, term: Term, exponent: _Form) -> list[_Block]:
    blocks = [_step_block(functions, term, d, b, exponent) for d, b in term.steps]
    blocks += [_erf_block(functions, number, exponent) for number in term.erfs]
    for (left, _), (right, _) in itertools.combinations(blocks, 2):
        if _inner(functions.field, left, right):
            raise NoClosedForm(
                "a product of functions with kinks or erf that share a token has no closed form "
                "here"
            )
    return blocks


def _step_block(
    functions: Functions, term: Term, direction: int, number: int, exponent: _Form
) -> _Block:
    field = functions.field
    form = {token: dict(c) for token, c in functions.directions[direction]}
    shift = _shift(field, form, exponent)
    square = _inner(field, form, form)
    rate = field.inverse(field.square_root(square))
    distance = add(shift, scale(functions.breaks[direction][number], -1))
    edge = Edge(field, field.multiply(distance, rate), rate, is_step=True)
    power = dict(term.powers).get(-1 - direction, 0)
    return form, Ridge(field, edge, power, square, shift) if power else edge


def _erf_block(functions: Functions, number: int, exponent: _Form) -> _Block:
    field = functions.field
    affine = functions.error_functions[number]
    form = {token: dict(c) for token, c in affine.form}
    square = add(rational(1), scale(_inner(field, form, form), 2))
    half = scale(field.inverse(square), 2)
    rate = field.square_root(half)
    offset = add(affine.offset, _shift(field, form, exponent))
    return form, Edge(field, field.multiply(offset, rate), rate, is_step=False)


def _shift(field: Field, form: _Form, exponent: _Form) -> Constant:
    shift = _inner(field, form, exponent)
    if not is_real(shift):
        raise NoClosedForm(
            "sin or cos times a function with kinks or erf of the same tokens has no closed form "
            "here"
        )
    return shift


def _inner(field: Field, left: _Form, right: _Form) -> Constant:
    total: Constant = {}
    for token, value in left.items():
        if token in right:
            total = add(total, field.multiply(value, right[token]))
    return total


def _connected(
    blocks: Sequence[_Block], others: Sequence[int]
) -> list[tuple[set[int], list[_Block]]]:
    groups: list[tuple[set[int], list[_Block]]] = []
    for block in blocks:
        tokens, members = set(block[0]), [block]
        apart = []
        for other, theirs in groups:
            if other & tokens:
                tokens, members = tokens | other, members + theirs
            else:
                apart.append((other, theirs))
        groups = [*apart, (tokens, members)]
    covered = set().union(*[tokens for tokens, _ in groups])
    return groups + [({token}, []) for token in sorted(set(others) - covered)]


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (total,)
        return
    for first in range(total, -1, -1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)
