"""Print all derivations, or those that are named, and fail when one of their checks does."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from . import find_derivations
from .report import publish


def main(arguments: Sequence[str]) -> int:
    """Print derivations as Markdown.

    Parameters
    ----------
    arguments : sequence of str
        Names of derivations; all of them when empty.

    Returns
    -------
    int
        0 when all checks hold, 1 when one does not, 2 when a name is unknown.
    """
    available = find_derivations()
    if any(argument in ("-h", "--help") for argument in arguments):
        print(f"usage: python -m {__package__} [{' | '.join(available)}] ...")
        return 0
    unknown = [name for name in arguments if name not in available]
    if unknown:
        allowed = ", ".join(available)
        print(f"unknown derivation {unknown[0]!r}; allowed: {allowed}", file=sys.stderr)
        return 2
    names = arguments or list(available)
    return 1 if publish(available[name]() for name in names) else 0


def run(arguments: Sequence[str]) -> int:
    """Print derivations; a reader that has gone, as behind ``| head``, ends them without a word."""
    try:
        code = main(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if sys.stdout is not None:
            # What is still buffered goes nowhere, or the interpreter would complain at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return 141
        if sys.stderr is not None:
            print(f"cannot print the derivations: {error.strerror}", file=sys.stderr)
        return 1
    return code


if __name__ == "__main__":
    raise SystemExit(run(sys.argv[1:]))
