"""Importing SymPy in a fresh process without pauses for garbage collection."""

from __future__ import annotations

import gc
import sys


def import_sympy() -> None:
    """Import SymPy, with the garbage collector off for that long.

    The import makes many objects and next to no garbage. They stay until the process ends, so the
    collector need not look at them again: they are frozen. Nothing is done if SymPy is there.

    Examples
    --------
    >>> import_sympy()
    >>> "sympy" in sys.modules
    True
    """
    if "sympy" in sys.modules:
        return
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        import sympy  # noqa: F401

        gc.freeze()
    finally:
        if was_enabled:
            gc.enable()
