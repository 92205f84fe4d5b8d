"""Solve the ODE on the sufficient statistics (e, m)."""

from __future__ import annotations

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
from ssiode.cli.tables import trajectory_table


@click.command()
@problem_options
@state_options
@click.option("--t-max", type=float, help="Last ODE time, t = gamma * steps / d.")
@click.option("--points", type=int, default=201, show_default=True, help="Number of times.")
@click.option(
    "--eta", type=float, default=0.5, show_default=True, help="Weak recovery: |v| >= eta."
)
@click.option("--rtol", type=float, help="Relative tolerance; chosen if not given.")
@engine_options
@json_option
def command(
    problem: str | None,
    param: tuple[str, ...],
    e: tuple[float, ...] | None,
    m: tuple[float, ...] | None,
    t_max: float | None,
    points: int,
    eta: float,
    rtol: float | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Solve the ODE on (e, m) from --e and --m, or from the problem's initial condition."""
    options = given_engine_options(flags)
    built = build_problem(problem, param, flags)
    from ssiode.dynamics import solve_ode

    result = solve_ode(
        built, t_max=t_max, e=e, m=m, points=points, threshold=eta, rtol=rtol, **options
    )
    emit(result.as_dict(), as_json, trajectory_table(result))
    if result.status == "interrupted":
        raise KeyboardInterrupt
