"""The ODE against closed forms, an independent solver and invariants."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from ssiode import Attention, Encoding, Problem, Target, TiedNetwork, solve_ode
from ssiode.settings import SGDSettings
from tests.dynamics.ode_problems import (
    EXACT,
    QUICK,
    FormulaEngine,
    linear_problem,
    quadratic_problem,
)

pytestmark = pytest.mark.usefixtures("one_thread")


# Closed forms ----------------------------------------------------------------------------------


def riccati(t, m0, c0, c1, c2):
    """Solution of m' = c0 + c1 m + c2 m^2 through its two fixed points."""
    low, high = np.sort(np.roots([c2, c1, c0]).real)
    ratio = (m0 - low) / (m0 - high) * np.exp(c2 * (low - high) * t)
    return (low - ratio * high) / (1 - ratio)


@pytest.mark.parametrize("m0", [-0.9, 0.0, 0.1, 0.7])
@pytest.mark.parametrize(
    ("gamma", "noise", "batch"), [(0.0, 0.0, 1), (0.3, 0.0, 1), (0.9, 0.5, 1), (0.9, 0.5, 4)]
)
def test_the_linear_problem_has_a_riccati_solution(m0, gamma, noise, batch):
    problem = linear_problem(label_noise=noise, sgd=SGDSettings(batch=batch))
    solution = solve_ode(problem, gamma=gamma, t_max=3.0, m=m0, **EXACT)
    # m' = 2 (1 - m^2) - (g/2) V m with V = 4 (2 (1 - m) + noise) and g = gamma / batch.
    g = gamma / batch
    exact = riccati(solution.t, m0, 2.0, -2 * g * (2 + noise), -2 + 4 * g)
    # The tolerance is 1e-9 a step; the interpolant between steps is of order 7, not 8.
    error = np.abs(solution.m - exact)
    assert error.max() < 2e-7
    risk_error = np.abs(solution.risk - 2 * (1 - exact) - noise)
    assert risk_error.max() < 4e-7
    assert solution.status == "finished"
    assert np.all(solution.e == 0)
    # Two solves cross now and then, so the bound is not one for every single time.
    assert error.max() <= 2 * solution.m_error.max() + 1e-13
    assert risk_error.max() <= 2 * solution.risk_error.max() + 1e-13


@pytest.mark.parametrize("m0", [1e-12, -1e-6, 0.2])
@pytest.mark.parametrize("gamma", [0.0, 0.02])
def test_the_quadratic_problem_escapes_like_its_logistic_solution(m0, gamma):
    solution = solve_ode(quadratic_problem(), gamma=gamma, t_max=8.0, m=m0, threshold=0.5, **EXACT)
    # R = 7 - 4 m^2 and V = 16 (19 - 16 m^2), so m' = m (a - b m^2): a logistic equation in m^2.
    a, b = 8 - 152 * gamma, 8 - 128 * gamma
    ratio = m0**2 / (a - b * m0**2) * np.exp(2 * a * solution.t)
    exact = np.sign(m0) * np.sqrt(a * ratio / (1 + b * ratio))
    crossing = np.log(0.25 / (a - b * 0.25) * (a - b * m0**2) / m0**2) / (2 * a)
    # The quadrature rounds the gradient at about 1e-17 sqrt(V): 1e-5 of it at m = 1e-12, where it
    # also makes the solver's tolerance its largest, 1e-4. An error of m shifts the escape in time.
    relative = 1e-3 if abs(m0) < 1e-9 else 5e-6
    np.testing.assert_allclose(solution.m, exact, rtol=relative)
    assert solution.recovery_time == pytest.approx(crossing, abs=relative / a)
    np.testing.assert_allclose(solution.risk, 7 - 4 * exact**2, rtol=0, atol=8 * relative)
    # The estimate tells, to a factor of two.
    error = np.abs(solution.m - exact) / np.abs(exact)
    assert error.max() <= 2 * (solution.m_error / np.abs(exact)).max()


@pytest.mark.parametrize("m0", [1e-6, 1e-12, 1e-100])
def test_a_saddle_is_escaped_at_the_exact_time(m0):
    problem = linear_problem()
    options = {"engine": FormulaEngine(problem), "estimate_error": False}
    solution = solve_ode(problem, gamma=0.0, t_max=250.0, m=m0, **options)
    # m' = m (1 - m^2).
    exact = np.sqrt(1 / (1 + (1 - m0**2) / m0**2 * np.exp(-2 * solution.t)))
    np.testing.assert_allclose(solution.m, exact, rtol=1e-5)
    crossing = 0.5 * np.log(0.25 / 0.75 * (1 - m0**2) / m0**2)
    assert solution.recovery_time == pytest.approx(crossing, rel=1e-6)


def test_a_higher_exponent_is_escaped_at_the_exact_time():
    problem = linear_problem()
    engine = FormulaEngine(problem, power=4, second_moment=0.0)
    m0 = 3e-2
    options = {"engine": engine, "estimate_error": False}
    solution = solve_ode(problem, gamma=0.0, t_max=1e3, m=m0, **options)

    # m' = m^3 (1 - m^2): with x = m^2, dt = dx / (2 x^2 (1 - x)).
    def primitive(x):
        return (-1 / x + np.log(x / (1 - x))) / 2

    expected = primitive(0.25) - primitive(m0**2)
    assert solution.recovery_time == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8, 1e-10])
