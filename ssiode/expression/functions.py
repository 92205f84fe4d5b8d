"""Functions of targets that SymPy lacks: Hermite polynomials of Gaussian type, sigmoid, relu."""

from __future__ import annotations

from typing import Any

import sympy
from sympy.core.function import ArgumentIndexError

from ssiode.errors import InputError


class He(sympy.Function):
    r"""Probabilists' Hermite polynomial :math:`He_n(x)`, kept unexpanded.

    .. math:: He_{n+1}(x) = x\,He_n(x) - n\,He_{n-1}(x), \qquad He_n'(x) = n\,He_{n-1}(x)

    Only :math:`He_0 = 1` and :math:`He_1 = x` are replaced by their value; `expand(func=True)`
    gives the polynomial.

    Parameters
    ----------
    order : int
        n >= 0, a whole number.
    x : sympy.Expr
        Any expression.

    Raises
    ------
    InputError
        If the order is a number that is not whole or is negative.

    Examples
    --------
    >>> from sympy.abc import x
    >>> He(3, x).diff(x), He(3, x).expand(func=True)
    (3*He2(x), x**3 - 3*x)
    """

    nargs = 2

    @classmethod
    def eval(cls, order: sympy.Expr, x: sympy.Expr) -> sympy.Expr | None:
        """Replace the orders 0 and 1 by their value and refuse orders that do not exist."""
        if order.is_Number and not (order.is_Integer and order >= 0):
            raise InputError(f"He{order} does not exist; the order is a whole number >= 0")
        if order.is_zero:
            return sympy.S.One
        return x if order == 1 else None

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        """Return the derivative in x."""
        if argindex != 2:
            raise ArgumentIndexError(self, argindex)
        order, x = self.args
        return order * He(order - 1, x)

    def _eval_expand_func(self, **hints: Any) -> sympy.Expr:
        order, x = self.args
        if not order.is_Integer:
            return self
        return sympy.Add(*[c * x**power for power, c in hermite_powers(int(order)).items()])

    def _eval_evalf(self, prec: int) -> sympy.Expr:
        order, x = self.args
        if x.is_number and order.is_Integer:
            # A float is taken as the exact number it is; then evalf raises its working precision
            # until cancellation is harmless.
            exact = He(order, sympy.Rational(x) if x.is_Float else x)
            return exact.expand(func=True, deep=False).evalf(_decimal_digits(prec))
        return He(order, x._eval_evalf(prec) or x)

    def _eval_is_real(self) -> bool | None:
        return self.args[1].is_real

    def _sympystr(self, printer: Any) -> str:
        order, x = self.args
        return f"He{printer._print(order)}({printer._print(x)})"

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        order, x = self.args
        power = "" if exp is None else f"^{{{exp}}}"
        argument = printer._print(x)
        return rf"\mathrm{{He}}_{{{printer._print(order)}}}{power}\left({argument}\right)"


class sigmoid(sympy.Function):
    r"""Logistic function :math:`\sigma(x) = 1/(1 + e^{-x})`.

    Its derivative is :math:`\sigma (1 - \sigma)`.

    Examples
    --------
    >>> from sympy.abc import x
    >>> sigmoid(x).diff(x), sigmoid(0)
    ((1 - sigmoid(x))*sigmoid(x), 1/2)
    """

    nargs = 1

    @classmethod
    def eval(cls, x: sympy.Expr) -> sympy.Expr | None:
        """Replace the values at 0 and at infinity."""
        values = {
            sympy.S.Zero: sympy.S.Half,
            sympy.S.Infinity: sympy.S.One,
            sympy.S.NegativeInfinity: sympy.S.Zero,
        }
        return values.get(x)

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        """Return the derivative."""
        if argindex != 1:
            raise ArgumentIndexError(self, argindex)
        return self * (1 - self)

    def _eval_rewrite_as_exp(self, x: sympy.Expr, **hints: Any) -> sympy.Expr:
        return 1 / (1 + sympy.exp(-x))

    def _eval_evalf(self, prec: int) -> sympy.Expr:
        (x,) = self.args
        if x.is_number:
            return self._eval_rewrite_as_exp(x).evalf(_decimal_digits(prec))
        return sigmoid(x._eval_evalf(prec) or x)

    def _eval_is_real(self) -> bool | None:
        return self.args[0].is_real

    def _eval_is_positive(self) -> bool | None:
        return True if self.args[0].is_real else None


class relu(sympy.Function):
    r"""Rectifier :math:`\max(x, 0)`, with derivative :math:`H(x)`, :math:`H(0) = 0`.

    Examples
    --------
    >>> from sympy.abc import x
    >>> relu(x).diff(x), relu(-2), relu(3)
    (Heaviside(x, 0), 0, 3)
    """

    nargs = 1

    @classmethod
    def eval(cls, x: sympy.Expr) -> sympy.Expr | None:
        """Replace arguments of known sign."""
        if x.is_extended_nonnegative:
            return x
        return sympy.S.Zero if x.is_extended_nonpositive else None

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        """Return the derivative, 0 at the kink."""
        if argindex != 1:
            raise ArgumentIndexError(self, argindex)
        return sympy.Heaviside(self.args[0], 0)

    def _eval_rewrite_as_Max(self, x: sympy.Expr, **hints: Any) -> sympy.Expr:
        return sympy.Max(x, 0)

    def _eval_evalf(self, prec: int) -> sympy.Expr:
        (x,) = self.args
        return relu(x._eval_evalf(prec) or x)

    def _eval_is_real(self) -> bool | None:
        return self.args[0].is_real

    def _eval_is_nonnegative(self) -> bool | None:
        return True if self.args[0].is_real else None


def hermite_powers(order: int) -> dict[int, int]:
    r"""Return the coefficients of :math:`He_n(x)` by power of x.

    .. math:: He_n(x) = \sum_k (-1)^k \frac{n!}{2^k\,k!\,(n-2k)!}\,x^{n-2k}

    Examples
    --------
    >>> hermite_powers(4)
    {4: 1, 2: -6, 0: 3}
    """
    coefficients, value = {}, 1
    for k in range(order // 2 + 1):
        power = order - 2 * k
        coefficients[power] = value
        value = -value * power * (power - 1) // (2 * (k + 1))
    return coefficients


def _decimal_digits(bits: int) -> int:
    return max(1, round(bits * 0.30103) + 1)
