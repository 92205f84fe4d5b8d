"""Expressions in the tokens z1, ..., zL: from text to SymPy, and the functions they may use."""

from __future__ import annotations

from ssiode.expression.functions import He, relu, sigmoid
from ssiode.expression.names import parameter_symbol, token_symbols
from ssiode.expression.parser import ParsedExpression, parse_expression

__all__ = [
    "He",
    "ParsedExpression",
    "parameter_symbol",
    "parse_expression",
    "relu",
    "sigmoid",
    "token_symbols",
]
