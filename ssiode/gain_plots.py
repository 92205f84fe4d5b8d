"""Figures of steps and gains over the length of the sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ssiode.plots import POSITIONAL_COLOURS, SEMANTIC_COLOUR

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from ssiode.weight_sharing import Gain

_MARKERS = "osD^"
_FEW_DECADES, _PLAIN = 300.0, 1e4


def plot_steps(ax: Axes, gain: Gain) -> list[Artist]:
    """Draw the median steps of every student with their errors, and the ODE's at the same rates.

    Returns the medians and the lines of the ODE in turn.
    """
    artists: list[Artist] = []
    for i, name in enumerate(gain.students):
        measured = [found.measurements[name] for found in gain.results]
        colour, marker = POSITIONAL_COLOURS[i], _MARKERS[i % len(_MARKERS)]
        known = [
            (length, m.steps, m.error)
            for length, m in zip(gain.lengths, measured, strict=True)
            if m.steps is not None
        ]
        lengths, steps, errors = np.reshape(known, (-1, 3)).T
        artists.append(
            ax.errorbar(
                lengths, steps, errors, fmt=marker, ms=4.5, capsize=2.5, color=colour, label=name
            )
        )
        lines = [
            (length, m.ode_steps)
            for length, m in zip(gain.lengths, measured, strict=True)
            if m.ode_steps is not None
        ]
        artists += ax.plot(*np.reshape(lines, (-1, 2)).T, "-", lw=1, color=colour)
        unknown = [
            (length, m.steps_run)
            for length, m in zip(gain.lengths, measured, strict=True)
            if m.steps is None and m.steps_run
        ]
        if unknown:
            ax.plot(
                *np.transpose(unknown), "^", color=colour, mfc="white", label=f"{name}, not yet"
            )
    _log_axes(ax, gain)
    ax.set_ylabel(rf"median steps $\tau$ to $|v| \geq {gain.threshold:g}$")
    ax.legend(frameon=False, fontsize="small", title="lines: ODE", title_fontsize="small")
    return artists


def plot_gain(ax: Axes, gain: Gain) -> list[Artist]:
    """Draw gains with their errors, the fitted power, the prediction and the gain of Theorem 2.

    Returns what there is of these.
    """
    artists: list[Artist] = []
    for i, name in enumerate(gain.students[:-1]):
        rows = [
            (length, ratio, error or 0.0)
            for length, ratio, error in zip(
                gain.lengths, gain.gains(name), gain.gain_errors(name), strict=True
            )
            if ratio
        ]
        lengths, ratios, errors = np.reshape(rows, (-1, 3)).T
        label = "measured" if len(gain.students) == 2 else name
        colour, marker = POSITIONAL_COLOURS[i], _MARKERS[i % len(_MARKERS)]
        artists.append(
            ax.errorbar(
                lengths, ratios, errors, fmt=marker, ms=4.5, capsize=2.5, color=colour, label=label
            )
        )
    if (fit := gain.power(gain.students[0])) is not None:
        grid = np.array([min(gain.lengths), max(gain.lengths)], dtype=float)
        constant, power = fit.parameters
        error = rf" \pm {fit.error:.1g}" if fit.error > 1e-3 else ""
        label = rf"$\propto L^p$, $p = {power:.3g}{error}$"
        artists += ax.plot(
            grid, np.exp(constant) * grid**power, "-", color=POSITIONAL_COLOURS[0], label=label
        )
    for values, style, label in (
        (gain.predicted_gain, ":", "leading order"),
        (gain.theorem_gain, "--", "Theorem 2"),
    ):
        known = [(n, value) for n, value in zip(gain.lengths, values, strict=True) if value]
        if known:
            artists += ax.plot(*np.transpose(known), style, color=SEMANTIC_COLOUR, label=label)
    _log_axes(ax, gain)
    ax.set_ylabel(f"steps of {gain.reference} / steps")
    if artists:
        ax.legend(frameon=False, fontsize="small")
    return artists


def _log_axes(ax: Axes, gain: Gain) -> None:
    from matplotlib.ticker import LogFormatterSciNotation, LogLocator, StrMethodFormatter

    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    # Labels between powers of ten where there are few of these.
    low, high = ax.get_ylim()
    if high < _FEW_DECADES * low:
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        scientific = LogFormatterSciNotation(minor_thresholds=(np.inf, np.inf))
        plain = StrMethodFormatter("{x:g}")
        ax.yaxis.set_major_formatter(plain if high < _PLAIN else scientific)
    ax.set_xlabel("length $L$")
    lengths = gain.lengths or gain.requested_lengths
    ax.set_xticks(lengths, [str(length) for length in lengths])
    ax.minorticks_off()
    ax.set_xlim(min(lengths) / 1.3, max(lengths) * 1.3)
