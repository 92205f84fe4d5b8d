"""SymPy expressions of the user, in the symbols that stand for the tokens everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy

from ssiode.errors import InputError
from ssiode.expression import names
from ssiode.expression.functions import He
from ssiode.expression.parser import (
    ParameterValue,
    ParsedExpression,
    parameter_value,
    parse_expression,
    resolve_length,
)
from ssiode.expression.text import expression_text

# sqrt is a power and not a class.
_KNOWN = (He, *(e.symbolic for e in names.FUNCTIONS.values() if isinstance(e.symbolic, type)))


def read_definition(
    definition: Any,
    length: int | None = None,
    parameters: Mapping[str, ParameterValue] | None = None,
) -> ParsedExpression:
    """Read a target from text, from SymPy or from a list of these.

    Parameters
    ----------
    definition : str, sympy.Expr, or list of them
        One entry per output; a text of its own may hold a list of outputs.
    length, parameters : optional
        As in :func:`adopt_expressions`.

    Raises
    ------
    InputError
        If the definition cannot be read.

    Examples
    --------
    >>> read_definition(["z1", sympy.Symbol("z2") ** 2]).outputs
    (z1, z2**2)
    """
    if isinstance(definition, str):
        return parse_expression(definition, length, parameters)
    items = list(definition) if isinstance(definition, list | tuple) else [definition]
    if not any(isinstance(item, str) for item in items):
        return adopt_expressions(items, length, parameters)
    texts = [item if isinstance(item, str) else expression_text(item) for item in items]
    parsed = parse_expression(f"[{', '.join(texts)}]", length, parameters)
    if len(parsed.outputs) != len(items):
        raise InputError("each text in a list of outputs must be one expression")
    return parsed


def adopt_expressions(
    expressions: Sequence[Any],
    length: int | None = None,
    parameters: Mapping[str, ParameterValue] | None = None,
) -> ParsedExpression:
    """Take over SymPy expressions, with their symbols known by name.

    Parameters
    ----------
    expressions : sequence of sympy.Expr, int or float
        One per output. Symbols z1, z2, ... are the tokens whatever their assumptions, other
        symbols are parameters; floats are read as their shortest decimals.
    length : int, optional
        L; by default the highest token that is used.
    parameters : mapping, optional
        Values of parameters.

    Raises
    ------
    InputError
        If something is not a SymPy expression, or on symbols and parameters that cannot be.

    Examples
    --------
    >>> z1, b = sympy.symbols("z1 b")
    >>> adopt_expressions([0.1 * z1 + b], length=2, parameters={"b": 2}).outputs
    (z1/10 + 2,)
    """
    found = [_as_expression(expression) for expression in expressions]
    if not found:
        raise InputError("the list of outputs is empty; give at least one")
    values = {name: parameter_value(name, given) for name, given in (parameters or {}).items()}
    symbols = set().union(*[expression.free_symbols for expression in found])
    for name in values:
        if name not in {symbol.name for symbol in symbols}:
            raise InputError(f"parameter {name!r} is given and the target does not use it")
    highest = max((names.token_index(symbol.name) or 0 for symbol in symbols), default=0)
    tokens = names.token_symbols(resolve_length(length, highest))
    renamed: dict[sympy.Expr, sympy.Expr] = {}
    for symbol in symbols:
        index = names.token_index(symbol.name)
        if index is not None:
            renamed[symbol] = tokens[index - 1]
        elif symbol.name in values:
            renamed[symbol] = values[symbol.name].expression
        else:
            renamed[symbol] = names.parameter_symbol(names.check_parameter_name(symbol.name))
    outputs = tuple(expression.xreplace(renamed) for expression in found)
    free = set().union(*[output.free_symbols for output in outputs]) - set(tokens)
    return ParsedExpression(outputs, len(tokens), tokens, tuple(sorted(free, key=str)))


def _as_expression(given: Any) -> sympy.Expr:
    if isinstance(given, int | float) and not isinstance(given, bool):
        given = sympy.sympify(given)
    if not isinstance(given, sympy.Expr):
        raise InputError(f"an output is a {type(given).__name__}; give a SymPy expression")
    if given.has(sympy.zoo, sympy.oo, -sympy.oo, sympy.nan, sympy.I):
        raise InputError("a target must be real and finite; it has an infinity, nan or I in it")
    for function in given.atoms(sympy.Function, sympy.Max, sympy.Min):
        if not isinstance(function, _KNOWN):
            raise names.unknown_function(type(function).__name__)
    decimals = {number: sympy.Rational(repr(float(number))) for number in given.atoms(sympy.Float)}
    return given.xreplace(decimals) if decimals else given
