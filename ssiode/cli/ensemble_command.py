"""What the commands that run an ensemble of replicas have in common."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from ssiode.cli.output import emit, json_option
from ssiode.cli.problem_options import build_problem, problem_options, state_options
from ssiode.cli.tables import ensemble_table


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the problem, the initial overlaps and how a run is recorded."""
    records = click.option("--records", type=int, default=200, show_default=True)
    spacing = click.option("--spacing", default="linear", show_default=True, help="linear or log.")
    text = "Weak recovery: |v| >= eta."
    eta = click.option("--eta", type=float, default=0.5, show_default=True, help=text)
    return problem_options(state_options(records(spacing(eta(json_option(command))))))


def run_and_emit(
    method: str,
    problem: str | None,
    param: tuple[str, ...],
    records: int,
    spacing: str,
    eta: float,
    as_json: bool,
    e: tuple[float, ...] | None,
    m: float | None,
    **flags: Any,
) -> None:
    """Run the replicas by the function of that name and print what they did."""
    built = build_problem(problem, param, flags)
    from ssiode import dynamics

    result = getattr(dynamics, method)(
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
