"""Figures of the risk landscape, drawn from one table; see :mod:`ssiode.plots`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ssiode.plots import POSITIONAL_COLOURS, SEMANTIC_COLOUR, new_figure

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize
    from matplotlib.figure import Figure
    from mpl_toolkits.mplot3d import Axes3D

    from ssiode.risk_landscape.minima import Minimum
    from ssiode.risk_landscape.surface import RiskSurface

# The light part, on which lines and markers stand out.
_COLOUR_MAP, _DARKEST = "YlGnBu_r", 0.3
_N_LEVELS = 24
_FLOW_GRID, _FLOW_DENSITY = 61, 1.0
_KINDS = {
    "semantic": (SEMANTIC_COLOUR, "o"),
    "positional": (POSITIONAL_COLOURS[2], "s"),
    "mixed": (POSITIONAL_COLOURS[3], "D"),
    "uninformed": ("white", "o"),
}
# Minima farther from a slice are drawn open, where they project.
_OFF_SLICE = 0.02
_ARROW, _STEEPEST = 0.45, POSITIONAL_COLOURS[0]
_POLAR = (25, 73)
_TICKS = (-1.0, -0.5, 0.0, 0.5, 1.0)


def plot_risk_contours(ax: Axes, surface: RiskSurface) -> list[Artist]:
    """Draw filled contours and contour lines of R over the disc; return them and the circle."""
    from matplotlib.patches import Circle

    levels = risk_levels(surface)
    circle = ax.add_patch(Circle((0, 0), 1.0, fill=False, lw=1.2, color="black", zorder=4))
    filled = ax.contourf(surface.grid, surface.grid, surface.risk, levels, cmap=colour_map())
    lines = ax.contour(
        surface.grid, surface.grid, surface.risk, levels[::2], colors="white", linewidths=0.6,
        alpha=0.7,
    )  # fmt: skip
    for artist in (filled, lines):
        artist.set_clip_path(circle)
    ax.set_aspect("equal")
    ax.set_xlim(-1.1, 1.1)
    ax.set_ylim(-1.1, 1.1)
    ax.set_xticks(_TICKS)
    ax.set_yticks(_TICKS)
    ax.set_xlabel(surface.labels[0])
    ax.set_ylabel(surface.labels[1])
    return [filled, lines, circle]


def colour_map() -> Colormap:
    """Return the colours of R, from low to high."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps[_COLOUR_MAP](np.linspace(_DARKEST, 1.0, 256)))


def risk_levels(surface: RiskSurface) -> np.ndarray:
    """Levels over the range of R in the feasible set, a little beyond at both ends."""
    values = surface.risk[surface.is_feasible]
    low, high = float(values.min()), float(values.max())
    margin = max(0.002 * (high - low), 1e-9 * max(abs(high), 1e-300))
    return np.linspace(low - margin, high + margin, _N_LEVELS + 1)


