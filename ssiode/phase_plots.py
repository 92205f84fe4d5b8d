"""Figures of the phase diagram of positional against semantic learning; see `ssiode.plots`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ssiode.landscape_plots import colour_map
from ssiode.plots import POSITIONAL_COLOURS, SEMANTIC_COLOUR, new_figure

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ssiode.phase.diagram import PhaseDiagram
    from ssiode.phase.raster import PhaseRaster
    from ssiode.phase.shifted import ShiftedPath

_KIND_COLOURS = {
    "semantic": SEMANTIC_COLOUR,
    "positional": POSITIONAL_COLOURS[0],
    "mixed": POSITIONAL_COLOURS[1],
}
# One minimum is darker than two, and hatched where SGD starts or ends elsewhere.
_UNIQUE, _BESIDE = 0.55, 0.2
_HATCH, _HATCH_COLOUR = "////", "#555555"
_CURVES = {
    "flip": ("black", "-", "flip of the steepest direction"),
    "equal_minima": ("black", (0, (1, 1)), "equal minima"),
    "positional_birth": (POSITIONAL_COLOURS[0], "-", "birth of the positional minimum"),
    "semantic_death": (SEMANTIC_COLOUR, "-", "death of the semantic minimum"),
    "mixed_birth": (POSITIONAL_COLOURS[1], (0, (4, 1.5)), "birth of a mixed minimum"),
}
# Regions lower than this part of the view have no room for their number.
_ROOM = 0.045


def region_style(region: str) -> dict[str, object]:
    """Fill of a region: hue by the global minimum, lighter beside another one, hatched if misled.

    >>> region_style("unique mixed")["hatch"] is None
    True
    """
    from matplotlib.colors import to_rgb

    kind = next(name for name in _KIND_COLOURS if region.split()[1].startswith(name))
    strength = _UNIQUE if region.startswith("unique") else _BESIDE
    colour = 1 - strength * (1 - np.array(to_rgb(_KIND_COLOURS[kind])))
    is_misled = region.endswith(("misaligned", "dynamics"))
    return {"facecolor": tuple(colour), "hatch": _HATCH if is_misled else None}


def plot_regions(ax: Axes, diagram: PhaseDiagram) -> list[Artist]:
    """Fill the regions and number them by the order of `diagram.regions`; return the fills."""
    fills: list[Artist] = []
    for band in diagram.bands:
        style = region_style(band.region)
        colour = style["facecolor"]
        # The edge covers the seam to the next band.
        fills.append(ax.fill_between(band.a, band.lower, band.upper, fc=colour, ec=colour, lw=0.5))
        if style["hatch"] is not None:
            hatch = {"fc": "none", "ec": _HATCH_COLOUR, "lw": 0, "hatch": _HATCH}
            fills.append(ax.fill_between(band.a, band.lower, band.upper, **hatch))
    for number, region in enumerate(diagram.regions, 1):
        if (place := _room(diagram, region)) is not None:
            box = {"boxstyle": "circle,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.8}
            ax.text(*place, str(number), ha="center", va="center", fontsize="small", bbox=box)
    return fills


def _room(diagram: PhaseDiagram, region: str) -> tuple[float, float] | None:
    """The middle of the tallest part of a region in view, if a number fits in."""
    (left, right), (bottom, top) = diagram.a_range, diagram.omega_range
    margin = 0.03 * (right - left)
    best, place = _ROOM * (top - bottom), None
    for band in diagram.bands:
        lower, upper = np.maximum(band.lower, bottom), np.minimum(band.upper, top)
        height = np.where((band.a > left + margin) & (band.a < right - margin), upper - lower, 0.0)
        # Of a region that is about as tall elsewhere, the middle.
        tallest = np.flatnonzero(height >= 0.98 * height.max())
        i = int(tallest[np.argmin(np.abs(band.a[tallest] - band.a[tallest].mean()))])
        if band.region == region and height[i] > best:
            best, place = height[i], (float(band.a[i]), float(lower[i] + upper[i]) / 2)
    return place


def plot_boundaries(ax: Axes, diagram: PhaseDiagram) -> list[Artist]:
    """Draw the boundaries as lines; return them."""
    return [
        ax.plot(*diagram.curves[name], color=colour, ls=style, lw=1.4, label=label)[0]
        for name, (colour, style, label) in _CURVES.items()
        if name in diagram.curves
    ]


def diagram_figure(
    diagram: PhaseDiagram, a: float | None = None, omega: float | None = None
) -> Figure:
    """Return the phase diagram with its legend, and a line at one a or a star at one task."""
    from matplotlib.patches import Patch

    figure = new_figure(8.6, 4.6)
    ax = figure.add_subplot()
    plot_regions(ax, diagram)
    lines = [line for line in plot_boundaries(ax, diagram) if _is_in_view(line, diagram)]
    if a is not None and omega is None:
        ax.axvline(a, color="white", lw=1.5, ls=(0, (1, 2)))
    elif a is not None:
        ax.plot([a], [omega], "*", ms=13, color="white", mec="black", clip_on=False, zorder=5)
    ax.set_xlim(*diagram.a_range)
    ax.set_ylim(*diagram.omega_range)
    _name_axes(ax)
    patches = [
        Patch(edgecolor=_HATCH_COLOUR, lw=0, label=f"{number} {region}", **region_style(region))
        for number, region in enumerate(diagram.regions, 1)
    ]
    figure.legend(
        handles=[*patches, *lines],
        title="minima of R, and boundaries",
        loc="outside right upper",
        frameon=False,
        fontsize="small",
        alignment="left",
    )
    return figure


def _name_axes(ax: Axes) -> None:
    ax.set_xlabel("strength of the positional part $a$")
    ax.set_ylabel(r"positional part of the target $\omega$")


def _is_in_view(line: Artist, diagram: PhaseDiagram) -> bool:
    low, high = diagram.omega_range
    omega = line.get_ydata()
    return bool(np.any((omega >= low) & (omega <= high)))


def raster_figure(raster: PhaseRaster) -> Figure:
    """Return a raster with its colour bar, and the boundaries of the phases on it."""
    figure = new_figure(6.4, 4.4)
    ax = figure.add_subplot()
    from ssiode.phase.diagram import phase_diagram

    diagram = phase_diagram(raster.a_range, raster.omega_range)
    is_signed = np.nanmin(raster.values) < 0 < np.nanmax(raster.values)
    largest = float(np.nanmax(np.abs(raster.values))) if is_signed else None
    image = ax.imshow(
        raster.values,
        origin="lower",
        extent=(*raster.a_range, *raster.omega_range),
        aspect="auto",
        interpolation="nearest",
        cmap="PuOr" if is_signed else colour_map(),
        vmin=-largest if is_signed else None,
        vmax=largest,
    )
    plot_boundaries(ax, diagram)
    ax.set_xlim(*raster.a_range)
    ax.set_ylim(*raster.omega_range)
    _name_axes(ax)
    figure.colorbar(image, label=raster.label)
    return figure


def plot_path(ax: Axes, path: ShiftedPath) -> list[Artist]:
    """Draw e, m and the risk of the global minimum over omega; return the lines."""
    omega = [one.omega for one in path.minima]
    lines = [
        ax.plot(omega, [one.m for one in path.minima], "o-", ms=3, color=SEMANTIC_COLOUR)[0],
        ax.plot(omega, [one.e for one in path.minima], "s-", ms=3, color=POSITIONAL_COLOURS[0])[0],
        ax.plot(omega, [one.risk for one in path.minima], "--", color="black")[0],
    ]
    for line, label in zip(lines, ("$m$", "$e$", "$R$"), strict=True):
        line.set_label(label)
    ax.set_xlabel(r"positional part $\omega$")
    ax.set_ylabel("global minimum")
    ax.legend(frameon=False)
    return lines


def shifted_figure(path: ShiftedPath) -> Figure:
    """Return the path of global minima."""
    figure = new_figure(5.6, 3.8)
    plot_path(figure.add_subplot(), path)
    return figure
