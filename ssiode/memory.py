"""How much memory there is, and refusing what needs more before it is allocated."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from ssiode.errors import InputError

_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")
_CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")


@cache
def total_memory() -> float:
    """Bytes of memory of this machine or container; infinite where that cannot be found out."""
    limits = [float("inf")]
    with suppress(AttributeError, OSError, ValueError):
        limits.append(float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")))
    with suppress(OSError, ValueError):
        limits.append(float(_CONTAINER_LIMIT.read_text()))  # the word `max` without a limit
    return min(limit for limit in limits if limit > 0)


def require_memory(floats: Mapping[str, float]) -> None:
    """Raise `InputError` if arrays of this many floats do not fit into the memory.

    Parameters
    ----------
    floats : mapping
        Numbers of floats by the settings that they grow with, in words: the largest one is what
        the error says to lower.

    Examples
    --------
    >>> require_memory({"samples": 1e15})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ssiode.errors.InputError: this needs 8 PB of memory, more than there is ... lower samples
    """
    needed = 8.0 * sum(floats.values())
    if needed > total_memory():
        raise InputError(
            f"this needs {_amount(needed)} of memory, more than there is "
            f"({_amount(total_memory())}); lower {max(floats, key=floats.__getitem__)}"
        )


def _amount(n_bytes: float) -> str:
    power = 0
    while n_bytes >= 1000 and power < len(_UNITS) - 1:
        n_bytes, power = n_bytes / 1000, power + 1
    return f"{n_bytes:.3g} {_UNITS[power]}"
