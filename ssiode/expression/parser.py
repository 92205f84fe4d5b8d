"""Text -> SymPy, safely: Python parses the text, a whitelist reads its tree, nothing runs it."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import sympy

from ssiode.errors import InputError, unknown_name
from ssiode.expression import names, syntax
from ssiode.expression.build import Builder, Value
from ssiode.expression.limits import MAX_BITS, MAX_LENGTH, checked_length, shorten

ParameterValue = str | int | float | numbers.Rational | sympy.Expr


@dataclass(frozen=True)
class ParsedExpression:
    """What a text says, as SymPy.

    Attributes
    ----------
    outputs : tuple of sympy.Expr
        One expression per output.
    length : int
        L, the number of tokens.
    tokens : tuple of sympy.Symbol
        z1, ..., zL.
    parameters : tuple of sympy.Symbol
        The free symbols that are not tokens, by name.
    """

    outputs: tuple[sympy.Expr, ...]
    length: int
    tokens: tuple[sympy.Symbol, ...]
    parameters: tuple[sympy.Symbol, ...]


def parse_expression(
    text: str,
    length: int | None = None,
    parameters: Mapping[str, ParameterValue] | None = None,
) -> ParsedExpression:
    """Read an expression, or a list of them, in the tokens z1, ..., zL.

    The grammar: numbers (decimals are exact), tokens, ``pi``, ``L``, parameters,
    ``+ - * / ^ **``, the functions ``He0, He1, ... sqrt exp log sin cos tan sinh cosh tanh erf
    sigmoid relu abs sign heaviside min max``, and ``sum mean prod`` over all tokens, with ``z``
    for the running token.

    Parameters
    ----------
    text : str
        At most 100,000 characters.
    length : int, optional
        L, 1 to 1000. If it is not given, the highest token that is used.
    parameters : mapping, optional
        Exact values of parameters: a whole number, a fraction, a float (read as its shortest
        decimal) or a text such as "1/3", "0.1" or "sqrt(2)".

    Returns
    -------
    ParsedExpression
        The outputs and the symbols in them.

    Raises
    ------
    InputError
        On anything outside the grammar, on unknown names, on constants that are not real and
        finite, and on sizes past the limits.

    Examples
    --------
    >>> parse_expression("sum(He2(z)) + b*z1^2", length=2, parameters={"b": "0.1"}).outputs
    (z1**2/10 + He2(z1) + He2(z2),)
    """
    trees = syntax.read(text)
    highest = max(_token_indices(trees), default=0)
    length = resolve_length(length, highest, any(map(_needs_length, _walk(trees))))
    values = {name: parameter_value(name, given) for name, given in (parameters or {}).items()}
    builder = Builder(length, values)
    outputs = tuple(builder.output(tree) for tree in trees)
    for name in values:
        if name not in builder.used:
            raise _unused(name, outputs)
    tokens = names.token_symbols(length)
    free = set().union(*[output.free_symbols for output in outputs]) - set(tokens)
    return ParsedExpression(outputs, length, tokens, tuple(sorted(free, key=str)))


def _walk(trees: tuple[syntax.Node, ...]) -> Iterator[syntax.Node]:
    pending = list(trees)
    while pending:
        node = pending.pop()
        yield node
        match node:
            case syntax.Sum():
                pending.extend(term for _, term in node.terms)
            case syntax.Product():
                pending.extend(factor for _, factor in node.factors)
            case syntax.Power():
                pending.extend((node.base, node.exponent))
            case syntax.Call():
                pending.extend(node.arguments)


def _token_indices(trees: tuple[syntax.Node, ...]) -> Iterator[int]:
    for node in _walk(trees):
        if isinstance(node, syntax.Name) and (index := names.token_index(node.name)):
            yield index


def _needs_length(node: syntax.Node) -> bool:
    if isinstance(node, syntax.Call):
        return node.name in names.OVER_TOKENS
    return isinstance(node, syntax.Name) and node.name in (names.LENGTH, names.RUNNING_TOKEN)


def resolve_length(length: int | None, highest: int, is_needed: bool = False) -> int:
    """Return the number of tokens from what was given and the highest token that is used.

    Raises
    ------
    InputError
        If they contradict each other, or the length is needed and unknown.

    Examples
    --------
    >>> resolve_length(None, 3), resolve_length(4, 3)
    (3, 4)
    """
    if length is not None:
        length = checked_length(length)
        if highest > length:
            raise InputError(
                f"z{highest} is used and the length is {length}; use z1 to z{length} or give "
                f"the length {highest} or more (--length)"
            )
        return length
    if highest > MAX_LENGTH:
        raise InputError(f"z{highest} is out of range; tokens go up to z{MAX_LENGTH}")
    if not highest and is_needed:
        raise InputError(
            "sum, mean, prod, z and L need the number of tokens; give the length (--length)"
        )
    return max(highest, 1)


def parameter_value(name: str, given: ParameterValue) -> Value:
    """Return the exact value of a parameter.

    Raises
    ------
    InputError
        If the name has a meaning already or the value is not one number.

    Examples
    --------
    >>> parameter_value("b", 0.1).expression
    1/10
    """
    if not isinstance(name, str) or not names.PARAMETER.fullmatch(name):
        raise InputError(f"parameter name {shorten(str(name))} is not made of letters, digits, '_'")
    if names.is_reserved(name):
        raise InputError(f"{shorten(name)} has a meaning already; give the parameter another name")
    try:
        trees = syntax.read(_as_text(given))
        is_named = any(isinstance(n, syntax.Name) and n.name != names.PI for n in _walk(trees))
        if len(trees) != 1 or is_named:
            raise InputError("it must be one number, as 2, 1/3, 0.1 or sqrt(2)")
        return Builder(None, {}).value(trees[0])
    except InputError as error:
        shown = shorten(given) if isinstance(given, str) else type(given).__name__
        if isinstance(given, float) or (isinstance(given, int) and abs(given) < 1e30):
            shown = repr(given)
        raise InputError(f"parameter {name} is {shown}: {error}") from error


def _as_text(given: ParameterValue) -> str:
    if isinstance(given, str):
        return given
    if isinstance(given, sympy.Expr) and not isinstance(given, sympy.Number):
        return str(given)
    if isinstance(given, bool):
        raise InputError("it must be a number")
    if isinstance(given, sympy.Rational | numbers.Rational):
        top, bottom = _fraction(given)
        if max(abs(top).bit_length(), bottom.bit_length()) > MAX_BITS:
            raise InputError("it has too many digits")
        return f"{top}/{bottom}"
    try:
        number = float(given)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError("it must be a finite number")
    return repr(number)


def _fraction(given: sympy.Rational | numbers.Rational) -> tuple[int, int]:
    if isinstance(given, sympy.Rational):
        return int(given.p), int(given.q)
    return int(given.numerator), int(given.denominator)


def _unused(name: str, outputs: tuple[sympy.Expr, ...]) -> InputError:
    symbols = {str(symbol) for output in outputs for symbol in output.free_symbols}
    free = {name for name in symbols if not names.is_reserved(name)}
    if free:
        return unknown_name("parameter", name, free)
    return InputError(f"parameter {shorten(name)} is given and the expression does not use it")
