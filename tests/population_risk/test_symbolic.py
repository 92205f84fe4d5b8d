"""Exact risks against closed forms, and against the engines."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from ssiode import Attention, Encoding, LinearAttention, Problem, Target, TiedNetwork, risk
from ssiode.loss import FrobeniusLoss, SquaredLoss
from ssiode.population_risk.symbolic import exact
from tests.checks import refuses
from tests.population_risk.problems import errors, moments

M = sympy.Symbol("m", real=True)


def expressions(polynomials):
    p = polynomials
    return [p.value, *p.gradient_e, p.gradient_m, p.second_moment]


def at(polynomials, v):
    """The numbers (R, dR/de, dR/dm, V) at v."""
    values = dict(zip([*polynomials.e, polynomials.m], map(sympy.Float, v), strict=True))
    return np.array([float(x.subs(values)) for x in expressions(polynomials)])


def state(problem, seed, length=0.7):
    u = np.random.default_rng(seed).standard_normal(problem.geometry.rank)
    return problem.geometry.basis @ (length * u / np.linalg.norm(u))


def test_closed_forms():
    # R = E (y - f)^2 of f = s and y = sqrt(2) s*: 3 - 2 sqrt(2) m; V = 4 R.
    linear = Problem(Target("z1 + z2"), TiedNetwork("identity")).symbolic_risk()
    assert linear.value == 3 - 2 * sympy.sqrt(2) * M
    assert linear.second_moment.expand() == (4 * linear.value).expand()
    # He_n of the same field: R = 2 n! (1 - m^n).
    matched = Problem(Target("He3(z1)"), TiedNetwork("He3")).symbolic_risk()
    assert matched.value == 12 - 12 * M**3
    assert matched.gradient_m == -36 * M**2
    # One token e: E (x + e - z*)^2 = 2 - 2 m + e^2, and noise adds its variance.
    shifted = Problem(
        Target("z1"), TiedNetwork("identity"), Encoding("orthonormal"), label_noise=0.3
    ).symbolic_risk()
    (e,) = shifted.e
    assert shifted.value == 2 - 2 * M + e**2 + sympy.Rational(3, 10)
    assert shifted.errors is None


@pytest.mark.parametrize(
    "problem",
    [
        Problem(Target("z1*z2"), TiedNetwork("He3", 0.7), Encoding("opposite"), label_noise=0.3),
        Problem(
            Target("He2(z1) + z2 - 0.5"),
            TiedNetwork("s^2 - s/3"),
            Encoding("gram", matrix=((1.0, 0.3), (0.3, 0.5)), teacher_overlap=(0.4, -0.2)),
            SquaredLoss(0.25),
        ),
        Problem(
            Target("z1 + z1*z2*z3"),
            LinearAttention(),
            Encoding("orthonormal", injected=(0.5, 0, -0.25)),
        ),
        Problem(Target("sum(He2(z))/sqrt(2)", length=6), TiedNetwork("He4(s) + 0.1*s")),
    ],
)
def test_agreement_with_the_series(problem):
    polynomials = problem.symbolic_risk()
    for seed in range(3):
        v = state(problem, seed)
        result = risk(problem, v[:-1], v[-1], engine="series")
        assert np.all(np.abs(at(polynomials, v) - moments(result)) <= errors(result))


def test_attention_without_encoding_is_a_polynomial_with_numbers():
    # Coefficients of m^2 and m^4 from independent four-dimensional quadrature.
    known = {"He2(z1) + He2(z2)": (2, -0.563914), "He4(z1) + He4(z2)": (4, 0.961026)}
    for target, (power, expected) in known.items():
        problem = Problem(Target(target), Attention("trace"))
        polynomials = problem.symbolic_risk()
        value = sympy.Poly(polynomials.value, M)
        assert float(value.coeff_monomial(M**power)) == pytest.approx(expected, abs=1e-6)
        assert set(value.monoms()) == {(power,), (0,)}
        assert 0 < polynomials.errors[0] < 1e-10
        result = risk(problem, m=0.6, engine="quadrature", order=40)
        gaps = np.abs(at(polynomials, np.array([0, 0, 0.6])) - moments(result))
        assert np.all(gaps <= errors(result) + max(polynomials.errors))


def test_a_decimal_is_taken_as_it_is_written():
    assert exact(0.1) == sympy.Rational(1, 10)
    assert exact(1e-3) == sympy.Rational(1, 1000)
    assert exact(-2.0) == -2


@pytest.mark.parametrize(
    ("problem", "parts"),
    [
        (Problem(Target("tanh(z1)"), LinearAttention()), ["target is no polynomial"]),
        (Problem(Target(lambda z: z, length=1), LinearAttention()), ["target is no polynomial"]),
        (Problem(Target("z1"), LinearAttention(), loss=FrobeniusLoss()), ["frobenius"]),
        (
            Problem(Target("z1*z2"), Attention("trace"), Encoding("opposite")),
            ["student is no polynomial", "encoding none"],
        ),
    ],
)
def test_what_is_no_polynomial_is_refused(problem, parts):
    refuses(problem.symbolic_risk, *parts)
