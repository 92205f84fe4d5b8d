"""What goes wrong in a solve: the partial trajectory, its status, and refusals."""

import numpy as np
import pytest

from ssiode import Encoding, InputError, solve_ode
from ssiode.dynamics import drift
from tests.dynamics.ode_problems import (
    EXACT,
    FormulaEngine,
    linear_problem,
    quadratic_problem,
)

pytestmark = pytest.mark.usefixtures("one_thread")


def raising(error, at):
    def before(calls):
        if calls == at:
            raise error

    return before


def test_a_failing_engine_keeps_what_was_reached():
    problem = linear_problem()
    engine = FormulaEngine(problem, before=raising(FloatingPointError("lost at sea"), 200))
    solution = solve_ode(problem, gamma=0.0, t_max=10.0, m=0.1, points=101, engine=engine)
    assert (solution.status, solution.message) == ("failed", "lost at sea")
    assert 5 < len(solution.t) < 101
    assert len(solution.t) == len(solution.m) == len(solution.e) == len(solution.risk)
    exact = np.sqrt(1 / (1 + 99 * np.exp(-2 * solution.t)))
    np.testing.assert_allclose(solution.m, exact, rtol=1e-6)
    assert solution.m_error is None


def test_ctrl_c_keeps_what_was_reached():
    problem = linear_problem()
    engine = FormulaEngine(problem, before=raising(KeyboardInterrupt, 200))
    solution = solve_ode(problem, gamma=0.0, t_max=10.0, m=0.1, points=101, engine=engine)
    assert solution.status == "interrupted"
    assert 5 < len(solution.t) < 101
    assert solution.recovery_time is not None


def test_ctrl_c_while_the_risks_are_computed_keeps_the_states():
    problem = linear_problem()
    options = {"gamma": 0.0, "t_max": 1.0, "m": 0.1, "rtol": 1e-6, "points": 5}
    whole = solve_ode(problem, **options, engine=FormulaEngine(problem), estimate_error=False)

    def before(calls):
        if calls > whole.n_evaluations + 2:
            raise KeyboardInterrupt

    engine = FormulaEngine(problem, before=before)
    solution = solve_ode(problem, **options, engine=engine, estimate_error=False)
    assert solution.status == "interrupted"
    np.testing.assert_array_equal(solution.m, whole.m)
    np.testing.assert_array_equal(solution.risk, [*whole.risk[:2], np.nan, np.nan, np.nan])


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("at", [1, 2, 100])
def test_a_vector_field_that_is_not_finite_stops_the_solve(monkeypatch, value, at):
    calls = []

    def field(v, *_):
        calls.append(v)
        return np.full(2, value if len(calls) >= at else 1.0)

    monkeypatch.setattr(drift, "vector_field", field)
    problem = linear_problem()
    solution = solve_ode(problem, gamma=0.0, t_max=10.0, m=0.1, engine=FormulaEngine(problem))
    assert solution.status == "failed"
    assert "not finite at t = " in solution.message
    assert solution.m[0] == 0.1
    assert np.all(np.isfinite(solution.v))


def test_a_blow_up_fails_at_its_time(monkeypatch):
    monkeypatch.setattr(drift, "vector_field", lambda v, *_: np.array([0.0, v[-1] ** 2]))
    problem = linear_problem()
    solution = solve_ode(problem, gamma=0.0, t_max=20.0, m=0.1, engine=FormulaEngine(problem))
    # m = 1 / (10 - t).
    assert solution.status == "failed"
    assert 9.5 < solution.t[-1] <= 10.0
    # Close to the pole an error of the time is magnified.
    before = solution.t < 9.95
    np.testing.assert_allclose(solution.m[before], 1 / (10 - solution.t[before]), rtol=1e-5)


def test_a_stiff_solve_gives_up_and_says_so():
    solution = solve_ode(linear_problem(), gamma=1e6, t_max=1.0, m=0.1, **EXACT)
    assert solution.status == "failed"
    assert "stiff" in solution.message
    assert "gamma" in solution.message
    assert solution.n_evaluations < 20_000


def test_an_absurd_learning_rate_fails_without_a_warning():
    solution = solve_ode(linear_problem(), gamma=1e300, t_max=1.0, m=0.1, **EXACT)
    assert solution.status == "failed"
    assert len(solution.t) >= 1


def test_a_tiny_start_fails_or_is_right():
    # The quadrature rounds at 1e-17, so nothing can be said of 1e-200; but no exception, no NaN.
    solution = solve_ode(quadratic_problem(), gamma=0.0, t_max=1.0, m=1e-200, **EXACT)
    assert solution.status in ("failed", "finished")
    assert np.all(np.isfinite(solution.v))


@pytest.mark.parametrize(
    "arguments",
    [
        {"gamma": -0.1},
        {"gamma": float("nan")},
        {"t_max": 0},
        {"t_max": -1.0},
        {"t_max": float("nan")},
        {"t_max": float("inf")},
        {"m": 1.5},
        {"m": float("nan")},
        {"m": 0.8, "e": 0.7},
        {"e": (0.1, 0.2)},
        {"e": float("inf")},
        {"points": 1},
        {"points": 2.5},
        {"times": []},
        {"times": [0.0, 0.0]},
        {"times": [1.0, 0.5]},
        {"times": [-1.0, 0.5]},
        {"times": [0.0, float("nan")]},
        {"times": [float("nan")]},
        {"times": [0.0, float("inf")]},
        {"times": ["soon"]},
        {"times": 1.0},
        {"threshold": 0.0},
        {"threshold": 1.1},
        {"rtol": 0.0},
        {"rtol": -1e-6},
        {"rtol": 1.0},
        {"rtol": float("nan")},
        {"engine": "oracle"},
        {"order": 2},
    ],
    ids=str,
)
def test_bad_input_is_refused_in_one_line(arguments):
    problem = linear_problem(encoding=Encoding("orthonormal"))
    with pytest.raises(InputError) as caught:
        solve_ode(problem, **{"engine": "quadrature", "m": 0.1, **arguments})
    assert "\n" not in str(caught.value)
