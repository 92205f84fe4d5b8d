"""Local minima against scans, boundary conditions and cases without a single place."""

import numpy as np
import pytest

from ssiode import Attention, Encoding, InputError, Problem, Target, TiedNetwork
from ssiode.population_risk import make_engine
from ssiode.population_risk.protocol import Estimate
from ssiode.risk_landscape.minima import local_minima
from ssiode.risk_landscape.minima.reduced_risk import ReducedRisk
from tests.risk_landscape.minima.problems import (
    HE2,
    HE4,
    TabulatedRisk,
    along_the_teacher,
    positional_semantic,
    trace,
)


def kinds(found):
    return sorted(
        (m.kind, round(m.coordinates[0], 6) + 0.0, round(m.m, 6) + 0.0) for m in found.minima
    )


def test_attention_without_encoding_ends_at_the_teacher():
    found = local_minima(trace(HE2, "none"))
    assert [(m.kind, m.m, m.is_boundary, m.e) for m in found.minima] == [
        ("semantic", -1.0, True, (0.0, 0.0)),
        ("semantic", 1.0, True, (0.0, 0.0)),
    ]
    assert found.certificate.is_certified
    assert found.status == "isolated"


@pytest.mark.parametrize("encoding", ["none", "opposite"])
def test_quartic_minimum_at_the_origin_is_isolated_and_certified(encoding):
    found = local_minima(trace(HE4, encoding))
    (minimum,) = found.minima
    assert (minimum.kind, minimum.is_isolated, minimum.is_boundary) == ("uninformed", True, False)
    # R rises like 0.96 m^4, so an error of 1e-14 of the slope is one of 1e-5 of the place.
    assert abs(minimum.m) < minimum.position_error < 1e-4
    assert found.certificate.is_certified
    assert 0 < found.certificate.resolution < 1e-3


def corner_conditions(engine):
    """Whether (1, 0) and (0, 1) are minima by first and second derivatives there."""
    risk = ReducedRisk(engine)
    corners = np.eye(2)
    gradient, hessian = risk.gradient(corners), risk.hessian(corners).value
    positional = gradient[0, 0] <= 0 and hessian[0, 1, 1] - gradient[0, 0] >= 0
    semantic = gradient[1, 1] <= 0 and hessian[1, 0, 0] - gradient[1, 1] >= 0
    return positional, semantic


@pytest.mark.parametrize(
    ("omega", "a", "expected"),
    [
        (0.3, 1.0, (False, True)),
        (0.505, 1.0, (False, True)),
        (0.511, 1.0, (True, True)),
        (0.641, 1.0, (True, True)),
        (0.67, 1.0, (True, True)),
        (0.9, 1.0, (True, False)),
        (0.95, 0.76, (False, True)),
    ],
)
def test_positional_and_semantic_corners(omega, a, expected):
    problem = positional_semantic(omega, a)
    engine = make_engine(problem)
    found = local_minima(problem, engine=engine)
    assert corner_conditions(engine) == expected
    corners = [("positional", -1.0, 0.0), ("positional", 1.0, 0.0)] * expected[0]
    corners += [("semantic", 0.0, -1.0), ("semantic", 0.0, 1.0)] * expected[1]
    assert kinds(found) == sorted(corners)
    assert found.certificate.is_certified
    assert all(m.is_boundary and m.is_isolated for m in found.minima)
    risks = [m.risk for m in found.minima]
    assert risks == pytest.approx(sorted(risks), rel=1e-8)


def test_minima_inside_the_arc_are_mixed():
    problem = positional_semantic(0.98, 0.76)
    engine = make_engine(problem)
    found = local_minima(problem, engine=engine)
    assert [m.kind for m in found.minima] == ["mixed"] * 4
    places = {(np.sign(u), np.sign(m)) for u, m in (x.coordinates for x in found.minima)}
    assert len(places) == 4
    assert found.certificate.is_certified
    angles = np.linspace(0, np.pi / 2, 2001)
    risk = ReducedRisk(engine)
    values = risk.value_and_gradient(np.column_stack([np.cos(angles), np.sin(angles)]))[0]
    lowest = np.argmin(values)
    assert 0 < lowest < 2000
    place = max(found.minima, key=lambda m: m.coordinates[0] + m.m).coordinates
    assert np.arctan2(place[1], place[0]) == pytest.approx(angles[lowest], abs=1e-3)


