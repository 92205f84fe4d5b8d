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
_ROUGHEST = 6
# At 40 nodes per axis and L = 2 one node in six is left.
_NEGLIGIBLE = 1e-18
_ROUNDING = 1e-13
# The error of a rule depends on where kinks, jumps and steep parts lie between the nodes, so rules
# shifted by a part of their spacing are as many draws of it; those of fewer nodes add its size. It
# exceeds the factor times the largest difference only if it is close to all draws. At 2160 smooth
# states with 10, 14 and 24 nodes the largest error was 0.6 of the stated one. At 1350 kinked states
# with 5, 10 and 14 nodes it was 0.6 as well, and with half as many draws one state was left out.
_FACTORS = {"smooth": 2, "kinked": 3}
_N_SHIFTS = {"smooth": 2, "kinked": 16}
_FINER = (10, 13)
# Parts of the spacing over which kinks are smoothed: of the larger ones the nodes see all, the
# smaller ones are closer to the limit.
_SMOOTHED = (1.0, 0.5, 0.25)
_LARGEST_ORDER = {1: 1000, 2: 100, 3: 20}
_ORDERS = {
    1: (16, 24, 36, 54, 80, 120, 180, 270),
    2: (10, 14, 20, 28, 40, 56),
    3: (6, 8, 11, 14),
}


class QuadratureEngine(RiskEngine):
    """Averages on the product of Gauss-Hermite rules in z* and xi, for L <= 3.

    Nodes of negligible weight are left out. The error of a result is twice its largest difference
    from the rules of n - 1, n - 2, 2n/3 + 1 and 2n/3 nodes and from two rules with shifted z* and
    xi; one alone can agree with it by chance, because the error of a rule changes sign as n grows.
    With kinks of target, student or loss it falls only like 1/n; there n/2 nodes, 16 shifted rules
    and, for less than ten nodes, 10 and 13 nodes are compared, and the factor is 3.
    Where s = sqrt(1 - m^2) is below the spacing of the nodes, dR/dm of a kinked problem can rest on
    fields that no node meets; three times the largest difference from s = 1, 1/2 and 1/4 of the
    spacing is then added to its error.

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
    def nodes(self) -> NodeSet:
        """The nodes of the rule, of the total weight 1."""
        return self._nodes

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
            error = np.max(differences, axis=0)
            error *= _FACTORS[self._kind]
        error += self._average.rounding(moments, v)
        error[0] += self._label_error
        if (neighbour := self._average.neighbour_of_pole(v)) is not None:
            error[-2] += 2 * abs(moments[-2] - self._sum(self._nodes, neighbour)[-2])
        error[-2] += _FACTORS["kinked"] * max(
            (abs(moments[-2] - self._sum(self._finest, s)[-2]) for s in self._smoothed_states(v)),
            default=0.0,
        )
        return RiskEvaluation.of(moments, error, self._average.units, self.name, self.description)

    @cached_property
    def _label_error(self) -> float:
        """Error of E |g|^2, a part of R, where it has a closed form and is not rounding."""
        squared = isinstance(self.problem.loss, SquaredLoss)
        exact = label_square(self.problem.target) if squared else None
        error = 0.0 if exact is None else abs(self.label_square - exact)
        return error if error > _ROUNDING * self.label_square else 0.0

    @cached_property
    def _finest(self) -> NodeSet:
        """The rule itself, or one of more nodes if it has few."""
        if self.order >= _FINER[0]:
            return self._nodes
        return _node_set(self.problem, _FINER[-1], _NEGLIGIBLE)

    def _smoothed_states(self, v: np.ndarray) -> list[np.ndarray]:
        """States with parts of the spacing of the nodes in place of a smaller s; none if smooth."""
        if self.problem.is_smooth:
            return []
        spacing = _spacing(self.order if self.order >= _FINER[0] else _FINER[-1])
        values = [min(part * spacing, 0.9) for part in _SMOOTHED]
        pairs = [(s, np.copysign(np.sqrt(1.0 - s * s), v[-1])) for s in values]
        return [np.append(v[:-1], m) for s, m in pairs if s > orthogonal_overlap(v)]

    def moments(self, v: np.ndarray) -> np.ndarray:
        """See :meth:`RiskEngine.moments`."""
        return np.array([self._sum(self._nodes, state) for state in v]) * self._average.units

    def companion(self) -> QuadratureEngine:
        """Return the rule of two thirds the order, whose error is larger."""
        return QuadratureEngine(self.problem, max(4, 2 * self.order // 3))

    def rough(self) -> QuadratureEngine:
        """Return the rule of half the order, for a search."""
        return QuadratureEngine(self.problem, max(_ROUGHEST, self.order // 2))

    def _other_node_sets(self) -> list[NodeSet]:
        """The rules to compare with, one of them with all its nodes."""
        n, whole = self.order, max(3, 2 * self.order // 3)
        orders = {n - 1, n - 2, whole + 1, whole}
        if not self.problem.is_smooth:
            orders.add(max(3, n // 2))
            # Four nodes can all lie on the same side of a kink, and those of fewer with them.
            orders.update(_FINER if n < _FINER[0] else ())
        kept = {order: 0.0 if order == whole else _NEGLIGIBLE for order in orders - {n}}
        node_sets = [_node_set(self.problem, *pair) for pair in kept.items()]
        shifts = _shifts(n, self.problem.length, _N_SHIFTS[self._kind])
        return node_sets + [
            _node_set(self.problem, n, _NEGLIGIBLE, pair, self.problem.is_smooth) for pair in shifts
        ]

    @property
    def _kind(self) -> str:
        return "smooth" if self.problem.is_smooth else "kinked"

    def _sum(self, nodes: NodeSet, v: np.ndarray) -> np.ndarray:
        return self._average(nodes, v).sum(axis=0)


def _spacing(order: int) -> float:
    """Distance of the two nodes in the middle."""
    nodes, _ = gauss_hermite(order)
    return float(nodes[order // 2] - nodes[order // 2 - 1])


def _shifts(order: int, length: int, count: int) -> np.ndarray:
    """Shifts of the axes of z* and xi, shape (count, 2, L).

    Multiples of the powers 1/x, ..., 1/x^2L modulo the spacing, with x^(2L + 1) = x + 1: they fill
    the cell between the nodes evenly, and every projection of it (Roberts 2018).
    """
    dimension, x = 2 * length, 2.0
    for _ in range(60):
        x = (1.0 + x) ** (1.0 / (dimension + 1))
    multiples = np.arange(1, count + 1)[:, None] * x ** -np.arange(1.0, dimension + 1)
    # Fewer nodes do not resolve the weight exp(-a.u) of the larger shifts.
    largest = _spacing(order) * (1.0 if order >= _FINER[0] else 0.4)
    return (((multiples + 0.5) % 1.0 - 0.5) * largest).reshape(-1, 2, length)


def _shifted(
    points: np.ndarray, weights: np.ndarray, shift: np.ndarray, with_opposite: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Nodes u + a with the weights times exp(-a.u - a^2 / 2), the ratio of the densities.

    Shapes (n, 1, L) and (n, 1); or (n, 2, L) and (n, 2) with half of the weight on the opposite
    nodes, so that what vanishes by parity vanishes here too.
    """
    moved = points + shift
    moved_weights = weights * np.exp(-(points @ shift) - shift @ shift / 2)
    signs = np.array([1.0, -1.0] if with_opposite else [1.0])
    shares = np.full(len(signs), 1 / len(signs))
    return moved[:, None, :] * signs[:, None], moved_weights[:, None] * shares