def test_the_error_follows_the_tolerance(rtol):
    problem = linear_problem()
    m0 = 1e-3
    # 1e-3 of t_max / 20 is no limit on the steps here, so the tolerance decides.
    solution = solve_ode(
        problem, gamma=0.0, t_max=30.0, m=m0, rtol=rtol, engine=FormulaEngine(problem)
    )
    exact = np.sqrt(1 / (1 + (1 - m0**2) / m0**2 * np.exp(-2 * solution.t)))
    error = np.abs(solution.m / exact - 1).max()
    assert error < 20 * rtol
    # An eighth-order method multiplies its steps by 10^(2/8) for 100 times less error.
    assert solution.n_evaluations < 900 * (1e-8 / rtol) ** (1 / 8) + 400


def test_error_estimates_bound_the_true_error_of_a_coarse_engine():
    # An odd target of high degree, for which 8 nodes are too few.
    problem = Problem(Target("He3(z1)"), TiedNetwork("s^3 - 3*s + exp(s)/5"))
    fine = solve_ode(problem, gamma=0.01, t_max=0.4, m=0.3, engine="quadrature", order=60)
    coarse = solve_ode(problem, gamma=0.01, t_max=0.4, m=0.3, engine="quadrature", order=8)
    true_error = np.abs(coarse.m - fine.m)
    assert true_error.max() > 1e-9
    assert np.all(true_error <= coarse.m_error + fine.m_error + 1e-12)


# An independent solver on independent formulas ---------------------------------------------------


def linear_fields(length, injected):
    """(gradient, V) of the linear problem, by hand."""

    def fields(v):
        total = v[:-1].sum() + injected.sum()
        risk = 2 * (1 - v[-1]) + total**2 / length
        return np.append(np.full(length, 2 * total / length), -2.0), 4 * risk

    return fields


def quadratic_fields(v):
    """(gradient, V) of the quadratic problem for L = 2, by hand with s ~ N(a, 1)."""
    a, m = v[:-1].sum() / np.sqrt(2), v[-1]
    along = (12 * a + 4 * a**3) / np.sqrt(2)
    s6 = 15 + 45 * a**2 + 15 * a**4 + a**6
    second_moment = 16 * (s6 - 24 * m**2 * (1 + a**2) + 8 * m**2 + 4 + 4 * a**2)
    return np.array([along, along, -8 * m]), second_moment


