"""Run the diffusion that SGD tends to for large d."""

from __future__ import annotations

from typing import Any

import click

from ssiode.cli.ensemble_command import run_and_emit, run_options
from ssiode.cli.problem_options import engine_options, given_engine_options


@click.command()
@run_options
@engine_options
@click.option("--time-steps", type=int, help="Time steps of the whole run; chosen if not given.")
def command(time_steps: int | None, **arguments: Any) -> None:
    """Run the stochastic differential equation on (e, m), whose cost does not depend on d.

    The loss is the population risk. Ctrl-C keeps and prints what was recorded.
    """
    options = given_engine_options(arguments)
    further = {
        "engine": options.pop("engine", None),
        "engine_options": options,
        "time_steps": time_steps,
    }
    run_and_emit("run_diffusion", further=further, **arguments)
