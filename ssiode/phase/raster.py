"""A scalar of the risk over a grid of tasks (omega, a), all at once from the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.errors import choose, whole_number
from ssiode.phase.diagram import check_range
from ssiode.phase.polynomials import evaluate
from ssiode.phase.table import PhaseTable, phase_table
from ssiode.phase.task import Task, evaluate_at_origin, positional_weight

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ARC_POINTS = 257
_NEWTON = 5
_MOST_PIXELS = 5000


@dataclass(frozen=True, eq=False)
class TaskGrid:
    """The risk of all tasks of a grid; arrays have the shape (n_omega, n_a)."""

    omega: np.ndarray
    a: np.ndarray
    table: PhaseTable

    @cached_property
    def parts(self) -> tuple[np.ndarray, np.ndarray]:
        """A = 1 - omega and B = omega sigma(2 a^2)."""
        semantic = np.broadcast_to(1 - self.omega[:, None], (len(self.omega), len(self.a)))
        return semantic, self.omega[:, None] * positional_weight(self.a)

    def combined(self, terms: np.ndarray) -> np.ndarray:
        """2 (S_2 - 2 A C - 2 B S_1) of values of shape (3,), or of one for each task."""
        semantic, positional = self.parts
        return 2 * (terms[0] - 2 * semantic * terms[1] - 2 * positional * terms[2])

    def at(self, e: float, m: float, dx: int = 0, dy: int = 0) -> np.ndarray:
        """A derivative of R in x = e^2 and y = m^2, without the constant of R."""
        place = np.array(e * e), np.array(m * m)
        return self.combined(np.array([evaluate(f, *place) for f in self.table.derivative(dx, dy)]))

    @cached_property
    def constant(self) -> np.ndarray:
        """The part of R without overlaps."""
        second, _, first = evaluate_at_origin(self.table)
        semantic, positional = self.parts
        return 2 * (semantic**2 * second + 2 * semantic * positional * first + positional**2)

    @cached_property
    def minimum_place(self) -> np.ndarray:
        """The x = e^2 of the global minimum, which is on the arc."""
        x = np.linspace(0, 1, _ARC_POINTS)
        lowest = np.full(self.parts[0].shape, np.inf)
        place = np.zeros(lowest.shape)
        for value in x:
            risk = self._on_arc(0, np.array(value))
            is_lower = risk < lowest
            lowest, place = np.where(is_lower, risk, lowest), np.where(is_lower, value, place)
        for _ in range(_NEWTON):
            slope, curvature = self._on_arc(1, place), self._on_arc(2, place)
            step = -slope / np.where(curvature > 0, curvature, np.inf)
            place = np.clip(place + np.clip(step, -x[1], x[1]), 0, 1)
        return place

    def _on_arc(self, times: int, x: np.ndarray) -> np.ndarray:
        return self.combined(np.array([evaluate(f, x) for f in self.table.arc[times]]))

    def minimum_risk(self) -> np.ndarray:
        """R at the global minimum."""
        return self.constant + self._on_arc(0, self.minimum_place)

    def minimum_angle(self) -> np.ndarray:
        """Angle of the global minimum from the semantic axis, in degrees."""
        x = self.minimum_place
        return np.degrees(np.arctan2(np.sqrt(x), np.sqrt(1 - x)))

    def risk_gap(self) -> np.ndarray:
        """R(1, 0) - R(0, 1): positive where the semantic corner is deeper."""
        return self.at(1.0, 0.0) - self.at(0.0, 1.0)

    def hessian_ee(self) -> np.ndarray:
        """R_ee at the origin."""
        return 2 * self.at(0.0, 0.0, dx=1)

    def hessian_mm(self) -> np.ndarray:
        """R_mm at the origin."""
        return 2 * self.at(0.0, 0.0, dy=1)

    def escape_rate(self) -> np.ndarray:
        """Rate at which gradient flow leaves the origin, per ODE time; negative if it does not."""
        return -np.minimum(self.hessian_ee(), self.hessian_mm())

    def steepest_angle(self) -> np.ndarray:
        """Angle of the steepest direction at the origin from the semantic axis, in degrees."""
        angle = np.where(self.hessian_ee() < self.hessian_mm(), 90.0, 0.0)
        return np.where(self.escape_rate() > 0, angle, np.nan)


# Each is a method of `TaskGrid`; the label is that of the figure.
QUANTITIES: Mapping[str, str] = {
    "risk_gap": r"$R(1, 0) - R(0, 1)$",
    "escape_rate": "escape rate from the origin (1 / ODE time)",
    "steepest_angle": "steepest direction at the origin (degrees from $m$)",
    "minimum_angle": "global minimum (degrees from $m$)",
    "minimum_risk": "$R$ at the global minimum",
    "hessian_ee": "$R_{ee}$ at the origin",
    "hessian_mm": "$R_{mm}$ at the origin",
}


@dataclass(frozen=True, eq=False)
class PhaseRaster:
    """A scalar at the centres of the pixels of a part of the diagram.

    Attributes
    ----------
    quantity : str
    label : str
        Of the figure.
    a_range, omega_range : pairs of floats
    a, omega : arrays of shape (n,)
        Centres of the pixels.
    values : array of shape (n, n)
        Row i is omega_i; NaN where the quantity does not exist.
    """

    quantity: str
    label: str
    a_range: tuple[float, float]
    omega_range: tuple[float, float]
    a: np.ndarray
    omega: np.ndarray
    values: np.ndarray

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        names = ("quantity", "a_range", "omega_range", "a", "omega", "values")
        return {name: getattr(self, name) for name in names}

    def figure(self) -> Figure:
        """Draw the raster, with the boundaries of the phases on it."""
        from ssiode.phase_plots import raster_figure

        return raster_figure(self)


def phase_raster(
    quantity: str | Callable[[Task], float],
    *,
    pixels: int = 200,
    a_range: tuple[float, float] = (0.0, 1.0),
    omega_range: tuple[float, float] = (0.0, 1.0),
) -> PhaseRaster:
    """Evaluate a scalar at the centres of pixels of the phase diagram.

    Parameters
    ----------
    quantity : str or callable
        A name of `QUANTITIES`, or a function of a :class:`ssiode.phase.task.Task`.
    pixels : int
        On each side.
    a_range, omega_range : pairs of floats
        Part of the diagram, within [0, 1].

    Raises
    ------
    InputError
        If the quantity is unknown, or a number out of its range.

    Examples
    --------
    >>> raster = phase_raster("minimum_angle", pixels=2)
    >>> raster.values.round(6).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    >>> initial_risk = phase_raster(lambda task: task.risk(0.0, 0.0), pixels=2)
    >>> initial_risk.values.round(4).tolist()
    [[0.1178, 0.1176], [0.0939, 0.0922]]
    """
    a_range, omega_range = check_range("a", a_range), check_range("omega", omega_range)
    pixels = whole_number("pixels", pixels, minimum=1, maximum=_MOST_PIXELS)
    centres = (np.arange(pixels) + 0.5) / pixels
    a, omega = (low + (high - low) * centres for low, high in (a_range, omega_range))
    if callable(quantity):
        table = phase_table()
        values = [[float(quantity(Task(w, s, table))) for s in a.tolist()] for w in omega.tolist()]
        name = label = getattr(quantity, "__name__", "function")
        return PhaseRaster(name, label, a_range, omega_range, a, omega, np.array(values))
    name = choose("quantity", quantity, QUANTITIES)
    values = getattr(TaskGrid(omega, a, phase_table()), name)()
    return PhaseRaster(name, QUANTITIES[name], a_range, omega_range, a, omega, values)
