"""Commands whose argument is an expression, which may start with a minus."""

from __future__ import annotations

import re

import click

_MINUS = re.compile(r"-[^-]|--[0-9(.z]")


class ExpressionCommand(click.Command):
    """A command that reads ``-z1`` as an expression and not as an option.

    Options keep their names; an unknown ``--name`` is still refused.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Shield expressions by a leading space, which means nothing in them."""
        options = {name for parameter in self.get_params(ctx) for name in parameter.opts}
        shielded = [
            f" {word}" if _MINUS.match(word) and word.partition("=")[0] not in options else word
            for word in args
        ]
        return super().parse_args(ctx, shielded)
