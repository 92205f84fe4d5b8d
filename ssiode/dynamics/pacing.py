"""How much to ask of a kernel at a time."""

from __future__ import annotations

from dataclasses import dataclass

# Ctrl-C is seen between two chunks.
SECONDS_PER_CHUNK = 0.25
_FASTEST_GROWTH = 8


@dataclass
class Pace:
    """Sizes of chunks that last a quarter of a second each.

    >>> pace = Pace()
    >>> pace.chunk(1000), pace.over(1, 5.0), pace.chunk(1000), pace.over(8, 0.004), pace.chunk(1000)
    (1, None, 8, None, 64)
    """

    size: int = 0
    seconds_per_sample: float = 0.0

    def chunk(self, wanted: int) -> int:
        """Number of samples of the next chunk, at most `wanted`."""
        if not self.size:
            return 1
        size = _FASTEST_GROWTH * self.size
        if self.seconds_per_sample * size > SECONDS_PER_CHUNK:
            size = max(1, int(SECONDS_PER_CHUNK / self.seconds_per_sample))
        return min(size, wanted)

    def over(self, size: int, seconds: float) -> None:
        """Note how long a chunk took; the first one compiles and says nothing."""
        if self.size:
            self.seconds_per_sample = seconds / size
        self.size = size
