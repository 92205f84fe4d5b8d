"""First passages of the overlaps through the threshold of weak recovery."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(error_model="numpy", inline="always")
def note_recovery(
    overlaps: np.ndarray, length: int, threshold: float, steps: int, recovery_steps: np.ndarray
) -> None:
    """Note the steps at which |(e, m)| and |m| reach the threshold.

    |m| is the root mean square over the weight vectors. `recovery_steps` holds the two numbers, -1
    for what was not reached yet.
    """
    if recovery_steps[0] >= 0 and recovery_steps[1] >= 0:
        return
    semantic = 0.0
    for i in range(length, overlaps.shape[0]):
        semantic += overlaps[i] * overlaps[i]
    semantic /= overlaps.shape[0] - length
    square = semantic
    for i in range(length):
        square += overlaps[i] * overlaps[i]
    if recovery_steps[0] < 0 and square >= threshold * threshold:
        recovery_steps[0] = steps
    if recovery_steps[1] < 0 and semantic >= threshold * threshold:
        recovery_steps[1] = steps
