"""Figures: every function draws on the axes it is given and returns its artists."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.errors import InputError
from ssiode.results import spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ssiode.problem import Problem
    from ssiode.recovery_scaling import Scaling
    from ssiode.results import Ensemble, Trajectory

_FORMATS = (".png", ".pdf", ".svg")

# Okabe and Ito's palette, which stays apart for colour-blind readers.
SEMANTIC_COLOUR = "#D55E00"
POSITIONAL_COLOURS = ("#0072B2", "#009E73", "#56B4E9", "#CC79A7", "#E69F00", "#999999")
_DASHES = ("-", (0, (5, 2)), (0, (1, 1)), (0, (5, 2, 1, 2)))
_MARKERS = ("o", "s", "^", "D")
_MEAN_MARKERS = {"chain": "x", "diffusion": "+"}
_MOST_IN_LEGEND = 12
_LAWS = {1: "d", 2: r"d\,\log^2 d"}


def new_figure(width: float = 6.0, height: float = 3.6) -> Figure:
    """Return a figure that needs no display; sizes in inches.

    >>> len(new_figure().axes)
    0
    """
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def check_figure_path(path: str | Path) -> None:
    """Raise `InputError` before long work if a figure could not be written there.

    >>> check_figure_path("figure.png")
    """
    path = Path(path)
    if path.suffix.lower() not in _FORMATS:
        raise InputError(f"figure {str(path)!r} must end in one of {', '.join(_FORMATS)}")
    if path.is_dir():
        raise InputError(f"figure {str(path)!r} is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise InputError(f"the folder of figure {str(path)!r} does not exist; make it first")


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure in the format of the file's ending, the same bytes each time."""
    import matplotlib

    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    metadata = dates.get(Path(path).suffix.lower())
    with matplotlib.rc_context({"svg.hashsalt": "ssiode"}):
        figure.savefig(path, dpi=150, metadata=metadata)


def component_names(problem: Problem) -> list[str]:
    """Labels of the overlaps in the paper's letters."""
    names = problem.geometry.overlap_names
    return [f"${name[0]}_{{{name[1:]}}}$" if name[1:] else f"${name}$" for name in names]


def component_colours(problem: Problem) -> list[str]:
    """One colour for each overlap, and one of its own for a single m."""
    return [
        SEMANTIC_COLOUR if name == "m" else POSITIONAL_COLOURS[i % len(POSITIONAL_COLOURS)]
        for i, name in enumerate(problem.geometry.overlap_names)
    ]


