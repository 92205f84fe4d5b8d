"""A table of the risk and its flow over the disc, or a plane through the ball, for figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ssiode.errors import InputError, number_list, whole_number
from ssiode.population_risk import RiskEngine, make_engine
from ssiode.risk_landscape.coordinates import FeasibleCoordinates
from ssiode.risk_landscape.minima.reduced_risk import ReducedRisk

if TYPE_CHECKING:
    from ssiode.problem import Problem

# Odd, so that the axes and their ends are in the table.
_SIZES = {True: {1: 401, 2: 201}, False: {1: 81, 2: 41}}
# Cells that the circle crosses have all their corners in the table, also of a coarser grid.
_MARGIN = 0.1
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class RiskSurface:
    r"""R and the flow :math:`-(\Gamma - v v^T)\,\nabla R` on a grid over one or two coordinates.

    Attributes
    ----------
    problem : Problem
    axes : array of shape (k, r)
        Orthonormal directions of the coordinates u of :class:`FeasibleCoordinates`, k = 1 or 2;
        the last is that of the teacher, whose coordinate is m.
    grid : array of shape (n,)
        Places on each axis, from -1 to 1.
    risk : array of shape (n,) or (n, n)
        R; the first index is that of m, the second that of the other axis. NaN where it was not
        computed, far outside the disc.
    flow : array of shape (n, 1) or (n, n, 2)
        The flow along the axes, at gamma = 0.
    """

    problem: Problem
    axes: np.ndarray
    grid: np.ndarray
    risk: np.ndarray
    flow: np.ndarray

    @property
    def dimension(self) -> int:
        """1 for a curve over m, 2 for a disc."""
        return len(self.axes)

    @property
    def is_slice(self) -> bool:
        """Whether there are overlaps that are not shown and are zero."""
        return self.axes.shape[1] > len(self.axes)

    @cached_property
    def is_feasible(self) -> np.ndarray:
        """Which places of the table lie in the feasible set, of the shape of the risk."""
        squares = np.square(self.grid)
        if self.dimension == 1:
            return squares <= 1.0
        return squares[:, None] + squares <= 1.0 + _ROUNDING

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the axes in the paper's letters."""
        if self.dimension == 1:
            return ("$m$",)
        if self.is_slice:
            return ("positional overlap along the direction", "$m$")
        frame = FeasibleCoordinates(self.problem.geometry).frame
        token = FeasibleCoordinates(self.problem.geometry).independent[0]
        scale, share = frame[token]
        shift = "" if abs(share) < _ROUNDING else f"{-share:+.3g}\\,m"
        if abs(scale - 1) < _ROUNDING:
            return (f"$e{shift}$", "$m$")
        return (f"$(e{shift})/{scale:.3g}$" if shift else f"$e/{scale:.3g}$", "$m$")

    @property
    def title(self) -> str:
        """What is shown where it is not all: the slice and its direction in e."""
        if not self.is_slice:
            return ""
        e = FeasibleCoordinates(self.problem.geometry).overlaps(self.axes[0])[:-1]
        shown = ", ".join(f"{x:.2g}" for x in np.where(np.abs(e) < _ROUNDING, 0.0, e)[:6])
        more = ", ..." if len(e) > 6 else ""
        return f"slice of {self.axes.shape[1]} overlaps along $e \\propto$ ({shown}{more})"

    def coordinates(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places on the axes of points u of shape (..., r), and their distances from the slice."""
        places = np.asarray(u, dtype=float) @ self.axes.T
        return places, np.linalg.norm(u - places @ self.axes, axis=-1)

    def risk_at(self, places: np.ndarray) -> np.ndarray:
        """R at places on the axes of shape (..., k), linear between those of the table."""
        spacing = self.grid[1] - self.grid[0]
        position = (np.clip(places, -1.0, 1.0) + 1.0) / spacing
        cell = np.clip(position.astype(int), 0, len(self.grid) - 2)
        part = position - cell
        if self.dimension == 1:
            i, t = cell[..., 0], part[..., 0]
            return (1 - t) * self.risk[i] + t * self.risk[i + 1]
        j, i = cell[..., 0], cell[..., 1]
        s, t = part[..., 0], part[..., 1]
        below = (1 - s) * self.risk[i, j] + s * self.risk[i, j + 1]
        above = (1 - s) * self.risk[i + 1, j] + s * self.risk[i + 1, j + 1]
        return (1 - t) * below + t * above


def risk_surface(
    problem: Problem,
    *,
    engine: RiskEngine | None = None,
    size: int | None = None,
    direction: Sequence[float] | None = None,
) -> RiskSurface:
    """Tabulate R and its flow by one call of the engine.

    Parameters
    ----------
    problem : Problem
    engine : RiskEngine, optional
        The one that suits the problem if not given.
    size : int, optional
        Places along an axis: by default 201 over a disc and 401 over m, for engines without a
        table 41 and 81.
    direction : sequence of L floats, optional
        Positional overlaps e of a slice, up to a factor; by default the direction in which R falls
        most, or rises least, from the origin.

    Raises
    ------
    InputError
        If the encoding does not reach such overlaps.

    Examples
    --------
    >>> from ssiode import Attention, Encoding, Problem, Target
    >>> problem = Problem(Target("He2(z1) + He2(z2)"), Attention("trace"), Encoding("opposite"))
    >>> surface = risk_surface(problem, size=51)
    >>> surface.risk.shape, surface.labels, surface.is_slice
    ((51, 51), ('$e$', '$m$'), False)
    """
    engine = make_engine(problem) if engine is None else engine
    coordinates = FeasibleCoordinates(problem.geometry)
    r = coordinates.dimension
    axes = np.eye(r)[-1:]
    if r > 1:
        axes = np.array([_positional_axis(engine, coordinates, direction), axes[0]])
    elif direction is not None:
        raise InputError("direction is given, and without an encoding there are no overlaps but m")
    sizes = _SIZES[engine.tabulated_risk() is not None]
    size = sizes[len(axes)] if size is None else size
    grid = np.linspace(-1.0, 1.0, whole_number("size", size, minimum=5, maximum=2000))
    places = np.stack(np.meshgrid(*[grid] * len(axes), indexing="xy"), axis=-1)
    distance = np.linalg.norm(places, axis=-1)
    wanted = distance <= 1.0 + max(_MARGIN, 1.5 * (grid[1] - grid[0]))
    u = places[wanted] @ axes
    moments = engine.moments(coordinates.overlaps(u))
    gradient = coordinates.gradient(moments[:, 1:-1])
    flow = u * np.sum(u * gradient, axis=1, keepdims=True) - gradient
    risk = np.full(distance.shape, np.nan)
    flows = np.full(places.shape, np.nan)
    risk[wanted], flows[wanted] = moments[:, 0], flow @ axes.T
    return RiskSurface(problem, axes, grid, risk, flows)


def _positional_axis(
    engine: RiskEngine, coordinates: FeasibleCoordinates, direction: Sequence[float] | None
) -> np.ndarray:
    """Unit vector of u, orthogonal to that of m."""
    r = coordinates.dimension
    if direction is not None:
        return _given_axis(coordinates, direction)
    if r == 2:
        return np.eye(2)[0]
    risk = ReducedRisk(engine)
    origin = np.zeros((1, risk.dimension))
    if risk.dimension == 1:
        return np.eye(r)[0]
    slope, error = risk.gradient(origin)[0, :-1], risk.errors(origin)[1][0, :-1]
    if np.any(np.abs(slope) > 2 * error):
        best = -slope / np.linalg.norm(slope)
    else:
        best = np.linalg.eigh(risk.hessian(origin).value[0, :-1, :-1])[1][:, 0]
    axis = np.append(best, 0.0) @ risk.seen
    return axis * np.copysign(1.0, axis[np.argmax(np.abs(axis) > 1e-6)])


def _given_axis(coordinates: FeasibleCoordinates, direction: Sequence[float]) -> np.ndarray:
    e, length = number_list("direction", direction), coordinates.geometry.length
    if len(e) != length:
        raise InputError(f"direction has {len(e)} entries; give one per token ({length})")
    v = np.append(e, 0.0)
    size = float(np.linalg.norm(v))
    if size == 0 or coordinates.geometry.outside_range(v / size) > _ROUNDING:
        raise InputError(
            f"direction is {e}; it must be a combination of overlaps e that the encoding allows"
        )
    u = coordinates.coordinates(v / size)
    u[-1] = 0.0
    return u / np.linalg.norm(u)
