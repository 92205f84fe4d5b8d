"""Landscapes as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ssiode.cli.tables import text_table
from ssiode.risk_landscape.at_origin.numbers import number_text

if TYPE_CHECKING:
    from ssiode.risk_landscape import Landscape
    from ssiode.risk_landscape.escape.basins import Basins
    from ssiode.risk_landscape.escape.chain_comparison import ChainComparison
    from ssiode.risk_landscape.escape.escape_times import EscapeTimes
    from ssiode.risk_landscape.minima import Minima

_MOST_MINIMA = 20


def landscape_text(
    found: Landscape,
    escape: EscapeTimes | None,
    chain: ChainComparison | None,
    basins: Basins | None,
) -> str:
    """Everything about one problem, a line or a table for each part."""
    lines = [found.exponent.message, *_origin(found), found.verdict]
    lines += [f"note: {reason}" for reason in found.explanations]
    if found.largest_gamma is not None:
        gamma = number_text(found.largest_gamma, found.largest_gamma_error)
        lines.append(f"gradient noise holds SGD at the origin at learning rates above {gamma}")
    if escape is not None:
        lines += _escape(escape)
    if chain is not None:
        lines += _chain(chain)
    if found.minima is not None:
        lines += _minima(found.minima)
    if found.status == "interrupted":
        lines.append("interrupted: the minima are not known")
    if basins is not None:
        lines += _basins(basins)
    return "\n".join(lines)


def _origin(found: Landscape) -> Iterator[str]:
    """Index, leading form and Hessian."""
    flatness = found.flatness
    if flatness.index is not None:
        yield f"flatness index {flatness.index}: R - R(0) = {flatness.leading_form} + ..."
    elif flatness.at_least is not None:
        yield f"flatness index not determined: at least {flatness.at_least}"
    hessian = found.hessian
    if hessian.form.terms:
        values = ", ".join(f"{value:.6g}" for value in hessian.eigenvalues)
        error = f"+- {hessian.eigenvalue_error:.1g}"
        yield f"Hessian at the origin: eigenvalues {values} {error} in the metric of the encoding"
    v = found.descent.direction
    if v is not None:
        yield f"steepest direction {_state(v[:-1], v[-1])}; coefficients from {found.coefficients}"


def _state(e: Sequence[float], m: float) -> str:
    moving = [f"e{i + 1} = {x:.4g}" for i, x in enumerate(e) if x != 0]
    return ", ".join([*moving, f"m = {m:.4g}"])


def _escape(escape: EscapeTimes) -> Iterator[str]:
    sgd = escape.problem.sgd
    yield (
        f"escape |v| >= {escape.threshold:g} from random weights at d = {sgd.d}, "
        f"gamma = {sgd.gamma:g} ({len(escape.ode.times)} starts, seed {sgd.seed}):"
    )
    samples = {"ODE": escape.ode, "ODE with noise": escape.ode_with_noise}
    rows = [["", "median time", "quartiles", "median steps", "escaped"]]
    for name, sample in samples.items():
        if sample is None:
            continue
        median, error, factor = sample.median, sample.error(), escape.steps_per_time
        quartiles = " to ".join(_number(sample.quantile(level)) for level in (0.25, 0.75))
        shown = [
            "unknown" if None in (median, error, unit) else number_text(median * unit, error * unit)
            for unit in (1.0, factor)
        ]
        share = f"{100 * sample.escaped:.3g}% +- {100 * sample.escaped_error:.2g}%"
        rows.append([name, shown[0], quartiles, shown[1], share])
    yield text_table(rows)
    if escape.scale is not None:
        law = escape.scale.complexity
        yield (
            f"Theorem 1 at order {law.exponent}: {law.samples} = {escape.scale.samples:.4g} steps "
            f"at gamma ~ {escape.scale.learning_rate:.4g}, up to constants"
        )
    if escape.status != "finished":
        yield f"{escape.status}: {escape.message}"


def _chain(chain: ChainComparison) -> Iterator[str]:
    point = chain.chain.as_dict()
    ratio = "not known" if chain.ratio is None else f"{chain.ratio:.4g}"
    error = "" if chain.ratio_error is None else f" +- {chain.ratio_error:.2g}"
    yield (
        f"chain: median {_number(point['median'])} steps, {point['recovered']} of "
        f"{point['counted']} replicas escaped; prediction over chain {ratio}{error}"
    )


def _minima(minima: Minima) -> Iterator[str]:
    yield f"{minima.message}; {minima.certificate.status}: {minima.certificate.reason}"
    if not minima.minima:
        return
    tokens = [i for i in range(len(minima.minima[0].e)) if any(x.e[i] for x in minima.minima)]
    header = ["kind", *(f"e{i + 1}" for i in tokens), "m", "R", "place", "curvature"]
    rows = [
        [
            one.kind,
            *(f"{one.e[i]:.6g}" for i in tokens),
            f"{one.m:.6g}",
            number_text(one.risk, one.risk_error),
            "boundary" if one.is_boundary else "interior",
            number_text(one.curvature, one.curvature_error),
        ]
        for one in minima.minima[:_MOST_MINIMA]
    ]
    yield text_table([header, *rows])
    if len(minima.minima) > _MOST_MINIMA:
        yield f"... and {len(minima.minima) - _MOST_MINIMA} more; --json has them all"


def _basins(basins: Basins) -> Iterator[str]:
    yield f"where gradient flow from {basins.starts} random weights ends, by d:"
    kept = range(min(len(basins.minima), _MOST_MINIMA))
    header = ["d", *(f"{basins.minima[i].kind} {i + 1}" for i in kept), "elsewhere", "unfinished"]
    rows = [
        [
            str(d),
            *(f"{basins.fractions[j, i]:.3f} +- {basins.errors[j, i]:.3f}" for i in kept),
            str(basins.elsewhere[j]),
            str(basins.unfinished[j]),
        ]
        for j, d in enumerate(basins.dims)
    ]
    yield text_table([header, *rows])
    if basins.status != "finished":
        yield f"{basins.status}: {basins.message}"


def comparison_text(found: Mapping[str, tuple[Landscape, EscapeTimes | None]]) -> str:
    """The encodings side by side, and a verdict for each.

    The steps are those of the median start.
    """
    rows = [["encoding", "SIE", "kappa", "escape order", "steepest (e, m)", "slope", "steps"]]
    for name, (one, escape) in found.items():
        v = one.descent.direction
        rows.append(
            [
                name,
                _number(one.exponent.sie),
                _index(one),
                _order(one),
                "" if v is None else "(" + ", ".join(f"{x:.3g}" for x in np.round(v, 9)) + ")",
                "" if v is None else number_text(one.descent.slope, one.descent.slope_error),
                "" if escape is None else _steps(escape),
            ]
        )
    lines = [text_table(rows)]
    for name, (one, _) in found.items():
        lines += [f"{name}: {one.verdict}", *(f"  note: {x}" for x in one.explanations)]
    return "\n".join(lines)


def _steps(escape: EscapeTimes) -> str:
    """The median steps with their error from the finite number of starts."""
    error = escape.prediction.error()
    if escape.median_steps is None or error is None:
        return _number(escape.median_steps)
    return number_text(escape.median_steps, error * escape.steps_per_time)


def _index(found: Landscape) -> str:
    is_flat = found.flatness.status == "constant"
    return "none" if is_flat else _number(found.flatness_index)


def _order(found: Landscape) -> str:
    if found.escape_order is not None:
        return str(found.escape_order)
    return {"minimum": "none", "flat": "none"}.get(found.descent.status, "unknown")


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.6g}"
