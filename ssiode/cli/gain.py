"""Measure what sharing weights among the tokens gains."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from ssiode.cli.output import emit, json_option
from ssiode.cli.problem_options import NameList, WholeNumberList, build_problem, problem_options
from ssiode.cli.tables import text_table
from ssiode.errors import InputError
from ssiode.risk_landscape.at_origin.numbers import number_text

if TYPE_CHECKING:
    from ssiode.weight_sharing import Gain
    from ssiode.weight_sharing.measurement import Measurement

_NOT_TAKEN = {"length": "--lengths 1,2,4", "steps": "--max-steps"}


@click.command()
@problem_options
@click.option("--lengths", type=WholeNumberList(), help="Lengths L, as 1,2,4,8.")
@click.option(
    "--policy",
    default="equal",
    show_default=True,
    help="Learning rates: equal; paper (ratio L rbar); best (each student at its own best).",
)
@click.option(
    "--method",
    default="ode",
    show_default=True,
    help="ode (seconds), chain (minutes), or sgd for a check at small d.",
)
@click.option(
    "--students",
    type=NameList(),
    help="Of tied, weighted, untied, attention, linear-attention; the last is the reference.",
)
@click.option(
    "--start", default="equal", show_default=True, help="equal overlaps per row, or random weights."
)
@click.option("--overlap", type=float, help="The equal overlap; 1/sqrt(d) by default.")
@click.option("--eta", type=float, default=0.5, show_default=True, help="Recovery: |v| >= eta.")
@click.option("--max-steps", type=int, help="Most steps of a replica.")
@click.option("--figure", type=click.Path(dir_okay=False), help="Write a figure (png, pdf, svg).")
@json_option
def command(
    problem: str | None,
    param: tuple[str, ...],
    lengths: tuple[int, ...] | None,
    policy: str,
    method: str,
    students: tuple[str, ...] | None,
    start: str,
    overlap: float | None,
    eta: float,
    max_steps: int | None,
    figure: str | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Measure the gain of tied over untied networks in steps of weak recovery, over L.

    The target is read at every length, as sum(He2(z)). The gain depends on the learning rates:
    --policy says how they are chosen. Ctrl-C keeps and prints what was measured.
    """
    for name, mend in _NOT_TAKEN.items():
        if flags[name] is not None:
            raise InputError(f"--{name} is not taken, as it changes from run to run; give {mend}")
    if problem is None and flags["student"] is None:
        flags["student"] = "tied"
    flags["length"] = _length_to_read_at(problem, flags["target"], lengths)
    built = build_problem(problem, param, flags)
    from ssiode.plots import check_figure_path, save_figure
    from ssiode.weight_sharing import gain

    if figure is not None:
        check_figure_path(figure)
    result = gain(
        built,
        lengths,
        policy=policy,
        method=method,
        students=students,
        start=start,
        overlap=overlap,
        threshold=eta,
        max_steps=max_steps,
        progress=sys.stderr.isatty(),
    )
    if figure is not None:
        save_figure(result.figure(), figure)
    emit(result.as_dict() | {"figure": figure}, as_json, lambda: _text(result))
    if result.was_interrupted:
        raise KeyboardInterrupt


def _length_to_read_at(
    path: str | None, target: str | None, lengths: tuple[int, ...] | None
) -> int | None:
    """A length for a target in `z` over all tokens, which has none of its own; else None."""
    if target is None or path is not None:
        return None
    from ssiode.expression import parse_expression

    try:
        parse_expression(target)
    except InputError:
        return max(lengths) if lengths else 1
    return None


def _text(result: Gain) -> str:
    lines = [
        f"gain of {', '.join(result.students[:-1])} over {result.reference}; policy "
        f"{result.policy}; {result.method}; {_start(result)}",
        _rows(result),
    ]
    if any(found.alignments for found in result.results):
        lines.append(_alignment_rows(result))
    if result.results:
        lines.append(_rate_rows(result))
    for found in result.results:
        lines += [f"L = {found.length}: {remark}" for remark in found.remarks]
    for name in result.students[:-1]:
        if (fit := result.power(name)) is not None:
            predicted = result.predicted_power(name)
            shown = "" if predicted is None else f"; leading order: {predicted:.4f}"
            lines.append(f"gain of {name} = K L^p: p = {fit.value:.4f} +- {fit.error:.1g}{shown}")
    lines.append(f"{result.status}: {result.message}; seed {result.problem.sgd.seed}")
    return "\n".join(lines)


def _start(result: Gain) -> str:
    if result.start == "random":
        return "random weights"
    starts = {abs(m) for found in result.results for m in found.overlaps.values()}
    return f"equal overlaps {starts.pop():.4g}" if starts else "equal overlaps"


def _rows(result: Gain) -> str:
    header = ["L"]
    for name in result.students:
        header += [f"gamma {name}", f"steps {name}"]
    header += ["gain", "leading order", "ODE"]
    has_theorem = any(value is not None for value in result.theorem_gain)
    header += ["Theorem 2"] if has_theorem else []
    rows = [header]
    columns = (result.gain, result.gain_error, result.predicted_gain, result.ode_gain)
    for i, found in enumerate(result.results):
        row = [str(found.length)]
        for name in result.students:
            row += _cells(found.measurements[name])
        ratio, error, predicted, ode = (column[i] for column in columns)
        row += [_number(ratio, error), _number(predicted), _number(ode)]
        row += [_number(result.theorem_gain[i])] if has_theorem else []
        rows.append(row)
    return text_table(rows)


def _alignment_rows(result: Gain) -> str:
    """What the prediction rests on: the leading tensor C of the target and the activation."""
    rows = [["L", "network", "order n", "c_n", "|C|_op", "rbar", "orthogonally decomposable"]]
    for found in result.results:
        coefficients = set()
        for name, known in found.alignments.items():
            leading = known.leading
            if (row := (known.order, known.activation_coefficient)) in coefficients:
                continue  # tied and untied networks see the same tensor
            coefficients.add(row)
            numbers = (leading.operator_norm.value, leading.ones_ratio.value)
            rows.append(
                [
                    str(found.length),
                    name,
                    str(known.order),
                    _number(known.activation_coefficient),
                    *map(_number, numbers),
                    leading.orthogonally_decomposable.answer,
                ]
            )
    return text_table(rows)


def _rate_rows(result: Gain) -> str:
    """Learning rates of the ODE: of the fewest steps, and the largest that still recovers."""
    header = ["L"]
    for name in result.students:
        header += [f"ODE best gamma {name}", "largest"]
    rows = [header]
    for found in result.results:
        row = [str(found.length)]
        for name in result.students:
            measured = found.measurements[name]
            row += [_number(measured.best_gamma), _number(measured.largest_gamma)]
        rows.append(row)
    return text_table(rows)


def _cells(measured: Measurement) -> list[str]:
    rate = _number(measured.gamma, measured.gamma_error)
    if measured.steps is None:
        most = f" in {measured.steps_run}" if measured.steps_run else ""
        return [rate, f"not recovered{most}"]
    return [rate, _number(measured.steps, measured.error)]


def _number(value: float | None, error: float | None = None) -> str:
    if value is None:
        return "unknown"
    return number_text(value, error) if error else f"{value:.5g}"
