"""List the targets that have a name."""

from __future__ import annotations

import click

from ssiode.cli.output import emit, json_option


@click.command()
@json_option
def command(as_json: bool) -> None:
    """List the targets that have a name, with their parameters and formulas."""
    from ssiode.named_targets import NAMED_TARGETS

    rows = [
        {
            "name": name,
            "length": target.length,
            "description": target.description,
            "expression": target.expression,
            "parameters": {
                parameter: {"minimum": low, "maximum": high, "minimum_allowed": closed}
                for parameter, (low, high, closed) in target.ranges.items()
            },
        }
        for name, target in NAMED_TARGETS.items()
    ]
    text = "\n".join(
        f"{row['name']} (L = {row['length']}; {', '.join(row['parameters'])})\n"
        f"    {row['description']}"
        for row in rows
    )
    emit({"targets": rows}, as_json, text)
