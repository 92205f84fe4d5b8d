"""Ctrl-C that waits for a moment at which all results are in order."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def held_interrupts() -> Iterator[Callable[[], bool]]:
    """Hold the first Ctrl-C back within the block; what it yields tells whether one came.

    A second one acts at once, as it did before. Outside of the main thread, where no signals
    arrive, and where they are ignored, nothing is held back.

    >>> with held_interrupts() as interrupted:
    ...     signal.raise_signal(signal.SIGINT)
    ...     interrupted()
    True
    """
    before = signal.getsignal(signal.SIGINT)
    came = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal came
        if came:
            before(number, frame)
        came = True

    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not callable(before):
        yield lambda: False
        return
    signal.signal(signal.SIGINT, handle)
    try:
        yield lambda: came
    finally:
        signal.signal(signal.SIGINT, before)
