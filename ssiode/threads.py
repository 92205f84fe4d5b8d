"""A shared pool of threads for kernels that release the interpreter's lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from ssiode.errors import InputError, shown

Item = TypeVar("Item")
Result = TypeVar("Result")

_MOST_THREADS = 1024


def thread_count() -> int:
    """Number of threads: $SSIODE_THREADS, or the processors this process may use."""
    wanted = os.environ.get("SSIODE_THREADS")
    if wanted is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    is_whole = wanted.isascii() and wanted.isdecimal() and len(wanted) <= len(str(_MOST_THREADS))
    if not is_whole or not 1 <= int(wanted) <= _MOST_THREADS:
        raise InputError(
            f"SSIODE_THREADS is {shown(wanted)}; it must be a whole number from 1 to "
            f"{_MOST_THREADS}"
        )
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


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread within the block.

    Its threads wait for each other after each product: where other processes want the processors
    too, a product of small matrices takes up to a hundred times longer on several.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield
