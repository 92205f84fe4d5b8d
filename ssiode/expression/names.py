"""The names an expression may use: tokens, constants and functions, in one table each."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import sympy

from ssiode.errors import InputError, unknown_name
from ssiode.expression.functions import hermite_powers, relu, sigmoid
from ssiode.expression.limits import checked_length, shorten

PARAMETER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*", re.ASCII)
OVER_TOKENS = ("sum", "mean", "prod")
RUNNING_TOKEN = "z"
LENGTH = "L"
PI = "pi"

_TOKEN = re.compile(r"z([1-9][0-9]*)", re.ASCII)
_TOKEN_LIKE = re.compile(r"[zZ]_?0*([0-9]+)", re.ASCII)
_HERMITE = re.compile(r"He(0|[1-9][0-9]*)", re.ASCII)
_MISTAKEN = {
    "e": "write exp(1) for Euler's number",
    "E": "write exp(1) for Euler's number",
    "I": "targets are real",
    "j": "targets are real",
    "oo": "numbers are finite",
    "inf": "numbers are finite",
    "infinity": "numbers are finite",
    "nan": "numbers are finite",
    "zoo": "numbers are finite",
}


class FunctionEntry(NamedTuple):
    """A function as SymPy, as plain floats, and how many arguments it takes at most."""

    symbolic: Callable[..., sympy.Expr]
    numeric: Callable[..., float]
    most_arguments: int | None = 1


def _sign(x: float) -> float:
    return float((x > 0) - (x < 0))


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


FUNCTIONS: dict[str, FunctionEntry] = {
    "sqrt": FunctionEntry(sympy.sqrt, math.sqrt),
    "exp": FunctionEntry(sympy.exp, math.exp),
    "log": FunctionEntry(sympy.log, math.log),
    "sin": FunctionEntry(sympy.sin, math.sin),
    "cos": FunctionEntry(sympy.cos, math.cos),
    "tan": FunctionEntry(sympy.tan, math.tan),
    "sinh": FunctionEntry(sympy.sinh, math.sinh),
    "cosh": FunctionEntry(sympy.cosh, math.cosh),
    "tanh": FunctionEntry(sympy.tanh, math.tanh),
    "erf": FunctionEntry(sympy.erf, math.erf),
    "sigmoid": FunctionEntry(sigmoid, _sigmoid),
    "relu": FunctionEntry(relu, lambda x: max(x, 0.0)),
    "abs": FunctionEntry(sympy.Abs, abs),
    "sign": FunctionEntry(sympy.sign, _sign),
    # SymPy's default, H(0) = 1/2, keeps sign(x) = 2 H(x) - 1 true at 0.
    "heaviside": FunctionEntry(sympy.Heaviside, lambda x: (1 + _sign(x)) / 2),
    "min": FunctionEntry(sympy.Min, lambda *x: min(x), None),
    "max": FunctionEntry(sympy.Max, lambda *x: max(x), None),
}


def hermite_value(order: int, x: float) -> float:
    """Return He_n(x) in floating point.

    Examples
    --------
    >>> hermite_value(3, 2.0)
    2.0
    """
    return math.fsum(c * x**power for power, c in hermite_powers(order).items())


def token_symbols(length: int) -> tuple[sympy.Symbol, ...]:
    """Return the symbols z1, ..., zL that stand for the token fields everywhere.

    Parameters
    ----------
    length : int
        L, from 1 to 1000.

    Raises
    ------
    InputError
        If the length is out of range.

    Examples
    --------
    >>> token_symbols(2)
    (z1, z2)
    """
    return _token_symbols(checked_length(length))


@lru_cache(maxsize=64)
def _token_symbols(length: int) -> tuple[sympy.Symbol, ...]:
    return tuple(sympy.Symbol(f"z{index}", real=True) for index in range(1, length + 1))


def parameter_symbol(name: str) -> sympy.Symbol:
    """Return the symbol of a parameter.

    Examples
    --------
    >>> parameter_symbol("b").is_real
    True
    """
    return sympy.Symbol(name, real=True)


def token_index(name: str) -> int | None:
    """Return k if `name` is the token zk, k >= 1, else None.

    Examples
    --------
    >>> token_index("z12"), token_index("z0"), token_index("b")
    (12, None, None)
    """
    found = _TOKEN.fullmatch(name)
    return _small_integer(found[1]) if found else None


def hermite_order(name: str) -> int | None:
    """Return n if `name` is the function Hen, else None.

    Examples
    --------
    >>> hermite_order("He4"), hermite_order("He")
    (4, None)
    """
    found = _HERMITE.fullmatch(name)
    return _small_integer(found[1]) if found else None


def _small_integer(digits: str) -> int:
    # Ten digits are past every limit, and Python refuses to read very long ones.
    return int(digits[:10])


def is_reserved(name: str) -> bool:
    """Tell whether `name` already means something in an expression.

    Examples
    --------
    >>> is_reserved("z3"), is_reserved("sin"), is_reserved("b")
    (True, True, False)
    """
    fixed = name in FUNCTIONS or name in OVER_TOKENS or name in (RUNNING_TOKEN, LENGTH, PI)
    return fixed or bool(_TOKEN_LIKE.fullmatch(name) or _HERMITE.fullmatch(name))


def check_parameter_name(name: str) -> str:
    """Return `name` if an unknown name may be a parameter, else say what was meant.

    Raises
    ------
    InputError
        If the name is a function, or close to a known name.

    Examples
    --------
    >>> check_parameter_name("omega")
    'omega'
    >>> check_parameter_name("Z1")
    Traceback (most recent call last):
    ...
    ssiode.errors.InputError: unknown name 'Z1'; did you mean 'z1'?
    """
    if name in _MISTAKEN:
        raise InputError(f"{name!r} is not a number here; {_MISTAKEN[name]}")
    if name in FUNCTIONS or name in OVER_TOKENS or _HERMITE.fullmatch(name):
        raise InputError(f"{name!r} is a function; give it an argument, as {name}(z1)")
    if like := _TOKEN_LIKE.fullmatch(name):
        index = _small_integer(like[1])
        if not index:
            raise InputError(f"{name!r} does not exist; tokens are numbered from z1")
        raise InputError(f"unknown name {name!r}; did you mean 'z{index}'?")
    known = [*FUNCTIONS, *OVER_TOKENS, RUNNING_TOKEN, LENGTH, PI]
    same = [word for word in known if word.lower() == name.lower()]
    near = same or difflib.get_close_matches(name[:40], known, n=1, cutoff=0.84)
    if near:
        raise InputError(
            f"unknown name {shorten(name)}; did you mean {near[0]!r}? "
            "(a parameter of this name needs a value)"
        )
    return name


def unknown_function(name: str) -> InputError:
    """Build the error for a function that does not exist.

    Examples
    --------
    >>> str(unknown_function("sine")).partition(" allowed")[0]
    "unknown function 'sine'; did you mean 'sin'?"
    """
    if name == "He":
        return InputError("He needs its order in the name, as in He2(z1)")
    return unknown_name("function", name, [*FUNCTIONS, *OVER_TOKENS, "He<n>"])
