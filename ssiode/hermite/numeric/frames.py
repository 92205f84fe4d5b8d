r"""Splitting of averages into few dimensions: sums, products, and functions of linear forms.

If g depends on :math:`u = Q^T z` only, Q with orthonormal columns, and g(z) = h(u), then

.. math:: E[g(z) He_\alpha(z)] = \sum_{|\beta| = |\alpha|}
          \alpha!\,[t^\alpha] \prod_j \frac{(\sum_i Q_{ij} t_i)^{\beta_j}}{\beta_j!}\;
          E[h(u) He_\beta(u)],

by the generating function of the Hermite polynomials; for one form
:math:`E[He_\alpha(z) \phi(a \cdot z)] = \hat a^\alpha E[He_{|\alpha|}(u) \phi(|a| u)]`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import sympy

from ssiode.expression.functions import He, relu
from ssiode.hermite.grouping import by_shared_symbols

Direction = tuple[sympy.Expr, ...]


@dataclass(frozen=True)
class Term:
    """A product of factors in separate tokens."""

    factors: tuple[sympy.Expr, ...]


def split_terms(expression: sympy.Expr) -> list[Term]:
    """Split a sum into products over separate tokens; what does not factor is kept together.

    Examples
    --------
    >>> z1, z2 = sympy.symbols("z1 z2", real=True)
    >>> [term.factors for term in split_terms(sympy.tanh(z1) + abs(z1) + sympy.sin(z1) * z2)]
    [(z2, sin(z1)), (tanh(z1) + Abs(z1),)]
    """
    products: list[Term] = []
    together: dict[frozenset[sympy.Symbol], list[sympy.Expr]] = {}
    for summand in _summands(expression):
        factors = _factors(summand)
        if len(factors) > 1:
            products.append(Term(tuple(factors)))
        else:
            together.setdefault(frozenset(summand.free_symbols), []).append(summand)
    sums = [Term((sympy.Add(*group),)) for group in together.values()]
    return [*products, *(term for term in sums if term.factors != (sympy.S.Zero,))]


def _summands(expression: sympy.Expr) -> Iterator[sympy.Expr]:
    for summand in sympy.Add.make_args(expression):
        coefficient, rest = summand.as_independent(*summand.free_symbols, as_Add=False)
        if rest.is_Add and coefficient is not sympy.S.One:
            yield from (coefficient * part for part in rest.args)
        else:
            yield summand


def _factors(summand: sympy.Expr) -> list[sympy.Expr]:
    factors = sympy.Mul.make_args(summand)
    constants = [factor for factor in factors if not factor.free_symbols]
    groups = by_shared_symbols(factor for factor in factors if factor.free_symbols)
    products = [sympy.Mul(*members) for members in groups]
    if len(products) < 2:
        return [summand]
    if constants:
        products[0] = sympy.Mul(*constants, products[0])
    return products


def directions_of(expression: sympy.Expr, tokens: Sequence[sympy.Symbol]) -> list[Direction]:
    """Return the different directions a (first entry 1) of the linear forms a.z + b it is made of.

    Examples
    --------
    >>> x, y = sympy.symbols("x y", real=True)
    >>> directions_of(sympy.tanh(2 * x + 4 * y - 1) * (x + 2 * y), (x, y))
    [(1, 2)]
    """
    found: dict[Direction, None] = {}
    pending, seen = [expression], set()
    while pending:
        node = pending.pop()
        if node in seen or not node.free_symbols:
            continue
        seen.add(node)
        direction = affine_form(node, tokens)
        if direction is None:
            pending.extend(node.args)
        else:
            first = next(entry for entry in direction if entry is not sympy.S.Zero)
            found[tuple(entry / first for entry in direction)] = None
    return list(found)


def affine_form(node: sympy.Expr, tokens: Sequence[sympy.Symbol]) -> Direction | None:
    """Return a if an expression is written as a.z + b with a != 0, else None.

    Examples
    --------
    >>> x, y = sympy.symbols("x y", real=True)
    >>> affine_form(2 * x - y + 1, (x, y)), affine_form(x * y, (x, y))
    ((2, -1), None)
    """
    positions = {token: index for index, token in enumerate(tokens)}
    entries = [sympy.S.Zero] * len(tokens)
    for term in sympy.Add.make_args(node):
        constants = []
        variables = []
        for factor in sympy.Mul.make_args(term):
            (variables if factor.free_symbols else constants).append(factor)
        if not variables:
            continue
        if len(variables) > 1 or variables[0] not in positions:
            return None
        entries[positions[variables[0]]] += sympy.Mul(*constants)
    return None if all(entry is sympy.S.Zero for entry in entries) else tuple(entries)


def kink_functions(expression: sympy.Expr) -> list[sympy.Expr]:
    """Return functions at whose zeros an expression may have kinks, jumps or singularities.

    Examples
    --------
    >>> x = sympy.Symbol("x", real=True)
    >>> kink_functions(abs(x - 1) + sympy.tanh(x))
    [x - 1]
    """
    found: dict[sympy.Expr, None] = {}
    for node in sorted(expression.atoms(*_KINKED), key=sympy.default_sort_key):
        if isinstance(node, sympy.Max | sympy.Min):
            for index, first in enumerate(node.args):
                found.update({first - second: None for second in node.args[:index]})
        else:
            found[node.args[0]] = None
    found.update(dict.fromkeys(singular_functions(expression)))
    return [function for function in found if function.free_symbols]


def singular_functions(expression: sympy.Expr) -> list[sympy.Expr]:
    """Return functions at whose zeros an expression may be singular.

    Examples
    --------
    >>> x = sympy.Symbol("x", real=True)
    >>> singular_functions(1 / (x - 1) + sympy.log(abs(x)))
    [x - 1, x]
    """
    found: dict[sympy.Expr, None] = {}
    nodes = expression.atoms(sympy.Pow, sympy.log, sympy.tan)
    for node in sorted(nodes, key=sympy.default_sort_key):
        if isinstance(node, sympy.tan):
            found[sympy.cos(node.args[0])] = None
        elif isinstance(node, sympy.log) or not (node.exp.is_Integer and node.exp > 0):
            # The modulus is zero where its argument is, and only that can change sign.
            base = node.args[0]
            found[base.args[0] if isinstance(base, sympy.Abs) else base] = None
    return [function for function in found if function.free_symbols]


def inner_arguments(expression: sympy.Expr) -> list[sympy.Expr]:
    """Return the arguments of its functions and the bases it divides by.

    Examples
    --------
    >>> x = sympy.Symbol("x", real=True)
    >>> inner_arguments(sympy.tanh(3 * x) / (1 + x**2))
    [x**2 + 1, 3*x]
    """
    found: dict[sympy.Expr, None] = {}
    nodes = expression.atoms(sympy.Function, sympy.Pow)
    for node in sorted(nodes, key=sympy.default_sort_key):
        if not node.is_Pow:
            found[node.args[-1] if isinstance(node, He) else node.args[0]] = None
        elif not (node.exp.is_Integer and node.exp > 0):
            found[node.exp if node.exp.free_symbols else node.base] = None
    return [function for function in found if function.free_symbols]


_KINKED = (sympy.Abs, sympy.sign, sympy.Heaviside, sympy.Max, sympy.Min, relu)


@dataclass(frozen=True)
class Frame:
    """Orthonormal axes u in which a factor is integrated: z = Q u.

    Attributes
    ----------
    matrix : numpy.ndarray
        Q, of shape (tokens, axes).
    exact : tuple of sympy.Expr or None
        The one column of Q exactly, if there is one axis only.
    """

    matrix: np.ndarray
    exact: Direction | None = None

    @property
    def dimension(self) -> int:
        """Number of axes."""
        return self.matrix.shape[1]

    @property
    def is_plain(self) -> bool:
        """Whether the axes are the tokens."""
        return np.array_equal(self.matrix, np.eye(len(self.matrix)))

    def weights(self, alpha: Sequence[int]) -> dict[tuple[int, ...], float]:
        """Return the numbers that multiply E[h He_beta] in E[g He_alpha]."""
        if self.is_plain:
            return {tuple(alpha): 1.0}
        # Coefficients of prod_i (sum_j Q_ij s_j)^alpha_i in s, which is the same by symmetry.
        polynomial = {(0,) * self.dimension: 1.0}
        for row, order in zip(self.matrix, alpha, strict=True):
            for _ in range(order):
                polynomial = _times_form(polynomial, row)
        return {beta: value for beta, value in polynomial.items() if value}


def _times_form(
    polynomial: dict[tuple[int, ...], float], row: np.ndarray
) -> dict[tuple[int, ...], float]:
    product: dict[tuple[int, ...], float] = {}
    for powers, value in polynomial.items():
        for axis, entry in enumerate(row):
            raised = tuple(p + (i == axis) for i, p in enumerate(powers))
            product[raised] = product.get(raised, 0.0) + value * float(entry)
    return product


def choose_frame(expression: sympy.Expr, tokens: Sequence[sympy.Symbol]) -> Frame:
    """Return axes as few as possible, along the kinks where there are kinks.

    Examples
    --------
    >>> x, y = sympy.symbols("x y", real=True)
    >>> choose_frame(sympy.tanh(x + y) ** 2, (x, y)).exact
    (sqrt(2)/2, sqrt(2)/2)
    """
    directions = directions_of(expression, tokens)
    if len(directions) == 1:
        (form,) = directions
        norm = sympy.sqrt(sympy.Add(*[entry**2 for entry in form]))
        exact = tuple(entry / norm for entry in form)
        return Frame(np.array([[float(entry)] for entry in exact]), exact)
    kinked: dict[Direction, None] = {}
    for function in kink_functions(expression):
        kinked.update(dict.fromkeys(directions_of(function, tokens)))
    ordered = [*kinked, *(direction for direction in directions if direction not in kinked)]
    rank = _rank(directions, len(tokens))
    oblique = any(sum(entry != 0 for entry in direction) > 1 for direction in kinked)
    if rank == len(tokens) and not oblique:
        return Frame(np.eye(len(tokens)))
    columns: list[np.ndarray] = []
    for direction in ordered:
        vector = np.array([float(entry) for entry in direction])
        rest = vector / np.linalg.norm(vector)
        for column in (*columns, *columns):
            rest = rest - column * (column @ rest)
        if len(columns) < rank and np.linalg.norm(rest) > 1e-6:
            columns.append(rest / np.linalg.norm(rest))
    if len(columns) < rank:
        return Frame(np.eye(len(tokens)))
    return Frame(np.stack(columns, axis=1))


def _rank(directions: Sequence[Direction], tokens: int) -> int:
    if len(directions) > 60 or not all(e.is_Rational for d in directions for e in d):
        return tokens
    return int(sympy.Matrix(directions).rank())


def factorials(alpha: Sequence[int]) -> int:
    """Return alpha!."""
    return math.prod(map(math.factorial, alpha))
