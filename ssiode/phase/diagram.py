"""The phase diagram: regions of the plane (a, omega) between exact curves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.errors import InputError, number_list
from ssiode.phase.boundaries import NAMES, Crossing, boundary_curves, phase_crossings
from ssiode.phase.region import phase_region
from ssiode.phase.task import check_mixture, check_strength

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_POINTS = 60
# Curves end at crossings, where rounding could take them out of the diagram.
_INSIDE = 1e-12


@dataclass(frozen=True, eq=False)
class Band:
    """A part of one region, between two curves omega(a) or edges of the diagram.

    Attributes
    ----------
    region : str
        Its name, see :class:`ssiode.phase.PhaseRegion`.
    below, above : str or None
        The boundaries; None at omega = 0 and 1.
    a, lower, upper : arrays of shape (n,)
    """

    region: str
    below: str | None
    above: str | None
    a: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


@dataclass(frozen=True, eq=False)
class PhaseDiagram:
    """Regions and boundaries of the positional-semantic model.

    Attributes
    ----------
    a_range, omega_range : pairs of floats
        What is drawn.
    bands : tuple of Band
        They fill the range of a, for omega from 0 to 1.
    crossings : tuple of Crossing
        Where boundaries meet, by ascending a; all of them.

    Examples
    --------
    >>> diagram = phase_diagram()
    >>> len(diagram.regions), diagram.region(0.95, 0.76)
    (9, 'unique semantic, misaligned')
    """

    a_range: tuple[float, float]
    omega_range: tuple[float, float]
    bands: tuple[Band, ...]
    crossings: tuple[Crossing, ...]

    @cached_property
    def regions(self) -> tuple[str, ...]:
        """Names of the regions in view, by ascending a and omega of their first part."""
        low, high = self.omega_range
        seen = [band for band in self.bands if np.any((band.upper > low) & (band.lower < high))]
        return tuple(dict.fromkeys(band.region for band in seen))

    @cached_property
    def curves(self) -> Mapping[str, tuple[np.ndarray, np.ndarray]]:
        """Points (a, omega) of each boundary that is in the range of a."""
        found: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
        for band in self.bands:
            if band.below is not None:
                found.setdefault(band.below, []).append((band.a, band.lower))
        return {
            name: tuple(np.concatenate(part) for part in zip(*found[name], strict=True))
            for name in NAMES
            if name in found
        }

    def region(self, omega: float, a: float) -> str:
        """Name of the region of a task, by the side of each curve on which it lies.

        Nothing is minimised. On a boundary it is the region above. A task at omega = 1, where m is
        free, is taken to be just below.

        Raises
        ------
        InputError
            If omega or a is out of its range, or a is not in that of the diagram.
        """
        omega, a = check_mixture(omega), check_strength(a)
        low, high = self.a_range
        if not low <= a <= high:
            raise InputError(f"a is {a:g}; this diagram has a from {low:g} to {high:g}")
        part = [band for band in self.bands if band.a[0] <= a <= band.a[-1]]
        part = [band for band in part if band.a[0] == part[-1].a[0]]
        values = {name: curve[0][0] for name, curve in boundary_curves(np.array([a])).items()}
        above = [band for band in part if band.below is None or values[band.below] <= omega]
        return above[-1].region

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: regions, their parts, curves and crossings."""
        return {
            "a_range": list(self.a_range),
            "omega_range": list(self.omega_range),
            "regions": list(self.regions),
            "crossings": [
                {"names": list(one.names), "a": one.a, "omega": one.omega} for one in self.crossings
            ],
            "curves": {
                name: {"a": a.tolist(), "omega": omega.tolist()}
                for name, (a, omega) in self.curves.items()
            },
            "bands": [
                {
                    "region": band.region,
                    "below": band.below,
                    "above": band.above,
                    "a": [float(band.a[0]), float(band.a[-1])],
                }
                for band in self.bands
            ],
        }

    def figure(self, a: float | None = None, omega: float | None = None) -> Figure:
        """Draw the diagram, with a line at one a, or a star at one task."""
        from ssiode.phase_plots import diagram_figure

        return diagram_figure(self, a, omega)


def phase_diagram(
    a_range: tuple[float, float] = (0.0, 1.0), omega_range: tuple[float, float] = (0.0, 1.0)
) -> PhaseDiagram:
    """Divide the plane (a, omega) into the regions of the positional-semantic model.

    The squared loss (Arnaboldi et al., arXiv 2506.02651, figure 4, which leaves the mixed minima
    out). Between two crossings the boundaries keep their order, so the bands between them are the
    regions; each is named by the minima and the flow of a task in its middle.

    Parameters
    ----------
    a_range, omega_range : pairs of floats
        Part of the diagram, within [0, 1].

    Raises
    ------
    InputError
        If a range is not two ascending numbers in [0, 1].
    """
    a_range, omega_range = check_range("a", a_range), check_range("omega", omega_range)
    crossings = phase_crossings()
    low, high = a_range
    inner = sorted({one.a for one in crossings if low < one.a < high})
    edges = [low, *inner, high]
    bands = [band for ends in pairwise(edges) for band in _bands(*ends)]
    return PhaseDiagram(a_range, omega_range, tuple(bands), crossings)


def check_range(name: str, given: object) -> tuple[float, float]:
    """Return two ascending numbers in [0, 1].

    >>> check_range("a", [0.5, 1])
    (0.5, 1.0)
    """
    found = number_list(f"the range of {name}", given)
    if len(found) != 2 or not 0 <= found[0] < found[1] <= 1:
        shown = ", ".join(f"{value:g}" for value in found)
        raise InputError(
            f"the range of {name} is {shown}; it must be two ascending numbers in [0, 1], as 0.7,1"
        )
    return found[0], found[1]


def _bands(low: float, high: float) -> list[Band]:
    """The regions between two neighbouring crossings, by ascending omega."""
    half = (high - low) / 2
    # Denser at the ends, where curves may be steep.
    a = low + half * (1 - np.cos(np.linspace(0, np.pi, _POINTS)))
    curves = boundary_curves(np.clip(a, low + _INSIDE * half, high - _INSIDE * half))
    middle = _POINTS // 2
    known = {name: omega for name, (omega, _) in curves.items() if np.isfinite(omega[middle])}
    names = sorted(known, key=lambda name: known[name][middle])
    edges: list[tuple[str | None, np.ndarray]] = [
        (None, np.zeros(_POINTS)),
        *((name, _filled(known[name])) for name in names),
        (None, np.ones(_POINTS)),
    ]
    return [
        Band(
            phase_region(float(lower[middle] + upper[middle]) / 2, float(a[middle])).region,
            below,
            above,
            a,
            lower,
            upper,
        )
        for (below, lower), (above, upper) in pairwise(edges)
    ]


def _filled(omega: np.ndarray) -> np.ndarray:
    """Values with those that rounding took out of [0, 1] at an end put back."""
    return np.where(np.isnan(omega), 1.0, omega)
