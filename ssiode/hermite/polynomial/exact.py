r"""Exact Hermite coefficients of polynomial targets.

.. math:: c_\alpha = E[g(z) He_\alpha(z)], \qquad
          g = \sum_\alpha \frac{c_\alpha}{\alpha!} He_\alpha

(Arnaboldi et al., arXiv 2506.02651, section 3). Sums are taken term by term and products over
separate tokens factor by factor in the Hermite basis; only what is left is multiplied out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import QQ

from ssiode.errors import InputError
from ssiode.expression.functions import He
from ssiode.hermite.polynomial.constants import (
    Constant,
    ConstantBasis,
    Monomial,
    NotPolynomialError,
)
from ssiode.hermite.polynomial.multiplied import Polynomials, describe
from ssiode.hermite.polynomial.sizes import MAX_DEGREE, check_terms, check_width

__all__ = [
    "HermiteExpansion",
    "NotPolynomialError",
    "hermite_expansion",
    "is_polynomial",
    "polynomial_coefficients",
]

SparseIndex = tuple[tuple[int, int], ...]
_Table = dict[tuple[SparseIndex, Monomial], Any]


@dataclass(frozen=True)
class HermiteExpansion:
    """The non-zero coefficients c_alpha of one polynomial.

    Attributes
    ----------
    coefficients : mapping
        By sparse multi-index, pairs (token, order) with tokens counted from 0.
    basis : ConstantBasis
        What the coefficients are made of.
    """

    coefficients: Mapping[SparseIndex, Constant]
    basis: ConstantBasis

    def leading(self) -> dict[SparseIndex, Constant]:
        """Return the coefficients of the lowest order >= 1, none for a constant.

        Examples
        --------
        >>> z1, z2 = sympy.symbols("z1 z2")
        >>> list(hermite_expansion(z1**2 * z2**2 - z1**2 - z2**2, [z1, z2]).leading())
        [((0, 2), (1, 2))]
        """
        orders = [order(index) for index in self.coefficients if index]
        lowest = min(orders, default=0)
        return {i: c for i, c in self.coefficients.items() if i and order(i) == lowest}


def polynomial_coefficients(
    expression: sympy.Expr, tokens: Sequence[sympy.Symbol]
) -> dict[tuple[int, ...], sympy.Expr]:
    r"""Return all non-zero :math:`c_\alpha = E[g\,He_\alpha]` of a polynomial g, exactly.

    Parameters
    ----------
    expression : sympy.Expr
        Polynomial in the tokens and in :class:`ssiode.expression.He` of polynomials, with
        rationals, roots of rationals and powers of pi as coefficients.
    tokens : sequence of sympy.Symbol
        z1, ..., zL.

    Returns
    -------
    dict
        Coefficients by multi-index alpha (one order per token), lowest order first.

    Raises
    ------
    NotPolynomialError
        If the expression is something else; the error names the part.
    InputError
        If it is too large once multiplied out.

    Examples
    --------
    >>> z1, z2 = sympy.symbols("z1 z2")
    >>> polynomial_coefficients(z1**2 * z2, [z1, z2])
    {(0, 1): 1, (2, 1): 2}
    """
    expansion = hermite_expansion(expression, tokens)
    check_width(len(expansion.coefficients), len(tokens))
    return {
        dense_index(index, len(tokens)): expansion.basis.expression(value)
        for index, value in sorted(
            expansion.coefficients.items(), key=lambda item: sort_key(item[0])
        )
    }


def is_polynomial(expression: sympy.Expr, tokens: Sequence[sympy.Symbol]) -> bool:
    """Tell whether :func:`polynomial_coefficients` applies, whatever the size.

    Examples
    --------
    >>> z1 = sympy.Symbol("z1")
    >>> is_polynomial(sympy.sqrt(2) * z1**3, [z1]), is_polynomial(sympy.exp(z1), [z1])
    (True, False)
    """
    try:
        hermite_expansion(expression, tokens)
    except NotPolynomialError:
        return False
    except InputError:
        return True
    return True


def hermite_expansion(expression: sympy.Expr, tokens: Sequence[sympy.Symbol]) -> HermiteExpansion:
    """Return the expansion that :func:`polynomial_coefficients` shows, with sparse indices.

    Raises
    ------
    NotPolynomialError
        If the expression is not a polynomial; the error names the part.
    InputError
        If it is too large once multiplied out.

    Examples
    --------
    >>> z1, z2 = sympy.symbols("z1 z2")
    >>> list(hermite_expansion(He(3, z2) + z1, [z1, z2]).coefficients)
    [((1, 3),), ((0, 1),)]
    """
    try:
        basis = ConstantBasis.of([expression])
        table = _Expander(tokens, basis).expand(expression)
    except RecursionError as error:
        raise InputError("the target is nested too deeply; simplify it") from error
    coefficients: dict[SparseIndex, Constant] = {}
    for (index, monomial), value in table.items():
        if value:
            factor = math.prod(math.factorial(power) for _, power in index)
            coefficients.setdefault(index, {})[monomial] = value * factor
    return HermiteExpansion(coefficients, basis)


def order(index: SparseIndex) -> int:
    """Return |alpha|.

    Examples
    --------
    >>> order(((0, 2), (3, 1)))
    3
    """
    return sum(power for _, power in index)


def dense_index(index: SparseIndex, length: int) -> tuple[int, ...]:
    """Return alpha with one order per token.

    Examples
    --------
    >>> dense_index(((1, 2),), 3)
    (0, 2, 0)
    """
    alpha = [0] * length
    for token, power in index:
        alpha[token] = power
    return tuple(alpha)


def sort_key(index: SparseIndex) -> tuple[Any, ...]:
    """Return a key that puts low orders first and, among equals, the first tokens first.

    Examples
    --------
    >>> sorted([((1, 1),), ((0, 2),), ((0, 1),)], key=sort_key)
    [((0, 1),), ((1, 1),), ((0, 2),)]
    """
    return (order(index), tuple((token, -power) for token, power in index))


class _Expander:
    """Hermite coefficients (without the factor alpha!) of sums and products."""

    def __init__(self, tokens: Sequence[sympy.Symbol], basis: ConstantBasis) -> None:
        self.positions = {token: index for index, token in enumerate(tokens)}
        self.basis = basis
        self.polynomials = Polynomials(basis, self._constant)

    def expand(self, expression: sympy.Expr) -> _Table:
        if expression.is_Rational:
            value = QQ(int(expression.p), int(expression.q))
            return {((), self.basis.one): value} if value else {}
        if expression.is_Add:
            return self._sum(expression.args)
        if expression.is_Mul:
            return self._product(expression.args)
        if isinstance(expression, He) and expression.args[1] in self.positions:
            return self._hermite(*expression.args)
        return self._multiplied_out([expression])

    def _hermite(self, n: sympy.Expr, token: sympy.Symbol) -> _Table:
        if not n.is_Integer or n > MAX_DEGREE:
            raise NotPolynomialError(f"the order {n} of He is not a whole number to {MAX_DEGREE}")
        return {(((self.positions[token], int(n)),), self.basis.one): QQ(1)}

    def _sum(self, terms: Sequence[sympy.Expr]) -> _Table:
        total: _Table = {}
        together: dict[frozenset[sympy.Symbol], list[sympy.Expr]] = {}
        for term in terms:
            if self._is_separable(term):
                _add(total, self.expand(term))
            else:
                together.setdefault(self._tokens(term), []).append(term)
        for group in together.values():
            _add(total, self._multiplied_out(group))
        return {key: value for key, value in total.items() if value}

    def _is_separable(self, term: sympy.Expr) -> bool:
        if isinstance(term, He):
            return term.args[1] in self.positions
        if not term.is_Mul:
            return term.is_Rational
        # Plain monomials are converted together, which shares their lower orders.
        return not all(f.is_Rational or f.as_base_exp()[0] in self.positions for f in term.args)

    def _product(self, factors: Sequence[sympy.Expr]) -> _Table:
        groups = _by_shared_tokens([(self._tokens(factor), factor) for factor in factors])
        tables = [self._connected(group) for group in groups]
        check_terms(math.prod(map(len, tables)))
        product: _Table = {((), self.basis.one): QQ(1)}
        for table in tables:
            product = self._tensor(product, table)
        return product

    def _connected(self, group: Sequence[sympy.Expr]) -> _Table:
        if len(group) == 1:
            return self.expand(group[0])
        return self._multiplied_out([sympy.Mul(*group, evaluate=False)])

    def _tensor(self, left: _Table, right: _Table) -> _Table:
        product: _Table = {}
        for (first, a), p in left.items():
            for (second, b), q in right.items():
                index = tuple(sorted(first + second)) if second else first
                if not any(a) or not any(b):
                    factor, monomial = 1, a if any(a) else b
                else:
                    joined = tuple(i + j for i, j in zip(a, b, strict=True))
                    factor, monomial = self.basis.reduce(joined)
                key = (index, monomial)
                product[key] = product.get(key, 0) + p * q * factor
        return {key: value for key, value in product.items() if value}

    def _multiplied_out(self, terms: Sequence[sympy.Expr]) -> _Table:
        tokens = sorted(self._tokens(*terms), key=self.positions.__getitem__)
        positions = [self.positions[token] for token in tokens]
        count = len(tokens)
        table: _Table = {}
        denominator, coefficients = self.polynomials.hermite(terms, tokens)
        for powers, value in coefficients.items():
            index = tuple((p, n) for p, n in zip(positions, powers, strict=False) if n)
            factor, monomial = self.basis.reduce(powers[count : count + self.basis.size])
            key = (index, monomial)
            table[key] = table.get(key, 0) + factor * QQ(value, denominator)
        return {key: value for key, value in table.items() if value}

    def _constant(self, expression: sympy.Expr) -> Constant:
        return {monomial: value for (_, monomial), value in self.expand(expression).items()}

    def _tokens(self, *expressions: sympy.Expr) -> frozenset[sympy.Symbol]:
        free = frozenset().union(*[expression.free_symbols for expression in expressions])
        for symbol in sorted(free - self.positions.keys(), key=str):
            raise NotPolynomialError(
                f"parameter {describe(symbol)} has no value; give it (--param {symbol}=2)"
            )
        return free


def _add(total: _Table, more: _Table) -> None:
    for key, value in more.items():
        total[key] = total.get(key, 0) + value


def _by_shared_tokens(
    factors: Iterable[tuple[frozenset[sympy.Symbol], sympy.Expr]],
) -> list[list[sympy.Expr]]:
    """Group factors so that different groups have no token in common."""
    groups: list[tuple[set[sympy.Symbol], list[sympy.Expr]]] = []
    for tokens, factor in factors:
        joined, members, apart = set(tokens), [factor], []
        for other, others in groups:
            if (other & joined) or not (other or joined):
                joined, members = joined | other, others + members
            else:
                apart.append((other, others))
        groups = [*apart, (joined, members)]
    return [members for _, members in groups]
