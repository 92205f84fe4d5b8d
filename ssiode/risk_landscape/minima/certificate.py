r"""A proof that no local minimum of a tabulated risk was missed.

The ball is covered by cells and its boundary by arcs. With the exact derivatives of the tabulated
polynomial p at the centre c of a cell and a bound :math:`M_4` of its fourth derivatives, a cell
holds no minimum if along some direction d p falls throughout,

.. math:: |d \cdot \nabla p(c)| > \sum_i |(H d)_i|\,h_i + \tfrac12 \sum_{ij} |T[d]_{ij}|\,h_i h_j
          + \tfrac16 M_4 |h|^3 + \varepsilon,

or curves down by more than :math:`4 \varepsilon / 10^{-3}`, or lies in the neighbourhood of a
minimum that is listed: a ball in which p is strictly convex, so that it has one minimum on the ball
and the feasible set together. :math:`\varepsilon` is the error of the gradient that the engine
states. What is left is divided.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.risk_landscape.minima.boundary_proof import Circle, Segment, uncertified_intervals
from ssiode.risk_landscape.minima.cell_proof import uncertified_cells
from ssiode.risk_landscape.minima.neighbourhoods import (
    Neighbourhood,
    neighbourhoods,
    soft_neighbourhoods,
)
from ssiode.risk_landscape.minima.risk_polynomial import RiskPolynomial

if TYPE_CHECKING:
    from ssiode.risk_landscape.minima.reduced_risk import ReducedRisk
    from ssiode.risk_landscape.minima.stationary import StationaryPoint


@dataclass(frozen=True, eq=False)
class Certificate:
    """Whether all minima are known, and what that rests on.

    Attributes
    ----------
    status : str
        `certified` or `not certified`.
    reason : str
        What is proved, or why nothing is.
    n_cells : int
        Cells and arcs that were looked at.
    rests_on : str
        The bounds behind the proof.
    resolution : float
        Largest radius within which only errors of the place are known, around minima and saddles
        whose curvature is not known to differ from zero; 0 without such.
    unresolved : array of shape (k, s)
        Centres of what is left, where a minimum may have been missed.
    """

    status: str
    reason: str
    n_cells: int
    rests_on: str
    resolution: float
    unresolved: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def is_certified(self) -> bool:
        """Whether the proof is complete."""
        return self.status == "certified"

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "status": self.status,
            "reason": self.reason,
            "n_cells": self.n_cells,
            "rests_on": self.rests_on,
            "resolution": self.resolution,
        }


def certify(
    risk: ReducedRisk,
    minima: Sequence[StationaryPoint],
    soft_saddles: Sequence[StationaryPoint] = (),
    starts: int = 0,
) -> Certificate:
    """Try to prove that the minima are all that there are.

    It is a proof in double precision about all risks whose gradient is within the stated error of
    that of the table: they have no minima but those listed, each within its position error, or in
    a basin of a radius below 0.001 whose slopes are smaller than that error.

    Parameters
    ----------
    risk : ReducedRisk
        Of at most two dimensions, by an engine with a table; others are not certified.
    minima : sequence of StationaryPoint
        All minima that are known.
    soft_saddles : sequence of StationaryPoint
        Known points that descend though no curvature is negative: around them only the descent
        over their position error is known.
    starts : int
        Number of starts that led to the minima, for the reason where there is no proof.
    """
    if (objection := RiskPolynomial.objection(risk)) is not None:
        return _refused(f"{objection}; {starts} starts found no other minimum")
    if not all(point.is_isolated for point in minima):
        return _refused(f"not all minima are isolated; {starts} starts found no other")
    if not minima:
        return _refused(f"{starts} starts found no minimum")
    polynomial = RiskPolynomial(risk)
    known = [place for point in minima for place in neighbourhoods(polynomial, point)]
    known += [place for point in soft_saddles for place in soft_neighbourhoods(point)]
    if (problem := _overlapping(minima, known)) is not None:
        return _refused(problem)
    left, n_cells = _left(polynomial, known)
    resolution = max((place.radius for place in known if not place.is_convex), default=0.0)
    rests_on = _basis(polynomial)
    if len(left):
        where = ", ".join(f"{x:.4g}" for x in left[0])
        return Certificate(
            "not certified",
            f"{_reason(polynomial, left)} ({where})",
            n_cells,
            rests_on,
            resolution,
            left,
        )
    beyond = f", beyond {resolution:.1g} of points without curvature" if resolution else ""
    count = "one minimum" if len(minima) == 1 else f"{len(minima)} minima"
    reason = f"{n_cells} cells leave room for no more than {count}{beyond}"
    return Certificate("certified", reason, n_cells, rests_on, resolution)


def _refused(reason: str) -> Certificate:
    return Certificate("not certified", reason, 0, "", 0.0)


def _left(polynomial: RiskPolynomial, known: list[Neighbourhood]) -> tuple[np.ndarray, int]:
    """Centres of cells and arcs that are neither excluded nor known, and the number of all."""
    if polynomial.risk.dimension == 1:
        left, n_cells = uncertified_intervals(Segment(polynomial), known)
        return left[:, None], n_cells
    cells, n_cells = uncertified_cells(polynomial, known)
    arcs, n_arcs = uncertified_intervals(Circle(polynomial), known)
    points = np.column_stack([np.cos(arcs), np.sin(arcs)])
    return np.concatenate([cells, points]), n_cells + n_arcs


def _overlapping(minima: Sequence[StationaryPoint], known: Sequence[Neighbourhood]) -> str | None:
    """Two minima in one convex neighbourhood cannot be: one of them is none."""
    for place in known:
        inside = sum(np.linalg.norm(point.y - place.centre) < place.radius for point in minima)
        if inside > 1 and place.is_convex:
            return "two of the minima lie where there is one at most; their places are too rough"
    return None


def _reason(polynomial: RiskPolynomial, left: np.ndarray) -> str:
    errors = polynomial.gradient_error(np.minimum(np.abs(left[:, -1]) + 1e-12, 1.0))
    if not np.all(np.isfinite(errors)):
        return "the engine states no error of the gradient at |m| = 1, near"
    return f"{len(left)} cells may hold another minimum, the first at"


def _basis(polynomial: RiskPolynomial) -> str:
    error = float(polynomial.gradient_error(np.array([1.0])).max())
    settings = polynomial.risk.engine.settings
    return (
        f"the tabulated risk ({settings}), whose gradient is within {error:.1g}, and a bound of "
        f"{float(polynomial.bound(4, np.array([1.0]))[0]):.3g} of its fourth derivatives"
    )
