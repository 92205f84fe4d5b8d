"""Random targets of every family against grids that share no code: each error is a true bound."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ssiode.expression import parse_expression
from ssiode.hermite.sources import coefficient_source
from tests.hermite.gaussian_grids import averages

ORDER = 3
EXAMPLES = 26
# The only ones in two dimensions that do not come apart.
SMOOTH_EXAMPLES = 8

number = st.integers(-4, 4).map(lambda n: n / 2)
nonzero = number.filter(bool)
power = st.integers(0, 3)
root = st.sampled_from(["1", "sqrt(2)", "sqrt(3)/2", "pi", "1/3"])
entire = st.sampled_from(["exp", "sin", "cos", "sinh", "cosh"])
kinked = st.sampled_from(["abs", "relu", "sign", "heaviside"])
bounded = st.sampled_from(["tanh", "sigmoid", "erf", "sin"])
TOKENS = ["z1", "z2"]


def form(a, b, shift=0):
    return f"(({a})*z1 + ({b})*z2 + ({shift}))"


@st.composite
def polynomial(draw):
    terms = [
        f"({draw(nonzero)})*{draw(root)}*z1^{draw(power)}*{form(1, draw(number))}^{draw(power)}"
        for _ in range(draw(st.integers(1, 3)))
    ]
    return " + ".join(terms), [], None


@st.composite
def polynomial_times_entire(draw):
    terms = [
        f"({draw(nonzero)})*z{draw(st.sampled_from([1, 2]))}^{draw(power)}"
        f"*{draw(entire)}({form(draw(number) / 2, draw(number) / 2, draw(number))})"
        for _ in range(draw(st.integers(1, 2)))
    ]
    return " + ".join(terms), [], None


@st.composite
def piecewise_on(draw, x, scale=1.0):
    """A piecewise polynomial of x, and where x has its kinks, in units of `scale`."""
    a, b, c = draw(nonzero), draw(number), draw(number)
    if draw(st.booleans()):
        text = f"{draw(kinked)}({a}*{x} + ({b}))*({x} - ({c}))^{draw(power)}"
        return text, [-b / a * scale]
    name = draw(st.sampled_from(["min", "max"]))
    return f"{name}({a}*{x} + ({b}), {c})*{x}^{draw(power)}", [(c - b) / a * scale]


@st.composite
def piecewise_in_a_token(draw):
    text, kinks = draw(piecewise_on("z1"))
    return f"{text} + z2*({draw(number)})", kinks, None


@st.composite
def piecewise_in_a_form(draw):
    a, b = draw(nonzero), draw(nonzero)
    text, kinks = draw(piecewise_on(form(a, b), 1 / np.hypot(a, b)))
    return text, kinks, (a, b)


@st.composite
def erf_of_a_form(draw):
    inside = form(draw(nonzero), draw(number), draw(number))
    return f"({draw(nonzero)})*z2^{draw(power)}*erf({inside})", [], None


@st.composite
def function_of_a_form(draw):
    x = form(draw(nonzero), draw(nonzero), draw(number))
    return f"{draw(bounded)}({x})*{x}^{draw(power)} - ({draw(number)})*{x}^2", [], None


@st.composite
def on_a_token(draw, x):
    """A function of one token with its kinks."""
    if draw(st.booleans()):
        return draw(piecewise_on(x))
    name = draw(st.sampled_from(["tanh", "sigmoid", "erf", "sin", "cosh"]))
    return f"{name}({draw(nonzero)}*{x} + ({draw(number)}))", []


@st.composite
def product_over_tokens(draw):
    (first, kinks), (second, more) = (draw(on_a_token(x)) for x in TOKENS)
    return f"{first}*{second}", kinks + more, None


@st.composite
def sum_over_tokens(draw):
    (first, kinks), (second, more) = (draw(on_a_token(x)) for x in TOKENS)
    return f"{first} - 2*{second}", kinks + more, None


@st.composite
def smooth(draw):
    x = f"({draw(nonzero)}*z1*z2 + ({draw(number)})*z2)"
    text = draw(
        st.sampled_from(
            ["tanh({x}/4)", "log(2 + {x}^2/8)", "1/(2 + cos({x}/4))", "sigmoid({x}/3)*z1"]
        )
    )
    return text.format(x=x), [], None


FAMILIES = [
    polynomial,
    polynomial_times_entire,
    piecewise_in_a_token,
    piecewise_in_a_form,
    erf_of_a_form,
    function_of_a_form,
    product_over_tokens,
    sum_over_tokens,
    smooth,
]


def examples(family):
    return SMOOTH_EXAMPLES if family is smooth else EXAMPLES


def reference(text, kinks, direction):
    """Averages with errors: on panels, and again on panels half as wide."""
    parsed = parse_expression(text, 2)
    inner = [0.0, *(kink for kink in kinks if abs(kink) < 12)]
    coarse, sizes = averages(parsed.outputs[0], parsed.tokens, ORDER, inner, direction)
    halved = [*inner, *np.linspace(-12, 12, 17)]
    fine, _ = averages(parsed.outputs[0], parsed.tokens, ORDER, halved, direction)
    # The panels end at 12; exp of slope 2 there adds e^24 to a density of e^-72.
    return {
        alpha: (value, abs(value - coarse[alpha]) + 1e-13 * (1 + sizes[alpha]))
        for alpha, value in fine.items()
    }


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_errors_are_true_bounds(family):
    seen = set()
    count = examples(family)

    @settings(
        max_examples=count,
        derandomize=True,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(family())
    def check(target):
        text, kinks, direction = target
        seen.add(text)
        parsed = parse_expression(text, 2)
        source = coefficient_source(parsed.outputs[0], parsed.tokens)
        found = {c.alpha: c for order in range(ORDER + 1) for c in source.coefficients(order)}
        for alpha, (value, uncertainty) in reference(text, kinks, direction).items():
            # What is not listed is proved to be zero.
            claimed = found[alpha].value if alpha in found else 0.0
            error = found[alpha].error if alpha in found else 0.0
            assert abs(claimed - value) <= error + uncertainty, (text, alpha)

    check()
    assert len(seen) >= count - 1


def test_there_are_two_hundred_targets():
    assert sum(examples(family) - 1 for family in FAMILIES) >= 200


def test_an_error_that_is_no_bound_is_seen():
    value, uncertainty = reference("tanh(z1)", [], None)[(1, 0)]
    assert uncertainty < 1e-12
    assert abs(value - 0.6057055096) < 1e-9
