"""The ODE against closed forms, an independent solver, and everything that can go wrong."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from ssiode import Attention, Encoding, InputError, Problem, Target, TiedNetwork, solve_ode
from ssiode.dynamics import ode
from ssiode.population_risk.protocol import RiskEngine, RiskEvaluation
from ssiode.settings import InitialCondition, SGDSettings

# Exact for polynomials of degree 11 in each field; the companion rule, of order 6 / 4, is exact
# for all that the linear and the quadratic problem need.
EXACT = {"engine": "quadrature", "order": 6}
QUICK = {**EXACT, "estimate_error": False}


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    """Rules this small cost more to hand to threads than to sum."""
    monkeypatch.setenv("SSIODE_THREADS", "1")


def linear_problem(length=1, **parts):
    """f = s and y = s*: R = 2 (1 - m) + (sum e)^2 / L + noise, V = 4 R."""
    target = Target(lambda z: z.sum(axis=-1) / np.sqrt(length), length=length)
    return Problem(target, TiedNetwork("identity"), **parts)


def quadratic_problem(**parts):
    """f = s^2 and y = He2(z1*) + He2(z2*)."""
    return Problem(Target("He2(z1) + He2(z2)"), TiedNetwork("square"), **parts)


class FormulaEngine(RiskEngine):
    """R = -slope m^power / power + R(0) and a constant V, so that the flow has a closed form."""

    def __init__(self, problem, power=2, second_moment=0.0, before=None):
        self.problem, self.power, self.second_moment = problem, power, second_moment
        self.name = "formula"
        self.before = before or (lambda calls: None)
        self.calls = 0

    objection = None
    settings = "a formula"

    def moments(self, v):
        self.calls += 1
        self.before(self.calls)
        m = v[:, -1]
        rows = np.zeros((len(v), v.shape[1] + 2))
        rows[:, 0] = 1.0 - m**self.power / self.power
        rows[:, -2] = -(m ** (self.power - 1))
        rows[:, -1] = self.second_moment
        return rows

    def evaluate(self, v):
        (row,) = self.moments(v[None])
        gradient = row[1:-1]
        return RiskEvaluation(row[0], 0.0, gradient, 0 * gradient, row[-1], 0.0, "formula", "")

    def companion(self):
        return FormulaEngine(self.problem, self.power, self.second_moment)


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


# Recovery, times, defaults -----------------------------------------------------------------------


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


# Failures ----------------------------------------------------------------------------------------


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

    monkeypatch.setattr(ode, "vector_field", field)
    problem = linear_problem()
    solution = solve_ode(problem, gamma=0.0, t_max=10.0, m=0.1, engine=FormulaEngine(problem))
    assert solution.status == "failed"
    assert "not finite at t = " in solution.message
    assert solution.m[0] == 0.1
    assert np.all(np.isfinite(solution.v))


def test_a_blow_up_fails_at_its_time(monkeypatch):
    monkeypatch.setattr(ode, "vector_field", lambda v, *_: np.array([0.0, v[-1] ** 2]))
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
