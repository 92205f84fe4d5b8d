"""Which expressions are smooth, so that Gauss-Hermite quadrature converges fast."""

from __future__ import annotations

import sympy

from ssiode.expression.functions import relu

_NOT_SMOOTH = (
    sympy.Abs,
    sympy.sign,
    sympy.Heaviside,
    sympy.Max,
    sympy.Min,
    sympy.log,
    sympy.tan,
    relu,
)


def is_smooth(expression: sympy.Expr) -> bool:
    """Whether an expression is built from functions with all derivatives on the real line only.

    False means "not known to be": the tree is not analysed further.

    >>> x = sympy.Symbol("x", real=True)
    >>> is_smooth(sympy.tanh(x) * x**2), is_smooth(abs(x)), is_smooth(sympy.sqrt(1 + x**2))
    (True, False, False)
    """
    if any(part.free_symbols for part in expression.atoms(*_NOT_SMOOTH)):
        return False
    powers = expression.atoms(sympy.Pow)
    return all(p.exp.is_Integer and p.exp > 0 for p in powers if p.base.free_symbols)
