"""Quadrature: published values, exact cases, and errors that bound the truth."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss

from ssiode.encoding import Encoding
from ssiode.loss import FrobeniusLoss, SquaredLoss
from ssiode.population_risk import QuadratureEngine, make_engine, risk
from ssiode.problem import Problem
from ssiode.student import Attention, LinearAttention, TiedNetwork
from ssiode.target import Target
from tests.checks import refuses
from tests.population_risk.problems import (
    SETTINGS,
    errors,
    feasible_points,
    moments,
    positional_semantic,
)

# R(e, m) of the positional-semantic model with omega = 0.67, a = 1.
PUBLISHED = {(0, 0): 0.131752, (0.5, 0.5): 0.1151998, (1, 0): 0.1015513, (0, 1): 0.0826822}


@pytest.mark.parametrize(("state", "value"), PUBLISHED.items())
def test_published_values(state, value):
    problem, (e, m) = positional_semantic(), state
    result = QuadratureEngine(problem, 40).evaluate(problem.geometry.state((e, -e), m))
    assert result.value == pytest.approx(value, abs=1e-5)
    assert result.value_error < 1e-4


def mean_of_top_left_entry(engine, m=0.0):
    """E A_11 from the risks of the targets 2 and 0, as R_2 = 4 - 4 E A + E A^2."""
    student = Attention("projection", left=(1, 0), right=(1, 0))
    risks = [
        risk(Problem(Target(text, length=2), student), m=m, engine=engine, **options)
        for text in ("2", "0")
        for options in [{"order": 56} if engine == "quadrature" else {}]
    ]
    error = sum(result.value_error for result in risks) / 4
    return (4 + risks[1].value - risks[0].value) / 4, error


@pytest.mark.parametrize("engine", ["quadrature", "montecarlo"])
def test_mean_attention_entry(engine):
    mean, error = mean_of_top_left_entry(engine)
    exact = 1 - math.sqrt(2) / 4
    # 4 standard errors for Monte Carlo; the quadrature converges slowly with the poles of softmax.
    assert abs(mean - exact) < 4 * error + 1e-12
    assert error < 1e-4


@pytest.mark.parametrize("name", SETTINGS)
def test_stated_errors_bound_the_truth(name):
    problem, _ = SETTINGS[name]
    truth = QuadratureEngine(problem, 36)
    engines = [QuadratureEngine(problem, order) for order in (10, 12, 14, 20, 24)]
    for v in feasible_points(problem, 4, seed=1):
        exact = truth.evaluate(v)
        for engine in engines:
            result = engine.evaluate(v)
            difference = np.abs(moments(result) - moments(exact))
            assert np.all(difference <= errors(result) + errors(exact)), (engine.order, v)


@pytest.mark.parametrize(
    ("target", "activation"),
    [("cos(3*z1)", "tanh"), ("exp(z1)", "tanh"), ("tanh(3*z1)", "He3"), ("z1^6", "square")],
)
def test_stated_errors_bound_the_truth_at_one_token(target, activation):
    problem = Problem(Target(target), TiedNetwork(activation), Encoding("orthonormal"))
    truth = QuadratureEngine(problem, 300)
    for v in [*feasible_points(problem, 8, seed=2), np.array([0.0, 1.0]), np.array([0.0, -1.0])]:
        exact = truth.evaluate(v)
        for order in (10, 13, 16, 24, 36, 54):
            result = QuadratureEngine(problem, order).evaluate(v)
            difference = np.abs(moments(result) - moments(exact))
            assert np.all(difference <= errors(result) + errors(exact)), (order, v)


# Polynomial targets and students of degree p and q have exact risks from order
# max(p, q) + 1 on; V has degree 2 (p + q - 1).
POLYNOMIALS = [
    ("He3(z1)", "He3", 1, lambda m: (12 - 12 * m**3, -36 * m**2)),
    ("He2(z1)", "He3", 1, lambda m: (2 + 6, 0.0)),
    ("z1", "identity", 1, lambda m: (2 - 2 * m, -2.0)),
    ("z1*z2", "square", 2, lambda m: (1 + 3 - 2 * m**2, -4 * m)),
    ("He2(z1) - He2(z2)", "square", 2, lambda m: (4 + 3, 0.0)),
    ("He2(z1) + He2(z2)", "square", 2, lambda m: (4 + 3 - 4 * m**2, -8 * m)),
    ("He6(z1)*He10(z2)", "square", 2, lambda m: (math.factorial(6) * math.factorial(10) + 3, 0)),
]


@pytest.mark.parametrize(("target", "activation", "length", "exact"), POLYNOMIALS)
def test_polynomials(target, activation, length, exact):
    problem = Problem(Target(target, length=length), TiedNetwork(activation))
    for m in (-0.9, 0.0, 0.3, 1.0):
        result = risk(problem, m=m)
        value, slope = exact(m)
        # Above all that the error is stated; nodes left out matter below 1e-8.
        assert abs(result.value - value) <= result.value_error
        assert abs(result.gradient[-1] - slope) <= result.gradient_error[-1]
        assert result.value_error <= 1e-8 * max(1.0, abs(value))


@pytest.mark.parametrize("order", [4, 6, 9])
def test_exact_from_the_order_that_the_degree_asks_for(order):
    # y = He_p(z*), f = z: E y^2 = p! has degree 2p and is exact from order p + 1 on.
    for degree in range(2, order + 3):
        problem = Problem(Target(f"He{degree}(z1)"), TiedNetwork("identity"))
        value = QuadratureEngine(problem, order).moments(np.array([[0.0, 0.5]]))[0, 0]
        exact = math.factorial(degree) + 1
        # Nodes of weight 1e-15 are left out.
        is_exact = abs(value - exact) < 1e-9 * exact
        assert is_exact == (degree < order)


def test_roots_of_one_rule_do_not_hide_the_target():
    # He10 vanishes on all nodes of the first rule that is tried and He6 on those of its check.
    problem = Problem(Target("He6(z1)*He10(z2)"), LinearAttention(), Encoding("orthonormal"))
    exact = math.factorial(6) * math.factorial(10)
    result = risk(problem, e=(0.3, 0.2), m=0.1)
    assert result.value == pytest.approx(exact, rel=1e-6)


def kinked_risk(g, f, kinks_g, kinks_f, e, m):
    """Return E (g(z*) - f(m z* + s xi + e))^2 by Gauss-Legendre between the kinks."""
    s = math.sqrt(1 - m * m)

    def average(function, kinks):
        ends = [-10.0, *sorted(k for k in kinks if -10 < k < 10), 10.0]
        nodes, weights = leggauss(60)
        total = 0.0
        for a, b in pairwise(ends):
            x = (a + b) / 2 + (b - a) / 2 * nodes
            density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
            total += (b - a) / 2 * weights @ (function(x) * density)
        return total

    def inner(z_star):
        return average(
            lambda xi: (g(z_star) - f(m * z_star + s * xi + e)) ** 2,
            [(k - e - m * z_star) / s for k in kinks_f],
        )

    # Towards large z* the inner kink leaves the support; its image is a smooth layer, kept apart.
    return average(lambda x: np.array([inner(t) for t in x]), [*kinks_g, 0.0])


def ramp(x):
    return np.maximum(x, 0.0)


KINKED = [
    ("z1", "relu", lambda x: x, ramp, [], [0.0]),
    ("abs(z1)", "relu", np.abs, ramp, [0.0], [0.0]),
    ("sign(z1)", "tanh", np.sign, np.tanh, [0.0], []),
    ("max(z1, 0.3)", "tanh", lambda x: np.maximum(x, 0.3), np.tanh, [0.3], []),
]


@pytest.mark.parametrize(("target", "activation", "g", "f", "kinks_g", "kinks_f"), KINKED)
def test_stated_errors_bound_the_truth_with_kinks(target, activation, g, f, kinks_g, kinks_f):
    problem = Problem(Target(target), TiedNetwork(activation), Encoding("orthonormal"))
    for e, m in ((0.0, 0.3), (0.4, -0.6)):
        exact = kinked_risk(g, f, kinks_g, kinks_f, e, m)
        for order in (10, 16, 24, 35, 54):
            result = QuadratureEngine(problem, order).evaluate(np.array([e, m]))
            # The reference is accurate to about 1e-8.
            assert abs(result.value - exact) <= result.value_error + 1e-6
            assert result.value_error < 2.0


@pytest.mark.parametrize("m", [0.0, 0.9, 0.99, 0.999, 0.9999, 1 - 1e-6, 1.0, -1.0])
def test_stated_errors_bound_the_truth_with_kinks_between_the_nodes(m):
    # y = a + z*, f = relu(x + c): with P = Phi(c), p = phi(c), E f = c P + p,
    # E f^2 = (c^2 + 1) P + c p and E z* f = m P. All of dR/dm = -2 P comes near |m| = 1 from the
    # kink for a part of size a, which lies between the nodes.
    for a, c in ((5.0, 0.3), (5.0, -0.7), (0.0, 1.1)):
        P = (1 + math.erf(c / math.sqrt(2))) / 2
        p = math.exp(-c * c / 2) / math.sqrt(2 * math.pi)
        value = a * a + 1 - 2 * a * (c * P + p) - 2 * m * P + (c * c + 1) * P + c * p
        exact = [value, 2 * (c - a) * P + 2 * (1 - m) * p, -2 * P]
        problem = Problem(Target(f"{a} + z1"), TiedNetwork("relu"), Encoding(injected=(c,)))
        for order in (10, 17, 24, 36, 54, 120):
            result = QuadratureEngine(problem, order).evaluate(np.array([0.0, m]))
            assert np.all(np.abs(moments(result)[:3] - exact) <= errors(result)[:3])
            assert result.value_error < 5.0


@pytest.mark.parametrize("m", [0.0, 0.9, 1 - 1e-6, 1.0])
def test_stated_errors_bound_the_truth_with_a_kink_of_the_loss(m):
    # y = a + z*, f = z: l = |a + u| with u of variance q^2 = 2 - 2 m, so with t = a / q
    # R = q (2 phi(t) + t erf(t / sqrt(2))) and dR/dm = -2 phi(t) / q.
    problem = Problem(Target("0.3 + z1"), TiedNetwork("identity"), loss=FrobeniusLoss())
    for order in (10, 17, 24, 36, 54):
        result = QuadratureEngine(problem, order).evaluate(np.array([0.0, m]))
        q = math.sqrt(2 - 2 * m)
        value, slope = 0.3, 0.0
        if q > 0:
            density = math.exp(-((0.3 / q) ** 2) / 2) / math.sqrt(2 * math.pi)
            value = 2 * q * density + 0.3 * math.erf(0.3 / q / math.sqrt(2))
            slope = -2 * density / q
        assert abs(result.value - value) <= result.value_error
        assert abs(result.gradient[-1] - slope) <= result.gradient_error[-1]


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_the_order_does_not_depend_on_the_scale_of_the_loss(scale):
    problem = Problem(Target("He2(z1) + z2"), TiedNetwork("tanh"), Encoding("orthonormal"))
    v = problem.geometry.state((0.3, 0.2), 0.5)
    scaled = problem.replace(loss=SquaredLoss(scale))
    one, other = (make_engine(p, "quadrature", v, 1e-8) for p in (problem, scaled))
    assert other.order == one.order > 14


@pytest.mark.parametrize("degree", [6, 8])
def test_errors_of_matched_hermite_networks_are_small(degree):
    # R = 2 n! (1 - m^n), dR/dm = -2 n n! m^(n - 1); V is about (n!)^3.
    problem = Problem(Target(f"He{degree}(z1)"), TiedNetwork(f"He{degree}"))
    factorial = math.factorial(degree)
    for m in (0.0, 0.3, 0.7):
        result = risk(problem, m=m)
        value, slope = 2 * factorial * (1 - m**degree), -2 * degree * factorial * m ** (degree - 1)
        assert abs(result.value - value) <= result.value_error <= 1e-12 * value
        assert abs(result.gradient[-1] - slope) <= result.gradient_error[-1]


def test_a_flat_start_does_not_need_the_highest_order():
    # The gradient vanishes and is as small as rounding at every order.
    problem = Problem(Target("He2(z1) + He2(z2)"), TiedNetwork("square"))
    engine = make_engine(problem, "quadrature", np.zeros(3))
    assert engine.order <= 20
    # At a perfect match the risk vanishes.
    match = Problem(Target("He3(z1)"), TiedNetwork("He3"))
    engine = make_engine(match, "quadrature", np.array([0.0, 1.0]))
    assert engine.order <= 24


def test_a_constant_target_and_student():
    # Attention over one token is 1.
    result = risk(Problem(Target("2"), Attention("trace")), m=0.3, engine="quadrature")
    assert result.value == pytest.approx(1.0, rel=1e-14)
    assert np.array_equal(result.gradient, np.zeros(2))
    assert result.second_moment == 0.0
    match = risk(Problem(Target("1"), Attention("trace")), m=0.3, engine="quadrature")
    assert (match.value, match.second_moment) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("target", "order"),
    [("log(z1)", 10), ("log(abs(z1))", 15)],
)
def test_a_target_that_is_not_finite_is_refused(target, order):
    problem = Problem(Target(target), TiedNetwork("tanh"))
    refuses(lambda: risk(problem, engine="quadrature", order=order), "target is not finite at z =")


def test_a_pole_between_the_nodes_shows_in_the_comparison():
    # An even rule has no node at 0, but one of the rules it is compared with has. Of a function
    # nothing is known but its values.
    target = Target(lambda z: 1 / z[..., 0], length=1)
    problem = Problem(target, TiedNetwork("tanh"))
    refuses(lambda: risk(problem, engine="quadrature", order=10), "not finite")


def test_a_student_that_is_not_finite_is_refused():
    problem = Problem(Target("z1"), TiedNetwork("log(s)"))
    refuses(lambda: risk(problem, engine="quadrature", order=15), "not finite")


@pytest.mark.parametrize("order", [3, 0, -1, 5.5, "20", None, True, 1001, 10**6])
def test_orders_out_of_range_are_refused(order):
    problem = Problem(Target("z1"), TiedNetwork("identity"))
    if order is None:
        assert QuadratureEngine(problem, None).order >= 4
    else:
        refuses(lambda: QuadratureEngine(problem, order), "order is")


def test_orders_that_would_not_finish_are_refused():
    problem = Problem(Target("z1*z2"), TiedNetwork("identity"))
    refuses(lambda: QuadratureEngine(problem, 101), "<= 100")


def test_three_tokens():
    # Six fields; a rule of six nodes is exact for degree 11 in each.
    problem = Problem(Target("z1*z2 + z3"), TiedNetwork("square"))
    v = problem.geometry.state(0.0, 0.5)
    exact = risk(problem, m=0.5, engine="series")
    result = QuadratureEngine(problem, 6).evaluate(v)
    np.testing.assert_allclose(moments(result), moments(exact), rtol=1e-12, atol=1e-12)


def test_what_quadrature_does_not_serve():
    long = Problem(Target("z1*z4"), TiedNetwork("identity"))
    refuses(lambda: QuadratureEngine(long), "length is 4")
    noisy = Problem(Target("z1"), TiedNetwork("identity"), loss=FrobeniusLoss(), label_noise=0.1)
    refuses(lambda: QuadratureEngine(noisy), "label noise", "frobenius")


def test_the_highest_order_has_no_warning():
    # Weights below 1e-308 underflow.
    problem = Problem(Target("z1"), TiedNetwork("identity"))
    result = QuadratureEngine(problem, 1000).evaluate(np.array([0.0, 0.5]))
    assert abs(result.value - 1.0) <= result.value_error < 1e-8


def test_events_beyond_the_nodes_show_in_the_error():
    # The last node of 10 is 4.86 and the largest shift 0.5: y is 0 on all of them.
    problem = Problem(Target("heaviside(z1 - 8)*1e12"), TiedNetwork("tanh"))
    missing = 1e24 * math.erfc(8 / math.sqrt(2)) / 2
    result = QuadratureEngine(problem, 10).evaluate(np.zeros(2))
    assert result.value < 1.0
    assert result.value_error > missing
    # Negative control: the same without an expression.
    opaque = Target(lambda z: 1e12 * (z[..., 0] > 8), length=1)
    assert (
        QuadratureEngine(problem.replace(target=opaque), 10).evaluate(np.zeros(2)).value_error < 1
    )


def test_the_companion_has_larger_errors():
    problem, _ = SETTINGS["trace, opposite"]
    engine = QuadratureEngine(problem, 12)
    v = problem.geometry.state((0.3, -0.3), 0.5)
    assert engine.companion().order == 8
    assert engine.companion().evaluate(v).value_error > engine.evaluate(v).value_error
