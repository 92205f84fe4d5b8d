"""Run direct SGD at finite d."""

from __future__ import annotations

import sys
from typing import Any

import click

from ssiode.cli.output import emit, json_option
from ssiode.cli.problem_options import build_problem, problem_options, state_options
from ssiode.cli.tables import ensemble_table


@click.command()
@problem_options
@state_options
@click.option("--records", type=int, default=200, show_default=True, help="Number of records.")
@click.option("--spacing", default="linear", show_default=True, help="linear or log records.")
@click.option(
    "--eta", type=float, default=0.5, show_default=True, help="Weak recovery: |v| >= eta."
)
@json_option
def command(
    problem: str | None,
    param: tuple[str, ...],
    e: tuple[float, ...] | None,
    m: float | None,
    records: int,
    spacing: str,
    eta: float,
    as_json: bool,
    **flags: Any,
) -> None:
    """Run direct SGD on d-dimensional vectors; Ctrl-C keeps and prints what was recorded."""
    built = build_problem(problem, param, flags)
    from ssiode.dynamics import run_sgd

    result = run_sgd(
        built,
        e=e,
        m=m,
        records=records,
        spacing=spacing,
        threshold=eta,
        progress=sys.stderr.isatty(),
    )
    emit(result.as_dict(), as_json, ensemble_table(result))
    if result.status == "interrupted":
        raise KeyboardInterrupt
