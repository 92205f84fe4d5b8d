"""SymPy expressions as sums of products of elementary functions in their normal form."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import sympy

from ssiode.errors import InputError
from ssiode.expression.functions import He, relu, sigmoid
from ssiode.hermite.closed_form.field import NoClosedForm, rational, scale
from ssiode.hermite.closed_form.functions import MAX_DEGREE, UNIT, Function, Functions
from ssiode.hermite.closed_form.piecewise import absolute_function, map_pieces, sign_function
from ssiode.hermite.grouping import by_shared_symbols
from ssiode.hermite.polynomial.multiplied import describe

MAX_PRODUCTS = 500
_MULTIPLIED = 16
_MAX_FACTORED_TERMS = 12
_MAX_FACTORED_DEGREE = 4
_MAX_FACTORED_NUMBER = 2**64
_ODD = (sympy.tanh, sympy.tan, sympy.atan, sympy.asinh)
_SIGN_OF_ARGUMENT = (sympy.sinh, sympy.erf, sympy.tanh, sympy.sign, sympy.atan, sympy.asinh)

Product = tuple[Function, ...]


class Reader:
    """Reads one target.

    Parameters
    ----------
    functions : Functions
        What it is read into.
    tokens : sequence of sympy.Symbol
        z1, ..., zL.

    Examples
    --------
    >>> from ssiode.expression import token_symbols
    >>> from ssiode.hermite.closed_form.field import Field
    >>> tokens = token_symbols(1)
    >>> reader = Reader(Functions(Field()), tokens)
    >>> reader.function(relu(tokens[0]) - relu(-tokens[0]) - tokens[0])
    {}
    """

    def __init__(self, functions: Functions, tokens: Sequence[sympy.Symbol]) -> None:
        self.functions = functions
        self.field = functions.field
        self.positions = {token: index for index, token in enumerate(tokens)}
        self._read: dict[sympy.Expr, Function] = {}

    def products(self, expression: sympy.Expr) -> list[Product]:
        """Return a sum of products of functions of separate tokens.

        Raises
        ------
        NoClosedForm
            If a part is outside the families; the message names it.
        InputError
            If the expression is too large.
        """
        if expression.is_Add:
            found = [product for term in expression.args for product in self.products(term)]
        elif expression.is_Mul:
            found = self._product(expression.args)
        else:
            found = [(self.function(expression),)]
        alone = self.functions.add([product[0] for product in found if len(product) == 1])
        kept = [product for product in found if len(product) > 1]
        if len(kept) > MAX_PRODUCTS:
            raise InputError(f"the target has more than {MAX_PRODUCTS} products; simplify it")
        return [*kept, (alone,)] if alone else kept

    def function(self, expression: sympy.Expr) -> Function:
        """Return an expression in its normal form, multiplied out.

        Raises
        ------
        NoClosedForm
            If a part is outside the families; the message names it.
        InputError
            If the expression is too large.
        """
        if expression not in self._read:
            self._read[expression] = self._function(expression)
        return self._read[expression]

    def _product(self, factors: Sequence[sympy.Expr]) -> list[Product]:
        groups = by_shared_symbols(factors)
        sums = [
            self.products(group[0])
            if len(group) == 1 and not group[0].is_Mul
            else [(self._multiplied(group),)]
            for group in groups
        ]
        if math.prod(map(len, sums)) > MAX_PRODUCTS:
            raise InputError(f"the target has more than {MAX_PRODUCTS} products; simplify it")
        found = []
        for choice in itertools.product(*sums):
            parts = [part for product in choice for part in product]
            if math.prod(map(len, parts)) <= _MULTIPLIED:
                found.append((self._function_product(parts),))
            else:
                found.append(tuple(parts))
        return found

    def _multiplied(self, factors: Sequence[sympy.Expr]) -> Function:
        return self._function_product([self.function(factor) for factor in factors])

    def _function_product(self, parts: Sequence[Function]) -> Function:
        total = self.functions.constant(rational(1))
        for part in parts:
            total = self.functions.multiply(total, part)
        return total

    def _function(self, expression: sympy.Expr) -> Function:
        if expression.is_Rational:
            return self.functions.constant(rational(int(expression.p), int(expression.q)))
        if expression.is_Symbol:
            return self._symbol(expression)
        if expression is sympy.pi:
            return self.functions.constant(self.field.pi_power(2))
        if expression is sympy.E:
            return self.functions.constant(self.field.exp(rational(1)))
        if expression.is_Add:
            return self.functions.add([self.function(term) for term in expression.args])
        if expression.is_Mul:
            return self._multiplied(expression.args)
        if expression.is_Pow:
            return self._power(expression)
        for kind, rule in _RULES.items():
            if isinstance(expression, kind):
                return rule(self, expression)
        return self._opaque(expression)

    def _symbol(self, symbol: sympy.Symbol) -> Function:
        if symbol not in self.positions:
            raise NoClosedForm(
                f"parameter {describe(symbol)} has no value; give it (--param {symbol}=2)"
            )
        return self.functions.token(self.positions[symbol])

    def _power(self, power: sympy.Pow) -> Function:
        base, exponent = power.args
        if exponent.is_Integer and exponent >= 0:
            return self.functions.power(self.function(base), int(exponent))
        if not exponent.is_Rational:
            raise _refusal(power)
        inside = self.function(base)
        if len(inside) == 1 and exponent.is_Integer:
            ((term, value),) = inside.items()
            if term == UNIT._replace(exponent=term.exponent):
                # The inverse of c exp(a.z) is exp(-a.z)/c.
                form = tuple((t, _negative(c)) for t, c in term.exponent)
                inverse = {term._replace(exponent=form): self.field.inverse(value)}
                return self.functions.power(inverse, -int(exponent))
        if set(inside) != {UNIT} or exponent.is_Integer:
            raise _refusal(power)
        return self.functions.constant(self.field.fractional_power(inside[UNIT], exponent))

    def _hermite(self, expression: sympy.Expr) -> Function:
        order, argument = expression.args
        if not order.is_Integer or order > MAX_DEGREE:
            raise NoClosedForm(f"the order {order} of He is not a whole number to {MAX_DEGREE}")
        x, before, now = self.function(argument), {}, self.functions.constant(rational(1))
        for n in range(int(order)):
            longer = self.functions.multiply(x, now)
            before, now = (
                now,
                self.functions.subtract(longer, self.functions.scale(before, rational(n))),
            )
        return now

    def _exponential(self, expression: sympy.Expr) -> Function:
        """Read exp, cosh and sinh, sin and cos as sums of exponentials."""
        kind = type(expression)
        imaginary = kind in (sympy.sin, sympy.cos)

        def image(x: Function) -> Function:
            affine = self.functions.affine(x)
            if affine is None:
                raise _refusal(expression)
            plus = self.functions.exponential(affine, imaginary)
            if kind is sympy.exp:
                return plus
            negative = self.functions.affine(self.functions.scale(x, rational(-1)))
            minus = self.functions.exponential(negative, imaginary)
            half = rational(1, 2)
            if kind in (sympy.cos, sympy.cosh):
                return self.functions.scale(self.functions.add([plus, minus]), half)
            if imaginary:
                half = scale(self.field.imaginary(half), -1)
            return self.functions.scale(self.functions.subtract(plus, minus), half)

        x = self.function(expression.args[0])
        if self.functions.affine(x) is not None:
            return image(x)
        try:
            return map_pieces(self.functions, x, image)
        except NoClosedForm as error:
            raise _refusal(expression) from error

    def _erf(self, expression: sympy.Expr) -> Function:
        def image(x: Function) -> Function:
            affine = self.functions.affine(x)
            if affine is None:
                raise _refusal(expression)
            return self.functions.erf(affine)

        return image(self.function(expression.args[0]))

    def _absolute(self, expression: sympy.Expr) -> Function:
        return self._absolute_value(expression.args[0], expression)

    def _relu(self, expression: sympy.Expr) -> Function:
        (argument,) = expression.args
        both = [self.function(argument), self._absolute_value(argument, expression)]
        return self.functions.scale(self.functions.add(both), rational(1, 2))

    def _sign_call(self, expression: sympy.Expr) -> Function:
        return self._sign(expression.args[0], expression)

    def _heaviside(self, expression: sympy.Expr) -> Function:
        one = self.functions.constant(rational(1))
        both = self.functions.add([one, self._sign(expression.args[0], expression)])
        return self.functions.scale(both, rational(1, 2))

    def _extremum(self, expression: sympy.Expr) -> Function:
        is_max = isinstance(expression, sympy.Max)
        arguments = sorted(map(self.function, expression.args), key=len)
        total = arguments[0]
        for argument in arguments[1:]:
            difference = self.functions.subtract(total, argument)
            distance = self._named(absolute_function, difference, expression)
            distance = self.functions.scale(distance, rational(1 if is_max else -1))
            both = self.functions.add([total, argument, distance])
            total = self.functions.scale(both, rational(1, 2))
        return total

    def _sigmoid(self, expression: sympy.Expr) -> Function:
        """Read sigmoid(x) as (1 + tanh(x/2))/2, of which tanh is odd."""
        half = self.functions.scale(self.function(expression.args[0]), rational(1, 2))
        tanh = self._kept("tanh", half, True, expression)
        both = self.functions.add([self.functions.constant(rational(1)), tanh])
        return self.functions.scale(both, rational(1, 2))

    def _opaque(self, expression: sympy.Expr) -> Function:
        if not expression.is_Function or len(expression.args) != 1:
            raise _refusal(expression)
        name, is_odd = type(expression).__name__, isinstance(expression, _ODD)
        return self._kept(name, self.function(expression.args[0]), is_odd, expression)

    def _kept(self, name: str, argument: Function, is_odd: bool, whole: sympy.Expr) -> Function:
        """Keep a function without closed form: it may cancel."""
        sign = 1
        if is_odd and argument:
            first = min(argument)
            sign = 1 if min(argument[first].items())[1] > 0 else -1
            argument = self.functions.scale(argument, rational(sign))
        opaque = self.functions.opaque(name, argument, describe(whole))
        return self.functions.scale(opaque, rational(sign))

    def _sign(self, argument: sympy.Expr, whole: sympy.Expr) -> Function:
        """Return the sign of an expression, factor by factor; `whole` is named if it has none."""
        if argument.is_Mul:
            return self._function_product([self._sign(x, whole) for x in argument.args])
        if isinstance(argument, sympy.exp | sympy.cosh | sigmoid):
            return self.functions.constant(rational(1))
        if isinstance(argument, _SIGN_OF_ARGUMENT):
            return self._sign(argument.args[0], whole)
        if isinstance(argument, sympy.Abs):
            return self.functions.power(self._sign(argument.args[0], whole), 2)
        if argument.is_Pow and argument.exp.is_Integer and argument.base.free_symbols:
            sign = self._sign(argument.base, whole)
            return self.functions.power(sign, 2 - int(argument.exp) % 2)
        if argument.is_Add and (factored := _factored(argument)) is not None:
            return self._sign(factored, whole)
        return self._named(sign_function, self.function(argument), whole)

    def _absolute_value(self, argument: sympy.Expr, whole: sympy.Expr) -> Function:
        """Return the absolute value of an expression, factor by factor."""
        if argument.is_Mul:
            return self._function_product([self._absolute_value(x, whole) for x in argument.args])
        if argument.is_Pow and argument.exp.is_Integer and argument.exp > 0:
            return self.functions.power(
                self._absolute_value(argument.base, whole), int(argument.exp)
            )
        if argument.is_Add and (factored := _factored(argument)) is not None:
            return self._absolute_value(factored, whole)
        if argument.is_Function:
            return self.functions.multiply(self.function(argument), self._sign(argument, whole))
        return self._named(absolute_function, self.function(argument), whole)

    def _named(
        self,
        build: Callable[[Functions, Function], Function],
        argument: Function,
        whole: sympy.Expr,
    ) -> Function:
        try:
            return build(self.functions, argument)
        except NoClosedForm as error:
            raise NoClosedForm(f"{describe(whole)} has no closed form here: {error}") from error


_RULES: dict[type | tuple[type, ...], Callable[[Reader, sympy.Expr], Function]] = {
    He: Reader._hermite,
    (sympy.exp, sympy.sin, sympy.cos, sympy.sinh, sympy.cosh): Reader._exponential,
    sympy.erf: Reader._erf,
    sympy.Abs: Reader._absolute,
    relu: Reader._relu,
    sympy.sign: Reader._sign_call,
    sympy.Heaviside: Reader._heaviside,
    (sympy.Max, sympy.Min): Reader._extremum,
    sigmoid: Reader._sigmoid,
}


def _factored(expression: sympy.Expr) -> sympy.Expr | None:
    """Return a small rational polynomial in several tokens as a product, if it is one."""
    symbols = expression.free_symbols
    if not 2 <= len(symbols) <= 3 or len(expression.args) > _MAX_FACTORED_TERMS:
        return None
    factors = [f for term in expression.args for f in sympy.Mul.make_args(term)]
    if not all(map(_is_small_factor, factors)):
        return None
    if all(factor.is_Rational or factor.is_Symbol for factor in factors) and all(
        len(term.free_symbols) < 2 for term in expression.args
    ):
        return None
    factored = sympy.factor(expression)
    return factored if factored.is_Mul or factored.is_Pow else None


def _is_small_factor(factor: sympy.Expr) -> bool:
    if factor.is_Rational:
        return max(abs(factor.p), factor.q) < _MAX_FACTORED_NUMBER
    base, exponent = factor.as_base_exp()
    is_whole = exponent.is_Integer and 0 < exponent <= _MAX_FACTORED_DEGREE
    return bool(base.is_Symbol and is_whole)


def _negative(frozen: tuple) -> tuple:
    return tuple((key, -value) for key, value in frozen)


def _refusal(expression: sympy.Expr) -> NoClosedForm:
    return NoClosedForm(f"{describe(expression)} has no closed form here")