def test_risk_that_the_student_cannot_change_is_flat():
    found = local_minima(Problem(Target(HE2), TiedNetwork("tanh"), Encoding("opposite")))
    assert found.status == "flat"
    assert "constant" in found.message
    (minimum,) = found.minima
    assert (minimum.kind, minimum.is_isolated) == ("uninformed", False)
    assert not found.certificate.is_certified


def test_minima_along_what_is_not_seen_are_one_continuum():
    # R is a parabola in m and does not depend on e: a chord of the disc is lowest.
    problem = Problem(
        Target("z1 + z2 - He2(z1) - He2(z2)"), TiedNetwork("relu"), Encoding("opposite")
    )
    found = local_minima(problem)
    (minimum,) = found.minima
    assert minimum.m == pytest.approx(np.pi**0.5 / 2, abs=1e-9)
    assert (minimum.kind, minimum.is_isolated, minimum.is_boundary) == ("semantic", False, False)
    assert minimum.curvature == 0
    assert found.status == "degenerate"
    assert found.certificate.is_certified


class Unsure(TabulatedRisk):
    """A risk that is known better than its slopes."""

    def estimates(self, v):
        moments, errors = super().estimates(v)
        errors[:, 1:] = np.inf
        return Estimate(moments, errors)


def test_minima_are_not_known_without_slopes():
    functions = (lambda x: x**2, lambda x: 0 * x, lambda x: 1 + 0 * x)
    sure, engine = TabulatedRisk(*functions), Unsure(*functions)
    assert local_minima(sure.problem, engine=sure).status == "isolated"
    found = local_minima(engine.problem, engine=engine)
    assert (found.status, found.minima) == ("unknown", ())
    assert "not known" in found.message


def test_flat_valley_is_listed_once():
    problem = Problem(Target(HE2), TiedNetwork("identity"), Encoding("orthonormal"))
    found = local_minima(problem)
    (minimum,) = found.minima
    assert (minimum.kind, minimum.is_isolated) == ("uninformed", False)
    assert "continuum" in found.message
    assert "isolated" in found.certificate.reason


def test_constant_target_leaves_a_valley_that_ends_on_the_boundary():
    found = local_minima(positional_semantic(1.0, 0.75))
    assert [m.kind for m in found.minima] == ["positional"] * 2
    assert not any(m.is_isolated for m in found.minima)


def test_three_overlaps_are_searched_without_a_certificate():
    found = local_minima(Problem(Target(HE2), Attention("trace"), Encoding("orthonormal")))
    assert [(m.kind, round(m.m, 9)) for m in found.minima] == [("semantic", -1), ("semantic", 1)]
    assert not found.certificate.is_certified
    assert "99 starts" in found.certificate.reason
    assert min(m.hits for m in found.minima) > 5


def test_encoding_along_the_teacher_has_minima_inside_a_segment():
    problem = along_the_teacher()
    found = local_minima(problem)
    assert found.certificate.is_certified
    m = np.linspace(-1, 1, 4001)
    values = make_engine(problem).value(np.column_stack([m / 2, -m / 2, m])).value
    inner = np.flatnonzero((values[1:-1] < values[:-2]) & (values[1:-1] < values[2:])) + 1
    np.testing.assert_allclose([x.m for x in found.minima], m[inner], atol=1e-3)
    assert not any(x.is_boundary for x in found.minima)


def test_engine_without_a_table_is_searched_with_fewer_starts():
    class Untabulated(TabulatedRisk):
        def tabulated_risk(self):
            return None

    engine = Untabulated(lambda x: (x - 0.2) ** 2, lambda x: 0 * x, lambda x: -1 + x)
    found = local_minima(engine.problem, engine=engine)
    assert found.starts == 16
    assert not found.certificate.is_certified
    assert "third derivatives" in found.certificate.reason
    same = TabulatedRisk(lambda x: (x - 0.2) ** 2, lambda x: 0 * x, lambda x: -1 + x)
    exact = local_minima(same.problem, engine=same)
    assert exact.certificate.is_certified
    assert kinds(found) == kinds(exact)


