r"""Positional against semantic learning: the phase diagram of attention on two tokens.

The target mixes softmax(z* z*^T) with a positional part softmax(a^2 v v^T), v = (1, -1), with
weights 1 - omega and omega; the student is attention with opposite encodings of norm 1 (Arnaboldi
et al., arXiv 2506.02651, section 4). Its risk is bilinear in the task, so one small table gives
every task, and each boundary of the phases is one smooth curve.
"""

from __future__ import annotations

from ssiode.phase.boundaries import Crossing, PhaseBoundaries, phase_boundaries, phase_crossings
from ssiode.phase.diagram import PhaseDiagram, phase_diagram
from ssiode.phase.origin import Flip, Origin, at_origin, flip_at_origin
from ssiode.phase.raster import PhaseRaster, phase_raster
from ssiode.phase.region import PhaseMinimum, PhaseRegion, phase_region
from ssiode.phase.shifted import ShiftedMinimum, ShiftedPath, shifted_path
from ssiode.phase.transition import Transition, TransitionAt, transition

__all__ = [
    "Crossing",
    "Flip",
    "Origin",
    "PhaseBoundaries",
    "PhaseDiagram",
    "PhaseMinimum",
    "PhaseRaster",
    "PhaseRegion",
    "ShiftedMinimum",
    "ShiftedPath",
    "Transition",
    "TransitionAt",
    "at_origin",
    "flip_at_origin",
    "phase_boundaries",
    "phase_crossings",
    "phase_diagram",
    "phase_raster",
    "phase_region",
    "shifted_path",
    "transition",
]
