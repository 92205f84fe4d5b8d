"""The command line: one small file a command, found by name and imported when it runs.

A file of this folder that defines `command` is a command of that name; the first line of its
docstring is its line in ``ssiode --help``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run ``ssiode`` with the arguments of the process, or with `argv`, and exit.

    The exit code is 0 on success, 2 on bad input and 130 on an interruption; bad input is told in
    one line on standard error.

    Raises
    ------
    SystemExit
        Always, with the exit code.

    Examples
    --------
    >>> main(["--version"])
    Traceback (most recent call last):
    ...
    SystemExit: 0
    """
    try:
        from ssiode.cli.application import run

        code = run(argv)
    except KeyboardInterrupt:  # while the imports run, and nothing can say so yet
        code = 130
    raise SystemExit(code)
