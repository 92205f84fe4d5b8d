"""The diagram: bands between exact curves against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from ssiode.phase import phase_crossings, phase_diagram, phase_region
from ssiode.phase.boundaries import boundary_curves
from tests.checks import refuses
from tests.phase import brute_force

NEAR = 1e-4
REGIONS = {
    "unique semantic",
    "unique semantic, misaligned",
    "unique mixed",
    "global semantic beside mixed, mixed dynamics",
    "global mixed beside semantic",
    "unique positional",
    "global positional beside semantic",
    "global semantic beside positional, positional dynamics",
    "global semantic beside positional",
}


def random_tasks(count: int) -> np.ndarray:
    """Half of the whole diagram, half of where most regions meet; none near a curve."""
    draws = np.random.default_rng(8).random((count, 2))
    draws[count // 2 :] = [0.72, 0.86] + draws[count // 2 :] * [0.08, 0.14]
    curves = boundary_curves(draws[:, 0])
    distances = np.array([np.abs(omega - draws[:, 1]) for omega, _ in curves.values()])
    return draws[~np.any(distances < NEAR, axis=0)]


def differing(tasks: np.ndarray) -> list:
    diagram = phase_diagram()
    rows = [(a, w, diagram.region(w, a), brute_force.region(w, a)) for a, w in tasks.tolist()]
    return [row for row in rows if row[2] != row[3]]


def test_curves_tell_the_regions_of_some_tasks():
    assert differing(random_tasks(60)) == []


@pytest.mark.slow
def test_curves_tell_the_regions_of_a_thousand_tasks():
    tasks = random_tasks(1010)
    assert len(tasks) >= 1000
    assert differing(tasks) == []


def test_all_regions_are_there_and_bands_fill_the_plane():
    diagram = phase_diagram()
    assert set(diagram.regions) == REGIONS
    for below, above in zip(diagram.bands[:-1], diagram.bands[1:], strict=True):
        # Neighbouring curves meet at the ends, up to rounding.
        assert np.all(below.lower <= below.upper + 1e-9)
        if below.above is None:
            assert below.a[-1] == above.a[0]
        else:
            np.testing.assert_array_equal(below.upper, above.lower)


def test_curves_change_their_order_at_crossings_only():
    places = np.linspace(0.001, 1, 4001)
    curves = boundary_curves(places)
    order = np.argsort(np.array([omega for omega, _ in curves.values()]), axis=0)
    is_there = np.array([np.isfinite(omega) for omega, _ in curves.values()])
    changes = np.any(order[:, 1:] != order[:, :-1], axis=0)
    changes |= np.any(is_there[:, 1:] != is_there[:, :-1], axis=0)
    cells = {int(i) for i in np.flatnonzero(changes)}
    step = places[1] - places[0]
    assert cells == {int((one.a - places[0]) // step) for one in phase_crossings()}


@pytest.mark.parametrize("crossing", phase_crossings(), ids=lambda one: " and ".join(one.names))
def test_boundaries_meet_at_crossings(crossing):
    curves = boundary_curves(np.array([crossing.a - 1e-9, crossing.a + 1e-9]))
    for name in crossing.names:
        if name != "omega = 1":
            assert np.nanmin(np.abs(curves[name][0] - crossing.omega)) < 1e-7


def test_zoom():
    part = phase_diagram((0.75, 0.76), (0.9, 1.0))
    assert set(part.regions) < REGIONS
    assert part.region(0.98, 0.755) == phase_region(0.98, 0.755).region
    refuses(lambda: part.region(0.5, 0.8), "0.75", "0.76")


@pytest.mark.parametrize("given", [(1, 0), (0, 2), (0.5,), "ab", 3, (float("nan"), 1), (0.5, 0.5)])
def test_hostile_ranges(given):
    refuses(lambda: phase_diagram(given), "a")
    refuses(lambda: phase_diagram(omega_range=given), "omega")


def test_narrow_ranges():
    assert phase_diagram((0.5, 0.5 + 1e-9)).regions == ("unique semantic",)
    data = phase_diagram((0.7, 0.8)).as_dict()
    assert {"regions", "curves", "bands", "crossings"} <= set(data)
