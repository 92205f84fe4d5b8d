"""Run direct SGD at finite d."""

from __future__ import annotations

from typing import Any

import click

from ssiode.cli.ensemble_command import run_and_emit, run_options


@click.command()
@run_options
def command(**arguments: Any) -> None:
    """Run direct SGD on d-dimensional vectors; Ctrl-C keeps and prints what was recorded."""
    run_and_emit("run_sgd", **arguments)
