"""SymPy expressions to text in the grammar that the parser reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import sympy
from sympy.printing.str import StrPrinter

from ssiode.errors import InputError


class _Printer(StrPrinter):
    _names: ClassVar = {"Abs": "abs", "Max": "max", "Min": "min", "Heaviside": "heaviside"}

    def _print_Function(self, expression: sympy.Function) -> str:
        name = type(expression).__name__
        if name == "He":
            return f"He{expression.args[0]}({self._print(expression.args[1])})"
        arguments = expression.args[:1] if name == "Heaviside" else expression.args
        return f"{self._names.get(name, name)}({', '.join(map(self._print, arguments))})"

    _print_Abs = _print_Max = _print_Min = _print_Heaviside = _print_LatticeOp = _print_Function

    def _print_Exp1(self, expression: sympy.Expr) -> str:
        return "exp(1)"

    def _print_Float(self, expression: sympy.Float) -> str:
        return repr(float(expression))


def expression_text(definition: sympy.Expr | Iterable[sympy.Expr | str]) -> str:
    """Text of one expression, or of a list of outputs.

    >>> z1, z2 = sympy.symbols("z1 z2")
    >>> expression_text([abs(z1) * z2, sympy.exp(1) / 2])
    '[z2*abs(z1), exp(1)/2]'
    """
    if isinstance(definition, sympy.Basic):
        return _Printer().doprint(definition)
    if not isinstance(definition, Iterable):
        raise InputError(
            f"the target is of type {type(definition).__name__}; give text, a SymPy expression, a "
            "list of them or a function"
        )
    return f"[{', '.join(map(_part, definition))}]"


def _part(output: sympy.Expr | str) -> str:
    if isinstance(output, str):
        return output
    try:
        expression = sympy.sympify(output, strict=True)
    except sympy.SympifyError:
        expression = None
    if not isinstance(expression, sympy.Expr):
        raise InputError("an output of the target is neither text nor a SymPy expression")
    return _Printer().doprint(expression)
