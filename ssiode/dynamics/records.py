"""Which steps of a run are recorded."""

from __future__ import annotations

import numpy as np

from ssiode.errors import choose, whole_number
from ssiode.memory import require_memory


def record_steps(steps: int, records: int, spacing: str = "linear") -> np.ndarray:
    """Numbers of steps at which a run is recorded: 0, and up to `records` more that end at `steps`.

    Raises
    ------
    InputError
        If `records` is not a whole number >= 1 or the spacing is not `linear` or `log`.

    Examples
    --------
    >>> record_steps(1000, 4).tolist(), record_steps(1000, 4, "log").tolist()
    ([0, 250, 500, 750, 1000], [0, 1, 10, 100, 1000])
    """
    records = whole_number("records", records, minimum=1)
    if choose("spacing", spacing, ("linear", "log")) == "linear":
        records = min(records, steps)
        require_memory({"records": 4.0 * records})
        grid = np.linspace(0, steps, records + 1)
    else:
        require_memory({"records": 4.0 * records})
        grid = np.append(0, np.geomspace(1 if records > 1 else steps, steps, records))
    sorted_steps = np.rint(grid).astype(np.int64)
    return sorted_steps[np.diff(sorted_steps, prepend=-1) > 0]
