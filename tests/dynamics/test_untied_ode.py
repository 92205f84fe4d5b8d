"""The ODE of untied networks under both constraints, against the chain and the tied network."""

import numpy as np
import pytest

from ssiode import Encoding, Problem, Target, TiedNetwork, UntiedNetwork, run_chain, solve_ode
from ssiode.dynamics.drift import drift
from ssiode.population_risk import make_engine
from ssiode.validation import validate

START = {"e": (0.1, 0.0, -0.2), "m": (0.1, 0.2, -0.3)}


def problem_of(constraint, expression="sum(He2(z)) + z1", **changes):
    student = UntiedNetwork("relu", constraint=constraint)
    encoding = Encoding("orthonormal", norm=0.5)
    return Problem(Target(expression, length=3), student, encoding).replace(**changes)


@pytest.mark.slow
@pytest.mark.parametrize("constraint", ["row", "joint"])
def test_the_chain_follows_it(constraint):
    problem = problem_of(constraint, gamma=0.1, d=20_000, steps=400_000, replicas=8, seed=1)
    chain = run_chain(problem, **START, records=4)
    solution = solve_ode(problem, **START, times=chain.t)
    spread = chain.v.std(axis=0, ddof=1) / np.sqrt(8) + 1e-4
    # The mean of 8 replicas is beyond 7 of its own standard errors once in 5000.
    assert np.all(np.abs(chain.v.mean(axis=0) - solution.v) < 7 * spread + 2e-3)
    if constraint == "joint":
        means = chain.squared_norms.mean(axis=0)
        errors = chain.squared_norms.std(axis=0, ddof=1) / np.sqrt(8)
        assert np.all(np.abs(means - solution.squared_norms) < 7 * errors + 5e-3)


def test_the_common_norm_is_kept():
    solution = solve_ode(problem_of("joint"), gamma=0.1, t_max=20.0, **START, points=11)
    np.testing.assert_allclose(solution.squared_norms.sum(axis=1), 3, atol=1e-9)
    assert np.ptp(solution.squared_norms[-1]) > 0.5
    # No row has more overlap than weight.
    squares = solution.m**2 + (solution.e / 0.5) ** 2
    assert np.all(squares <= solution.squared_norms + 1e-9)


def test_rows_of_the_other_constraint_have_no_norms():
    solution = solve_ode(problem_of("row"), gamma=0.1, t_max=5.0, **START, points=3)
    assert solution.squared_norms is None
    assert solution.m.shape == solution.e.shape == solution.m_error.shape == (3, 3)
    assert np.all(solution.m**2 + (solution.e / 0.5) ** 2 <= 1 + 1e-9)


@pytest.mark.parametrize("constraint", ["row", "joint"])
@pytest.mark.parametrize("expression", ["sum(z)/sqrt(L)", "sum(He2(z))", "z1*z2*z3 + sum(z)"])
def test_equal_rows_are_the_tied_network_slowed_down(expression, constraint):
    target, activation = Target(expression, length=3), "s + He2(s)/4 + He3(s)/9"
    tied = Problem(target, TiedNetwork(activation))
    untied = Problem(target, UntiedNetwork(activation, constraint=constraint))
    m = np.array([0.05, 0.4, 0.9])
    slow, fast = (make_engine(p) for p in (untied, tied))
    rows = np.column_stack([np.zeros((3, 3)), np.repeat(m[:, None], 3, axis=1)])
    one = np.column_stack([np.zeros((3, 3)), m])
    for gamma in (0.0, 0.3):
        expected = drift(tied, fast, gamma, one)[:, -1:] / 3
        found = drift(untied, slow, gamma, rows)[:, 3:]
        np.testing.assert_allclose(found, np.repeat(expected, 3, axis=1), atol=1e-12)


def test_a_target_without_the_sum_is_learned_by_rows_alone():
    target, settings = Target("z1 - z2"), {"gamma": 0.1, "t_max": 40.0, "m": 0.03}
    tied = solve_ode(Problem(target, TiedNetwork("relu")), **settings)
    untied = solve_ode(Problem(target, UntiedNetwork("relu")), **settings)
    assert tied.recovery_time is None
    assert np.abs(tied.m).max() <= 0.03
    assert untied.recovery_time is not None
    assert untied.m[-1, 0] > 0.7
    assert untied.m[-1, 1] < -0.7


def test_recovery_takes_the_root_mean_square():
    problem = Problem(Target("z1 + z2"), UntiedNetwork("identity"))
    solution = solve_ode(problem, gamma=0.0, t_max=5.0, m=(0.1, 0.3), times=np.linspace(0, 5, 500))
    size = np.sqrt(np.mean(solution.m**2, axis=1))
    first = solution.t[np.argmax(size >= 0.5)]
    assert abs(solution.recovery_time - first) < 0.02


def test_one_token_is_the_tied_network():
    target, settings = Target("He2(z1)"), {"gamma": 0.2, "t_max": 10.0, "m": 0.1}
    tied, untied = (
        solve_ode(Problem(target, kind("relu")), **settings)
        for kind in (TiedNetwork, UntiedNetwork)
    )
    np.testing.assert_array_equal(tied.v, untied.v)


@pytest.mark.parametrize("m", [1.0, (1.0, -1.0, 1.0)])
def test_the_boundary_is_kept(m):
    problem = Problem(Target("sum(He2(z))", length=3), UntiedNetwork("relu"))
    solution = solve_ode(problem, gamma=0.0, t_max=3.0, m=m, points=4)
    np.testing.assert_allclose(np.abs(solution.m), 1, atol=1e-9)


@pytest.mark.slow
def test_direct_sgd_agrees():
    problem = problem_of("row", gamma=0.1, d=300, steps=6000, replicas=16)
    assert validate(problem, **START, records=20).agrees is not False
