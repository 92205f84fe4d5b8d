"""Measure how the steps of weak recovery grow with d."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from ssiode.cli.output import emit, json_option
from ssiode.cli.problem_options import NumberList, build_problem, problem_options
from ssiode.cli.tables import text_table
from ssiode.errors import InputError

if TYPE_CHECKING:
    from ssiode.recovery_scaling import Scaling

_NOT_TAKEN = {
    "gamma": "--constant, the C of gamma = C, C/log d, C d^(1 - SIE/2)",
    "d": "--dims",
    "steps": "--max-steps",
}


@click.command()
@problem_options
@click.option("--dims", type=NumberList(), help="Dimensions d, as 100,1000,1e4.")
@click.option(
    "--method", default="chain", show_default=True, help="chain, or sgd for a check at small d."
)
@click.option("--constant", type=float, help="C of gamma = C, C/log d, C d^(1 - SIE/2).")
@click.option("--search-gamma", is_flag=True, help="Search C for the fewest steps.")
@click.option("--eta", type=float, default=0.5, show_default=True, help="Recovery: |v| >= eta.")
@click.option("--overlap", default="v", show_default=True, help="v, or m for |m| >= eta.")
@click.option("--sie", type=int, help="Order whose law is used; that of the target by default.")
@click.option("--max-steps", type=int, help="Most steps of a replica at any d.")
@click.option("--figure", type=click.Path(dir_okay=False), help="Write a figure (png, pdf, svg).")
@json_option
def command(
    problem: str | None,
    param: tuple[str, ...],
    dims: tuple[float, ...] | None,
    method: str,
    constant: float | None,
    search_gamma: bool,
    eta: float,
    overlap: str,
    sie: int | None,
    max_steps: int | None,
    figure: str | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Fit the power of d in the median steps of weak recovery, against Theorem 1.

    Weights start uniform on the sphere at every d, with the learning rate of the theorem; the
    gamma, d, steps and start of a problem file are not used. Runs that start at a sign that does
    not grow (odd SIE) are counted apart. Ctrl-C keeps and prints what was measured.
    """
    for name, mend in _NOT_TAKEN.items():
        if flags[name] is not None:
            raise InputError(f"--{name} is not taken, as it changes from run to run; give {mend}")
    built = build_problem(problem, param, flags)
    from ssiode.plots import check_figure_path, save_figure
    from ssiode.recovery_scaling import scaling

    if figure is not None:
        check_figure_path(figure)
    result = scaling(
        built,
        dims,
        method=method,
        constant=constant,
        search_gamma=search_gamma,
        threshold=eta,
        overlap=overlap,
        sie=sie,
        max_steps=max_steps,
        progress=sys.stderr.isatty(),
    )
    if figure is not None:
        save_figure(result.figure(), figure)
    emit(result.as_dict() | {"figure": figure}, as_json, lambda: _text(result))
    if result.was_interrupted:
        raise KeyboardInterrupt


_HEADER = ("d", "gamma", "median steps", "quartiles", "recovered", "wrong sign")


def _text(result: Scaling) -> str:
    lines = [f"{result.remark}: steps of order {result.law.text} at the best learning rates"]
    for trial in result.trials:
        median = "no better" if trial.median is None else f"median {trial.median:.6g}"
        lines.append(
            f"  tried C = {trial.constant:.3g} at d = {trial.d}: {median} ({trial.recovered} of "
            f"{trial.counted} recovered in {trial.steps_run} steps)"
        )
    lines.append(f"learning rates with C = {result.constant:.3g}; {result.method}")
    lines.append(_rows(result))
    if result.power is not None:
        lines.append(
            f"tau = K d^p: p = {result.power.value:.4f} +- {result.power.error:.4f}, "
            f"Theorem 1: {result.predicted:.4f}"
            + (" (d log^2 d at these d)" if result.law.order == 2 else "")
            + _fitted(result.power.p_value)
        )
    if (fit := result.corrected_power) is not None:
        lines.append(f"corrected for finite d: p = {fit.value:.4f} +- {fit.error:.4f}")
    if result.logarithm is not None:
        power, line, curvature = result.logarithm
        slope, shift = line.value, line.parameters[0] / line.value
        lines.append(
            f"tau / d = K log^q d: q = {power.value:.3f} +- {power.error:.3f} (Theorem 1: 2)"
        )
        lines.append(
            f"tau / d = A log d (log d + b): A = {slope:.4g} +- {line.error:.2g}, b = {shift:.3g}"
            + _fitted(line.p_value)
        )
        if curvature is not None:
            lines.append(f"curvature beside it: {curvature.value:.3g} +- {curvature.error:.2g}")
    verdicts = {True: "agrees with Theorem 1", False: "DISAGREES with Theorem 1"}
    if result.power is not None:
        lines.append(f"{verdicts.get(result.agrees, 'no verdict')}: {result.reason}")
    lines.append(f"{result.status}: {result.message}; seed {result.problem.sgd.seed}")
    return "\n".join(lines)


def _fitted(p_value: float | None) -> str:
    return "" if p_value is None else f"; fits with p-value {p_value:.2g}"


def _rows(result: Scaling) -> str:
    rows = [_HEADER]
    for point in result.points:
        data = point.as_dict()
        known = [
            "unknown" if data[name] is None else f"{data[name]:.6g}"
            for name in ("median", "lower_quartile", "upper_quartile")
        ]
        error = "" if point.log_error is None else f" +- {100 * point.log_error:.2g}%"
        wrong = f"{point.wrong_sign}"
        if point.wrong_sign:
            wrong += f" ({point.wrong_sign_recovered} recovered)"
        rows.append(
            (
                str(point.d),
                f"{point.gamma:.3g}",
                known[0] + error,
                f"{known[1]} to {known[2]}",
                f"{data['recovered']} of {data['counted']}",
                wrong,
            )
        )
    return text_table(rows)
