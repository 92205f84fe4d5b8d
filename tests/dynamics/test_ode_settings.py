"""Recovery times, times asked for, and what the problem gives by default."""

import numpy as np
import pytest

from ssiode import solve_ode
from ssiode.settings import InitialCondition, SGDSettings
from tests.dynamics.ode_problems import (
    EXACT,
    QUICK,
    linear_problem,
)

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize(("m0", "eta"), [(0.0, 0.5), (0.1, 1e-1), (0.1, 0.99), (-0.5, 0.8)])
def test_recovery_time_against_the_closed_form(m0, eta):
    solution = solve_ode(linear_problem(), gamma=0.0, t_max=4.0, m=m0, threshold=eta, **QUICK)
    # m = tanh(2 t + atanh m0).
    expected = 0.0 if abs(m0) >= eta else (np.arctanh(eta) - np.arctanh(m0)) / 2
    assert solution.recovery_time == pytest.approx(expected, abs=1e-7)
    assert solution.threshold == eta


def test_recovery_does_not_depend_on_the_times_asked_for():
    results = [
        solve_ode(linear_problem(), gamma=0.0, m=0.0, times=times, **QUICK).recovery_time
        for times in ([0.0, 4.0], np.linspace(0, 4, 500), [3.0, 4.0], [4.0])
    ]
    assert np.ptp(results) < 1e-9


def test_no_recovery_is_none():
    solution = solve_ode(linear_problem(), gamma=0.0, t_max=0.1, m=0.0, **QUICK)
    assert solution.recovery_time is None


@pytest.mark.parametrize("times", [[0.0], [0.7], [0.0, 0.7], [0.2, 0.7], np.linspace(0, 0.7, 99)])
def test_states_are_given_at_the_times_asked_for(times):
    solution = solve_ode(linear_problem(), gamma=0.0, times=times, m=0.0, **QUICK)
    assert np.array_equal(solution.t, np.asarray(times))
    np.testing.assert_allclose(solution.m, np.tanh(2 * solution.t), atol=1e-8)
    assert solution.e.shape == (len(times), 1)
    assert solution.m.shape == solution.risk.shape == solution.t.shape


def test_defaults_come_from_the_problem():
    problem = linear_problem(
        sgd=SGDSettings(gamma=0.2, d=50, steps=1000), initial=InitialCondition("fixed", m=0.3)
    )
    solution = solve_ode(problem, points=5, **QUICK)
    assert solution.gamma == 0.2
    assert np.allclose(solution.t, [0, 1, 2, 3, 4])
    assert solution.m[0] == 0.3
    assert solve_ode(problem, gamma=0.0, points=5, **QUICK).t[-1] == 20


def test_a_random_start_is_drawn_from_the_seed():
    starts = [
        solve_ode(linear_problem(sgd=SGDSettings(seed=seed)), t_max=0.1, **QUICK).m[0]
        for seed in (0, 0, 1)
    ]
    assert starts[0] == starts[1] != starts[2]


def test_the_error_estimate_can_be_left_out():
    solution = solve_ode(linear_problem(), t_max=1.0, m=0.1, estimate_error=False, **EXACT)
    assert solution.e_error is solution.m_error is solution.risk_error is None
