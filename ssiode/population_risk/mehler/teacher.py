r"""The teacher's side of Mehler's series: g and the products of its outputs.

.. math:: \hat c_\beta(G) = E\Big[G(z_\star) \prod_i \frac{He_{\beta_i}(x_i)}{\sqrt{\beta_i!}}\Big],
          \qquad x = U z_\star,

for G any output :math:`g_a` and any product :math:`g_a g_b`, where the rows of U are the
orthonormal directions that the student sees.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ssiode.errors import InputError
from ssiode.hermite.numeric.axis_rules import hermite_table
from ssiode.hermite.numeric.nodes import gauss_hermite
from ssiode.population_risk.mehler.grid import (
    Axis,
    contract,
    needed_reach,
    product_points,
    total_order,
)

if TYPE_CHECKING:
    import sympy

    from ssiode.target import Target

_LARGEST_BOX = 300_000
_DEPENDENT = 1e-13
_ROUNDING = 2.0**-50
_LARGEST_GRID = 4_000_000
_LONGEST_NUMERIC = 3

# Normalised coefficients by the pairs of token and power of their index.
Index = tuple[tuple[int, int], ...]
Table = dict[Index, float]


class NoSeriesError(InputError):
    """A target or student whose series cannot be had; the message says why."""


@dataclass(frozen=True, eq=False)
class Teacher:
    """Coefficients of the outputs h of the teacher and of their products.

    The outputs of the target are g = mean + mixing @ h, with orthonormal columns: those that are
    combinations of others are not carried along.

    Attributes
    ----------
    mean, mixing : arrays of shape (k,), (k, k')
    outputs, products : arrays of shape (k', N+1, ...), (k' (k' + 1) / 2, N+1, ...)
        Normalised coefficients of h_a, and of h_a h_b for the pairs a <= b in order.
    square : float
        E |h|^2.
    left_out : array of shape (k' + k' (k' + 1) / 2,)
        Squared L2 norms of what the coefficients of h_a and of h_a h_b leave out, or more.
    is_finite : bool
        Whether there are no further coefficients: the target is a polynomial.
    """

    mean: np.ndarray
    mixing: np.ndarray
    outputs: np.ndarray
    products: np.ndarray
    square: float
    left_out: np.ndarray
    is_finite: bool

    @property
    def top(self) -> int:
        """The highest order N."""
        return self.outputs.shape[1] - 1

    @property
    def weights_of_orders(self) -> np.ndarray:
        """Share of each order in the norm of outputs and products, and 1 for order 0."""
        boxes = np.concatenate([self.outputs, self.products])
        orders = total_order(self.top, boxes.ndim - 1).ravel()
        squares = np.bincount(orders, (boxes**2).sum(axis=0).ravel())[: self.top + 1]
        weights = np.sqrt(squares / max(squares.sum(), 1e-300))
        weights[0] = 1.0
        return weights


def pairs(n_outputs: int) -> list[tuple[int, int]]:
    """The pairs a <= b, in the order of the products."""
    return list(itertools.combinations_with_replacement(range(n_outputs), 2))


def polynomial_teacher(target: Target, axes: np.ndarray) -> Teacher | None:
    """Return the exact coefficients of a polynomial target, or None if it is none.

    Parameters
    ----------
    target : Target
    axes : array of shape (r, L)
        The directions U: the tokens (r = L), or one direction (r = 1).
    """
    from ssiode.expression import token_symbols
    from ssiode.hermite.polynomial.exact import NotPolynomialError

    if target.expressions is None:
        return None
    tokens = token_symbols(target.length)
    try:
        means = [polynomial_mean(g, tokens) for g in target.expressions]
        # Constant outputs need not be carried along.
        kept = [i for i, g in enumerate(target.expressions) if g.free_symbols] or [0]
        h = [target.expressions[i] - means[i] for i in kept]
        functions = [*h, *(h[a] * h[b] for a, b in pairs(len(h)))]
        tables = [normalised_coefficients(function, tokens) for function in functions]
    except NotPolynomialError:
        return None
    top = max((sum(power for _, power in index) for table in tables for index in table), default=0)
    if (top + 1) ** len(axes) > _LARGEST_BOX:
        raise NoSeriesError(f"the target has order {top / 2:g}, too high for {len(axes)} tokens")
    along = along_tokens if len(axes) == target.length else along_direction
    boxes = np.array([along(table, top, axes) for table in tables])
    k = len(h)
    origin = (slice(k, None), *[0] * len(axes))
    squares = [boxes[origin][i] for i, (a, b) in enumerate(pairs(k)) if a == b]
    return Teacher(
        mean=np.array(means, dtype=float),
        mixing=np.eye(len(means))[:, kept],
        outputs=boxes[:k],
        products=boxes[k:],
        square=float(np.sum(squares)),
        left_out=np.zeros(len(boxes)),
        is_finite=True,
    )


def polynomial_mean(function: sympy.Expr, tokens: list[sympy.Symbol]) -> sympy.Expr:
    """E g of a polynomial, exactly."""
    from ssiode.hermite.polynomial.exact import hermite_expansion

    expansion = hermite_expansion(function, tokens)
    return expansion.basis.expression(expansion.coefficients.get((), {}))


def normalised_coefficients(function: sympy.Expr, tokens: list[sympy.Symbol]) -> Table:
    """All coefficients c_alpha / sqrt(alpha!) of a polynomial, rounded to floats."""
    from ssiode.hermite.polynomial.exact import hermite_expansion

    expansion = hermite_expansion(function, tokens)
    nearest = expansion.basis.nearest_float
    return {
        index: nearest(value)[0] / root_of_factorials(index)
        for index, value in expansion.coefficients.items()
    }


def root_of_factorials(index: Index) -> float:
    """Return the norm sqrt(alpha!) of He_alpha.

    >>> root_of_factorials(((0, 4), (2, 3)))
    12.0
    """
    return math.sqrt(math.prod(math.factorial(power) for _, power in index))


def along_tokens(table: Table, top: int, axes: np.ndarray) -> np.ndarray:
    """Coefficients along r = L orthonormal axes from those of the tokens, shape (top + 1,) * L."""
    box = np.zeros([top + 1] * len(axes))
    for index, value in table.items():
        beta = [0] * len(axes)
        for token, power in index:
            beta[token] = power
        box[tuple(beta)] = value
    return box if np.array_equal(axes, np.eye(len(axes))) else _rotated(box, axes)


def _rotated(box: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Coefficients along other axes, by rules that are exact for polynomials of this order."""
    top, dimension = len(box) - 1, len(axes)
    nodes, weights = gauss_hermite(top + 1)
    points = product_points([nodes] * dimension) @ axes
    values = box @ hermite_table(points[:, -1], top)
    for i in reversed(range(dimension - 1)):
        values = np.einsum("...np,np->...p", values, hermite_table(points[:, i], top))
    rotated = values.reshape([len(nodes)] * dimension)
    for i in range(dimension):
        rotated = contract(hermite_table(nodes, top) * weights, rotated, i)
    return np.where(total_order(top, dimension) <= top, rotated, 0.0)


def along_direction(table: Table, top: int, axes: np.ndarray) -> np.ndarray:
    """Coefficients along one unit vector u from those of the tokens, shape (top + 1,).

    E[G He_n(u.z)] / sqrt(n!) is the sum of sqrt(n! / alpha!) u^alpha c_alpha / sqrt(alpha!) over
    abs(alpha) = n.
    """
    (direction,) = axes
    terms: list[list[float]] = [[] for _ in range(top + 1)]
    for index, value in table.items():
        n = sum(power for _, power in index)
        factor = math.prod(direction[token] ** power for token, power in index)
        share = math.sqrt(math.factorial(n)) / root_of_factorials(index)
        terms[n].append(value * factor * share)
    return np.array([math.fsum(row) for row in terms])


def averaged_tokens(target: Target, axes: np.ndarray) -> list[int]:
    """Tokens over which :func:`numeric_teacher` averages.

    Along one direction those that the target depends on; otherwise all.

    >>> from ssiode import Target
    >>> averaged_tokens(Target("exp(z2)", length=4), np.full((1, 4), 0.5))
    [1]
    """
    from ssiode.expression import token_symbols

    if len(axes) > 1 or target.expressions is None:
        return list(range(target.length))
    used = set().union(*(g.free_symbols for g in target.expressions))
    return [i for i, token in enumerate(token_symbols(target.length)) if token in used]


def check_numeric(target: Target, axes: np.ndarray) -> None:
    """Raise `NoSeriesError` if the quadrature of :func:`numeric_teacher` does not serve."""
    if not target.is_smooth:
        raise NoSeriesError("the target is neither a polynomial nor known to be smooth")
    if any(_has_steep_steps(g) for g in target.expressions or ()):
        raise NoSeriesError("the target has steps too narrow for a grid")
    n_tokens = len(averaged_tokens(target, axes))
    if n_tokens > _LONGEST_NUMERIC:
        raise NoSeriesError(
            f"the target is no polynomial and has {n_tokens} tokens; the series allows "
            f"{_LONGEST_NUMERIC}"
        )


def _has_steep_steps(expression: sympy.Expr) -> bool:
    """Whether a factor changes on an axis within a few hundredths."""
    from ssiode.hermite.numeric.factor_averages import Factor
    from ssiode.hermite.numeric.frames import split_terms

    factors = [factor for term in split_terms(expression) for factor in term.factors]
    return any(
        any(Factor(factor, tuple(sorted(factor.free_symbols, key=str))).sharp_points)
        for factor in factors
        if factor.free_symbols
    )


def numeric_teacher(target: Target, axes: np.ndarray, level: int, top: int) -> Teacher:
    """Return coefficients of a smooth target by quadrature, up to a total order.

    Parameters
    ----------
    target : Target
    axes : array of shape (r, L)
        The directions U.
    level : int
        The step of the rule over the L tokens is 2^(-level/2).
    top : int
        The highest order N.
    """
    tokens = averaged_tokens(target, axes)
    length, seen, share = len(tokens), len(axes), 1.0
    if length < target.length:
        share = float(np.linalg.norm(axes[:, tokens]))
    rows = completed(axes[:, tokens] / share)

    def outputs(x: np.ndarray) -> np.ndarray:
        z = np.zeros((len(x), target.length))
        z[:, tokens] = x @ rows
        return target(z)

    reach = needed_reach(lambda x: np.square(outputs(x)).T, length, top)
    if reach is None:
        raise NoSeriesError("the target grows too fast for its averages to be found")
    axis = Axis(level, reach)
    if len(axis.nodes) ** length > _LARGEST_GRID:
        raise NoSeriesError("the target grows too fast for a grid over its tokens")
    g = outputs(product_points([axis.nodes] * length))
    table = axis.table(0.0, top)
    weights = np.prod(product_points([table[0]] * length), axis=1)
    mean = weights @ g
    triangle = np.linalg.qr(np.sqrt(weights)[:, None] * (g - mean), mode="r")
    _, sizes, directions = np.linalg.svd(triangle)
    # The outputs of attention sum to one: those that others determine are not carried along.
    mixing = directions[: max(1, int(np.sum(sizes > _DEPENDENT * sizes[0])))].T
    h = (g - mean) @ mixing
    k = mixing.shape[1]
    functions = np.array([*h.T, *(h[:, a] * h[:, b] for a, b in pairs(k))])
    seen_values = functions.reshape(-1, *[len(axis.nodes)] * length)
    for i in reversed(range(seen, length)):
        seen_values = contract(table[:1], seen_values, i + 1)
    with np.errstate(over="ignore"):  # far out, where it has no weight or makes the error infinite
        boxes, norms = seen_values, seen_values**2
    for i in reversed(range(seen)):
        boxes, norms = contract(table, boxes, i + 1), contract(table[:1], norms, i + 1)
    boxes = boxes.reshape(len(functions), *[top + 1] * seen)
    orders = total_order(top, seen)
    boxes = np.where(orders <= top, boxes, 0.0)
    # Averaged over the other tokens, He_n(u.z) is |u'|^n He_n(u'.z' / |u'|).
    left_out = rest_of_norm(norms.ravel(), boxes) * share ** (2 * (top + 1))
    boxes = boxes * share**orders
    return Teacher(
        mean=mean,
        mixing=mixing,
        outputs=boxes[:k],
        products=boxes[k:],
        square=float(weights @ (h**2).sum(axis=1)),
        left_out=left_out,
        is_finite=False,
    )


def rest_of_norm(norms: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Squared norms less those of the coefficients, but not below rounding.

    >>> rest_of_norm(np.array([5.0]), np.array([[1.0, 1.5]]))
    array([1.75])
    """
    return np.maximum(norms - (boxes**2).sum(axis=tuple(range(1, boxes.ndim))), _ROUNDING * norms)


def completed(axes: np.ndarray) -> np.ndarray:
    """Orthonormal rows that begin with the given ones and span all tokens.

    >>> rows = completed(np.array([[0.6, 0.8]]))
    >>> np.allclose(rows @ rows.T, np.eye(2)), rows[0].tolist()
    (True, [0.6, 0.8])
    """
    _, _, directions = np.linalg.svd(np.eye(axes.shape[1]) - axes.T @ axes)
    return np.concatenate([axes, directions[: axes.shape[1] - len(axes)]])