def _node_set(
    problem: Problem,
    order: int,
    negligible: float,
    shifts: np.ndarray | None = None,
    with_opposite: bool = False,
) -> NodeSet:
    """Product rule without the nodes whose weight times 1 + |g|^2 is below `negligible`.

    The rows of `shifts` move the nodes of z* and of xi.
    """
    points, weights = gauss_hermite_grid(order, problem.length)
    star, star_weights = points[:, None, :], weights[:, None]
    noise, noise_weights = points, weights
    if shifts is not None:
        star, star_weights = _shifted(points, weights, shifts[0], with_opposite)
        noise, noise_weights = _shifted(points, weights, shifts[1], with_opposite)
        noise, noise_weights = noise.reshape(-1, problem.length), noise_weights.ravel()
    labels = finite_labels(problem, star)
    descending = np.argsort(-noise_weights, kind="stable")
    with np.errstate(over="ignore"):
        sizes = star_weights * (1.0 + (labels**2).sum(axis=-1))
    importance = np.maximum(sizes.max(axis=1), 1e-300)
    counts = np.searchsorted(-noise_weights[descending], -negligible / importance, side="right")
    edges = np.linspace(0, len(points), min(_N_BLOCKS, len(points)) + 1).astype(int)
    return NodeSet(
        z_star=star,
        labels=labels,
        star_weights=star_weights,
        noise=noise[None, descending, :],
        noise_weights=noise_weights[None, descending],
        noise_counts=counts,
        blocks=tuple(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)),
    )
