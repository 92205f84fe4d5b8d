"""A shared pool of threads for kernels that release the interpreter's lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from ssiode.errors import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count() -> int:
    """Number of threads: $SSIODE_THREADS, or the processors this process may use."""
    wanted = os.environ.get("SSIODE_THREADS")
    if wanted is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if not wanted.isdecimal() or int(wanted) == 0:
        raise InputError(f"SSIODE_THREADS is {wanted!r}; it must be a whole number >= 1")
    return int(wanted)


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="ssiode")


def map_in_threads(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Call the function on every item, in threads; the results are in the order of the items.

    >>> map_in_threads(abs, [-1, 2])
    [1, 2]
    """
    threads = thread_count()
    if threads == 1:
        return [function(item) for item in items]
    return list(_pool(threads).map(function, items))