@pytest.mark.slow
def test_monte_carlo_finds_the_same_minima():
    exact = local_minima(positional_semantic(0.67))
    problem = positional_semantic(0.67)
    engine = make_engine(problem, "montecarlo", samples=2048, seed=1)
    found = local_minima(problem, engine=engine, starts=8)
    assert kinds(found) == kinds(exact)
    for one, other in zip(found.minima, exact.minima, strict=True):
        assert abs(one.risk - other.risk) < 10 * one.risk_error
    assert "montecarlo" in found.certificate.reason


@pytest.mark.slow
@pytest.mark.parametrize("norm", [10.0, 1000.0])
def test_large_encodings_leave_the_minima_at_the_teacher(norm):
    """The risk changes over overlaps of 1 / norm, and beyond a few of these it is a plateau."""
    found = local_minima(trace(HE2, norm=norm))
    assert [(one.kind, one.is_isolated, round(one.m, 9)) for one in found.minima] == [
        ("semantic", True, -1.0),
        ("semantic", True, 1.0),
    ]
    for one in found.minima:
        # No shift, no difference: the risk without an encoding.
        assert abs(one.risk - 5.191083298525) < one.risk_error


def test_result_repeats_and_is_plain_data():
    problem = trace()
    first, second = local_minima(problem, seed=3), local_minima(problem, seed=3)
    assert first.minima == second.minima
    data = first.as_dict()
    assert data["minima"][0]["kind"] == "semantic"
    assert data["certificate"]["status"] == "certified"
    assert data["seed"] == 3


def test_engine_of_another_problem_is_refused():
    with pytest.raises(InputError, match="another problem"):
        local_minima(trace(), engine=make_engine(trace(HE4)))
    with pytest.raises(InputError, match="starts"):
        local_minima(trace(), starts=0)


@pytest.mark.slow
@pytest.mark.parametrize(("omega", "a"), [(0.3, 1.0), (0.67, 1.0), (0.9, 1.0)])
def test_dense_scan_by_quadrature_has_the_same_minima(omega, a):
    """Lower than all neighbours on a grid of the disc, by an engine that shares nothing."""
    problem = positional_semantic(omega, a)
    engine = make_engine(problem, "quadrature", order=14)
    radii, angles = np.linspace(0, 1, 11), np.linspace(0, np.pi / 2, 31)
    r, t = np.meshgrid(radii, angles, indexing="ij")
    e, m = (r * np.cos(t)).ravel(), (r * np.sin(t)).ravel()
    values = engine.moments(np.column_stack([e, -e, m]))[:, 0].reshape(r.shape)
    # R is even in e and in m apart, so a quarter of the disc mirrors at its edges.
    mirrored = np.concatenate([values[:, 1:2], values, values[:, -2:-1]], axis=1)
    beside = np.minimum(mirrored[:, :-2], mirrored[:, 2:])
    across = np.full_like(values, np.inf)
    across[:-1] = values[1:]
    across[1:] = np.minimum(across[1:], values[:-1])
    lowest = np.argwhere((values < beside) & (values < across) & (r > 0))
    scanned = [(r[i, j] * np.cos(t[i, j]), r[i, j] * np.sin(t[i, j])) for i, j in lowest]
    found = [x.coordinates for x in local_minima(problem).minima]
    quarter = [u for u in found if u[0] > -1e-6 and u[1] > -1e-6]
    assert len(scanned) == len(quarter)
    for u in quarter:
        assert min(np.hypot(u[0] - x, u[1] - y) for x, y in scanned) < 0.06


@pytest.mark.slow
def test_scan_of_the_arc_by_quadrature_has_its_minimum_inside():
    """The depth there is 2e-5, so that it needs 40 nodes a field."""
    problem = positional_semantic(0.98, 0.76)
    angles = np.linspace(0, np.pi / 2, 61)
    states = np.column_stack([np.cos(angles), -np.cos(angles), np.sin(angles)])
    values = make_engine(problem, "quadrature", order=40).moments(states)[:, 0]
    (lowest,) = np.flatnonzero((values[1:-1] < values[:-2]) & (values[1:-1] < values[2:])) + 1
    assert values[0] > values[1]
    assert values[-1] > values[-2]
    e, m = max((x.coordinates for x in local_minima(problem).minima), key=sum)
    assert angles[lowest] == pytest.approx(np.arctan2(m, e), abs=0.04)
