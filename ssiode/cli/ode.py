"""Solve the ODE on the sufficient statistics (e, m)."""

from __future__ import annotations

from typing import Any

import click

from ssiode.cli.output import emit, json_option
from ssiode.cli.problem_options import build_problem, problem_options, state_options
from ssiode.cli.tables import trajectory_table


@click.command()
@problem_options
@state_options
@click.option("--t-max", type=float, help="Last ODE time, t = gamma * steps / d.")
@click.option("--points", type=int, default=201, show_default=True, help="Number of times.")
@click.option(
    "--eta", type=float, default=0.5, show_default=True, help="Weak recovery: |v| >= eta."
)
@click.option("--engine", help="Engine of the right-hand side; chosen if not given.")
@json_option
def command(
    problem: str | None,
    param: tuple[str, ...],
    e: tuple[float, ...] | None,
    m: float | None,
    t_max: float | None,
    points: int,
    eta: float,
    engine: str | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Solve the ODE on (e, m) from --e and --m, or from the problem's initial condition."""
    built = build_problem(problem, param, flags)
    from ssiode.dynamics import solve_ode

    result = solve_ode(built, t_max=t_max, e=e, m=m, points=points, threshold=eta, engine=engine)
    emit(result.as_dict(), as_json, trajectory_table(result))
    if result.status == "interrupted":
        raise KeyboardInterrupt
