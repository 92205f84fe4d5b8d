"""Values of expressions to any number of digits, by mpmath."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import mpmath
import sympy
from mpmath import mp

from ssiode.errors import InputError
from ssiode.expression.functions import He, relu, sigmoid

# Past this size of an exponent nothing can be integrable, and its exponential has no end.
_MAX_EXPONENT = 10**13


class TooFastError(ArithmeticError):
    """A value is too large even for mpmath."""


class PreciseFunction:
    """An expression as a function of mpmath numbers, at mpmath's working precision.

    Parameters
    ----------
    expression : sympy.Expr
        The expression.
    symbols : sequence of sympy.Symbol
        Its variables, in the order of the arguments.

    Examples
    --------
    >>> x = sympy.Symbol("x", real=True)
    >>> with mp.workdps(30):
    ...     print(PreciseFunction(sigmoid(x) + sympy.Rational(1, 3), [x])(mp.mpf(0)))
    0.833333333333333333333333333333
    """

    def __init__(self, expression: sympy.Expr, symbols: Sequence[sympy.Symbol]) -> None:
        self._symbols = {symbol: index for index, symbol in enumerate(symbols)}
        self._steps: list[tuple[Callable[..., Any], tuple[int, ...]]] = []
        self._constants: dict[int, sympy.Expr] = {}
        self._rounded: tuple[int, dict[int, Any]] = (0, {})
        self._places: dict[sympy.Expr, int] = {}
        try:
            self._last = self._compile(expression)
        except RecursionError as error:
            raise InputError("the target is nested too deeply; simplify it") from error

    def __call__(self, *values: Any) -> Any:
        """Return the value.

        Raises
        ------
        InputError
            If it is not real.
        TooFastError
            If it is beyond the range of numbers.
        """
        if self._rounded[0] != mp.prec:
            rounded = {place: _number(node) for place, node in self._constants.items()}
            self._rounded = (mp.prec, rounded)
        results: list[Any] = []
        for place, (operation, arguments) in enumerate(self._steps):
            if operation is _constant:
                result = self._rounded[1][place]
            elif operation is _variable:
                result = values[arguments[0]]
            else:
                result = operation(*[results[argument] for argument in arguments])
                if isinstance(result, mpmath.mpc):
                    raise InputError("the target is not a real number everywhere")
            results.append(result)
        return results[self._last]

    def _compile(self, node: sympy.Expr) -> int:
        if node not in self._places:
            operation, children = self._operation(node)
            arguments = tuple(
                child if operation is _variable else self._compile(child) for child in children
            )
            if operation is _constant:
                self._constants[len(self._steps)] = node
            self._steps.append((operation, arguments))
            self._places[node] = len(self._steps) - 1
        return self._places[node]

    def _operation(self, node: sympy.Expr) -> tuple[Callable[..., Any], Sequence[Any]]:
        if node in self._symbols:
            return _variable, (self._symbols[node],)
        if not node.free_symbols:
            return _constant, ()
        if isinstance(node, He):
            return partial(_hermite, int(node.args[0])), node.args[1:]
        if node.is_Pow and node.exp.is_Integer:
            return partial(_whole_power, int(node.exp)), (node.base,)
        if type(node) in _OPERATIONS:
            return _OPERATIONS[type(node)], node.args
        raise InputError(f"{type(node).__name__} has no numerical form here")


def _constant() -> None: ...


def _variable() -> None: ...


def _number(node: sympy.Expr) -> Any:
    value = node.evalf(mp.dps + 8)
    if not value.is_Float and not value.is_Rational:
        raise InputError("a constant of the target is not a finite real number")
    return value._to_mpmath(mp.prec)


def _exponential(x: Any) -> Any:
    if x > _MAX_EXPONENT:
        raise TooFastError
    return mp.zero if x < -_MAX_EXPONENT else mp.exp(x)


def _bounded(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def checked(x: Any) -> Any:
        if abs(x) > _MAX_EXPONENT:
            raise TooFastError
        return function(x)

    return checked


def _saturating(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    # Far out these are 1 to all digits, and mpmath would spend long on finding out.
    return lambda x: function(x) if abs(x) < 10**6 else mp.sign(x)


def _whole_power(exponent: int, base: Any) -> Any:
    if not base and exponent < 0:
        raise ZeroDivisionError
    return base**exponent


def _power(base: Any, exponent: Any) -> Any:
    if exponent * mp.log(abs(base) if base else 1) > _MAX_EXPONENT:
        raise TooFastError
    return mp.power(base, exponent)


def _hermite(order: int, x: Any) -> Any:
    previous, current = mp.zero, mp.one
    for n in range(order):
        previous, current = current, x * current - n * previous
    return current


def _logistic(x: Any) -> Any:
    small = _exponential(-abs(x))
    return 1 / (1 + small) if x >= 0 else small / (1 + small)


def _heaviside(x: Any, at_zero: Any) -> Any:
    return at_zero if not x else mp.mpf(x > 0)


_OPERATIONS: dict[type, Callable[..., Any]] = {
    sympy.Add: lambda *x: mp.fsum(x),
    sympy.Mul: lambda *x: mp.fprod(x),
    sympy.Pow: _power,
    sympy.exp: _exponential,
    sympy.log: mp.log,
    sympy.sin: _bounded(mp.sin),
    sympy.cos: _bounded(mp.cos),
    sympy.tan: _bounded(mp.tan),
    sympy.sinh: _bounded(mp.sinh),
    sympy.cosh: _bounded(mp.cosh),
    sympy.tanh: _saturating(mp.tanh),
    sympy.erf: _saturating(mp.erf),
    sympy.Abs: abs,
    sympy.sign: mp.sign,
    sympy.Heaviside: _heaviside,
    sympy.Max: max,
    sympy.Min: min,
    sigmoid: _logistic,
    relu: lambda x: x if x > 0 else mp.zero,
}
