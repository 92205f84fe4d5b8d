"""Tree of an expression -> SymPy, with every costly step bounded before it is taken.

Numbers stay exact. Next to each constant its size as a float is kept, so that a constant out of
range or out of a function's domain is refused before SymPy meets it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import sympy
from sympy import Add, Mul, Pow

from ssiode.errors import InputError
from ssiode.expression import names, syntax
from ssiode.expression.functions import He, hermite_powers
from ssiode.expression.limits import (
    MAX_DECIMAL_EXPONENT,
    MAX_EXPONENT,
    MAX_HERMITE_ORDER,
    MAX_NODES,
    check_power_size,
    check_size,
    checked_float,
    checked_rational,
    shorten,
)

_WIDE = 50
_CONSTANT_COST = 50
_FORBIDDEN = (sympy.zoo, sympy.oo, -sympy.oo, sympy.nan, sympy.I, sympy.AccumBounds)


class Value(NamedTuple):
    """An exact expression, and its size if it is a constant."""

    expression: sympy.Expr
    number: float | None


def constant(expression: sympy.Expr, number: float) -> Value:
    """Return a constant whose size is checked; `number` serves when it is not rational.

    Raises
    ------
    InputError
        If the constant is out of range.

    Examples
    --------
    >>> constant(sympy.Rational(1, 4), 0.0)
    Value(expression=1/4, number=0.25)
    """
    if expression.is_Rational:
        return Value(checked_rational(expression), float(expression))
    return Value(expression, checked_float(number, "a constant in the expression"))


_MINUS_ONE = Value(sympy.S.NegativeOne, -1.0)


class Builder:
    """Builds the outputs of one expression.

    Parameters
    ----------
    length : int or None
        L, if it is known.
    parameters : mapping of str to Value
        Values of the parameters.
    """

    def __init__(self, length: int | None, parameters: Mapping[str, Value]) -> None:
        self.length = length
        self.parameters = parameters
        self.used: set[str] = set()
        self._work = 0
        self._constants: dict[int, Value] = {}
        self._running: Value | None = None

    def output(self, node: syntax.Node) -> sympy.Expr:
        """Return the expression of one output, as :meth:`value` does."""
        return self.value(node).expression

    def value(self, node: syntax.Node) -> Value:
        """Return the expression of one output, and its size if it is a constant.

        Raises
        ------
        InputError
            If a limit is passed, a name is unknown or the result is not real and finite.
        """
        try:
            value = self._build(node)
        except InputError:
            raise
        except (ArithmeticError, ValueError, TypeError, RecursionError, MemoryError) as error:
            raise InputError(
                "the expression cannot be evaluated; simplify its constants "
                f"({type(error).__name__})"
            ) from error
        if value.expression.has(*_FORBIDDEN):
            raise InputError(
                "the expression is not real and finite; it divides by 0 or leaves the reals"
            )
        return value

    def _build(self, node: syntax.Node) -> Value:
        self._spend(1)
        if isinstance(node, syntax.Call | syntax.Power):
            return self._remembered(node)
        return _BUILDERS[type(node)](self, node)

    def _remembered(self, node: syntax.Call | syntax.Power) -> Value:
        """Build a call or a power, once if it is a constant: SymPy spends long on those."""
        if id(node) in self._constants:
            return self._constants[id(node)]
        value = _BUILDERS[type(node)](self, node)
        if value.number is not None:
            self._constants[id(node)] = value
            self._spend(1 if value.expression.is_Rational else _CONSTANT_COST)
        return value

    def _spend(self, amount: int) -> None:
        self._work += amount
        if self._work > MAX_NODES:
            raise InputError(
                f"the expression is too large: more than {MAX_NODES} operations once "
                "sum, mean and prod are written out"
            )

    def _number(self, node: syntax.Number) -> Value:
        return constant(_decimal(node.text), 0.0)

    def _name(self, node: syntax.Name) -> Value:
        name = node.name
        if name == names.PI:
            return Value(sympy.pi, math.pi)
        if name == names.LENGTH:
            return constant(sympy.Integer(self._known_length(name)), 0.0)
        if name == names.RUNNING_TOKEN:
            if self._running is None:
                raise InputError(
                    "'z' is the running token of sum, mean and prod; write z1, z2, ..."
                )
            return self._running
        if (index := names.token_index(name)) is not None:
            return Value(names.token_symbols(self._known_length(name))[index - 1], None)
        if name in self.parameters:
            self.used.add(name)
            return self.parameters[name]
        return Value(names.parameter_symbol(names.check_parameter_name(name)), None)

    def _known_length(self, name: str) -> int:
        if self.length is None:
            raise InputError(
                f"{name!r} needs the number of tokens and no z1, z2, ... gives it; "
                "give the length (--length)"
            )
        return self.length

    def _sum(self, node: syntax.Sum) -> Value:
        values = [(sign, self._build(term)) for sign, term in node.terms]
        return self._add(values)

    def _add(self, values: list[tuple[int, Value]]) -> Value:
        coefficients: dict[sympy.Expr, sympy.Expr] = {}
        for sign, value in values:
            parts = Add.make_args(value.expression)
            self._spend(len(parts))
            for part in parts:
                coefficient, rest = part.as_coeff_Mul(rational=True)
                # Sums one by one, so that no denominator grows past the limit unseen.
                signed = coefficient if sign == 1 else -coefficient
                before = coefficients.get(rest)
                coefficients[rest] = signed if before is None else checked_rational(before + signed)
        expression = Add(*[r if c == 1 else Mul(c, r) for r, c in coefficients.items()])
        sizes = [value.number for _, value in values]
        if None in sizes:
            return Value(check_size(expression), None)
        return constant(expression, math.fsum(s * v.number for s, v in values))

    def _product(self, node: syntax.Product) -> Value:
        factors = []
        for divides, factor in node.factors:
            value = self._build(factor)
            factors.append(_power(value, _MINUS_ONE) if divides else value)
        return self._multiply(factors)

    def _multiply(self, values: list[Value]) -> Value:
        coefficient, rests, number = sympy.S.One, [], 1.0
        for value in values:
            part, rest = value.expression.as_coeff_Mul(rational=True)
            if part is not sympy.S.One:
                coefficient = checked_rational(coefficient * part)
            if rest is not sympy.S.One:
                rests.append(rest)
            if number is not None:
                number = None if value.number is None else number * value.number
        expression = Mul(coefficient, *rests)
        self._spend(len(Add.make_args(expression)))
        if number is None:
            return Value(check_size(expression), None)
        return constant(expression, number)

    def _raise(self, node: syntax.Power) -> Value:
        return _power(self._build(node.base), self._build(node.exponent))

    def _call(self, node: syntax.Call) -> Value:
        if node.name in names.OVER_TOKENS:
            _check_arity(node, 1)
            return self._over_tokens(node.name, node.arguments[0])
        order = names.hermite_order(node.name)
        entry = names.FUNCTIONS.get(node.name)
        if entry is None and order is None:
            raise names.unknown_function(node.name)
        _check_arity(node, 1 if entry is None else entry.most_arguments)
        arguments = [self._build(argument) for argument in node.arguments]
        if entry is None:
            return _hermite(order, arguments[0])
        return _function(node.name, entry, arguments)

    def _over_tokens(self, name: str, body: syntax.Node) -> Value:
        length = self._known_length(name)
        outer, copies = self._running, []
        for token in names.token_symbols(length):
            self._running = Value(token, None)
            copies.append(self._build(body))
        self._running = outer
        if name == "prod":
            return self._multiply(copies)
        total = self._add([(1, copy) for copy in copies])
        if name == "sum":
            return total
        return self._multiply([constant(sympy.Rational(1, length), 0.0), total])


_BUILDERS: dict[type, Callable[[Builder, syntax.Node], Value]] = {
    syntax.Number: Builder._number,
    syntax.Name: Builder._name,
    syntax.Sum: Builder._sum,
    syntax.Product: Builder._product,
    syntax.Power: Builder._raise,
    syntax.Call: Builder._call,
}


def _decimal(text: str) -> sympy.Rational:
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    shift = exponent.lstrip("+-").lstrip("0")
    most = 4 * MAX_DECIMAL_EXPONENT
    if len(digits) > most or len(fraction) > most or len(shift) > 4 or int(shift or 0) > most:
        raise InputError(
            f"the number {shorten(text)} is out of range; write at most {most} digits and "
            f"exponents up to {MAX_DECIMAL_EXPONENT}"
        )
    power = int(shift or 0) * (-1 if exponent.startswith("-") else 1) - len(fraction)
    value = sympy.Rational(int(digits or 0)) * sympy.Integer(10) ** power
    return checked_rational(value, f"the number {shorten(text)}")


def _check_arity(node: syntax.Call, most: int | None) -> None:
    given = len(node.arguments)
    if given < 1 or (most is not None and given > most):
        wanted = "one argument" if most == 1 else "one argument or more"
        raise InputError(f"{node.name} takes {wanted}; {given} were given")


def _power(base: Value, exponent: Value) -> Value:
    if exponent.number is None:
        return _exponential(base, exponent)
    if (base.number == 0 or base.expression is sympy.S.Zero) and exponent.number < 0:
        raise InputError("division by zero in the expression")
    power = exponent.expression
    if power is sympy.S.NegativeOne and base.expression.is_Rational:
        return constant(1 / base.expression, 0.0)
    if abs(exponent.number) > MAX_EXPONENT and base.number is None:
        raise InputError(
            f"the exponent {exponent.number:g} is out of range; exponents lie between "
            f"-{MAX_EXPONENT} and {MAX_EXPONENT}"
        )
    if power.is_Rational:
        check_power_size(base.expression, power)
    if base.number is None:
        return Value(check_size(Pow(base.expression, power)), None)
    number = _evaluate("a power", math.pow, base.number, exponent.number)
    if base.number and not number:
        raise InputError("a power in the expression is closer to 0 than 1e-300")
    checked_float(number, "a power in the expression")
    return constant(Pow(base.expression, power), number)


def _exponential(base: Value, exponent: Value) -> Value:
    if base.number is None or base.number <= 0:
        raise InputError(
            "an exponent with tokens or parameters needs a positive number as base; "
            "give the parameters of an exponent a value (--param b=2)"
        )
    for term in Add.make_args(exponent.expression):
        coefficient = term.as_coeff_Mul(rational=True)[0]
        check_power_size(base.expression, coefficient)
        _check_exponent(coefficient)
    return Value(check_size(Pow(base.expression, exponent.expression)), None)


def _check_exponent(coefficient: sympy.Rational) -> None:
    if abs(coefficient) > MAX_EXPONENT:
        raise InputError(
            f"a coefficient in an exponent is larger than {MAX_EXPONENT}; rescale the expression"
        )


def _hermite(order: int, argument: Value) -> Value:
    if order > MAX_HERMITE_ORDER:
        raise InputError(f"He{order} is out of range; orders go up to {MAX_HERMITE_ORDER}")
    x = argument.expression
    if argument.number is None:
        return Value(He(order, x), None)
    size = _evaluate(f"He{order}", names.hermite_value, order, argument.number)
    if not x.is_Rational:
        return constant(He(order, x), size)
    check_power_size(x, sympy.Integer(order))
    powers = hermite_powers(order).items()
    return constant(Add(*[c * x**power for power, c in powers]), size)


def _function(name: str, entry: names.FunctionEntry, arguments: list[Value]) -> Value:
    expressions = [argument.expression for argument in arguments]
    sizes = [argument.number for argument in arguments]
    if None not in sizes:
        number = _evaluate(name, entry.numeric, *sizes)
        return constant(entry.symbolic(*expressions), number)
    if name == "exp":
        _check_logarithms(expressions[0])
    # Comparing the arguments of Max and Min pair by pair, or looking for signs and multiples of
    # pi in a long sum, costs SymPy seconds and gains nothing.
    is_wide = any(len(Add.make_args(expression)) > _WIDE for expression in expressions)
    if name in ("min", "max"):
        distinct = set(expressions)
        return Value(
            entry.symbolic(*distinct, evaluate=False) if len(distinct) > 1 else distinct.pop(), None
        )
    if is_wide and name != "sqrt":
        return Value(entry.symbolic(*expressions, evaluate=False), None)
    if name == "sqrt":
        check_power_size(expressions[0], sympy.S.One)
    return Value(check_size(entry.symbolic(*expressions)), None)


def _check_logarithms(exponent: sympy.Expr) -> None:
    """Bound exp(n log(x)), which SymPy turns into x**n."""
    for term in Add.make_args(exponent):
        coefficient, rest = term.as_coeff_Mul(rational=True)
        for logarithm in (f for f in Mul.make_args(rest) if isinstance(f, sympy.log)):
            _check_exponent(coefficient)
            check_power_size(logarithm.args[0], coefficient)


def _evaluate(what: str, function: Callable[..., float], *arguments: float) -> float:
    try:
        value = function(*arguments)
    except OverflowError:
        value = math.inf
    except (ValueError, ZeroDivisionError) as error:
        shown = ", ".join(f"{argument:g}" for argument in arguments)
        raise InputError(f"{what} is not a real number at ({shown})") from error
    return checked_float(value, f"{what} in the expression") if value else value
