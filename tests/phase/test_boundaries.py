"""Boundaries at one a: the values of the paper, roots of what they stand for, hostile input."""

from __future__ import annotations

import numpy as np
import pytest

from ssiode import phase_boundaries
from ssiode.phase import phase_crossings
from ssiode.phase.boundaries import NAMES, boundary_curves
from ssiode.phase.task import Task
from tests.checks import refuses


def test_values_at_the_strongest_positional_part():
    found = phase_boundaries(1.0)
    values = (found.flip, found.equal_minima, found.positional_birth, found.semantic_death)
    assert values == pytest.approx((0.640963, 0.737607, 0.508214, 0.841605), abs=1e-6)
    assert found.mixed_birth is None
    assert max(found.errors.values()) < 1e-9


def test_crossings():
    found = {one.names: (one.a, one.omega) for one in phase_crossings()}
    expected = {
        ("flip", "omega = 1", "semantic_death"): (0.724391, 1.0),
        ("equal_minima", "mixed_birth", "semantic_death"): (0.742298, 0.986797),
        ("omega = 1", "positional_birth"): (0.756853, 1.0),
        ("positional_birth", "semantic_death"): (0.763500, 0.971653),
        ("equal_minima", "positional_birth"): (0.765760, 0.962387),
        ("mixed_birth", "positional_birth"): (0.773597, 0.931637),
        ("flip", "positional_birth"): (0.790153, 0.872983),
    }
    assert set(found) == set(expected)
    for names, place in expected.items():
        assert found[names] == pytest.approx(place, abs=1e-6)


@pytest.mark.parametrize("a", [0.75, 0.762, 0.77, 0.9, 1.0])
def test_they_are_roots(a):
    found = phase_boundaries(a)
    flip = Task.of(found.flip, a).hessian(0.0, 0.0)
    assert flip[0, 0] == pytest.approx(flip[1, 1], abs=1e-12)
    for place, omega in (((1.0, 0.0), found.positional_birth), ((0.0, 1.0), found.semantic_death)):
        if omega is not None:
            task = Task.of(omega, a)
            e, m = place
            # The curvature along the arc.
            outward = e * task.gradient(e, m)[0] + m * task.gradient(e, m)[1]
            across = task.hessian(e, m)[1, 1] if e else task.hessian(e, m)[0, 0]
            assert across - outward == pytest.approx(0, abs=1e-11)


def test_equal_minima_are_equal():
    task = Task.of(phase_boundaries(0.9).equal_minima, 0.9)
    assert task.risk(1.0, 0.0) == pytest.approx(task.risk(0.0, 1.0), abs=1e-13)
    task = Task.of(phase_boundaries(0.76).equal_minima, 0.76)
    x = np.linspace(1e-3, 1, 200001)
    gap = task.risk(np.sqrt(x), np.sqrt(1 - x)).min() - task.risk(0.0, 1.0)
    assert gap == pytest.approx(0, abs=1e-11)


def test_curves_are_the_boundaries_of_each_a():
    places = np.array([0.3, 0.73, 0.745, 0.758, 0.764, 0.77, 0.78, 0.95])
    curves = boundary_curves(places)
    for i, a in enumerate(places.tolist()):
        found = phase_boundaries(a)
        for name in NAMES:
            value = getattr(found, name)
            if name == "mixed_birth" and found.mixed_from == "semantic_death":
                value = None
            expected = np.nan if value is None else value
            assert curves[name][0][i] == pytest.approx(expected, abs=1e-15, nan_ok=True)


def test_a_mixed_minimum_leaves_the_semantic_one_before_the_fold():
    found = phase_boundaries(0.73)
    assert found.mixed_from == "semantic_death"
    assert found.mixed_birth == found.semantic_death
    assert phase_boundaries(0.76).mixed_from == "fold"


def test_nothing_for_weak_positional_parts():
    found = phase_boundaries(1e-9)
    assert [getattr(found, name) for name in NAMES] == [None] * 5


@pytest.mark.parametrize("a", [0, -1, 1.0000001, float("nan"), float("inf"), "x", None, True, [1]])
def test_hostile_strengths(a):
    refuses(lambda: phase_boundaries(a), "a")
