r"""The population risk on the ball of the overlaps that the student sees.

The feasible set is the ball :math:`|u| \le 1` of :class:`FeasibleCoordinates`. A student that sees
only some directions of the fields, as the tied network sees their sum, has a risk that depends on
some directions of u only, and on these again the feasible set is a ball.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ssiode.population_risk.protocol import Estimate
from ssiode.risk_landscape.coordinates import FeasibleCoordinates
from ssiode.risk_landscape.minima.error_sums import weighted_error
from ssiode.risk_landscape.seen_overlaps import SeenOverlaps

if TYPE_CHECKING:
    from ssiode.population_risk.protocol import RiskEngine

# Distance of the nodes of differences, in v: of seven nodes 1e-10 of a smooth risk is left out.
_STEP = 2.0**-6
_ROUNDING = 2.0**-50


@dataclass(frozen=True, eq=False)
class ReducedRisk:
    r"""R over the coordinates y of the directions of u that the student sees.

    Parameters
    ----------
    engine : RiskEngine

    Examples
    --------
    >>> from ssiode import Attention, Encoding, Problem, Target
    >>> from ssiode.population_risk import make_engine
    >>> problem = Problem(Target("He2(z1) + He2(z2)"), Attention("trace"), Encoding("opposite"))
    >>> risk = ReducedRisk(make_engine(problem))
    >>> risk.dimension, risk.overlaps(np.array([0.6, 0.8])).tolist()
    (2, [0.6, -0.6, 0.8])
    >>> hessian = risk.hessian(np.zeros((1, 2))).value
    >>> np.diag(hessian[0]).round(6).tolist()
    [2.076008, -1.127827]
    """

    engine: RiskEngine

    @cached_property
    def coordinates(self) -> FeasibleCoordinates:
        """The coordinates u of the feasible set."""
        return FeasibleCoordinates(self.engine.problem.geometry)

    @cached_property
    def frame(self) -> np.ndarray:
        """The matrix with v = frame @ y, shape (L + 1, s)."""
        seen = SeenOverlaps(self.engine.problem)
        return seen.states(np.eye(seen.dimension)).T

    @cached_property
    def seen(self) -> np.ndarray:
        """Orthonormal directions of u on which R depends, shape (s, r); the last is that of m."""
        return self.coordinates.coordinates(self.frame.T)

    @cached_property
    def is_tabulated(self) -> bool:
        """Whether the engine sums a table, so that evaluations cost little."""
        return self.engine.tabulated_risk() is not None

    @cached_property
    def rough(self) -> ReducedRisk:
        """The risk of a cheaper engine, to search with."""
        engine = self.engine.rough()
        return self if engine is self.engine else ReducedRisk(engine)

    @property
    def dimension(self) -> int:
        """Number s <= r of directions that the student sees, m included."""
        return self.frame.shape[1]

    @cached_property
    def reach(self) -> np.ndarray:
        """Largest entry of v per unit of each coordinate y, at least 1; shape (s,)."""
        return np.maximum(np.abs(self.frame).max(axis=0), 1.0)

    @property
    def n_unseen(self) -> int:
        """Number of directions of the feasible set along which R is constant."""
        return self.coordinates.dimension - self.dimension

    def overlaps(self, y: np.ndarray) -> np.ndarray:
        """States v of shape (..., L + 1) at y of shape (..., s); 0 in what is not seen."""
        return y @ self.frame.T

    def value_and_gradient(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """R and its gradient in y at points of shape (p, s): shapes (p,) and (p, s)."""
        moments = self.engine.moments(self.overlaps(y))
        return moments[:, 0], moments[:, 1:-1] @ self.frame

    def gradient(self, y: np.ndarray) -> np.ndarray:
        """Gradient in y, shape (p, s) to (p, s)."""
        return self.value_and_gradient(y)[1]

    def errors(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Errors of R and of its gradient at points of shape (p, s): shapes (p,) and (p, s).

        Those of the engine, and the rounding of sums as large as the root of E|grad l|^2.
        """
        values, errors = self.engine.estimates(self.overlaps(y))
        rounding = _ROUNDING * np.sqrt(np.maximum(values[:, -1:], 0.0))
        slopes = weighted_error(np.abs(self.frame.T), (errors[:, 1:-1] + rounding)[:, None])
        value = errors[:, 0] + _ROUNDING * np.abs(values[:, 0])
        return value, slopes

    def hessian(self, y: np.ndarray, nodes: int = 7) -> Estimate:
        """Second derivatives in y by differences of the gradient, shape (p, s) to (p, s, s).

        The nodes lie around the point, or to one side where |m| would exceed 1. The error is the
        difference from the formula of two nodes less.
        """
        s = self.dimension
        offsets = np.arange(nodes) - (nodes - 1) / 2
        shifts = np.zeros((len(y), s))
        room = np.maximum((1.0 - np.abs(y[:, -1])) / _STEP, 0.0) - offsets[-1]
        shifts[:, -1] = -np.copysign(np.maximum(-room, 0.0), y[:, -1])
        steps = offsets[None, None, :] + shifts[:, :, None]
        step = _STEP / self.reach
        points = y[:, None, None, :] + steps[..., None] * np.diag(step)[None, :, None, :]
        gradients = self.gradient(points.reshape(-1, s)).reshape(*steps.shape, s)
        rows = np.einsum("pik,pikj->pij", _weights(steps), gradients) / step[:, None]
        if nodes > 3:
            fewer = _weights(steps[..., 1:-1])
            coarse = np.einsum("pik,pikj->pij", fewer, gradients[..., 1:-1, :]) / step[:, None]
        else:
            coarse = np.full_like(rows, np.nan)
        error = np.abs(rows - coarse)
        return Estimate((rows + rows.swapaxes(1, 2)) / 2, (error + error.swapaxes(1, 2)) / 2)


def _weights(nodes: np.ndarray) -> np.ndarray:
    """Weights of the derivative at 0 from values at nodes of shape (..., n), the same shape.

    >>> _weights(np.array([-1.0, 0.0, 1.0])).round(12).tolist()
    [-0.5, 0.0, 0.5]
    """
    shape, n = nodes.shape, nodes.shape[-1]
    if np.all(nodes == nodes.reshape(-1, n)[0]):
        nodes = nodes.reshape(-1, n)[0]
    powers = nodes[..., None, :] ** np.arange(n)[:, None]
    unit = np.zeros((*nodes.shape, 1))
    unit[..., 1, 0] = 1.0
    return np.broadcast_to(np.linalg.solve(powers, unit)[..., 0], shape)
