r"""The target's coefficients over all its tokens, kept only where they do not vanish.

A target that is no polynomial is split into a sum :math:`h = \sum_i h_i` of functions of disjoint
tokens, so that

.. math:: h^2 = \sum_i h_i^2 + 2 \sum_{i<j} h_i h_j,

where the coefficients of the products are products of coefficients: a sum of functions of one
token each is as cheap for many tokens as for few.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ssiode.population_risk.mehler.closed_teacher import closed_teacher
from ssiode.population_risk.mehler.teacher import (
    NoSeriesError,
    Table,
    Teacher,
    check_numeric,
    normalised_coefficients,
    numeric_teacher,
    polynomial_mean,
    polynomial_teacher,
)
from ssiode.population_risk.untied.homogeneous_sums import HomogeneousSums
from ssiode.target import Target

if TYPE_CHECKING:
    import sympy

# Smallest and largest level of the rule over so many tokens; see `numeric_teacher`.
_LEVELS = {1: (6, 12), 2: (5, 9), 3: (4, 6)}
_TOLERANCE = 1e-10
_MOST_COEFFICIENTS = 200_000
_NEGLIGIBLE = 1e-17


@dataclass(frozen=True, eq=False)
class RowTeacher:
    """Coefficients of h = g - E g and of h^2 over all tokens.

    Attributes
    ----------
    centre : float
        E g.
    output, product : HomogeneousSums
        Of h and of h^2.
    square : float
        E h^2.
    left_out : array of shape (2,)
        Norms of what the coefficients of h and of h^2 leave out, or more.
    errors : array of shape (2,)
        Norms of the errors of the coefficients.
    is_finite : bool
        Whether there are no further coefficients: the target is a polynomial.
    """

    centre: float
    output: HomogeneousSums
    product: HomogeneousSums
    square: float
    left_out: np.ndarray
    errors: np.ndarray
    is_finite: bool

    @property
    def top(self) -> int:
        """The highest order N."""
        return self.output.top

    @property
    def mean(self) -> np.ndarray:
        """E g of the outputs, shape (1,)."""
        return np.array([self.centre])

    @property
    def mixing(self) -> np.ndarray:
        """The one output is h itself."""
        return np.eye(1)

    @cached_property
    def weights_of_orders(self) -> np.ndarray:
        """The coefficients of the student stand alone: each order has its own size."""
        return np.ones(self.top + 1)


def row_teacher(target: Target, order: int) -> RowTeacher:
    """Return the coefficients of a target with one output.

    Parameters
    ----------
    target : Target
    order : int
        Highest order for a target that is no polynomial.

    Raises
    ------
    NoSeriesError
        If a part of the target that is no polynomial has more than three tokens or no
        coefficients, or if there are too many of them.

    Examples
    --------
    >>> teacher = row_teacher(Target("sum(He2(z))", length=50), 8)
    >>> len(teacher.output.factors), teacher.square, teacher.is_finite
    (50, 100.0, True)
    """
    if target.expressions is None:
        raise NoSeriesError("the target is a Python function, which has no coefficients")
    from ssiode.expression import token_symbols
    from ssiode.hermite.polynomial.exact import NotPolynomialError

    (function,) = target.expressions
    tokens = token_symbols(target.length)
    try:
        mean = polynomial_mean(function, tokens)
        tables = [normalised_coefficients((function - mean) ** n, tokens) for n in (1, 2)]
    except NotPolynomialError:
        return _of_parts(function, tokens, order)
    top = max((sum(power for _, power in index) for table in tables for index in table), default=0)
    sums = [_checked(table, len(tokens), top) for table in tables]
    square = tables[1].get((), 0.0)
    return RowTeacher(float(mean), *sums, square, np.zeros(2), np.zeros(2), is_finite=True)


def _checked(table: Table, length: int, top: int) -> HomogeneousSums:
    if len(table) > _MOST_COEFFICIENTS:
        raise NoSeriesError(
            f"the target has {len(table)} coefficients and the series allows {_MOST_COEFFICIENTS}"
        )
    return HomogeneousSums.of(table, length, top)


@dataclass(frozen=True, eq=False)
class _Part:
    """A function of few tokens with its coefficients up to an order, and errors as norms."""

    top: int
    mean: float
    tables: tuple[Table, Table]
    square: float
    left_out: np.ndarray
    errors: np.ndarray


def _of_parts(function: sympy.Expr, tokens: list[sympy.Symbol], order: int) -> RowTeacher:
    pieces = _disjoint_parts(function)
    parts = [_part(piece, tokens, order) for piece in pieces]
    if (lowest := min(part.top for part in parts)) < order:
        order = lowest
        parts = [_part(piece, tokens, order) for piece in pieces]
    pairs = list(itertools.combinations(parts, 2))
    n_products = sum(len(a.tables[0]) * len(b.tables[0]) for a, b in pairs)
    if n_products > 4 * _MOST_COEFFICIENTS:
        raise NoSeriesError(f"the square of the target has more than {n_products // 4} terms")
    output: Table = {}
    product: Table = {}
    left_out, errors = np.zeros(2), np.zeros(2)
    for part in parts:
        output |= part.tables[0]
        for index, value in part.tables[1].items():
            product[index] = product.get(index, 0.0) + value
        left_out += part.left_out
        errors += part.errors
    for a, b in pairs:
        kept = 0.0
        for index, value in _products(a.tables[0], b.tables[0], order):
            product[index] = product.get(index, 0.0) + 2 * value
            kept += value**2
        left_out[1] += 2 * math.sqrt(max(a.square * b.square - kept, 0.0))
        errors[1] += 2 * (math.sqrt(a.square) * b.errors[0] + math.sqrt(b.square) * a.errors[0])
    return RowTeacher(
        math.fsum(part.mean for part in parts),
        _checked(output, len(tokens), order),
        _checked(product, len(tokens), order),
        math.fsum(part.square for part in parts),
        left_out,
        errors,
        is_finite=False,
    )


def _products(first: Table, second: Table, order: int) -> list[tuple[tuple, float]]:
    """Coefficients of the product of two functions of disjoint tokens, up to an order."""
    found = []
    for index, value in first.items():
        room = order - sum(power for _, power in index)
        for other, factor in second.items():
            if sum(power for _, power in other) <= room:
                found.append((tuple(sorted(index + other)), value * factor))
    return found


def _disjoint_parts(function: sympy.Expr) -> list[sympy.Expr]:
    """Sums of terms that share tokens, however indirectly; their sum is the function.

    >>> import sympy
    >>> x, y, z = sympy.symbols("x y z")
    >>> _disjoint_parts(sympy.tanh(x) + y * sympy.exp(z) + x**2)
    [x**2 + tanh(x), y*exp(z)]
    """
    import sympy

    parts: list[sympy.Expr] = []
    for term in sympy.Add.make_args(function):
        joined = [part for part in parts if part.free_symbols & term.free_symbols]
        parts = [part for part in parts if not any(part is other for other in joined)]
        parts.append(sympy.Add(term, *joined))
    return sorted(parts, key=lambda part: sorted(map(str, part.free_symbols)))


def _part(function: sympy.Expr, tokens: list[sympy.Symbol], order: int) -> _Part:
    from ssiode.expression import token_symbols

    used = [i for i, token in enumerate(tokens) if token in function.free_symbols]
    if not used:
        return _Part(order, float(function), ({}, {}), 0.0, np.zeros(2), np.zeros(2))
    own = token_symbols(len(used))
    renamed = function.subs({tokens[i]: own[k] for k, i in enumerate(used)}, simultaneous=True)
    teacher, errors = _dense(Target(renamed, length=len(used)), order)
    top = order if teacher.is_finite else min(order, teacher.top)
    boxes = _output_and_product(teacher)
    tables = tuple(_sparse(box, used, top) for box in boxes)
    norms = np.array([float(np.sum(box**2)) for box in boxes])
    kept = np.array([math.fsum(value**2 for value in table.values()) for table in tables])
    return _Part(
        top,
        float(teacher.mean[0]),
        tables,
        teacher.square,
        np.sqrt(teacher.left_out + np.maximum(norms - kept, 0.0)),
        errors,
    )


def _output_and_product(teacher: Teacher) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of h = g - E g, whose sign the teacher may have turned, and of h^2."""
    return teacher.outputs[0] * teacher.mixing[0, 0], teacher.products[0]


