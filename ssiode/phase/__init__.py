r"""Positional against semantic learning: the phase diagram of attention on two tokens.

The target mixes softmax(z* z*^T) with a positional part softmax(a^2 v v^T), v = (1, -1), with
weights 1 - omega and omega; the student is attention with opposite encodings of norm 1 (Arnaboldi
et al., arXiv 2506.02651, section 4). Its risk is bilinear in the task, so one small table gives
every task, and each boundary of the phases is one smooth curve.
"""

from __future__ import annotations

from ssiode.phase.boundaries import Crossing, PhaseBoundaries, phase_boundaries, phase_crossings
from ssiode.phase.region import PhaseMinimum, PhaseRegion, phase_region

__all__ = [
    "Crossing",
    "PhaseBoundaries",
    "PhaseMinimum",
    "PhaseRegion",
    "phase_boundaries",
    "phase_crossings",
    "phase_region",
]
