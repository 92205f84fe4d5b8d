r"""Exact Hermite coefficients of targets with a closed form.

.. math:: c_\alpha = E[g(z) He_\alpha(z)], \qquad z \sim N(0, I_L)

(Arnaboldi et al., arXiv 2506.02651, section 3), for sums and products of polynomials; exp, sin,
cos, sinh, cosh and erf of affine forms; and piecewise polynomials of one affine form (abs, relu,
sign, heaviside, min, max). Each term of the target becomes a product of functions of orthogonal
forms, whose coefficients are known; no integral is ever left to a computer algebra system.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import sympy
from sympy import QQ

from ssiode.errors import InputError, whole_number
from ssiode.expression.functions import He
from ssiode.hermite.closed_form.connected import (
    FunctionCoefficients,
    Table,
    product_at_order,
    sum_of_tables,
)
from ssiode.hermite.closed_form.enclosure import as_expression
from ssiode.hermite.closed_form.field import Constant, Field, Frozen, NoClosedForm, freeze, scale
from ssiode.hermite.closed_form.functions import Function, Functions
from ssiode.hermite.closed_form.reading import Product, Reader
from ssiode.hermite.closed_form.verdict import judge
from ssiode.hermite.coefficient import Coefficient, Verdict
from ssiode.hermite.polynomial.constants import is_root
from ssiode.hermite.polynomial.exact import (
    HermiteExpansion,
    NotPolynomialError,
    dense_index,
    hermite_expansion,
    sort_key,
)
from ssiode.hermite.polynomial.exact import (
    order as order_of,
)
from ssiode.hermite.polynomial.sizes import check_width

__all__ = ["MAX_ORDER", "ClosedForm", "NoClosedForm", "closed_form_coefficients"]

MAX_ORDER = 40


def closed_form_coefficients(
    expression: sympy.Expr, tokens: Sequence[sympy.Symbol], order: int
) -> dict[tuple[int, ...], Coefficient]:
    r"""Return the coefficients :math:`c_\alpha` with :math:`|\alpha|` = `order`, exactly.

    Parameters
    ----------
    expression : sympy.Expr
        The target g.
    tokens : sequence of sympy.Symbol
        z1, ..., zL.
    order : int
        From 0 to `MAX_ORDER`.

    Returns
    -------
    dict
        Coefficients by multi-index; those left out are proved to be zero.

    Raises
    ------
    NoClosedForm
        If a part of the target is outside the families; the message names it.
    InputError
        If the target is too large or the order too high.

    Examples
    --------
    >>> z1, z2 = sympy.symbols("z1 z2", real=True)
    >>> found = closed_form_coefficients(sympy.Abs(z1 * z2), [z1, z2], 2)
    >>> {alpha: coefficient.exact for alpha, coefficient in found.items()}
    {(2, 0): 2/pi, (0, 2): 2/pi}
    """
    return ClosedForm.of(expression, tokens).coefficients(order)


class ClosedForm:
    """A target whose Hermite coefficients of all orders have a closed form.

    Examples
    --------
    Its first coefficient cancels exactly.

    >>> z1 = sympy.Symbol("z1", real=True)
    >>> target = ClosedForm.of(sympy.erf(z1) - 2 * z1 / sympy.sqrt(3 * sympy.pi), [z1])
    >>> target.coefficients(1), target.coefficients(3)[(3,)].exact
    ({}, -4*sqrt(3)/(9*sqrt(pi)))
    """

    def __init__(
        self,
        length: int,
        functions: Functions,
        products: Sequence[Product],
        polynomial: HermiteExpansion,
    ) -> None:
        self.length = length
        self.field = functions.field
        self._functions = functions
        self._products = products
        self._polynomial = polynomial
        known: dict[int, FunctionCoefficients] = {}
        for product in products:
            for part in product:
                known[id(part)] = FunctionCoefficients(functions, part)
        self._factors = [[known[id(part)].at_order for part in product] for product in products]
        self._judged: dict[Frozen, Coefficient] = {}

    @classmethod
    def of(cls, expression: sympy.Expr, tokens: Sequence[sympy.Symbol]) -> ClosedForm:
        """Read a target.

        Raises
        ------
        NoClosedForm
            If a part of the target is outside the families; the message names it.
        InputError
            If the target is too large.
        """
        functions = Functions(Field())
        terms = sympy.Add.make_args(expression)
        plain = [term for term in terms if _is_plain(term)]
        try:
            polynomial = hermite_expansion(sympy.Add(*plain), tokens)
        except NotPolynomialError:
            plain, polynomial = [], hermite_expansion(sympy.S.Zero, tokens)
        taken = set(plain)
        rest = sympy.Add(*[term for term in terms if term not in taken])
        try:
            products = Reader(functions, tokens).products(rest)
            return cls(len(tokens), functions, products, polynomial)
        except RecursionError as error:
            raise InputError("the target is nested too deeply; simplify it") from error

    def coefficients(self, order: int) -> dict[tuple[int, ...], Coefficient]:
        """Return the coefficients of one order that are not proved zero, by multi-index.

        Raises
        ------
        InputError
            If the order is too high or there are too many coefficients.
        """
        order = whole_number("order", order, minimum=0)
        if not self._products:
            return self._polynomial_coefficients(order)
        if order > MAX_ORDER:
            raise InputError(f"order is {order}; closed forms are computed up to {MAX_ORDER}")
        table = self._table(order)
        check_width(len(table), self.length)
        found = {}
        for index in sorted(table, key=sort_key):
            alpha = dense_index(index, self.length)
            found[alpha] = self._coefficient(alpha, table[index])
        return found

    @cached_property
    def highest_order(self) -> int | None:
        """The highest order of a non-zero coefficient (0 for a constant), None if it is endless.

        It is also None if the target is a polynomial after all, but of a degree past `MAX_ORDER`
        or in products too long to multiply out.
        """
        if not self._products:
            return max(map(order_of, self._polynomial.coefficients), default=0)
        degree = self._degree_of_the_rest
        if degree is None:
            return None
        top = max([degree, *map(order_of, self._polynomial.coefficients)])
        orders = (n for n in range(min(top, MAX_ORDER), 0, -1) if self._table(n))
        return None if top > MAX_ORDER else next(orders, 0)

    @property
    def is_constant(self) -> bool:
        """Whether the target is proved to be constant."""
        return self.highest_order == 0

    def constant_value(self) -> sympy.Expr:
        """Return the value of a constant target.

        Raises
        ------
        InputError
            If it is not proved to be constant.

        Examples
        --------
        >>> from ssiode.expression import relu
        >>> z1 = sympy.Symbol("z1", real=True)
        >>> ClosedForm.of(relu(z1) - relu(-z1) - z1 + 2, [z1]).constant_value()
        2
        """
        if not self.is_constant:
            raise InputError("the target is not proved to be constant")
        found = self.coefficients(0)
        return next(iter(found.values())).exact if found else sympy.S.Zero

    @cached_property
    def _degree_of_the_rest(self) -> int | None:
        """Degree of all that is no plain polynomial, if it is one after all."""
        self._functions.restart()
        try:
            parts = [self._multiplied_out(product) for product in self._products]
            total = self._functions.in_tokens(self._functions.add(parts))
        except InputError:
            return None
        if not all(term.is_monomial for term in total):
            return None
        return max((sum(power for _, power in term.powers) for term in total), default=0)

    def _multiplied_out(self, product: Product) -> Function:
        total = product[0]
        for part in product[1:]:
            total = self._functions.multiply(total, part)
        return total

    def _table(self, order: int) -> Table:
        self._functions.restart()
        tables = [product_at_order(self._functions, factors, order) for factors in self._factors]
        return sum_of_tables([*tables, self._polynomial_tables.get(order, {})])

    @cached_property
    def _polynomial_tables(self) -> dict[int, Table]:
        tables: dict[int, Table] = {}
        for index, value in self._polynomial.coefficients.items():
            tables.setdefault(order_of(index), {})[index] = self._converted(value)
        return tables

    def _converted(self, value: dict) -> Constant:
        """Return a constant of a polynomial in the field of the other terms."""
        basis, total = self._polynomial.basis, []
        for monomial, factor in value.items():
            roots = [
                self.field.power(self.field.root(QQ(base), basis.order), power)
                for base, power in zip(basis.radicands, monomial, strict=False)
            ]
            halves = 2 * monomial[-1] if basis.has_pi else 0
            if halves % basis.order:
                raise NoClosedForm("only whole and half powers of pi are exact next to functions")
            pi_power = self.field.pi_power(halves // basis.order)
            total.append(scale(self.field.product([pi_power, *roots]), factor))
        return sum_of_tables([{(): part} for part in total]).get((), {})

    def _coefficient(self, alpha: tuple[int, ...], constant: Constant) -> Coefficient:
        frozen = freeze(constant)
        if frozen not in self._judged:
            verdict, value, error, reason = judge(self.field, constant)
            exact = as_expression(self.field, constant)
            self._judged[frozen] = Coefficient(alpha, exact, value, error, verdict, reason)
        known = self._judged[frozen]
        return Coefficient(
            alpha, known.exact, known.value, known.error, known.verdict, known.reason
        )

    def _polynomial_coefficients(self, order: int) -> dict[tuple[int, ...], Coefficient]:
        found, basis = {}, self._polynomial.basis
        table = {i: c for i, c in self._polynomial.coefficients.items() if order_of(i) == order}
        check_width(len(table), self.length)
        for index in sorted(table, key=sort_key):
            alpha = dense_index(index, self.length)
            value, error = basis.nearest_float(table[index])
            exact = basis.expression(table[index])
            found[alpha] = Coefficient(alpha, exact, value, error, Verdict.NONZERO, "exact value")
        return found


def _is_plain(term: sympy.Expr) -> bool:
    """Tell whether a term is made as polynomials are, seen from outside."""
    return all(
        part.is_Rational
        or part.is_Symbol
        or part.is_Add
        or part.is_Mul
        or part is sympy.pi
        or isinstance(part, He)
        or (part.is_Pow and ((part.exp.is_Integer and part.exp >= 0) or is_root(part)))
        for part in sympy.preorder_traversal(term)
    )
