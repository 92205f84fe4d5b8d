"""Factors or terms that share tokens, together."""

from __future__ import annotations

from collections.abc import Iterable

import sympy


def by_shared_symbols(expressions: Iterable[sympy.Expr]) -> list[list[sympy.Expr]]:
    """Group expressions so that different groups have no symbol in common.

    Each constant is a group of its own; the last expression is in the last group.

    Examples
    --------
    >>> x, y, z = sympy.symbols("x y z")
    >>> by_shared_symbols([x, y, z**2, x + z])
    [[y], [z**2, x, x + z]]
    """
    groups: list[tuple[set[sympy.Symbol], list[sympy.Expr]]] = []
    for expression in expressions:
        symbols, members, apart = set(expression.free_symbols), [expression], []
        for other, others in groups:
            if other & symbols:
                symbols, members = symbols | other, others + members
            else:
                apart.append((other, others))
        groups = [*apart, (symbols, members)]
    return [members for _, members in groups]
