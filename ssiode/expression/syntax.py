"""Text of an expression -> a small tree, by a whitelist over Python's syntax tree.

Python parses the text and never runs it: of its tree only numbers, names, signs, ``+ - * / **``
and calls of bare names are taken over, and everything else is refused. Chains such as
``a + b - c`` become one node, so their length does not deepen the tree.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import NamedTuple

from ssiode.errors import InputError
from ssiode.expression.limits import MAX_CHAIN, MAX_DEPTH, MAX_TEXT, shorten


class Number(NamedTuple):
    """A number as it was written."""

    text: str


class Name(NamedTuple):
    """A token, a constant or a parameter."""

    name: str


class Sum(NamedTuple):
    """Terms, each with its sign."""

    terms: tuple[tuple[int, Node], ...]


class Product(NamedTuple):
    """Factors, each with True if it divides."""

    factors: tuple[tuple[bool, Node], ...]


class Power(NamedTuple):
    """A base and its exponent."""

    base: Node
    exponent: Node


class Call(NamedTuple):
    """A function by name and its arguments."""

    name: str
    arguments: tuple[Node, ...]


Node = Number | Name | Sum | Product | Power | Call


_ALLOWED = re.compile(r"[A-Za-z0-9_.,+\-*/^()\[\] \t\r\n]*", re.ASCII)
_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_SUM_SIGNS = {ast.Add: 1, ast.Sub: -1}
_DIVIDES = {ast.Mult: False, ast.Div: True}
_SIGNS = {ast.UAdd: 1, ast.USub: -1}
_GRAMMAR = "allowed are numbers, names, + - * / ^ ( ) and calls such as exp(z1)"


def read(text: str) -> tuple[Node, ...]:
    """Return the outputs written in `text`, one tree each.

    Parameters
    ----------
    text : str
        One expression, or several in a list ``[a, b]``.

    Raises
    ------
    InputError
        If the text does not follow the grammar or is too long or too deep.

    Examples
    --------
    >>> read("[z1, -2]")
    (Name(name='z1'), Sum(terms=((-1, Number(text='2')),)))
    """
    if not isinstance(text, str):
        raise InputError(f"an expression is a text; got {type(text).__name__}")
    if len(text) > MAX_TEXT:
        raise InputError(f"the expression has {len(text)} characters; at most {MAX_TEXT} are read")
    if not text.strip():
        raise InputError("the expression is empty; write one such as 'z1*z2'")
    end = _ALLOWED.match(text).end()
    if end < len(text):
        raise InputError(
            f"unexpected character {text[end]!a} at position {end + 1}; allowed are ASCII "
            "letters, digits, '_', '.', ',' and + - * / ^ ** ( ) [ ]"
        )
    # Python's ^ binds looser than +, so it is replaced before and not after parsing.
    source = re.sub(r"\s", " ", text).strip().replace("^", "**")
    body = _parse(source)
    if isinstance(body, ast.Tuple):
        raise InputError("several outputs are written as a list [..., ...]")
    if not isinstance(body, ast.List):
        return (_Converter(source).node(body),)
    if not body.elts:
        raise InputError("the list of outputs is empty; give at least one, as [z1, z1*z2]")
    return tuple(_Converter(source).node(item) for item in body.elts)


def _parse(source: str) -> ast.expr:
    """Return Python's tree of the text; what Python warns of is refused later by the whitelist."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source, mode="eval").body
    except SyntaxError as error:
        raise InputError(_syntax_message(source, error)) from error
    except (RecursionError, MemoryError) as error:
        raise InputError(
            f"the expression is nested too deeply, or has more than {MAX_CHAIN} terms in one sum; "
            "put parts of it in parentheses"
        ) from error
    except ValueError as error:
        raise InputError("the expression cannot be read; shorten its numbers") from error


def _syntax_message(source: str, error: SyntaxError) -> str:
    reason = str(error.msg).removeprefix("invalid syntax. ").rstrip(".")
    if "Exceeds the limit" in reason:
        return "a number in the expression has too many digits; shorten it"
    position = error.offset or 0
    if not 1 <= position <= len(source):
        return f"the expression ends too early ({reason})"
    if "decimal literal" in reason:
        reason = "a number and a name meet; write 2*z1 for a product"
    shown = shorten(source[position - 1 : position + 11], width=12)
    return f"unexpected {shown} at position {position} ({reason}); {_GRAMMAR}"


class _Converter:
    """Takes over the whitelisted nodes of Python's tree and refuses all others."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.depth = 0

    def node(self, node: ast.expr) -> Node:
        """Return the tree of one part, one level deeper if it has parts itself."""
        deeper = isinstance(node, ast.Call | ast.BinOp | ast.UnaryOp)
        self.depth += deeper
        if self.depth > MAX_DEPTH:
            raise InputError(f"the expression is nested more than {MAX_DEPTH} levels deep")
        converted = self._convert(node)
        self.depth -= deeper
        return converted

    def _convert(self, node: ast.expr) -> Node:
        match node:
            case ast.Constant():
                return self._number(node)
            case ast.Name():
                return Name(node.id)
            case ast.UnaryOp():
                return self._signed(node)
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                links = self._chain(node, _SUM_SIGNS, first=1)
                return Sum(tuple((sign, self.node(term)) for sign, term in links))
            case ast.BinOp(op=ast.Mult() | ast.Div()):
                links = self._chain(node, _DIVIDES, first=False)
                return Product(tuple((divides, self.node(factor)) for divides, factor in links))
            case ast.BinOp(op=ast.Pow()):
                return Power(self.node(node.left), self.node(node.right))
            case ast.Call(func=ast.Name(), keywords=[]):
                return Call(node.func.id, tuple(self.node(argument) for argument in node.args))
        raise self._refused(node)

    def _chain(
        self, node: ast.expr, signs: dict[type, int | bool], first: int | bool
    ) -> list[tuple[int | bool, ast.expr]]:
        """Return the links of a chain of operators that bind alike, from left to right."""
        links = []
        while isinstance(node, ast.BinOp) and type(node.op) in signs:
            links.append((signs[type(node.op)], node.right))
            node = node.left
        if len(links) >= MAX_CHAIN:
            raise InputError(
                f"more than {MAX_CHAIN} terms or factors in a row; put parts of them in parentheses"
            )
        return [(first, node), *reversed(links)]

    def _signed(self, node: ast.expr) -> Node:
        sign, count = 1, 0
        while isinstance(node, ast.UnaryOp) and type(node.op) in _SIGNS:
            sign, count, node = sign * _SIGNS[type(node.op)], count + 1, node.operand
            if count > MAX_DEPTH:
                raise InputError(f"more than {MAX_DEPTH} signs in a row")
        if not count:
            raise self._refused(node)
        operand = self.node(node)
        return operand if sign == 1 else Sum(((-1, operand),))

    def _number(self, node: ast.Constant) -> Number:
        # The text and not its float, so that decimals stay exact.
        text = self.source[node.col_offset : node.end_col_offset]
        if isinstance(node.value, bool) or not _NUMBER.fullmatch(text):
            raise self._refused(node)
        return Number(text)

    def _refused(self, node: ast.expr) -> InputError:
        text = self.source[node.col_offset : node.end_col_offset]
        position = node.col_offset + 1
        if isinstance(node, ast.List):
            return InputError(
                "a list [..., ...] is allowed only around the whole expression, "
                f"not at position {position}"
            )
        return InputError(f"{shorten(text)} at position {position} is not read; {_GRAMMAR}")
