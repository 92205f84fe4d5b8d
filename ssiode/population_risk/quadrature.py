"""Tensor Gauss-Hermite quadrature over the 2L fields of short sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from ssiode.errors import whole_number
from ssiode.hermite.nodes import gauss_hermite_grid
from ssiode.population_risk.averages import Averager, NodeSet, finite_labels
from ssiode.population_risk.protocol import RiskEngine, RiskEvaluation

if TYPE_CHECKING:
    from ssiode.problem import Problem

_LONGEST = 2
_N_BLOCKS = 16
# At 40 nodes per axis and L = 2 one node in eleven is left.
_NEGLIGIBLE = 1e-15
_ROUNDING = 1e-13
_LARGEST_ORDER = {1: 1000, 2: 100}
_ORDERS = {1: (16, 24, 36, 54, 80, 120, 180, 270), 2: (10, 14, 20, 28, 40, 56)}


class QuadratureEngine(RiskEngine):
    """Averages on the product of Gauss-Hermite rules in z* and xi, for L <= 2.

    Nodes of negligible weight are left out. The error of a result is twice its largest difference
    from the rules of n - 1, 2n/3 + 1 and 2n/3 nodes; one alone can agree with it by chance, because
    the error of a rule changes sign as n grows. With kinks of target, student or loss it falls only
    like 1/n; there n/2 nodes are compared too, and the factor is 3.

    Parameters
    ----------
    problem : Problem
    order : int
        Nodes per axis, from 4 to 1000 (L = 1) or 100 (L = 2); a point costs order^(2L)
        evaluations of the loss.

    Raises
    ------
    InputError
        For L > 2, and for label noise under a loss in which it does not separate.
    """

    name: ClassVar[str] = "quadrature"

    def __init__(self, problem: Problem, order: int | None = None) -> None:
        self.check(problem)
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
            gradient_scale = float(np.abs(result.gradient).max())
            scale = max(abs(result.value), gradient_scale, result.second_moment)
            allowed = max(tolerance * abs(result.value), _ROUNDING * scale)
            if candidate is not None and abs(result.value - candidate[1]) <= allowed:
                return candidate[0]
            flat = max(tolerance * gradient_scale, _ROUNDING * scale)
            is_accurate = result.value_error <= allowed and result.gradient_error.max() <= flat
            candidate = (engine, result.value) if is_accurate else None
        return engine

    @property
    def settings(self) -> str:
        """The order."""
        return f"{self.order} nodes per axis"

    def evaluate(self, v: np.ndarray) -> RiskEvaluation:
        """See :meth:`RiskEngine.evaluate`."""
        if not self._coarse_nodes:
            self._coarse_nodes = self._other_node_sets()
        moments = self._sum(self._nodes, v)
        with np.errstate(over="ignore", invalid="ignore"):
            differences = [np.abs(moments - self._sum(c, v)) for c in self._coarse_nodes]
            error = np.max(differences, axis=0) * (2 if self.problem.is_smooth else 3)
        scale = float(np.abs(moments).max())
        error += 3e-14 * scale
        error[-2] += 2e-16 * scale / max(np.sqrt(max(0.0, 1.0 - v[-1] ** 2)), 1e-5)
        if (neighbour := self._average.neighbour_of_pole(v)) is not None:
            error[-2] += abs(moments[-2] - self._sum(self._nodes, neighbour)[-2])
        return RiskEvaluation(
            value=float(moments[0]),
            value_error=float(error[0]),
            gradient=moments[1:-1],
            gradient_error=error[1:-1],
            second_moment=float(moments[-1]),
            second_moment_error=float(error[-1]),
            engine=self.name,
            reason=self.description,
        )

    def gradient_and_second_moment(self, v: np.ndarray) -> tuple[np.ndarray, float]:
        """See :meth:`RiskEngine.gradient_and_second_moment`."""
        moments = self._sum(self._nodes, v)
        return moments[1:-1], float(moments[-1])

    def risk(self, v: np.ndarray) -> float:
        """See :meth:`RiskEngine.risk`."""
        return float(self._sum(self._nodes, v)[0])

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
        return [_node_set(self.problem, *pair) for pair in kept.items()]

    def _sum(self, nodes: NodeSet, v: np.ndarray) -> np.ndarray:
        return self._average(nodes, v).sum(axis=0)


def _node_set(problem: Problem, order: int, negligible: float) -> NodeSet:
    """Product rule without the nodes whose weight times 1 + |g|^2 is below `negligible`."""
    points, weights = gauss_hermite_grid(order, problem.length)
    labels = finite_labels(problem, points)
    descending = np.argsort(-weights, kind="stable")
    with np.errstate(over="ignore"):
        importance = np.maximum(weights * (1.0 + (labels**2).sum(axis=-1)), 1e-300)
    counts = np.searchsorted(-weights[descending], -negligible / importance, side="right")
    edges = np.linspace(0, len(points), min(_N_BLOCKS, len(points)) + 1).astype(int)
    return NodeSet(
        z_star=points[:, None, :],
        labels=labels[:, None, :],
        star_weights=weights[:, None],
        noise=points[None, descending, :],
        noise_weights=weights[None, descending],
        noise_counts=counts,
        blocks=tuple(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)),
    )
