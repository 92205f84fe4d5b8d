"""Escape orders, steepest directions and the proofs that there are none."""

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar

from ssiode import Attention, Encoding, Problem, Target, TiedNetwork
from ssiode.population_risk import make_engine
from ssiode.risk_landscape.at_origin.descent import descent
from ssiode.risk_landscape.at_origin.hessian import Hessian
from ssiode.risk_landscape.at_origin.taylor import TaylorExpansion
from tests.risk_landscape.at_origin.problems import NEARLY_BLIND, OPPOSITE, PROBLEMS

QUARTIC = Target("4/3 + He4(z1) + 2*He4(z2)")
# (problem, status, order, steepest (e, m))
CASES = {
    "semantic": (
        Problem(Target("He2(z1) + He2(z2)"), Attention("trace"), OPPOSITE),
        ("descends", 2, (0, 0, 1)),
    ),
    "no way down": (
        Problem(Target("He4(z1) + He4(z2)"), Attention("trace")),
        ("minimum", None, None),
    ),
    "no way down, stiff e": (
        Problem(QUARTIC, Attention("trace"), OPPOSITE),
        ("minimum", None, None),
    ),
    "positional": (
        Problem(QUARTIC, Attention("trace", scale=2**-0.5), OPPOSITE),
        ("descends", 2, (1, -1, 0)),
    ),
    "both directions symmetric": (
        Problem(Target("z1^2 - z2^2"), Attention("trace")),
        ("flat", None, None),
    ),
    "odd order": (
        Problem(Target("He3(z1)"), TiedNetwork("He3")),
        ("descends", 3, (0, 1)),
    ),
    "first order": (
        Problem(Target("z1 + z2"), Attention("trace"), Encoding(injected=(1, 1))),
        ("descends", 1, (0, 0, -1)),
    ),
    "curved valley": (
        Problem(Target("tanh(z1)*tanh(z2)"), TiedNetwork("tanh"), Encoding("orthonormal")),
        ("descends", 4, (0, 0, 1)),
    ),
    "constant target": (
        Problem(Target("0*z1*z2"), Attention("trace"), OPPOSITE),
        ("minimum", None, None),
    ),
    "exact minimum of polynomials": (
        Problem(Target("-He2(z1)"), TiedNetwork("square")),
        ("minimum", None, None),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_escape_order_and_direction(name):
    problem, (status, order, direction) = CASES[name]
    found = descent(TaylorExpansion(problem), 8)
    assert (found.status, found.order) == (status, order)
    if direction is None:
        assert found.direction is None
    else:
        np.testing.assert_allclose(found.direction, direction, atol=1e-9)
        squared_length = problem.geometry.squared_length(found.direction)
        assert squared_length == pytest.approx(1.0, abs=1e-9)


def test_risk_falls_as_the_slope_says():
    for problem, (status, order, _) in CASES.values():
        if status != "descends" or order == 4:
            continue
        found = descent(TaylorExpansion(problem), 8)
        engine = make_engine(problem, None, problem.geometry.state())
        size = 0.01
        values = engine.moments(np.array([0 * found.direction, size * found.direction]))[:, 0]
        assert values[0] - values[1] == pytest.approx(found.slope * size**order, rel=0.05)


def test_curved_valley_has_the_depth_of_the_reduced_form():
    problem = CASES["curved valley"][0]
    found = descent(TaylorExpansion(problem), 8)
    engine = make_engine(problem, None, problem.geometry.state())
    m = 0.1

    def risk(e):
        return engine.moments(np.array([[e, e, m]]))[0, 0]

    valley = minimize_scalar(risk, bounds=(-0.05, 0.05), method="bounded", options={"xatol": 1e-10})
    depth = engine.moments(np.zeros((1, 3)))[0, 0] - valley.fun
    assert found.is_curved
    assert depth == pytest.approx(found.slope * m**4, rel=0.03)
    # On the straight line e = 0 nothing is won.
    assert abs(engine.moments(np.zeros((1, 3)))[0, 0] - risk(0.0)) < 0.2 * depth


def test_steepest_direction_is_that_of_all_feasible_ones():
    """Along no random unit direction does the risk fall faster; false alarms: none."""
    for name in ("trace, odd target", "projection", "formula", "tied"):
        problem = PROBLEMS[name]
        expansion = TaylorExpansion(problem)
        found = descent(expansion, 6)
        assert found.status == "descends"
        generator = np.random.default_rng(1)
        u = generator.standard_normal((2000, problem.geometry.rank))
        v = (u / np.linalg.norm(u, axis=1, keepdims=True)) @ problem.geometry.basis.T
        axes = problem.student.axes(problem.length)
        seen = np.column_stack([v[:, :-1] @ axes.T, v[:, -1]])
        x = seen[:, list(expansion.seen.coordinates.independent)]
        assert found.form(x).min() >= -found.slope - 1e-12


def test_eigenvalues_solve_the_generalised_problem():
    problem = PROBLEMS["trace, odd target"]
    expansion = TaylorExpansion(problem)
    hessian = Hessian(expansion.form(2), expansion.seen)
    metric = problem.geometry.metric
    # H x = lambda Gamma^(-1) x is the eigenproblem of H in the metric.
    reference = eigh(hessian.matrix, np.linalg.inv(metric), eigvals_only=True)
    np.testing.assert_allclose(hessian.eigenvalues, reference, rtol=1e-9)
    for value, v in zip(hessian.eigenvalues, hessian.directions, strict=True):
        np.testing.assert_allclose(metric @ hessian.matrix @ v, value * v, atol=1e-9)


def test_hessian_is_the_derivative_of_the_gradient():
    problem = PROBLEMS["trace, odd target"]
    engine = make_engine(problem, None, problem.geometry.state())
    step = 1e-4
    states = step * np.concatenate([np.eye(3), -np.eye(3)])
    gradients = engine.moments(states)[:, 1:-1]
    matrix = (gradients[:3] - gradients[3:]) / (2 * step)
    expansion = TaylorExpansion(problem)
    found = Hessian(expansion.form(2), expansion.seen).matrix
    np.testing.assert_allclose(found, matrix, atol=1e-6)


def test_doubtful_orders_are_not_called_zero():
    found = descent(TaylorExpansion(NEARLY_BLIND), 4)
    assert found.status == "undetermined"
    assert "order 2 is proved neither zero nor non-zero" in found.reason
