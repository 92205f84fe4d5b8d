"""Activations of networks: a name or an expression in the one variable s."""

from __future__ import annotations

import re
from functools import cache

import sympy

from ssiode.errors import InputError
from ssiode.expression.limits import shorten
from ssiode.expression.parser import parse_expression

# What belongs to targets, or is what people write for the one variable.
_NOT_A_VARIABLE = re.compile(r"\b(z\d*|x|L)\b")


def parse_activation(text: str) -> tuple[sympy.Expr, sympy.Symbol]:
    """Return the activation sigma(s) and its variable.

    Raises
    ------
    InputError
        If the text is not an activation's name or an expression in `s` alone, or has a jump.

    Examples
    --------
    >>> parse_activation("He2")[0], parse_activation("s^2 + 1")[0]
    (He2(s), s**2 + 1)
    """
    if not isinstance(text, str):
        raise InputError("the activation must be text: a name or an expression in s")
    return _parse(text)


@cache
def _parse(text: str) -> tuple[sympy.Expr, sympy.Symbol]:
    names = {"identity": "s", "square": "s^2"}
    if foreign := _NOT_A_VARIABLE.search(text):
        raise InputError(
            f"the activation {shorten(text)} uses {foreign[0]}; its variable is s, as in tanh(s)"
        )
    bare = text.isidentifier() and text != "s"
    parsed = parse_expression(names.get(text, f"{text}(s)") if bare else text, length=1)
    free = set().union(*(output.free_symbols for output in parsed.outputs))
    strangers = sorted(str(symbol) for symbol in free if str(symbol) != "s")
    if len(parsed.outputs) != 1 or strangers:
        given = f"uses {', '.join(strangers)}" if strangers else "has several outputs"
        raise InputError(f"the activation {text!r} {given}; write one expression in s")
    symbol = next(iter(free), sympy.Symbol("s", real=True))
    sigma = parsed.outputs[0]
    if sigma.diff(symbol).has(sympy.DiracDelta):
        raise InputError(f"the activation {text!r} has a jump and no derivative to train with")
    return sigma, symbol
