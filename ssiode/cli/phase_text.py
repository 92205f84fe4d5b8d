"""Positional against semantic learning as text for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ssiode.cli.tables import text_table
from ssiode.risk_landscape.at_origin.numbers import number_text

if TYPE_CHECKING:
    from ssiode.phase import (
        Flip,
        Origin,
        PhaseBoundaries,
        PhaseDiagram,
        PhaseRaster,
        PhaseRegion,
        ShiftedPath,
        Transition,
        TransitionAt,
    )

_BOUNDARIES = {
    "flip": "flip of the steepest direction",
    "equal_minima": "equal minima",
    "positional_birth": "birth of the positional minimum",
    "semantic_death": "death of the semantic minimum",
    "mixed_birth": "birth of a mixed minimum",
}
_MOST_ROWS = 60


def boundaries_text(found: PhaseBoundaries) -> str:
    """One row for each boundary."""
    rows = [["boundary", "omega"]]
    for name, label in _BOUNDARIES.items():
        value = getattr(found, name)
        rows.append([label, "none" if value is None else f"{value:.9f}"])
    largest = max(found.errors.values(), default=None)
    lines = [f"a = {found.a:g}", text_table(rows)]
    if largest is not None:
        lines.append(f"errors at most {largest:.1g}")
    if found.mixed_from == "semantic_death":
        lines.append("the mixed minimum leaves the semantic one, which dies")
    return "\n".join(lines)


def region_text(found: PhaseRegion) -> str:
    """The region, its minima, and the flow."""
    rows = [["minimum", "e", "m", "R", ""]]
    for one in found.minima:
        # The error is that of e^2 = 1 - m^2.
        place = [
            number_text(value, one.place_error / (2 * value)) if value else "0"
            for value in (one.e, one.m)
        ]
        risk = number_text(one.risk, one.risk_error)
        rows.append([one.kind, *place, risk, "global" if one.is_global else ""])
    certified = "certified" if found.is_certified else "not certified"
    return "\n".join(
        [
            f"omega = {found.omega:.10g}, a = {found.a:.10g}: {found.region}",
            text_table(rows),
            f"{certified}: {found.reason}",
            _hessian_line(found.hessian["ee"], found.hessian["mm"], found.hessian_error),
            _steepest_line(found.steepest_direction),
            f"gradient flow from there ends at: {found.flow_ends_at or 'unknown'}",
        ]
    )


def _hessian_line(ee: float, mm: float, error: float) -> str:
    return f"Hessian at the origin: R_ee = {ee:.9g}, R_mm = {mm:.9g} +- {error:.1g}"


def _steepest_line(direction: dict[str, float] | None) -> str:
    if direction is None:
        return "no steepest direction: R does not fall at the origin to second order"
    return f"steepest direction: {'e (positional)' if direction['e'] else 'm (semantic)'}"


def flip_text(found: Flip) -> str:
    """The flip with its error."""
    head = f"a = {found.a:g}, {found.loss} loss: "
    if found.omega is None:
        return head + "the steepest direction does not flip"
    value = number_text(found.omega, found.error)
    return (
        f"{head}flip of the steepest direction at omega = {value} "
        f"({found.shifts} random shifts of the grid; seed {found.seed})"
    )


def origin_text(found: Origin) -> str:
    """Hessian and noise at the origin."""
    errors = found.errors
    noise = ", ".join(
        f"{label} = {number_text(getattr(found, name), errors[name])}"
        for name, label in (("noise_e", "V_e"), ("noise_m", "V_m"), ("noise", "V_0"))
    )
    curvature = max(errors["ee"], errors["mm"])
    return "\n".join(
        [
            f"omega = {found.omega:g}, a = {found.a:g}, {found.loss} loss",
            _hessian_line(found.ee, found.mm, curvature),
            _steepest_line(found.steepest_direction),
            f"second moments of the gradient along e, m and other directions: {noise}",
            f"{found.shifts} random shifts of the grid; seed {found.seed}",
        ]
    )


def diagram_text(found: PhaseDiagram) -> str:
    """The regions and the crossings of their boundaries."""
    rows = [["a", "omega", "crossing of"]]
    rows += [[f"{one.a:.6f}", f"{one.omega:.6f}", ", ".join(one.names)] for one in found.crossings]
    lines = [f"{i} {region}" for i, region in enumerate(found.regions, 1)]
    return "\n".join([*lines, text_table(rows), "--figure draws them"])


def raster_text(found: PhaseRaster) -> str:
    """The range of a raster, whose values are in --json."""
    known = found.values[np.isfinite(found.values)]
    shape = " x ".join(map(str, found.values.shape))
    values = f"from {known.min():.6g} to {known.max():.6g}" if known.size else "nowhere defined"
    return f"{found.quantity} on {shape} pixels: {values}; --figure draws it, --json has all values"


def transition_text(found: Transition) -> str:
    """Probabilities, crossing and width of each dimension."""
    when = "until recovery" if found.time is None else f"to t = {found.time:g}"
    lines = [
        f"a = {found.a:g}, {found.loss} loss, gamma = {found.gamma:g}, start {found.start}; "
        f"{found.replicas} runs of the chain {when}"
    ]
    for result in found.results:
        lines += _probabilities(result)
    lines.append(text_table(_crossing_rows(found)))
    if found.flip.omega is not None:
        value = number_text(found.flip.omega, found.flip.error)
        lines.append(f"flip of the steepest direction at the origin: {value}")
    lines += _remarks(found)
    lines.append(f"{found.status}: {found.message}; seed {found.seed}")
    return "\n".join(lines)


def _probabilities(result: TransitionAt) -> Iterator[str]:
    rows = [["omega", "semantic", "P", "one sigma", "linear regime", "recovered"]]
    for one in result.points:
        low, high = one.interval or (np.nan, np.nan)
        rows.append(
            [
                f"{one.omega:g}",
                f"{one.semantic} of {one.replicas}",
                "unknown" if one.probability is None else f"{one.probability:.3f}",
                f"{low:.3f} to {high:.3f}",
                "unknown" if one.predicted is None else f"{one.predicted:.3f}",
                str(one.recovered),
            ]
        )
    yield f"d = {result.d}"
    yield text_table(rows[: _MOST_ROWS + 1])


def _crossing_rows(found: Transition) -> list[list[str]]:
    rows = [["d", "crossing", "width", "deviance", "linear regime: crossing", "width"]]
    for result in found.results:
        fit = result.fit
        fitted = ["unknown", "unknown", ""]
        if fit is not None:
            fitted = [
                number_text(fit.crossing, fit.crossing_error),
                number_text(fit.width, fit.width_error),
                f"{fit.deviance:.3g} of {fit.degrees_of_freedom}",
            ]
        predicted = [
            "unknown" if value is None else f"{value:.4f}"
            for value in (result.predicted_crossing, result.predicted_width)
        ]
        rows.append([str(result.d), *fitted, *predicted])
    return rows


def _remarks(found: Transition) -> Iterator[str]:
    for result in found.results:
        late = sum(one.replicas - one.recovered for one in result.points)
        all_of_them = sum(one.replicas for one in result.points)
        if late:
            yield (
                f"d = {result.d}: {late} of {all_of_them} runs have not recovered, "
                f"|(e, m)| < {found.threshold:g}: the larger overlap is counted all the same"
            )
        if diverged := sum(one.diverged for one in result.points):
            yield f"d = {result.d}: {diverged} runs diverged and are left out"


def shifted_text(found: ShiftedPath) -> str:
    """The path of global minima."""
    rows = [["omega", "e", "m", "R", "minima", "certified"]]
    for one in found.minima:
        certified = "yes" if one.is_certified else "no"
        place = [number_text(value, one.place_error) for value in (one.e, one.m)]
        risk = number_text(one.risk, one.risk_error)
        rows.append([f"{one.omega:g}", *place, risk, str(one.n_minima), certified])
    lines = [f"a = {found.a:g}; the target without transition", text_table(rows)]
    if found.longest_step is not None:
        lines.append(f"longest step between neighbours: {found.longest_step:.3g}")
    return "\n".join([*lines, f"{found.status}: {found.message}"])
