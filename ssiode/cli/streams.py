"""Standard output and error that are closed, full or broken."""

from __future__ import annotations

import os
import sys

from ssiode.errors import InputError


def check_streams() -> None:
    """Refuse a closed standard output before any work; a closed standard error leads nowhere.

    Without a stream, `print` would write errors on standard output.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - lives on
    if sys.stdout is None:
        raise InputError("standard output is closed; lead it to a file or a pipe")


def silence_standard_output() -> None:
    """Send what is still buffered nowhere, so that the interpreter ends without a complaint."""
    try:
        descriptor = sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
