"""Run the exact chain of the overlaps at any d."""

from __future__ import annotations

from typing import Any

import click

from ssiode.cli.ensemble_command import run_and_emit, run_options


@click.command()
@run_options
def command(**arguments: Any) -> None:
    """Run the Markov chain of (e, m), the law of SGD at any d for the price of L.

    Ctrl-C keeps and prints what was recorded.
    """
    run_and_emit("run_chain", **arguments)