def attention_fields(v):
    """(gradient, V) of trace attention and He2(z1) + He2(z2), by Gauss-Hermite with 12 nodes."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(12)
    axes = np.meshgrid(*[nodes] * 4, indexing="ij", sparse=True)
    weight = np.einsum("i,j,k,l->ijkl", *[weights / weights.sum()] * 4)
    star, noise = axes[:2], axes[2:]
    s = np.sqrt(1 - v[-1] ** 2)
    z1, z2 = (v[-1] * star[i] + s * noise[i] + v[i] for i in range(2))
    first, second = (1 / (1 + np.exp(z * (other - z))) for z, other in ((z1, z2), (z2, z1)))
    slope1, slope2 = first * (1 - first), second * (1 - second)
    residual = first + second - (star[0] ** 2 + star[1] ** 2 - 2)
    g1 = 2 * residual * (slope1 * (2 * z1 - z2) - slope2 * z2)
    g2 = 2 * residual * (slope2 * (2 * z2 - z1) - slope1 * z1)
    along = (g1 * (star[0] - v[-1] / s * noise[0]) + g2 * (star[1] - v[-1] / s * noise[1])) * weight
    gradient = np.array([(g1 * weight).sum(), (g2 * weight).sum(), along.sum()])
    return gradient, ((g1**2 + g2**2) * weight).sum()


def reference(fields, metric, gamma, v0, times):
    def right_hand_side(_, v):
        gradient, second_moment = fields(v)
        return -(metric - np.outer(v, v)) @ gradient - gamma / 2 * second_moment * v

    solution = solve_ivp(
        right_hand_side, (0, times[-1]), v0, "RK45", t_eval=times, rtol=1e-8, atol=1e-10
    )
    return solution.y.T


CORRELATED = Encoding(
    "gram", matrix=((1.0, 0.9), (0.9, 1.0)), teacher_overlap=(0.5, 0.3), injected=(0.2, -0.5)
)


@pytest.mark.parametrize(
    ("encoding", "e"),
    [
        (Encoding("opposite"), (0.3, -0.3)),
        (Encoding("orthonormal", norm=1.5), (0.3, 0.1)),
        (CORRELATED, (0.2, 0.25)),
        (Encoding("matrix", matrix=((1.0, 2.0, 0.0), (2.0, 4.0, 0.0))), (0.2, 0.4)),
    ],
    ids=["opposite", "orthonormal", "correlated", "parallel"],
)
def test_encodings_agree_with_an_independent_solver(encoding, e):
    times = np.linspace(0, 2, 21)
    gram = {
        "opposite": [[1, -1], [-1, 1]],
        "orthonormal": [[2.25, 0], [0, 2.25]],
        "gram": [[1, 0.9], [0.9, 1]],
        "matrix": [[5, 10], [10, 20]],
    }[encoding.kind]
    c = np.array(encoding.teacher_overlap or (0.0, 0.0))
    metric = np.block([[np.array(gram), c[:, None]], [c[None, :], np.ones((1, 1))]])
    v0 = np.array([*e, 0.15])
    injected = np.array(encoding.injected or (0.0, 0.0))

    problem = linear_problem(2, encoding=encoding)
    solution = solve_ode(problem, gamma=0.4, times=times, e=e, m=0.15, **QUICK)
    expected = reference(linear_fields(2, injected), metric, 0.4, v0, times)
    # Steps at the limit of stability, as for the parallel rows, leave errors above the tolerance.
    np.testing.assert_allclose(solution.v, expected, rtol=0, atol=1e-6)

    if not injected.any():
        problem = quadratic_problem(encoding=encoding)
        solution = solve_ode(problem, gamma=0.02, times=times / 4, e=e, m=0.15, **QUICK)
        expected = reference(quadratic_fields, metric, 0.02, v0, times / 4)
        np.testing.assert_allclose(solution.v, expected, rtol=0, atol=1e-6)


def test_attention_with_opposite_encoding_agrees_with_an_independent_solver():
    problem = Problem(Target("He2(z1) + He2(z2)"), Attention("trace"), Encoding("opposite"))
    times = np.array([0.0, 1.0, 2.0])
    options = {"engine": "quadrature", "order": 12, "estimate_error": False}
    solution = solve_ode(problem, gamma=0.3, times=times, e=(0.2, -0.2), m=0.3, **options)
    metric = problem.geometry.metric
    expected = reference(attention_fields, metric, 0.3, np.array([0.2, -0.2, 0.3]), times)
    # The two rules have the same nodes but the package leaves out those of weight below 1e-15.
    np.testing.assert_allclose(solution.v, expected, rtol=0, atol=1e-7)
    assert abs(solution.m[-1] - 0.3) > 0.05


# Invariants --------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", [Encoding("opposite"), CORRELATED], ids=["opposite", "gram"])
def test_gradient_flow_keeps_the_boundary_and_lowers_the_risk(encoding):
    problem = linear_problem(2, encoding=encoding)
    direction = np.array([0.5, -0.5, -0.2])
    v0 = direction / np.sqrt(problem.geometry.squared_length(direction))
    solution = solve_ode(problem, gamma=0.0, t_max=3.0, e=v0[:2], m=v0[2], **QUICK)
    np.testing.assert_allclose(problem.geometry.squared_length(solution.v), 1.0, atol=1e-8)
    assert np.all(np.diff(solution.risk) <= 1e-9)
    assert solution.risk[-1] < solution.risk[0] - 0.1
    # With noise of the gradient the boundary is left.
    noisy = solve_ode(problem, gamma=0.5, t_max=0.2, e=v0[:2], m=v0[2], **QUICK)
    assert problem.geometry.squared_length(noisy.v)[-1] < 0.99


@pytest.mark.parametrize("encoding", [Encoding("none"), Encoding("opposite")], ids=["none", "opp"])
@pytest.mark.parametrize("student", [TiedNetwork("square"), Attention("trace")], ids=["sq", "att"])
def test_an_exact_saddle_is_not_left_by_rounding(encoding, student):
    problem = Problem(Target("He2(z1) + He2(z2)"), student, encoding)
    options = {"engine": "quadrature", "order": 8, "estimate_error": False}
    solution = solve_ode(problem, gamma=0.0, t_max=100.0, m=0.0, **options)
    assert np.all(solution.v == 0)
    assert solution.recovery_time is None


def test_a_start_without_semantic_overlap_keeps_none_when_the_target_is_even():
    problem = Problem(Target("He2(z1) + He2(z2)"), Attention("trace"), Encoding("opposite"))
    options = {"engine": "quadrature", "order": 8, "estimate_error": False}
    solution = solve_ode(problem, gamma=0.0, t_max=60.0, e=(0.6, -0.6), m=0.0, **options)
    assert np.all(solution.m == 0)
    assert np.ptp(solution.e[:, 0]) > 0.1


@pytest.mark.parametrize("m0", [-1.0, 1.0])
def test_full_overlap_is_a_fixed_point_of_gradient_flow(m0):
    solution = solve_ode(quadratic_problem(), gamma=0.0, t_max=5.0, m=m0, **QUICK)
    np.testing.assert_allclose(solution.m, m0, atol=1e-12)
    assert solution.recovery_time == 0.0
    shrunk = solve_ode(quadratic_problem(), gamma=0.02, t_max=5.0, m=m0, **QUICK)
    # The fixed point of the logistic equation above.
    assert shrunk.m[-1] == pytest.approx(m0 * np.sqrt(4.96 / 5.44), abs=1e-6)
