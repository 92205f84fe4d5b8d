"""Check ODE, diffusion and exact chain against direct SGD at finite d."""

from __future__ import annotations

import sys
from typing import Any

import click

from ssiode.cli.output import emit, json_option
from ssiode.cli.problem_options import (
    build_problem,
    engine_options,
    given_engine_options,
    problem_options,
    state_options,
)
from ssiode.cli.tables import agreement_table


@click.command()
@problem_options
@state_options
@click.option("--records", type=int, default=100, show_default=True, help="Times compared.")
@engine_options
@click.option("--figure", type=click.Path(dir_okay=False), help="Write a figure (png, pdf, svg).")
@json_option
def command(
    problem: str | None,
    param: tuple[str, ...],
    e: tuple[float, ...] | None,
    m: tuple[float, ...] | None,
    records: int,
    figure: str | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Compare ODE, diffusion, exact chain and direct SGD from the same initial overlaps."""
    options = given_engine_options(flags)
    built = build_problem(problem, param, flags)
    from ssiode.plots import check_figure_path, save_figure
    from ssiode.validation import validate

    if figure is not None:
        check_figure_path(figure)
    result = validate(
        built,
        e=e,
        m=m,
        records=records,
        progress=sys.stderr.isatty(),
        engine=options.pop("engine", None),
        engine_options=options,
    )
    if figure is not None:
        save_figure(result.figure(), figure)
    emit(result.as_dict() | {"figure": figure}, as_json, agreement_table(result))
    if result.was_interrupted:
        raise KeyboardInterrupt
