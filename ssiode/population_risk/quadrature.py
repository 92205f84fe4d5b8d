"""Tensor Gauss-Hermite quadrature over the 2L fields of short sequences."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ssiode.errors import whole_number
from ssiode.hermite.numeric.nodes import gauss_hermite, gauss_hermite_grid
from ssiode.loss import SquaredLoss
from ssiode.population_risk.averages import (
    Averager,
    NodeSet,
    finite_labels,
    orthogonal_overlap,
)
from ssiode.population_risk.finite_moments import check_finite_moments
from ssiode.population_risk.label_moments import label_square
from ssiode.population_risk.protocol import RiskEngine, RiskEvaluation

if TYPE_CHECKING:
    from ssiode.problem import Problem

_LONGEST = 3
# With three tokens a point costs a million evaluations of the loss.
_LONGEST_QUICK = 2
_N_BLOCKS = 16
# At 40 nodes per axis and L = 2 one node in six is left.
_NEGLIGIBLE = 1e-18
_ROUNDING = 1e-13
# Of the spacing of the nodes: where kinks lie between nodes decides their error.
_SHIFTS = (0.5, 0.35, 0.2)
_LARGEST_ORDER = {1: 1000, 2: 100, 3: 20}
_ORDERS = {
    1: (16, 24, 36, 54, 80, 120, 180, 270),
    2: (10, 14, 20, 28, 40, 56),
    3: (6, 8, 11, 14),
}


class QuadratureEngine(RiskEngine):
    """Averages on the product of Gauss-Hermite rules in z* and xi, for L <= 3.

    Nodes of negligible weight are left out. The error of a result is twice its largest difference
    from the rules of n - 1, 2n/3 + 1 and 2n/3 nodes; one alone can agree with it by chance, because
    the error of a rule changes sign as n grows. With kinks of target, student or loss it falls only
    like 1/n; there n/2 nodes and rules with shifted z* are compared too, and the factor is 3.
    Where s = sqrt(1 - m^2) is below the spacing of the nodes, dR/dm of a kinked problem can rest on
    fields that no node meets; twice the difference from s = spacing is then added to its error.

    Parameters
    ----------
    problem : Problem
    order : int
        Nodes per axis, from 4 to 1000 (L = 1), 100 (L = 2) or 20 (L = 3); a point costs order^(2L)
        evaluations of the loss.

    Raises
    ------
    InputError
        For L > 3, for label noise under a loss in which it does not separate, and where R or V
        is known to be infinite.
    """

    name: ClassVar[str] = "quadrature"
    rank: ClassVar[int] = 1
    suits: ClassVar[str] = "short and smooth"

    def __init__(self, problem: Problem, order: int | None = None) -> None:
        self.check(problem)
        check_finite_moments(problem)
        self.problem = problem
        default = _ORDERS[problem.length][2]
        most = _LARGEST_ORDER[problem.length]
        order = default if order is None else order
        self.order = whole_number("order", order, minimum=4, maximum=most)
        self._average = Averager(problem)
        self._nodes = _node_set(problem, self.order, _NEGLIGIBLE)
        self._coarse_nodes: list[NodeSet] = []

    @classmethod
    def objection(cls, problem: Problem) -> str | None:
        """Long sequences have too many axes; noise that does not separate adds axes."""
        if problem.length > _LONGEST:
            return f"length is {problem.length} and the tensor grid allows {_LONGEST}"
        if problem.label_noise > 0 and not problem.loss.noise_is_additive:
            return f"label noise does not separate under the {problem.loss.kind} loss"
        return None

    @classmethod
    def reluctance(cls, problem: Problem) -> str | None:
        """Kinks make its errors fall slowly, and a third token makes it slow."""
        if not problem.is_smooth:
            return "target, student or loss is not known to be smooth"
        if problem.length > _LONGEST_QUICK:
            return f"length is {problem.length}, too long to be fast"
        return None

    @classmethod
    def suited(
        cls, problem: Problem, v: np.ndarray | None, tolerance: float, **options: Any
    ) -> Self:
        """See :meth:`RiskEngine.suited`; without options the order follows the tolerance."""
        if v is None or options:
            return cls(problem, **options)
        return cls.converged(problem, v, tolerance)

    @classmethod
    def converged(cls, problem: Problem, v: np.ndarray, tolerance: float) -> Self:
        """Return the engine of the lowest order whose error at v is below the tolerance.

        The error of the risk is taken relative to it, that of the gradient relative to its largest
        component, and rounding is allowed in both. The next order must confirm the risk: all nodes
        of two rules can be roots of one target. When the highest order is reached the engine is
        returned all the same: its errors tell.
        """
        cls.check(problem)
        candidate: tuple[Self, float] | None = None
        for order in _ORDERS[problem.length]:
            engine = cls(problem, order)
            result = engine.evaluate(v)
            unit = problem.loss.scale
            scale = abs(result.value) + unit * engine.label_square
            allowed = max(tolerance * abs(result.value), _ROUNDING * scale)
            if candidate is not None and abs(result.value - candidate[1]) <= allowed:
                return candidate[0]
            # What is left of a perfect match is rounding, and so is its gradient.
            is_match = abs(result.value) <= _ROUNDING**2 * scale
            slope = float(np.abs(result.gradient).max())
            flat = max(tolerance * slope, _ROUNDING * np.sqrt(result.second_moment))
            is_flat = is_match or result.gradient_error.max() <= flat
            is_accurate = result.value_error <= allowed and is_flat
            candidate = (engine, result.value) if is_accurate else None
        return engine

    @property
    def settings(self) -> str:
        """The order."""
        return f"{self.order} nodes per axis"

    @property
    def label_square(self) -> float:
        """E |g|^2 by the rule."""
        nodes = self._nodes
        with np.errstate(over="ignore"):
            return float((nodes.star_weights * np.square(nodes.labels).sum(axis=-1)).sum())

    def evaluate(self, v: np.ndarray) -> RiskEvaluation:
        """See :meth:`RiskEngine.evaluate`."""
        if not self._coarse_nodes:
            self._coarse_nodes = self._other_node_sets()
        moments = self._sum(self._nodes, v)
        with np.errstate(over="ignore", invalid="ignore"):
            differences = [np.abs(moments - self._sum(c, v)) for c in self._coarse_nodes]
            error = np.max(differences, axis=0) * (2 if self.problem.is_smooth else 3)
        error += self._average.rounding(moments, v)
        error[0] += self._label_error
        for neighbour in (self._average.neighbour_of_pole(v), self._smoothed_state(v)):
            if neighbour is not None:
                error[-2] += 2 * abs(moments[-2] - self._sum(self._nodes, neighbour)[-2])
        return RiskEvaluation.of(moments, error, self._average.units, self.name, self.description)

    @cached_property
    def _label_error(self) -> float:
        """Error of E |g|^2, a part of R, where it has a closed form and is not rounding."""
        squared = isinstance(self.problem.loss, SquaredLoss)
        exact = label_square(self.problem.target) if squared else None
        error = 0.0 if exact is None else abs(self.label_square - exact)
        return error if error > _ROUNDING * self.label_square else 0.0

    def _smoothed_state(self, v: np.ndarray) -> np.ndarray | None:
        """State with s = spacing of the nodes in place of a smaller one, None without kinks."""
        s = min(_spacing(self.order), 0.9)
        if self.problem.is_smooth or orthogonal_overlap(v) >= s:
            return None
        return np.append(v[:-1], np.copysign(np.sqrt(1.0 - s * s), v[-1]))

    def moments(self, v: np.ndarray) -> np.ndarray:
        """See :meth:`RiskEngine.moments`."""
        return np.array([self._sum(self._nodes, state) for state in v]) * self._average.units

    def companion(self) -> QuadratureEngine:
        """Return the rule of two thirds the order, whose error is larger."""
        return QuadratureEngine(self.problem, max(4, 2 * self.order // 3))

    def _other_node_sets(self) -> list[NodeSet]:
        """The rules to compare with, one of them with all its nodes."""
        n, whole = self.order, max(3, 2 * self.order // 3)
        orders = {n - 1, whole + 1, whole}
        if not self.problem.is_smooth:
            orders.add(max(3, n // 2))
        kept = {order: 0.0 if order == whole else _NEGLIGIBLE for order in orders - {n}}
        node_sets = [_node_set(self.problem, *pair) for pair in kept.items()]
        if not self.problem.is_smooth:
            # Fewer nodes do not resolve the weight exp(-a u) of the larger shifts.
            shares = _SHIFTS if n >= 10 else _SHIFTS[-1:]
            shifts = [share * _spacing(n) for share in shares]
            node_sets += [_node_set(self.problem, n, _NEGLIGIBLE, shift) for shift in shifts]
        return node_sets

    def _sum(self, nodes: NodeSet, v: np.ndarray) -> np.ndarray:
        return self._average(nodes, v).sum(axis=0)


def _spacing(order: int) -> float:
    """Distance of the two nodes in the middle."""
    nodes, _ = gauss_hermite(order)
    return float(nodes[order // 2] - nodes[order // 2 - 1])


def _node_set(
    problem: Problem, order: int, negligible: float, shift: float | None = None
) -> NodeSet:
    """Product rule without the nodes whose weight times 1 + |g|^2 is below `negligible`.

    With a shift a, z* is at the nodes u + a with the weights times exp(-a u - a^2 / 2).
    """
    points, weights = gauss_hermite_grid(order, problem.length)
    noise, noise_weights = points, weights
    if shift is not None:
        weights = weights * np.exp(-(shift * points + shift**2 / 2).sum(axis=-1))
        points = points + shift
    labels = finite_labels(problem, points)
    descending = np.argsort(-noise_weights, kind="stable")
    with np.errstate(over="ignore"):
        importance = np.maximum(weights * (1.0 + (labels**2).sum(axis=-1)), 1e-300)
    counts = np.searchsorted(-noise_weights[descending], -negligible / importance, side="right")
    edges = np.linspace(0, len(points), min(_N_BLOCKS, len(points)) + 1).astype(int)
    return NodeSet(
        z_star=points[:, None, :],
        labels=labels[:, None, :],
        star_weights=weights[:, None],
        noise=noise[None, descending, :],
        noise_weights=noise_weights[None, descending],
        noise_counts=counts,
        blocks=tuple(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)),
    )
