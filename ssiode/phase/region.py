"""The phase of one task: its minima, the global one, and where gradient flow ends."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from ssiode.phase.arc import ArcMinima, arc_minima
from ssiode.phase.flow import flow_end
from ssiode.phase.still_tokens import minima_without_tokens
from ssiode.phase.task import Task, steepest_direction

_ENDS = {0.0: "semantic", 1.0: "positional"}


@dataclass(frozen=True)
class PhaseMinimum:
    """One minimum of R on the quarter e, m >= 0 of the disc; its mirror images are the others.

    Attributes
    ----------
    e, m : float
        Overlaps with the rows (p, -p) and with the teacher.
    risk, risk_error : float
    place_error : float
        Error of e^2.
    kind : str
        `semantic` (0, 1), `positional` (1, 0) or `mixed`. For omega = 1, where m is free, also
        `positional` for any e > 0, and `uninformed`.
    is_global : bool
    """

    e: float
    m: float
    risk: float
    risk_error: float
    place_error: float
    kind: str
    is_global: bool


@dataclass(frozen=True)
class PhaseRegion:
    """The phase of a task.

    Attributes
    ----------
    omega, a : float
    region : str
        Its name: `unique semantic`, `unique semantic, misaligned` (the flow starts along e),
        `global semantic beside positional`, with `, positional dynamics` where the flow ends in
        the wrong minimum, and the like for the other kinds.
    minima : tuple of PhaseMinimum
        All minima, by ascending e.
    is_certified : bool
        Whether it is proved that there are no others; `reason` says how, or what is missing.
    reason : str
    steepest_direction : dict or None
        Its e and m at the origin; None where R does not fall.
    hessian, hessian_error : dict and float
        `ee`, `em` and `mm` at the origin.
    flow_ends_at : str or None
        Kind of the minimum in which gradient flow ends from the origin along the steepest
        direction; None where it has not ended.
    """

    omega: float
    a: float
    region: str
    minima: tuple[PhaseMinimum, ...]
    is_certified: bool
    reason: str
    steepest_direction: dict[str, float] | None
    hessian: dict[str, float]
    hessian_error: float
    flow_ends_at: str | None

    @property
    def global_minimum(self) -> PhaseMinimum:
        """The deepest minimum."""
        return next(one for one in self.minima if one.is_global)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return dataclasses.asdict(self)


def phase_region(omega: float, a: float) -> PhaseRegion:
    """Find all minima of one task, and in which of them gradient flow ends.

    The squared loss, attention with identity reduction and opposite rows of norm 1 (Arnaboldi et
    al., arXiv 2506.02651, section 4). Overlaps are those of the rows (p, -p): e_1 = -e_2 = e.

    Parameters
    ----------
    omega : float
        Part of the target that is positional, in [0, 1].
    a : float
        Its strength, in (0, 1].

    Raises
    ------
    InputError
        If one is out of its range.

    Examples
    --------
    >>> phase_region(0.95, 0.76).region
    'unique semantic, misaligned'
    >>> found = phase_region(0.98, 0.76)
    >>> found.region, round(found.minima[0].e, 3), round(found.minima[0].m, 3)
    ('unique mixed', 0.964, 0.265)
    """
    task = Task.of(omega, a)
    hessian = task.hessian(0.0, 0.0)
    direction = steepest_direction(float(hessian[0, 0]), float(hessian[1, 1]))
    if task.semantic_part == 0:
        minima, name, reason = _without_tokens(task)
        end = minima[0].kind if direction else None
        return _region(task, name, minima, True, reason, direction, hessian, end)
    found = arc_minima(task)
    minima = _minima(task, found)
    end = None
    if direction is not None:
        place = flow_end(task, (direction["e"], direction["m"]), found.places).place
        if place is not None:
            end = minima[found.places.index(place)].kind
    name = _name(minima, direction, end)
    return _region(task, name, minima, found.is_certified, found.reason, direction, hessian, end)


def _region(
    task: Task,
    name: str,
    minima: tuple[PhaseMinimum, ...],
    is_certified: bool,
    reason: str,
    direction: dict[str, float] | None,
    hessian: np.ndarray,
    end: str | None,
) -> PhaseRegion:
    (ee, em), (_, mm) = hessian.tolist()
    return PhaseRegion(
        omega=task.omega,
        a=task.a,
        region=name,
        minima=minima,
        is_certified=is_certified,
        reason=reason,
        steepest_direction=direction,
        hessian={"ee": ee, "em": em, "mm": mm},
        hessian_error=2 * max(task.error(1, 0), task.error(0, 1)),
        flow_ends_at=end,
    )


def _minima(task: Task, found: ArcMinima) -> tuple[PhaseMinimum, ...]:
    x = np.array(found.places)
    e, m = np.sqrt(x), np.sqrt(1 - x)
    risks = task.risk(e, m)
    deepest = int(np.argmin(risks))
    return tuple(
        PhaseMinimum(
            float(e[i]),
            float(m[i]),
            float(risks[i]),
            task.error(),
            found.errors[i],
            _ENDS.get(float(x[i]), "mixed"),
            i == deepest,
        )
        for i in range(len(x))
    )


def _without_tokens(task: Task) -> tuple[tuple[PhaseMinimum, ...], str, str]:
    """For omega = 1 the one minimum over e, at any m; the name of the region; and the proof."""
    x, error = minima_without_tokens(task)
    kind = "positional" if x > 0 else "uninformed"
    e = float(np.sqrt(x))
    minimum = PhaseMinimum(e, 0.0, float(task.risk(e, 0.0)), task.error(), error, kind, True)
    if x == 1:
        reason = "the risk depends on e alone and falls up to e = 1"
        return (minimum,), "unique positional", reason
    reason = "the risk depends on e alone: minima at this e and any m are a continuum"
    return (minimum,), f"unique {kind}, m free", reason


def _name(
    minima: tuple[PhaseMinimum, ...], direction: dict[str, float] | None, end: str | None
) -> str:
    lowest = next(one for one in minima if one.is_global)
    others = [one.kind for one in minima if one is not lowest]
    if others:
        name = f"global {lowest.kind} beside {' and '.join(others)}"
        return name if end in (None, lowest.kind) else f"{name}, {end} dynamics"
    starts = "positional" if direction is not None and direction["e"] else "semantic"
    is_misaligned = lowest.kind != "mixed" and starts != lowest.kind
    return f"unique {lowest.kind}" + (", misaligned" if is_misaligned else "")
