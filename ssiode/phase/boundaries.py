"""The values of omega at which the phase changes, for one a."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ssiode.phase import conditions
from ssiode.phase.table import phase_table
from ssiode.phase.task import check_strength, positional_strength, positional_weight

NAMES = ("flip", "equal_minima", "positional_birth", "semantic_death", "mixed_birth")
# Meetings closer than this are one.
_SAME = 1e-9


@dataclass(frozen=True)
class PhaseBoundaries:
    """Boundaries in omega at one a; None where there is none in [0, 1].

    Attributes
    ----------
    a : float
    flip : float or None
        Beyond it the steepest direction at the origin is positional, e, and not semantic, m.
    equal_minima : float or None
        Where the semantic minimum and the other one, positional or mixed, are equally deep.
    positional_birth : float or None
        Beyond it (e, m) = (1, 0) is a minimum.
    semantic_death : float or None
        Beyond it (0, 1) is none any more.
    mixed_birth : float or None
        Beyond it, and up to the positional birth, a minimum lies inside the arc: in a fold or,
        where `mixed_from` is `semantic_death`, leaving the semantic corner.
    mixed_from : str or None
    errors : dict
        Of the values that are not None.
    """

    a: float
    flip: float | None
    equal_minima: float | None
    positional_birth: float | None
    semantic_death: float | None
    mixed_birth: float | None
    mixed_from: str | None
    errors: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return dataclasses.asdict(self)


def phase_boundaries(a: float) -> PhaseBoundaries:
    """Find the boundaries of the phases of the positional-semantic model at one a.

    The squared loss, attention with identity reduction and opposite rows (Arnaboldi et al., arXiv
    2506.02651, section 4 and figure 4); see :mod:`ssiode.phase.conditions`.

    Parameters
    ----------
    a : float
        Strength of the positional part of the target, in (0, 1].

    Raises
    ------
    InputError
        If a is out of its range.

    Examples
    --------
    >>> found = phase_boundaries(1.0)
    >>> [round(x, 6) for x in (found.flip, found.positional_birth, found.equal_minima)]
    [0.640963, 0.508214, 0.737607]
    >>> phase_boundaries(0.5).flip is None
    True
    """
    a = check_strength(a)
    found = {
        name: (float(omega[0]), float(error[0]))
        for name, (omega, error) in boundary_curves(np.array([a])).items()
        if np.isfinite(omega[0])
    }
    origin = "fold" if "mixed_birth" in found else None
    if origin is None and "semantic_death" in found and _leaves_the_corner(a):
        found["mixed_birth"], origin = found["semantic_death"], "semantic_death"
    values = {name: found[name][0] if name in found else None for name in NAMES}
    errors = {name: found[name][1] for name in NAMES if name in found}
    return PhaseBoundaries(a=a, **values, mixed_from=origin, errors=errors)


def _leaves_the_corner(a: float) -> bool:
    """Whether the semantic minimum dies by moving along the arc: no fold comes before."""
    return positional_weight(a) < conditions.fold(phase_table()).ends[0, 1]


def boundary_curves(a: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return omega and its error on each boundary at strengths of shape (n,).

    NaN where there is no boundary in [0, 1]. `mixed_birth` is the one in a fold.

    Examples
    --------
    >>> omega, error = boundary_curves(np.array([0.5, 1.0]))["flip"]
    >>> omega.round(6).tolist()
    [nan, 0.640963]
    """
    table = phase_table()
    curves = {
        "flip": conditions.flip(table).omegas(a),
        "equal_minima": conditions.equal_to_semantic(table).omegas(a),
        "positional_birth": conditions.positional_corner(table).omegas(a),
        "semantic_death": conditions.semantic_corner(table).omegas(a),
        "mixed_birth": conditions.fold(table).omegas(a),
    }
    # Equality with a minimum inside the arc where one is as deep, else with the corner.
    corners, inside = conditions.equal_corners(table).omegas(a), curves["equal_minima"]
    with np.errstate(invalid="ignore"):
        are_minima = curves["positional_birth"][0] <= corners[0]
        are_minima &= corners[0] <= curves["semantic_death"][0]
    curves["equal_minima"] = tuple(
        np.where(np.isnan(inside[0]) & are_minima, at_corners, at_inside)
        for at_corners, at_inside in zip(corners, inside, strict=True)
    )
    return curves


@dataclass(frozen=True)
class Crossing:
    """Where boundaries meet, so that their order changes, or leave the diagram at omega = 1.

    Attributes
    ----------
    names : tuple of str
        Of the boundaries, and `omega = 1`.
    a, omega : float
    """

    names: tuple[str, ...]
    a: float
    omega: float


def phase_crossings() -> tuple[Crossing, ...]:
    """Locate all points at which the order of the boundaries changes, by ascending a.

    All are solutions of linear equations in (A, B), see :mod:`ssiode.phase.conditions`.

    Examples
    --------
    >>> found = {one.names: (round(one.a, 6), round(one.omega, 6)) for one in phase_crossings()}
    >>> found["flip", "positional_birth"]
    (0.790153, 0.872983)
    """
    table = phase_table()
    lines = {
        "flip": conditions.flip(table),
        "omega = 1": conditions.no_semantic_part(),
        "positional_birth": conditions.positional_corner(table),
        "semantic_death": conditions.semantic_corner(table),
    }
    meetings = {
        (one, other): conditions.meeting(lines[one], lines[other])
        for one, other in combinations(lines, 2)
    }
    fold, equal = conditions.fold(table), conditions.equal_to_semantic(table)
    meetings["equal_minima", "mixed_birth", "semantic_death"] = tuple(fold.ends[0])
    meetings["mixed_birth", "positional_birth"] = tuple(fold.ends[1])
    meetings["equal_minima", "positional_birth"] = tuple(equal.ends[1])
    found: list[Crossing] = []
    for names, (omega, alpha) in meetings.items():
        if not (0 <= omega <= 1 + _SAME and 0.5 < alpha <= positional_weight(1.0)):
            continue
        _add(found, Crossing(names, positional_strength(alpha), min(float(omega), 1.0)))
    return tuple(sorted(found, key=lambda one: one.a))


def _add(found: list[Crossing], new: Crossing) -> None:
    """Append, or give the names to one at the same place."""
    for i, one in enumerate(found):
        if abs(one.a - new.a) + abs(one.omega - new.omega) < _SAME:
            names = tuple(sorted({*one.names, *new.names}))
            found[i] = dataclasses.replace(one, names=names)
            return
    found.append(new)
