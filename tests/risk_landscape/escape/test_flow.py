"""Flows from many starts, against closed forms and single solves."""

import numpy as np
import pytest

from ssiode import Attention, Encoding, Problem, Target, TiedNetwork, solve_ode
from ssiode.population_risk import make_engine
from ssiode.population_risk.protocol import RiskEngine
from ssiode.risk_landscape.escape.flow import flow_from
from tests.checks import refuses
from tests.dynamics.ode_problems import FormulaEngine, linear_problem

EVEN = Problem(Target("He2(z1) + He2(z2)"), Attention("trace"), Encoding("opposite"))


def formula(**options):
    problem = linear_problem()
    return problem, FormulaEngine(problem, **options), 0.0


def starts_on_the_axis(*m):
    return np.column_stack([np.zeros(len(m)), m])


def raising(error, at):
    def before(calls):
        if calls == at:
            raise error

    return before


def test_the_linear_problem_is_a_hyperbolic_tangent():
    """m' = 2 (1 - m^2): from m_0 the threshold is reached at (artanh(eta) - artanh(m_0)) / 2."""
    problem, m = Problem(Target("z1"), TiedNetwork("identity")), np.array([-0.4, 0, 1e-6, 0.3, 0.7])
    starts = starts_on_the_axis(*m)
    flow = flow_from(problem, None, 0.0, starts, t_max=9.0, threshold=0.5)
    expected = np.append((np.arctanh(0.5) - np.arctanh(m[:4])) / 2, 0.0)
    # A local tolerance of 1e-6.
    np.testing.assert_allclose(flow.crossing_times, expected, atol=3e-6)
    np.testing.assert_allclose(flow.states[:4, 1], 0.5, atol=1e-9)
    assert flow.states[4, 1] == 0.7
    assert flow.count("crossed") == 5
    ended = flow_from(problem, None, 0.0, starts, t_max=0.7)
    assert ended.count("moving") == 5
    assert np.all(ended.times == 0.7)
    np.testing.assert_allclose(ended.states[:, 1], np.tanh(np.arctanh(m) + 1.4), atol=3e-6)


@pytest.mark.parametrize("m", [1e-2, 1e-9, 1e-16, 1e-100])
def test_a_saddle_forgets_nothing(m):
    """m' = m (1 - m^2): m / sqrt(1 - m^2) grows like exp(t)."""
    flow = flow_from(*formula(), starts_on_the_axis(m, -m), t_max=500.0, threshold=0.5)
    expected = np.log(0.5 / np.sqrt(0.75)) - np.log(m / np.sqrt(1 - m**2))
    np.testing.assert_allclose(flow.crossing_times, expected, rtol=3e-6)
    settled = flow_from(*formula(), starts_on_the_axis(m, -m), t_max=500.0)
    np.testing.assert_allclose(settled.states[:, 1], [1.0, -1.0], atol=1e-9)
    assert settled.outcomes.tolist() == ["converged"] * 2


def test_noise_stops_the_growth():
    """m' = m (1 - m^2) - gamma V m / 2 has the fixed points m^2 = 1 - gamma V / 2, or 0."""
    problem = linear_problem()
    engine = FormulaEngine(problem, second_moment=2.0)
    flow = flow_from(problem, engine, 0.36, starts_on_the_axis(0.1, 0.99), t_max=500.0)
    np.testing.assert_allclose(flow.states[:, 1], 0.8, atol=1e-8)
    flow = flow_from(problem, engine, 1.5, starts_on_the_axis(0.1), t_max=1e3, threshold=0.5)
    assert flow.outcomes.tolist() == ["converged"]
    assert np.isnan(flow.crossing_times[0])


def test_a_start_on_the_ridge_stays_at_the_saddle():
    starts = np.array([[0.0, 0.0, 0.0], [0.4, -0.4, 0.0], [0.4, -0.4, 1e-12]])
    flow = flow_from(EVEN, None, 0.0, starts, t_max=500.0)
    assert flow.outcomes.tolist() == ["saddle", "saddle", "converged"]
    np.testing.assert_allclose(np.abs(flow.states), [[0, 0, 0], [0, 0, 0], [0, 0, 1]], atol=1e-8)


def test_a_flat_origin_that_is_left_slowly_is_no_end():
    """m' = m^3 (1 - m^2) leaves 1e-4 at about 1 / (2 m^2) = 5e7."""
    flow = flow_from(*formula(power=4), starts_on_the_axis(1e-4), t_max=1e9, threshold=0.5)
    np.testing.assert_allclose(flow.crossing_times, 5e7, rtol=1e-5)