def plot_flow(ax: Axes, surface: RiskSurface) -> list[Artist]:
    """Draw lines of the flow over the disc; return the lines and their arrow heads."""
    from matplotlib.patches import Circle

    every = max(1, len(surface.grid) // _FLOW_GRID)
    flow = surface.flow[::every, ::every]
    if not np.any(np.abs(np.nan_to_num(flow)) > 0):
        return []
    # Equal spacing to the last digit is asked for.
    grid = np.linspace(-1.0, float(surface.grid[::every][-1]), len(flow))
    before = len(ax.patches)
    drawn = ax.streamplot(
        grid,
        grid,
        *(np.ma.masked_invalid(flow[..., i]) for i in range(2)),
        density=_FLOW_DENSITY,
        color="black",
        linewidth=0.6,
        arrowsize=0.8,
        zorder=3,
    )
    artists = [drawn.lines, *ax.patches[before:]]
    disc = Circle((0, 0), 1.0, transform=ax.transData)
    for artist in artists:
        artist.set_clip_path(disc)
    return artists


def plot_minima(ax: Axes, surface: RiskSurface, minima: Sequence[Minimum]) -> list[Artist]:
    """Draw minima as markers by kind, in three dimensions at their risk; return the markers.

    Those beside a slice are open, where they project to it.
    """
    is_solid = hasattr(ax, "get_zlim")
    groups: dict[tuple[str, bool], list[tuple[float, ...]]] = {}
    for minimum in minima:
        place, distance = surface.coordinates(np.array(minimum.coordinates))
        is_beside = bool(distance > _OFF_SLICE)
        point = (*place, minimum.risk) if is_solid or surface.dimension == 1 else (*place,)
        groups.setdefault((minimum.kind, is_beside), []).append(point)
    artists: list[Artist] = []
    for kind, (colour, marker) in _KINDS.items():
        for is_beside in (False, True):
            if points := groups.get((kind, is_beside)):
                artists += ax.plot(
                    *np.transpose(points),
                    marker,
                    ms=8.5,
                    mew=1.4,
                    mfc="none" if is_beside else colour,
                    mec=colour if is_beside and colour != "white" else "black",
                    label=f"{kind} minimum" + (", beside the slice" if is_beside else ""),
                    zorder=6,
                    clip_on=False,
                )
    return artists


def plot_steepest(ax: Axes, surface: RiskSurface, steepest: np.ndarray) -> list[Artist]:
    """Draw the steepest direction u at the origin as an arrow; return it."""
    place, _ = surface.coordinates(np.asarray(steepest, dtype=float))
    length = float(np.linalg.norm(place))
    if length == 0:
        return []
    end = _ARROW * place / length
    arrow = ax.annotate(
        "",
        xy=end,
        xytext=(0, 0),
        arrowprops={"arrowstyle": "-|>", "color": _STEEPEST, "lw": 2.6, "shrinkA": 0, "shrinkB": 0},
        zorder=5,
    )
    # An annotation has no entry of its own in a legend.
    handle = ax.plot([], [], color=_STEEPEST, lw=2.6, label="steepest descent at 0")
    return [arrow, *handle]


def plot_risk_surface(
    ax: Axes3D, surface: RiskSurface, minima: Sequence[Minimum] = ()
) -> list[Artist]:
    """Draw R over the disc in three dimensions, with minima; return the surface and the markers."""
    radii, angles = np.linspace(0, 1, _POLAR[0]), np.linspace(0, 2 * np.pi, _POLAR[1])
    first = radii[:, None] * np.cos(angles)
    m = radii[:, None] * np.sin(angles)
    values = surface.risk_at(np.stack([first, m], axis=-1))
    drawn = ax.plot_surface(
        first, m, values, cmap=colour_map(), norm=_norm(surface), rcount=_POLAR[0],
        ccount=_POLAR[1], linewidth=0, antialiased=False,
    )  # fmt: skip
    rim = ax.plot(first[-1], m[-1], values[-1], color="black", lw=1.0, zorder=5)
    markers = plot_minima(ax, surface, minima)
    ax.set_xlabel(surface.labels[0] if not surface.is_slice else "direction")
    ax.set_ylabel(surface.labels[1])
    ax.set_zlabel("$R$")
    ax.set_xticks([-1, 0, 1])
    ax.set_yticks([-1, 0, 1])
    ax.locator_params(axis="z", nbins=5)
    ax.tick_params(labelsize="small", pad=1)
    ax.view_init(elev=32, azim=-58)
    # Room for the labels, which the layout does not know.
    ax.set_box_aspect((1, 1, 0.75), zoom=0.86)
    return [drawn, *rim, *markers]


def _norm(surface: RiskSurface) -> Normalize:
    from matplotlib.colors import Normalize

    levels = risk_levels(surface)
    return Normalize(float(levels[0]), float(levels[-1]))


def plot_risk_curve(ax: Axes, surface: RiskSurface, minima: Sequence[Minimum] = ()) -> list[Artist]:
    """Draw R over m with its minima; return the line and the markers."""
    line = ax.plot(surface.grid, surface.risk, color="black", lw=1.4, label="$R(m)$")
    markers = plot_minima(ax, surface, minima)
    ax.set_xlabel("$m$")
    ax.set_ylabel("$R$")
    ax.ticklabel_format(useOffset=False)
    low, high = float(surface.risk.min()), float(surface.risk.max())
    # What is flat up to rounding is drawn flat.
    margin = max(0.06 * (high - low), 1e-3 * max(abs(high), 1e-3))
    ax.set_ylim(low - margin, high + margin)
    ax.set_xlim(-1.05, 1.05)
    return [*line, *markers]


def landscape_figure(
    surface: RiskSurface,
    minima: Sequence[Minimum] = (),
    steepest: np.ndarray | None = None,
    title: str = "",
) -> Figure:
    """Contours with flow lines, minima and the steepest direction, and the surface beside them.

    Without an encoding it is the curve R(m).

    Parameters
    ----------
    surface : RiskSurface
    minima : sequence of Minimum
    steepest : array of shape (r,), optional
        Direction of the coordinates u in which R falls fastest from the origin.
    title : str
        Before what the surface says of itself.
    """
    from matplotlib.ticker import MaxNLocator

    if surface.dimension == 1:
        figure = new_figure(5.4, 3.4)
        ax = figure.subplots()
        plot_risk_curve(ax, surface, minima)
        ax.legend(frameon=False, fontsize="small")
    else:
        figure = new_figure(10.2, 4.8)
        grid = figure.add_gridspec(1, 2, width_ratios=(1.15, 1.0))
        ax = figure.add_subplot(grid[0])
        filled, *_ = plot_risk_contours(ax, surface)
        plot_flow(ax, surface)
        if steepest is not None:
            plot_steepest(ax, surface, steepest)
        plot_minima(ax, surface, minima)
        bar = figure.colorbar(filled, ax=ax, shrink=0.86, pad=0.02, ticks=MaxNLocator(7))
        bar.ax.set_title("$R$", fontsize="medium")
        bar.ax.tick_params(labelsize="small")
        solid = figure.add_subplot(grid[1], projection="3d")
        # Its grid cell is its place: what is drawn beyond would shrink everything.
        solid.set_in_layout(False)
        solid.patch.set_visible(False)
        plot_risk_surface(solid, surface, minima)
        handles, labels = ax.get_legend_handles_labels()
        if handles:
            figure.legend(
                handles, labels, loc="outside lower center", ncols=4, frameon=False,
                fontsize="small",
            )  # fmt: skip
    text = ": ".join(filter(None, [title, surface.title]))
    if text:
        figure.suptitle(text, fontsize="medium")
    return figure
