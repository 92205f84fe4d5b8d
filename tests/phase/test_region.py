"""Regions: the named points, limits, hostile input."""

from __future__ import annotations

import pytest

from ssiode import phase_region
from tests.checks import refuses

# The task, its region, and (e, m) of its first minimum.
POINTS = [
    (0.95, 0.76, "unique semantic, misaligned", (0, 1)),
    (0.98, 0.76, "unique mixed", (0.964, 0.265)),
    (0.9695, 0.76, "global semantic beside mixed, mixed dynamics", (0, 1)),
    (0.6, 1.0, "global semantic beside positional", (0, 1)),
    (0.67, 1.0, "global semantic beside positional, positional dynamics", (0, 1)),
    (0.8, 1.0, "global positional beside semantic", (0, 1)),
    (0.9, 1.0, "unique positional", (1, 0)),
    (0.3, 1.0, "unique semantic", (0, 1)),
    (0.0, 0.5, "unique semantic", (0, 1)),
    (1.0, 1.0, "unique positional", (1, 0)),
]


@pytest.mark.parametrize(("omega", "a", "region", "place"), POINTS)
def test_named_points(omega, a, region, place):
    found = phase_region(omega, a)
    assert found.region == region
    assert (found.minima[0].e, found.minima[0].m) == pytest.approx(place, abs=1e-3)
    assert found.is_certified
    assert sum(one.is_global for one in found.minima) == 1
    assert found.global_minimum.risk == min(one.risk for one in found.minima)


def test_without_tokens_m_is_free():
    assert phase_region(1.0, 0.75).region == "unique positional, m free"
    found = phase_region(1.0, 1e-9)
    assert found.region == "unique uninformed, m free"
    assert found.steepest_direction is None
    assert found.flow_ends_at is None


def test_the_flow_ends_in_the_wrong_minimum_beyond_the_flip():
    assert phase_region(0.640962, 1.0).flow_ends_at == "semantic"
    assert phase_region(0.640963, 1.0).flow_ends_at == "positional"


def test_keys_of_the_contract():
    data = phase_region(0.67, 1.0).as_dict()
    assert {"region", "minima", "steepest_direction", "hessian"} <= set(data)
    assert set(data["hessian"]) == {"ee", "em", "mm"}


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf"), "x", None, True])
def test_hostile_tasks(value):
    refuses(lambda: phase_region(value, 1.0), "omega")
    refuses(lambda: phase_region(0.5, 2 if value == -0.1 else value), "a")
