import itertools
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import hermite_e, legendre
from scipy.special import erf, expit

from ssiode.expression import parse_expression
from ssiode.hermite.coefficient import Verdict
from ssiode.hermite.numeric.coefficients import numeric_coefficients, numeric_estimates

FUNCTIONS = {
    "tanh": np.tanh,
    "sigmoid": expit,
    "cos": np.cos,
    "sin": np.sin,
    "erf": erf,
    "abs": np.abs,
    "relu": lambda x: np.maximum(x, 0.0),
    "sign": np.sign,
}
KINKED = ("abs", "relu", "sign")
LEGENDRE = legendre.leggauss(20)
FACTORS = st.tuples(
    st.sampled_from(sorted(FUNCTIONS)),
    st.integers(1, 500).map(lambda n: n / 100),
    st.sampled_from([0.0, 0.0, 0.5, -1.25, 2.0]),
)
TERMS = st.lists(
    st.tuples(
        st.integers(-30, 30).map(lambda n: n / 10), st.lists(FACTORS, min_size=1, max_size=2)
    ),
    min_size=1,
    max_size=3,
)


def panels(edges):
    edges = np.array(sorted(edges))
    half = np.diff(edges)[:, None] / 2
    nodes = (edges[:-1, None] + half + half * LEGENDRE[0]).ravel()
    weights = (half * LEGENDRE[1]).ravel()
    return nodes, weights * np.exp(-nodes * nodes / 2) / math.sqrt(2 * math.pi)


def coefficients(text, alphas):
    parsed = parse_expression(text, 2)
    return numeric_coefficients(parsed.outputs[0], parsed.tokens, alphas, rtol=1e-6, budget=60_000)


def estimates(text, alphas, budget):
    parsed = parse_expression(text, 2)
    return numeric_estimates(
        parsed.outputs[0], parsed.tokens, alphas, rtol=1e-6, budget=budget, precise=False
    )


@settings(max_examples=200, deadline=None, derandomize=True)
@given(TERMS)
def test_errors_bound_random_functions(terms):
    """Gauss-Legendre panels split at the known kinks are the reference."""
    text = " + ".join(
        f"({c})*" + "*".join(f"{name}({a}*z1 + ({b}))" for name, a, b in factors)
        for c, factors in terms
    )
    kinks = {-b / a for _, factors in terms for name, a, b in factors if name in KINKED}
    nodes, weights = panels({*np.linspace(-13, 13, 400), *(k for k in kinks if abs(k) < 13)})
    values = sum(
        c * np.prod([FUNCTIONS[name](a * nodes + b) for name, a, b in factors], axis=0)
        for c, factors in terms
    )
    parsed = parse_expression(text, 1)
    alphas = [(n,) for n in range(4)]
    found = numeric_estimates(parsed.outputs[0], parsed.tokens, alphas, precise=False)
    for (order,), (value, error) in found.items():
        integrand = weights * values * hermite_e.hermeval(nodes, [0] * order + [1])
        slack = 3e-15 * np.abs(integrand).sum() + 1e-30
        assert abs(value - integrand.sum()) <= error + slack


PLANE = ["tanh", "sigmoid", "cos", "abs", "relu"]
FORMS = st.tuples(
    st.sampled_from(PLANE),
    st.sampled_from([1.0, -0.5, 2.0, 0.0]),
    st.sampled_from([1.0, 0.7, -1.5]),
)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(FORMS, FORMS, st.sampled_from(["+", "*"]))
def test_errors_bound_random_functions_of_two_tokens(first, second, operation):
    """The inner integral of the reference is split at the kinks for each outer node."""
    forms = (first, second)
    text = operation.join(f"{name}(({a})*z1 + ({b})*z2)" for name, a, b in forms)
    alphas = [alpha for alpha in itertools.product(range(3), repeat=2) if sum(alpha) <= 2]
    found = estimates(text, alphas, budget=100_000)
    outer, outer_weights = panels({*np.linspace(-9, 9, 25)})
    slopes = [-a / b for name, a, b in forms if name in KINKED]
    totals = dict.fromkeys(alphas, 0.0)
    for x, weight in zip(outer, outer_weights, strict=True):
        inner, weights = panels(
            {*np.linspace(-9, 9, 25), *(s * x for s in slopes if abs(s * x) < 9)}
        )
        parts = [FUNCTIONS[name](a * x + b * inner) for name, a, b in forms]
        values = weight * weights * (sum(parts) if operation == "+" else parts[0] * parts[1])
        for i, j in alphas:
            factor = hermite_e.hermeval(x, [0] * i + [1])
            totals[(i, j)] += factor * (values @ hermite_e.hermeval(inner, [0] * j + [1]))
    for alpha, (value, error) in found.items():
        assert abs(value - totals[alpha]) <= error + 1e-13


EVEN_OR_ODD = [
    "tanh(z1*z2)",
    "abs(z1 - z2)",
    "cos(z1)",
    "sign(z1)",
    "tanh(z1 + z2)",
    "z2",
    "relu(z1)",
]


@settings(max_examples=16, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(EVEN_OR_ODD), min_size=1, max_size=2, unique=True), st.booleans())
def test_proved_zeros_are_zero_by_quadrature(parts, is_product):
    text = ("*" if is_product else " + ").join(parts)
    alphas = [alpha for alpha in itertools.product(range(3), repeat=2) if 0 < sum(alpha) <= 3]
    found = coefficients(text, alphas)
    zeros = [alpha for alpha, c in found.items() if c.verdict is Verdict.ZERO]
    assert all(found[alpha].reason for alpha in zeros)
    if zeros:
        for value, error in estimates(text, zeros, budget=60_000).values():
            assert abs(value) <= error
