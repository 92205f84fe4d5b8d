"""SymPy expressions to source text that both NumPy arrays and numba scalars can run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import sympy

from ssiode.errors import InputError
from ssiode.expression import array_functions
from ssiode.expression.functions import He, relu, sigmoid

_CALLS: dict[type[sympy.Expr], str] = {
    sympy.exp: "exp",
    sympy.log: "log",
    sympy.sin: "sin",
    sympy.cos: "cos",
    sympy.tan: "tan",
    sympy.sinh: "sinh",
    sympy.cosh: "cosh",
    sympy.tanh: "tanh",
    sympy.erf: "erf",
    sympy.sign: "sign",
    sympy.Abs: "absolute",
    sympy.Heaviside: "heaviside",
    sigmoid: "sigmoid",
    relu: "relu",
    He: "hermite",
}
# Python reads at most 200 nested parentheses; what lies deeper gets a line of its own.
_DEEPEST = 100
_FOLDS: dict[type[sympy.Expr], str] = {sympy.Max: "maximum", sympy.Min: "minimum"}


def array_function(
    expressions: Sequence[sympy.Expr], symbols: Sequence[sympy.Symbol]
) -> Callable[[np.ndarray], np.ndarray]:
    """Compile expressions to a NumPy function from shape (..., n_symbols) to (..., k).

    Raises
    ------
    InputError
        If an expression contains a function or symbol that has no numerical meaning here.

    Examples
    --------
    >>> x = sympy.Symbol("x", real=True)
    >>> array_function([x**2 - 1], [x])(np.array([[3.0]])).tolist()
    [[8.0]]
    """
    lines, results = _statements(expressions, symbols, "z[..., {}]", _literal)
    body = [*lines, f"return stack_last(z, ({', '.join(results)},))"]
    source = "def function(z):\n" + "".join(f"    {line}\n" for line in body)
    namespace = {name: getattr(array_functions, name) for name in array_functions.__all__}
    exec(source, namespace)  # the text was printed above from whitelisted nodes only
    return namespace["function"]


def kernel_function(
    name: str, expressions: Sequence[sympy.Expr], symbols: Sequence[sympy.Symbol]
) -> str:
    """Source of a numba function ``name(z, out)`` on 1-D arrays that writes k values to `out`.

    >>> x = sympy.Symbol("x", real=True)
    >>> print(kernel_function("f", [x**2 - 1], [x]))
    @njit(error_model="numpy")
    def f(z, out):
        s0 = z[0]
        out[0] = ((-1.0) + (s0 * s0))
    <BLANKLINE>
    """
    return _kernel(f"{name}(z, out)", _statements(expressions, symbols, "z[{}]", _literal))


def parametric_kernel_function(
    name: str, expressions: Sequence[sympy.Expr], symbols: Sequence[sympy.Symbol]
) -> tuple[str, list[float]]:
    """Source of a numba function ``name(z, numbers, out)``, and its numbers.

    Expressions that differ only in numbers that are not whole share one source, so that a family
    of them is compiled once. Exponents stay in the source.

    >>> x = sympy.Symbol("x", real=True)
    >>> source, numbers = parametric_kernel_function("f", [0.3 * x**2 + 0.7], [x])
    >>> source == parametric_kernel_function("f", [0.4 * x**2 + 0.6], [x])[0], numbers
    (True, [0.7, 0.3])
    """
    numbers: list[float] = []

    def listed(value: float) -> str:
        if value.is_integer():
            return _literal(value)
        numbers.append(value)
        return f"numbers[{len(numbers) - 1}]"

    source = _kernel(f"{name}(z, numbers, out)", _statements(expressions, symbols, "z[{}]", listed))
    return source, numbers


def _kernel(signature: str, statements: tuple[list[str], list[str]]) -> str:
    lines, results = statements
    body = [*lines, *(f"out[{i}] = {result}" for i, result in enumerate(results))]
    text = "".join(f"    {line}\n" for line in body)
    return f'@njit(error_model="numpy")\ndef {signature}:\n{text}'


def _statements(
    expressions: Sequence[sympy.Expr],
    symbols: Sequence[sympy.Symbol],
    unpack: str,
    number: Callable[[float], str],
) -> tuple[list[str], list[str]]:
    """Assignments with common parts taken out, and the text of each result."""
    names = {symbol: f"s{i}" for i, symbol in enumerate(symbols)}
    used = set().union(*(expression.free_symbols for expression in expressions))
    for stranger in sorted(used - set(names), key=str):
        raise InputError(f"{stranger} has no value; give it, for example --param {stranger}=2")
    temporaries = (sympy.Symbol(f"t{i}", real=True) for i in range(10**9))
    shared, reduced = sympy.cse(list(expressions), symbols=temporaries, order="canonical")
    lines = [
        f"{names[symbol]} = {unpack.format(i)}"
        for i, symbol in enumerate(symbols)
        if symbol in used
    ]

    def assign(text: str, temporary: sympy.Symbol) -> str:
        lines.append(f"{temporary} = {text}")
        return str(temporary)

    def shallow(text: str) -> str:
        return text if _nesting(text) < _DEEPEST else assign(text, next(temporaries))

    printer = _Printer(names, shallow, number)
    for temporary, expression in shared:
        names[temporary] = assign(printer.text(expression), temporary)
    return lines, [printer.text(expression) for expression in reduced]


def _nesting(text: str) -> int:
    """Depth of the parentheses."""
    return max(accumulate((c == "(") - (c == ")") for c in text))


@dataclass(frozen=True)
class _Printer:
    """Text of expressions.

    Attributes
    ----------
    names : dict
        Of the symbols; it grows while statements are printed.
    shallow : callable
        Gives text that is nested too deeply a line of its own.
    number : callable
        Text of a number that is no exponent.
    """

    names: dict[sympy.Symbol, str]
    shallow: Callable[[str], str]
    number: Callable[[float], str]

    def text(self, expression: sympy.Expr) -> str:
        """Text of an expression."""
        if expression.is_Symbol:
            return self.names[expression]
        if not expression.free_symbols:
            return self.number(_value(expression))
        if expression.is_Add:
            return _chain("+", list(map(self._part, expression.args)))
        if expression.is_Mul:
            return _chain("*", list(map(self._part, expression.args)))
        if expression.is_Pow:
            return self._power(expression)
        if type(expression) in _FOLDS:
            first, *rest = map(self._part, expression.args)
            for argument in rest:
                first = f"{_FOLDS[type(expression)]}({first}, {argument})"
            return first
        if type(expression) is He:
            order, argument = expression.args
            return f"hermite({int(order)}, {self._part(argument)})"
        if type(expression) in _CALLS:
            arguments = ", ".join(map(self._part, expression.args))
            return f"{_CALLS[type(expression)]}({arguments})"
        raise InputError(f"{type(expression).__name__} has no numerical form here: {expression}")

    def _part(self, expression: sympy.Expr) -> str:
        return self.shallow(self.text(expression))

    def _power(self, expression: sympy.Expr) -> str:
        base, exponent = self._part(expression.base), expression.exp
        if exponent == 2:
            return f"({base} * {base})" if base.isidentifier() else f"square({base})"
        if exponent.is_Integer:
            power = f"({base}**{abs(int(exponent))})"
            return power if exponent > 0 else f"(1.0 / {power})"
        if exponent == sympy.Rational(1, 2):
            return f"sqrt({base})"
        if exponent == -sympy.Rational(1, 2):
            return f"(1.0 / sqrt({base}))"
        if not exponent.free_symbols:
            return f"({base}**{_literal(_value(exponent))})"
        return f"({base}**{self._part(exponent)})"


def _chain(operator: str, terms: list[str]) -> str:
    """Join terms as a balanced tree: Python cannot compile a chain of thousands."""
    while len(terms) > 1:
        pairs = [terms[i : i + 2] for i in range(0, len(terms), 2)]
        terms = [f"({f' {operator} '.join(pair)})" if pair[1:] else pair[0] for pair in pairs]
    return terms[0]


def _value(expression: sympy.Expr) -> float:
    value = sympy.N(expression, 25)
    if not (value.is_Float or value.is_Rational) or not np.isfinite(float(value)):
        raise InputError(f"{expression} is not a finite real number")
    return float(value)


def _literal(value: float) -> str:
    return f"({value!r})" if value < 0 else repr(value)
