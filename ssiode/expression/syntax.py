"""Text of an expression -> a small tree, without running any of it.

Chains such as ``a + b - c`` become one node, so their length does not deepen the tree.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ssiode.errors import InputError
from ssiode.expression.limits import MAX_DEPTH, MAX_TEXT, shorten


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


class _Lexeme(NamedTuple):
    kind: str
    text: str
    position: int


_LEXEME = re.compile(
    r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<sign>\*\*|[-+*/^(),\[\]])"
    r"|(?P<space>[ \t\r\n]+)",
    re.ASCII,
)


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
    return _Reader(text).outputs()


def _lexemes(text: str) -> list[_Lexeme]:
    found, position = [], 0
    while position < len(text):
        match = _LEXEME.match(text, position)
        if match is None:
            raise InputError(
                f"unexpected character {text[position]!a} at position {position + 1}; allowed "
                "are ASCII letters, digits, '_', '.', ',' and + - * / ^ ** ( ) [ ]"
            )
        if match.lastgroup != "space":
            found.append(_Lexeme(match.lastgroup, match.group(), position + 1))
        position = match.end()
    found.append(_Lexeme("end", "", len(text) + 1))
    return found


class _Reader:
    """Precedence climbing over the lexemes: sums, products, signs, powers, atoms."""

    def __init__(self, text: str) -> None:
        self.lexemes = _lexemes(text)
        self.index = 0
        self.depth = 0

    @property
    def current(self) -> _Lexeme:
        return self.lexemes[self.index]

    def take(self, *texts: str) -> str | None:
        """Step over the current lexeme if it is one of `texts`."""
        lexeme = self.current
        if lexeme.kind == "sign" and lexeme.text in texts:
            self.index += 1
            return lexeme.text
        return None

    def expect(self, text: str) -> None:
        if self.take(text) is None:
            raise self.unexpected(f"; {text!r} is missing")

    def unexpected(self, hint: str = "") -> InputError:
        lexeme = self.current
        if lexeme.kind == "end":
            return InputError(f"the expression ends too early{hint}")
        if lexeme.text == "[":
            return InputError(
                "a list [..., ...] is allowed only around the whole expression, "
                f"not at position {lexeme.position}"
            )
        return InputError(f"unexpected {shorten(lexeme.text)} at position {lexeme.position}{hint}")

    def outputs(self) -> tuple[Node, ...]:
        if self.take("["):
            if self.take("]"):
                raise InputError("the list of outputs is empty; give at least one, as [z1, z1*z2]")
            outputs = self.items("]")
        else:
            outputs = (self.sum(),)
        lexeme = self.current
        if lexeme.kind == "sign" and lexeme.text == ",":
            raise self.unexpected("; write several outputs as a list [..., ...]")
        if lexeme.kind != "end":
            raise self.unexpected()
        return outputs

    def items(self, closing: str) -> tuple[Node, ...]:
        """Read expressions separated by commas up to `closing`."""
        found = [self.sum()]
        while self.take(","):
            found.append(self.sum())
        self.expect(closing)
        return tuple(found)

    def sum(self) -> Node:
        self.deeper()
        terms = [(1, self.product())]
        while sign := self.take("+", "-"):
            terms.append((1 if sign == "+" else -1, self.product()))
        self.depth -= 1
        return terms[0][1] if len(terms) == 1 else Sum(tuple(terms))

    def product(self) -> Node:
        factors = [(False, self.signed())]
        while sign := self.take("*", "/"):
            factors.append((sign == "/", self.signed()))
        if self.current.kind in ("number", "name") or self.current.text == "(":
            raise self.unexpected("; an operator is missing before it (write 2*z1 for a product)")
        return factors[0][1] if len(factors) == 1 else Product(tuple(factors))

    def signed(self) -> Node:
        """Read signs, which bind looser than powers: -z1^2 is -(z1^2)."""
        sign, count = 1, 0
        while taken := self.take("+", "-"):
            sign, count = (sign if taken == "+" else -sign), count + 1
            if count > MAX_DEPTH:
                raise InputError(f"more than {MAX_DEPTH} signs in a row at {self.current.position}")
        node = self.power()
        return node if sign == 1 else Sum(((-1, node),))

    def power(self) -> Node:
        base = self.atom()
        if not self.take("^", "**"):
            return base
        self.deeper()
        exponent = self.signed()
        self.depth -= 1
        return Power(base, exponent)

    def atom(self) -> Node:
        lexeme = self.current
        if self.take("("):
            inside = self.sum()
            self.expect(")")
            return inside
        if lexeme.kind not in ("number", "name"):
            raise self.unexpected()
        self.index += 1
        if lexeme.kind == "number":
            return Number(lexeme.text)
        if self.take("("):
            return Call(lexeme.text, () if self.take(")") else self.items(")"))
        return Name(lexeme.text)

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise InputError(f"the expression is nested more than {MAX_DEPTH} levels deep")
