"""Figures of the transition between semantic and positional ends of SGD; see `ssiode.plots`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ssiode.phase.transition_fit import law
from ssiode.plots import POSITIONAL_COLOURS, SEMANTIC_COLOUR, new_figure

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ssiode.phase.transition import Transition

_MARKERS = "osD^v<"


def plot_probabilities(ax: Axes, found: Transition) -> list[Artist]:
    """Draw the probabilities with their intervals, fits and predictions; return the points."""
    artists: list[Artist] = []
    for i, result in enumerate(found.results):
        colour = POSITIONAL_COLOURS[i % len(POSITIONAL_COLOURS)]
        known = [point for point in result.points if point.probability is not None]
        omega = np.array([point.omega for point in known])
        p = np.array([point.probability for point in known])
        bars = np.abs(np.array([point.interval for point in known]).reshape(-1, 2).T - p)
        marker = _MARKERS[i % len(_MARKERS)]
        artists.append(
            ax.errorbar(
                omega, p, bars, fmt=marker, ms=3.5, lw=0.8, color=colour, label=f"$d = {result.d}$"
            )
        )
        if result.fit is not None:
            grid = np.linspace(omega.min(), omega.max(), 400)
            ax.plot(grid, law(grid, result.fit.crossing, result.fit.width), color=colour, lw=1)
        predicted = [(one.omega, one.predicted) for one in known if one.predicted is not None]
        if predicted:
            ax.plot(*np.transpose(predicted), ls=(0, (4, 2)), color=colour, lw=0.8)
    if found.flip.omega is not None:
        ax.axvline(
            found.flip.omega, color=SEMANTIC_COLOUR, lw=1, ls=":", label="flip at the origin"
        )
    ax.set_xlabel(r"positional part of the target $\omega$")
    when = "at recovery" if found.time is None else f"at $t = {found.time:g}$"
    ax.set_ylabel(f"part of the runs with $|m| > |e|$ {when}")
    ax.set_ylim(-0.03, 1.03)
    ax.legend(
        frameon=False, fontsize="small", title="lines: fit\ndashes: linear regime",
        title_fontsize="small",
    )  # fmt: skip
    return artists


def plot_over_d(ax: Axes, found: Transition, name: str) -> list[Artist]:
    """Draw `crossing` or `width` of the fits over d, and of the linear regime as a line."""
    fitted = [result for result in found.results if result.fit is not None]
    d = [result.d for result in fitted]
    values = [getattr(result.fit, name) for result in fitted]
    errors = [getattr(result.fit, f"{name}_error") for result in fitted]
    colour = POSITIONAL_COLOURS[0]
    artists: list[Artist] = [
        ax.errorbar(d, values, errors, fmt="o", ms=4, capsize=2, color=colour, label="fit")
    ]
    predicted = [(result.d, getattr(result, f"predicted_{name}")) for result in found.results]
    predicted = [pair for pair in predicted if pair[1] is not None]
    if predicted:
        line = {"ls": (0, (4, 2)), "color": colour, "lw": 0.8, "label": "linear regime"}
        artists += ax.plot(*np.transpose(predicted), **line)
    if name == "crossing" and found.flip.omega is not None:
        artists.append(ax.axhline(found.flip.omega, color=SEMANTIC_COLOUR, lw=1, ls=":"))
        artists[-1].set_label("flip at the origin")
    ax.set_xscale("log")
    dims = [result.d for result in found.results]
    ax.set_xticks(dims, [str(value) for value in dims])
    ax.minorticks_off()
    ax.set_ylabel({"crossing": r"crossing $\omega_c$", "width": "width $w$"}[name])
    ax.legend(frameon=False, fontsize="small")
    return artists


def transition_figure(found: Transition) -> Figure:
    """Return the probabilities, and beside them crossing and width if there are several d."""
    if len(found.results) < 2:
        figure = new_figure(5.6, 3.8)
        plot_probabilities(figure.add_subplot(), found)
        return figure
    figure = new_figure(8.6, 4.2)
    axes = figure.subplot_mosaic([["ends", "crossing"], ["ends", "width"]])
    plot_probabilities(axes["ends"], found)
    for name in ("crossing", "width"):
        plot_over_d(axes[name], found, name)
    axes["width"].set_xlabel("$d$")
    return figure