@pytest.mark.parametrize("gamma", [0.0, 0.1])
def test_flows_agree_with_single_solves(gamma):
    engine, generator = make_engine(EVEN), np.random.default_rng(1)
    starts = np.array([EVEN.geometry.random_state(10**4, generator) for _ in range(4)])
    flow = flow_from(EVEN, engine, gamma, starts, t_max=40.0, threshold=0.5)
    ends = flow_from(EVEN, engine, gamma, starts, t_max=4.0)
    for i, v in enumerate(starts):
        options = {"gamma": gamma, "engine": engine, "rtol": 1e-8, "estimate_error": False}
        single = solve_ode(EVEN, t_max=40.0, e=v[:-1], m=v[-1], points=2, **options)
        assert flow.crossing_times[i] == pytest.approx(single.recovery_time, rel=1e-6)
        single = solve_ode(EVEN, t_max=4.0, e=v[:-1], m=v[-1], points=2, **options)
        np.testing.assert_allclose(ends.states[i], single.v[-1], rtol=2e-6, atol=1e-8)


def test_a_start_does_not_depend_on_those_beside_it():
    generator, engine = np.random.default_rng(2), make_engine(EVEN)
    starts = np.array([EVEN.geometry.random_state(d, generator) for d in (50, 10**9, 10**4)])
    together = flow_from(EVEN, engine, 0.1, starts, t_max=99.0, threshold=0.5)
    for i in range(3):
        alone = flow_from(EVEN, engine, 0.1, starts[i : i + 1], t_max=99.0, threshold=0.5)
        assert np.array_equal(alone.states[0], together.states[i])
        assert alone.crossing_times[0] == together.crossing_times[i]


def test_tolerances_bound_the_error():
    starts = starts_on_the_axis(1e-5)
    reference = np.log(0.5 / np.sqrt(0.75)) - np.log(1e-5 / np.sqrt(1 - 1e-10))
    for rtol in (1e-3, 1e-6, 1e-9):
        flow = flow_from(*formula(), starts, t_max=99.0, threshold=0.5, rtol=rtol)
        assert abs(flow.crossing_times[0] - reference) < 30 * rtol


def test_ctrl_c_keeps_what_was_reached():
    problem, engine, gamma = formula(before=raising(KeyboardInterrupt, 100))
    starts = starts_on_the_axis(0.4, 1e-6)
    flow = flow_from(problem, engine, gamma, starts, t_max=99.0, threshold=0.5)
    assert flow.status == "interrupted"
    assert flow.message == "interrupted: 1 crossed, 1 moving"
    assert flow.outcomes.tolist() == ["crossed", "moving"]
    t = flow.times[1]
    np.testing.assert_allclose(flow.states[1, 1], 1e-6 * np.exp(t), rtol=1e-4)


def test_a_failing_engine_keeps_what_was_reached():
    problem, engine, gamma = formula(before=raising(FloatingPointError("lost at sea"), 60))
    flow = flow_from(problem, engine, gamma, starts_on_the_axis(1e-6), t_max=99.0)
    assert (flow.status, flow.message) == ("failed", "lost at sea: 1 moving")


class Broken(FormulaEngine):
    """Not finite beyond |m| = 0.3."""

    def moments(self, v):
        rows = super().moments(v)
        rows[np.abs(v[:, -1]) > 0.3] = np.nan
        return rows


def test_a_field_that_is_not_finite_fails_where_it_is_met():
    problem = linear_problem()
    starts = starts_on_the_axis(0.1, 0.0)
    flow = flow_from(problem, Broken(problem), 0.0, starts, t_max=99.0)
    assert flow.outcomes.tolist() == ["failed", "saddle"]
    assert flow.status == "failed"
    assert 0.29 < flow.states[0, 1] <= 0.3


def test_a_stiff_flow_stops(monkeypatch):
    monkeypatch.setattr("ssiode.risk_landscape.escape.flow_batch._MOST_ROUNDS", 10)
    flow = flow_from(*formula(), starts_on_the_axis(1e-6), t_max=99.0)
    assert flow.status == "failed"
    assert "too stiff, stopped after 10 steps" in flow.message
    assert flow.outcomes.tolist() == ["moving"]


def test_no_starts_are_no_work():
    flow = flow_from(linear_problem(), None, 0.0, np.zeros((0, 2)), t_max=1.0)
    assert (flow.message, flow.states.shape) == ("no starts", (0, 2))


@pytest.mark.parametrize(
    ("starts", "options", "part"),
    [
        ([[0.0, 0.5]], {"t_max": 0.0}, "t_max is 0"),
        ([[0.0, 0.5]], {"t_max": 1.0, "threshold": 2.0}, "(0, 1]"),
        ([[0.0, 0.5]], {"t_max": 1.0, "rtol": 0.1}, "rtol is 0.1"),
        ([[0.0, 1.5]], {"t_max": 1.0}, "infeasible"),
        ([[0.1, 0.5]], {"t_max": 1.0}, "infeasible"),
        ([[0.0, 1e200]], {"t_max": 1.0}, "infeasible"),
        ([[0.0, np.nan]], {"t_max": 1.0}, "finite states"),
        ([0.0, 0.5], {"t_max": 1.0}, "shape (p, 2)"),
        ("0.5", {"t_max": 1.0}, "shape (p, 2)"),
    ],
)
def test_bad_input_is_refused(starts, options, part):
    problem = linear_problem()
    engine: RiskEngine = FormulaEngine(problem)
    refuses(lambda: flow_from(problem, engine, 0.0, starts, **options), part)
