"""The table behind the figures."""

import numpy as np
import pytest

from ssiode import Attention, Encoding, InputError, Problem, Target, TiedNetwork
from ssiode.dynamics.vector_field import vector_field
from ssiode.population_risk import make_engine
from ssiode.risk_landscape.coordinates import FeasibleCoordinates
from ssiode.risk_landscape.surface import risk_surface
from tests.risk_landscape.minima.problems import HE2, trace


def test_table_holds_the_risk_and_the_flow_of_the_ode():
    problem = trace(norm=0.7, teacher_overlap=(0.3, -0.3))
    surface, engine = risk_surface(problem, size=21), make_engine(problem)
    frame = FeasibleCoordinates(problem.geometry).frame
    for i, j in ((10, 10), (4, 12), (15, 6)):
        v = frame @ [surface.grid[j], surface.grid[i]]
        moments = engine.moments(v[None])[0]
        assert surface.risk[i, j] == pytest.approx(moments[0], rel=1e-12)
        flow = vector_field(v, problem.geometry.metric, moments[1:-1], 0.0, 0.0)
        np.testing.assert_allclose(frame @ surface.flow[i, j], flow, atol=1e-12)
    assert surface.labels == ("$(e-0.3\\,m)/0.632$", "$m$")
    assert np.all(np.isfinite(surface.risk[surface.is_feasible]))
    assert np.isnan(surface.risk[0, 0])


def test_interpolation_is_exact_on_the_table_and_close_between():
    problem = trace()
    surface = risk_surface(problem, size=101)
    places = np.array([[0.6, 0.8], [-1.0, 0.0], [0.0, 1.0], [0.333, -0.777]])
    v = FeasibleCoordinates(problem.geometry).overlaps(places)
    exact = make_engine(problem).moments(v)[:, 0]
    np.testing.assert_allclose(surface.risk_at(places), exact, atol=3e-4)
    np.testing.assert_allclose(surface.risk_at(places[:3]), exact[:3], rtol=1e-12)
    curve = risk_surface(trace(encoding="none"), size=101)
    assert curve.risk_at(np.array([[0.5]]))[0] == pytest.approx(curve.risk[75], rel=1e-12)
    assert curve.labels == ("$m$",)


def test_slice_of_more_overlaps_takes_the_direction_that_falls_most():
    problem = Problem(Target(HE2), TiedNetwork("relu"), Encoding("orthonormal"))
    surface = risk_surface(problem, size=21)
    assert surface.is_slice
    assert "slice of 3 overlaps" in surface.title
    np.testing.assert_allclose(np.abs(surface.axes[0]), [0.5**0.5, 0.5**0.5, 0.0], atol=1e-12)
    given = risk_surface(problem, size=21, direction=(1.0, -1.0))
    np.testing.assert_allclose(given.axes[0], [0.5**0.5, -(0.5**0.5), 0.0], atol=1e-12)
    # The student sees the sum only.
    np.testing.assert_allclose(given.risk[10, 5:15], given.risk[10, 10], rtol=1e-12)
    places, distance = given.coordinates(np.array([0.6, 0.0, 0.8]))
    np.testing.assert_allclose(places, [0.6 * 0.5**0.5, 0.8])
    assert distance == pytest.approx(0.6 * 0.5**0.5)


def test_bad_directions_are_refused():
    attention = Problem(Target(HE2), Attention("trace"), Encoding("orthonormal"))
    for direction, text in (((1.0,), "per token"), ((0.0, 0.0), "combination")):
        with pytest.raises(InputError, match=text):
            risk_surface(attention, size=5, direction=direction)
    with pytest.raises(InputError, match="combination"):
        risk_surface(trace(), size=5, direction=(1.0, 1.0))
    with pytest.raises(InputError, match="without an encoding"):
        risk_surface(trace(encoding="none"), size=5, direction=(1.0, 1.0))
    with pytest.raises(InputError, match="size"):
        risk_surface(trace(), size=2)