def _dense(target: Target, order: int) -> tuple[Teacher, np.ndarray]:
    """The coefficients on the tokens of one part, and norms of their errors."""
    axes = np.eye(target.length)
    if (exact := polynomial_teacher(target, axes)) is not None:
        return exact, np.zeros(2)
    if not target.is_smooth:
        return closed_teacher(target, axes, order), np.zeros(2)
    check_numeric(target, axes)
    first, last = _LEVELS[target.length]
    teacher, errors = numeric_teacher(target, axes, first, order), np.full(2, np.inf)
    for level in range(first + 1, last + 1):
        finer = numeric_teacher(target, axes, level, order)
        pairs = zip(_output_and_product(teacher), _output_and_product(finer), strict=True)
        errors = np.array([2 * np.linalg.norm(coarse - fine) for coarse, fine in pairs])
        teacher = finer
        if errors[0] <= _TOLERANCE * math.sqrt(teacher.square):
            break
    return teacher, errors


def _sparse(box: np.ndarray, used: list[int], order: int) -> Table:
    """Entries of a dense box that are not negligible, up to an order."""
    smallest = _NEGLIGIBLE * np.abs(box).max()
    table: Table = {}
    for powers in zip(*np.nonzero(np.abs(box) > smallest), strict=True):
        if sum(powers) <= order:
            index = tuple((used[k], int(p)) for k, p in enumerate(powers) if p)
            table[index] = float(box[powers])
    return table