def component_styles(problem: Problem) -> list[Any]:
    """One dash pattern for each overlap: another one when the colours repeat."""
    return [
        "-" if name == "m" else _DASHES[i // len(POSITIONAL_COLOURS) % len(_DASHES)]
        for i, name in enumerate(problem.geometry.overlap_names)
    ]


def component_markers(problem: Problem) -> list[str]:
    """One marker for each overlap: another one when the colours repeat."""
    return [
        "o" if name == "m" else _MARKERS[i // len(POSITIONAL_COLOURS) % len(_MARKERS)]
        for i, name in enumerate(problem.geometry.overlap_names)
    ]


def plot_trajectory(ax: Axes, trajectory: Trajectory, components: Sequence[int]) -> list[Artist]:
    """Draw components of the ODE solution against time as lines; return the lines."""
    problem = trajectory.problem
    names, colours = component_names(problem), component_colours(problem)
    styles = component_styles(problem)
    return [
        ax.plot(
            trajectory.t,
            trajectory.v[:, i],
            color=colours[i],
            ls=styles[i],
            label=f"{names[i]}, ODE",
            zorder=3,
        )[0]
        for i in components
    ]


def plot_ensemble(ax: Axes, ensemble: Ensemble, components: Sequence[int]) -> list[Artist]:
    """Draw mean and spread over replicas: a band of one standard deviation, and points.

    Returns the bands and the points in turn.
    """
    problem = ensemble.problem
    names, colours = component_names(problem), component_colours(problem)
    markers = component_markers(problem)
    artists: list[Artist] = []
    for i in components:
        values = ensemble.v[:, :, i]
        mean, deviation = values.mean(axis=0), spread(values)
        every = max(1, len(mean) // 25)
        artists.append(
            ax.fill_between(
                ensemble.t, mean - deviation, mean + deviation, color=colours[i], alpha=0.25, lw=0
            )
        )
        artists += ax.plot(
            ensemble.t[::every],
            mean[::every],
            markers[i],
            ms=3.5,
            color=colours[i],
            mfc="white",
            label=f"{names[i]}, SGD mean and spread",
        )
    return artists


def plot_means(
    ax: Axes, ensemble: Ensemble, components: Sequence[int], marker: str
) -> list[Artist]:
    """Draw the mean over replicas as small markers; return them."""
    colours = component_colours(ensemble.problem)
    every = max(1, len(ensemble.t) // 25)
    means = ensemble.v.mean(axis=0)
    return [
        ax.plot(
            ensemble.t[::every], means[::every, i], marker, ms=5, mew=1, color=colours[i], zorder=4
        )[0]
        for i in components
    ]


def plot_agreement(
    ax: Axes, trajectory: Trajectory, ensemble: Ensemble, others: Sequence[Ensemble] = ()
) -> list[Artist]:
    """Overlay the ODE and the SGD ensemble, leaving out statistics that are zero throughout.

    The means of the other ensembles, of the chain and of the diffusion, are crosses and pluses.
    """
    largest = np.maximum(
        np.abs(trajectory.v).max(axis=0), np.abs(ensemble.v).max(axis=(0, 1), initial=0.0)
    )
    components = [int(i) for i in np.flatnonzero(largest > 1e-12)] or [len(largest) - 1]
    simulated = plot_ensemble(ax, ensemble, components)
    lines = plot_trajectory(ax, trajectory, components)
    title = "lines: ODE\npoints: SGD mean\nbands: SGD spread"
    means: list[Artist] = []
    for other in others:
        means += plot_means(ax, other, components, _MEAN_MARKERS[other.method])
        title += f"\n{_MEAN_MARKERS[other.method]}: {other.method} mean"
    ax.set_xlabel(r"$t = \gamma\,\tau/d$")
    ax.set_ylabel("overlaps $e$, $m$")
    ax.margins(x=0)
    names = component_names(trajectory.problem)
    # Beside the axes, where it hides nothing: one entry a statistic.
    entries = list(zip(simulated[1::2], lines, strict=True))
    labels = [names[i] for i in components]
    if len(entries) > _MOST_IN_LEGEND:
        # Those left out go on in the order of colours and dashes.
        entries, labels = entries[:8] + entries[-2:], labels[:8] + labels[-2:]
    ax.legend(
        entries,
        labels,
        title=title,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        frameon=False,
        fontsize="small",
        title_fontsize="small",
        handlelength=2.6,
    )
    return simulated + lines + means


def plot_scaling(ax: Axes, scaling: Scaling) -> list[Artist]:
    """Draw median steps with their quartiles over d, the fitted law and that of Theorem 1.

    The theorem gives no constant: its law goes through the geometric mean of the medians. At order
    2 the fitted law is A d log d (log d + b), with the shift b that log^2 d leaves out. A dimension
    without a median has a triangle where its runs ended. Returns the medians, and what there is of
    the triangles, the fitted law and the theorem's.
    """
    points = [point for point in scaling.points if point.median]
    dims = np.array([point.d for point in points], dtype=float)
    medians = np.array([point.median for point in points], dtype=float)
    quartiles = [(point.quantile(0.25), point.quantile(0.75)) for point in points]
    bars = [
        (median - low, 0.0 if high is None else high - median)
        for median, (low, high) in zip(medians, quartiles, strict=True)
    ]
    artists: list[Artist] = [
        ax.errorbar(
            dims,
            medians,
            yerr=np.reshape(bars, (-1, 2)).T,
            fmt="o",
            ms=4,
            lw=1,
            capsize=2.5,
            color=POSITIONAL_COLOURS[0],
            label="medians and quartiles",
            zorder=3,
        )
    ]
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("$d$")
    ax.set_ylabel(rf"steps $\tau$ to $|{scaling.overlap}| \geq {scaling.threshold:g}$")
    unknown = [point for point in scaling.points if not point.median and point.steps_run]
    if unknown:
        artists += ax.plot(
            [point.d for point in unknown],
            [point.steps_run for point in unknown],
            "^",
            color=POSITIONAL_COLOURS[0],
            mfc="white",
            label="no median up to here",
        )
    if not points:
        if not unknown:
            ax.set_ylim(1, 10)
        ax.set_xlim(min(scaling.requested_dims) / 2, 2 * max(scaling.requested_dims))
        ax.legend(frameon=False, fontsize="small", loc="upper left")
        return artists
    grid = np.geomspace(dims.min(), dims.max(), 100)
    if scaling.logarithm is not None:
        _, line, _ = scaling.logarithm
        constant, slope = line.parameters
        fitted = grid * np.log(grid) * (slope * np.log(grid) + constant)
        label = rf"fit $\propto d\,\log d\,(\log d {constant / slope:+.2g})$"
    elif scaling.power is not None:
        constant, slope = scaling.power.parameters
        fitted = np.exp(constant) * grid**slope
        label = rf"fit $\propto d^p$, $p = {slope:.3g} \pm {scaling.power.error:.1g}$"
    if scaling.power is not None:
        artists += ax.plot(grid, fitted, "-", color=POSITIONAL_COLOURS[0], label=label)
    law = np.array([scaling.law.steps(d) for d in grid.tolist()])
    at_points = np.array([scaling.law.steps(d) for d in dims.tolist()])
    law *= np.exp(np.mean(np.log(medians / at_points)))
    label = rf"Theorem 1, $\propto {_LAWS.get(scaling.law.order, f'd^{{{scaling.law.power}}}')}$"
    artists += ax.plot(grid, law, "--", color=SEMANTIC_COLOUR, label=label)
    ax.legend(frameon=False, fontsize="small", loc="upper left")
    return artists
