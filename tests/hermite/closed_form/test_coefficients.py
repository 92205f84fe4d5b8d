import math

import mpmath
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import hermite_e

from ssiode.errors import InputError
from ssiode.expression import parse_expression
from ssiode.hermite.closed_form.coefficients import (
    ClosedForm,
    NoClosedForm,
    closed_form_coefficients,
)
from ssiode.hermite.coefficient import Verdict
from tests.hermite.gaussian_grids import averages

# Text, its leading coefficients, how they are known, the kinks, and their direction if it is
# not that of the tokens. Stein: E[g He_alpha] = E[d^alpha g].
KNOWN = [
    ("abs(z1)", {(2,): "sqrt(2/pi)"}, "Stein: twice the density at 0", (0,)),
    ("relu(z1)", {(1,): "1/2"}, "Stein: P(z > 0)", (0,)),
    ("relu(z1) - z1/2", {(2,): "1/sqrt(2*pi)"}, "half of abs", (0,)),
    ("sign(z1)", {(1,): "sqrt(2/pi)"}, "Stein: twice the density at 0", (0,)),
    ("heaviside(z1)", {(1,): "1/sqrt(2*pi)"}, "Stein: the density at 0", (0,)),
    ("heaviside(z1 - 1)", {(1,): "exp(-1/2)/sqrt(2*pi)"}, "Stein: the density at 1", (1,)),
    ("sign(z1) - sqrt(2/pi)*z1", {(3,): "-sqrt(2/pi)"}, "2 He2(0) times the density", (0,)),
    ("max(-1, min(1, z1))", {(1,): "erf(1/sqrt(2))"}, "Stein: P(|z| < 1)", (-1, 1)),
    ("max(z1, 1)", {(1,): "(1 - erf(1/sqrt(2)))/2"}, "Stein: P(z > 1)", (1,)),
    ("relu(z1 - 2)", {(1,): "(1 - erf(sqrt(2)))/2"}, "Stein: P(z > 2)", (2,)),
    ("abs(z1 - 1)", {(1,): "-erf(1/sqrt(2))"}, "Stein: -P(|z| < 1)", (1,)),
    (
        "abs(z1^2 - 1)",
        {(2,): "2 - 4*erf(1/sqrt(2)) + 4*sqrt(2/pi)*exp(-1/2)"},
        "Stein: 2 (1 - 2 P(|z| < 1)) and slopes that jump by 4 at -1 and at 1",
        (-1, 1),
    ),
    ("z1*abs(z1)", {(1,): "2*sqrt(2/pi)"}, "Stein: 2 E|z|", (0,)),
    ("relu(z1)^2", {(1,): "sqrt(2/pi)"}, "Stein: 2 E relu", (0,)),
    (
        "abs(z1)^3 - 3*sqrt(2/pi)*z1^2",
        {(4,): "6*sqrt(2/pi)"},
        "Stein: 12 delta, orders 1-3 by E|z|^k",
        (0,),
    ),
    ("abs(2*z1)", {(2,): "2*sqrt(2/pi)"}, "abs is homogeneous", (0,)),
    ("abs(z1*z2)", {(2, 0): "2/pi", (0, 2): "2/pi"}, "product of abs", (0,)),
    ("sign(z1*z2)", {(1, 1): "2/pi"}, "product of signs", (0,)),
    ("sign(z1)*sign(z2)*sign(z3)", {(1, 1, 1): "(2/pi)^(3/2)"}, "product of signs", (0,)),
    ("relu(z1*z2)", {(1, 1): "1/2", (2, 0): "1/pi", (0, 2): "1/pi"}, "(x + abs(x))/2", (0,)),
    ("relu(z1)*z2", {(0, 1): "1/sqrt(2*pi)"}, "E relu", (0,)),
    ("abs(z1) + He3(z2)", {(2, 0): "sqrt(2/pi)"}, "sum over tokens", (0,)),
    ("(abs(z1) - sqrt(2/pi))*z2", {(2, 1): "sqrt(2/pi)"}, "the average cancels", (0,)),
    ("exp(z1)", {(1,): "exp(1/2)"}, "a^n exp(a^2/2)", ()),
    ("exp(z1 + z2)", {(1, 0): "exp(1)", (0, 1): "exp(1)"}, "a^alpha exp(|a|^2/2)", ()),
    ("exp(z1) - exp(1/2)*z1", {(2,): "exp(1/2)"}, "a^n exp(a^2/2)", ()),
    ("z1*exp(z1)", {(1,): "2*exp(1/2)"}, "Stein: E[(1 + z) exp(z)]", ()),
    ("z1^2*exp(-z1) - 2*exp(1/2)", {(1,): "-4*exp(1/2)"}, "Stein: E[(2z - z^2) exp(-z)]", ()),
    ("cosh(z1)", {(2,): "exp(1/2)"}, "even part of exp", ()),
    ("sinh(2*z1)", {(1,): "2*exp(2)"}, "odd part of exp", ()),
    ("sin(z1)", {(1,): "exp(-1/2)"}, "Stein: E cos", ()),
    ("cos(z1)", {(2,): "-exp(-1/2)"}, "Stein: -E cos", ()),
    ("cos(z1 + pi/3)", {(1,): "-sqrt(3)/2*exp(-1/2)"}, "Stein: -sin(pi/3) E cos", ()),
    ("cos(z1 + 1)", {(1,): "-sin(1)*exp(-1/2)"}, "Stein: -sin(1) E cos", ()),
    ("sin(z1)*sin(z2)", {(1, 1): "exp(-1)"}, "product of sines", ()),
    (
        "cos(z1)*cos(z2) - sin(z1)*sin(z2)",
        {(2, 0): "-exp(-1)", (1, 1): "-exp(-1)", (0, 2): "-exp(-1)"},
        "cos(z1 + z2)",
        (),
    ),
    ("sin(z1)^2", {(2,): "2*exp(-2)"}, "(1 - cos(2z))/2", ()),
    ("z1*sin(z1)", {(2,): "exp(-1/2)"}, "Stein: E[2 cos(z) - z sin(z)]", ()),
    ("exp(z1)*cos(z1)", {(1,): "cos(1) - sin(1)"}, "real part of (1 + i) exp((1 + i)^2/2)", ()),
    ("cos(z1) - exp(-1/2)*(1 - He2(z1)/2)", {(4,): "exp(-1/2)"}, "two orders cancel", ()),
    ("erf(z1)", {(1,): "2/sqrt(3*pi)"}, "Stein: average of a Gaussian", ()),
    ("erf(z1) - 2*z1/sqrt(3*pi)", {(3,): "-4/(3*sqrt(3*pi))"}, "derivatives in the offset", ()),
    ("erf(z1 + 1)", {(1,): "2/sqrt(3*pi)*exp(-1/3)"}, "Stein: average of a Gaussian", ()),
    ("erf((z1 + z2)/2)", {(1, 0): "1/sqrt(2*pi)", (0, 1): "1/sqrt(2*pi)"}, "r^2 = 1 + 2/2", ()),
    ("z1*erf(z1)", {(2,): "8/(3*sqrt(3*pi))"}, "Stein: 2 E f' + E[z f''], f'' = -2 z f'", ()),
    ("erf(z1)*abs(z2)", {(1, 0): "2/sqrt(3*pi)*sqrt(2/pi)"}, "product over tokens", (0,)),
    (
        "cos(z1)*abs(z2)",
        {(2, 0): "-exp(-1/2)*sqrt(2/pi)", (0, 2): "exp(-1/2)*sqrt(2/pi)"},
        "product",
        (0,),
    ),
    (
        "exp(z1)*heaviside(z1)",
        {(1,): "exp(1/2)*(1 + erf(1/sqrt(2)))/2 + 1/sqrt(2*pi)"},
        "Stein: P(z > -1) and a jump",
        (0,),
    ),
    (
        "exp(-abs(z1))",
        {(2,): "exp(1/2)*(1 - erf(1/sqrt(2))) - sqrt(2/pi)"},
        "Stein: g'' = g - 2 delta",
        (0,),
    ),
    ("1e-12*z1 + abs(z2)", {(1, 0): "1/10^12"}, "the coefficient of z1", (0,)),
]
ROTATED = [
    ("relu(z1 + z2)", {(1, 0): "1/2", (0, 1): "1/2"}, "Stein: P(z1 + z2 > 0)", (0,), (1, 1)),
    ("max(z1, z2)", {(1, 0): "1/2", (0, 1): "1/2"}, "Stein: P(z1 > z2)", (0,), (1, -1)),
    (
        "abs(2*z1 - z2)",
        {(2, 0): "4*sqrt(2/(5*pi))", (1, 1): "-2*sqrt(2/(5*pi))", (0, 2): "sqrt(2/(5*pi))"},
        "a a^T sqrt(2/pi)/|a|",
        (0,),
        (2, -1),
    ),
    (
        "sign(z1 + z2 - 2)",
        {(1, 0): "exp(-1)/sqrt(pi)", (0, 1): "exp(-1)/sqrt(pi)"},
        "twice the density of N(0, 2) at 2",
        (math.sqrt(2),),
        (1, 1),
    ),
    (
        "abs(z1^2 - z2^2)",
        {(2, 0): "4/pi", (0, 2): "4/pi"},
        "2 |u| |v| with rotated tokens: u^2 + v^2 = z1^2 + z2^2",
        (0,),
        (1, 1),
    ),
    (
        "z1*relu(z1 + z2)",
        {(1, 0): "3/(2*sqrt(pi))", (0, 1): "1/(2*sqrt(pi))"},
        "Stein: E relu(t) + E[z1 H(t)] and E[z1 H(t)], t = z1 + z2",
        (0,),
        (1, 1),
    ),
    (
        "exp(z1)*abs(z1 - z2)",
        {(1, 0): "2*exp(1/4)/sqrt(pi) + 2*exp(1/2)*erf(1/2)", (0, 1): "-exp(1/2)*erf(1/2)"},
        "shift by 1: E|t + 1| and E sign(t + 1), t of variance 2",
        (0,),
        (1, -1),
    ),
    (
        "abs((z1 + z2)^2 - 2)",
        {(2, 0): "2 - 4*erf(1/sqrt(2)) + 4*sqrt(2/pi)*exp(-1/2)"},
        "2 |u^2 - 1| along u = (z1 + z2)/sqrt(2)",
        (-1, 1),
        (1, 1),
    ),
]
CONSTANT = [
    ("relu(z1) - relu(-z1) - z1", "0", "x = x+ - x-"),
    ("abs(z1) - relu(z1) - relu(-z1)", "0", "|x| = x+ + x-"),
    ("abs(z1) - abs(-z1)", "0", "abs is even"),
    ("heaviside(z1) + heaviside(-z1)", "1", "H(x) + H(-x) = 1"),
    ("sigmoid(z1) + sigmoid(-z1)", "1", "sigmoid(-x) = 1 - sigmoid(x)"),
    ("tanh(z1) + tanh(-z1)", "0", "tanh is odd"),
    ("sin(z1)^2 + cos(z1)^2", "1", "Pythagoras"),
    ("cosh(z1)^2 - sinh(z1)^2 + sqrt(2)", "1 + sqrt(2)", "hyperbolic Pythagoras"),
    ("max(z1, z2) + min(z1, z2) - z1 - z2", "0", "max + min"),
    ("max(z1, z2) - z1 - relu(z2 - z1)", "0", "max by relu"),
    ("abs(z1*z2) - abs(z1)*abs(z2)", "0", "abs is multiplicative"),
    ("sin(z1 + z2) - sin(z1)*cos(z2) - cos(z1)*sin(z2)", "0", "addition theorem"),
    ("erf(z1 - 1) + erf(1 - z1) + pi", "pi", "erf is odd"),
    ("relu(z1)^2 + relu(-z1)^2 - z1^2", "0", "squares of the parts"),
    ("sign(z1)^2", "1", "almost everywhere"),
    ("sign(sinh(z1)) - sign(z1)", "0", "sinh is odd and grows"),
    ("abs(exp(z1)*z2) - exp(z1)*abs(z2)", "0", "exp is positive"),
    ("abs(z1^2 + z1*z2) - abs(z1)*abs(z1 + z2)", "0", "abs is multiplicative"),
]
REFUSED = {
    "tanh(z1)": "tanh",
    "exp(z1^2)": "exp",
    "tan(z1)": "tan",
    "abs(z1 + z2^2)": "Abs",
    "1/z1": "1/z1",
    "abs(z1) + 1/(1 + z1^2)": "1/",
    "log(1 + exp(z1))": "log",
    "sqrt(abs(z1))": "sqrt",
    "sigmoid(z1)*abs(z2)": "sigmoid",
    "max(z1, z2, z3)": "Max",
    "relu(z1)*relu(z1 + z2)": "share a token",
    "erf(z1)^2": "share a token",
    "sin(z1)*abs(z1)": "sin or cos",
    "abs(z1^5 - z1 - 1)": "cubic or higher",
    "cos(z1^2)": "cos",
    "erf(z1*z2)": "erf",
    "2^z1": "2",
    "abs(b*z1)": "parameter b",
}
CASES = [(*case, None) for case in KNOWN] + ROTATED


def closed_form(text, length=None):
    parsed = parse_expression(text, length)
    (output,) = parsed.outputs
    return ClosedForm.of(output, parsed.tokens), parsed


def constant(text):
    return parse_expression(text, 1).outputs[0]


def difference(left, right):
    return abs(sympy.N(left - right, 40, chop=False)) if left != right else 0


def hermite_powers(order):
    """Coefficients of He_n by power, by He_{n+1} = x He_n - n He_{n-1}."""
    return dict(enumerate(map(int, hermite_e.herme2poly([0] * order + [1]))))


def leading(form):
    for order in range(1, 10):
        if found := form.coefficients(order):
            return order, found
    raise AssertionError("no coefficient up to order 9")


@pytest.mark.parametrize(("text", "expected", "why", "kinks", "direction"), CASES)
def test_leading_coefficients_are_the_known_ones(text, expected, why, kinks, direction):
    form, _ = closed_form(text)
    _, found = leading(form)
    for alpha, value in expected.items():
        assert difference(found[alpha].exact, constant(value)) < 1e-35, why
    assert all(coefficient.verdict is Verdict.NONZERO for coefficient in found.values())
    if direction is None:
        assert found.keys() == expected.keys()
    assert not form.is_constant


@pytest.mark.parametrize(("text", "expected", "why", "kinks", "direction"), CASES)
def test_coefficients_agree_with_a_grid(text, expected, why, kinks, direction):
    form, parsed = closed_form(text)
    (output,) = parsed.outputs
    highest = 6 if parsed.length < 3 else 4
    check_against_grid(form, output, parsed.tokens, highest, kinks, direction)


def check_against_grid(form, output, tokens, highest, kinks=(), direction=None):
    table, sizes = averages(output, tokens, highest, kinks, direction)
    for order in range(highest + 1):
        found = form.coefficients(order)
        for alpha, value in table.items():
            if sum(alpha) == order:
                # The grid is exact to rounding, and its tail beyond 12 is below 1e-14 of its size.
                margin = 1e-10 * (1 + sizes[alpha])
                exact = found[alpha].value if alpha in found else 0.0
                error = found[alpha].error if alpha in found else 0.0
                assert abs(exact - value) <= error + margin, alpha


@pytest.mark.parametrize("text", [case[0] for case in CASES])
def test_the_error_bounds_the_distance_from_the_exact_value(text):
    form, _ = closed_form(text)
    for order in (0, 1, 2, 5):
        for coefficient in form.coefficients(order).values():
            exact = sympy.N(coefficient.exact, 60)
            distance = abs(sympy.Rational(coefficient.value) - exact)
            assert distance <= coefficient.error * (1 + 1e-12)
            assert coefficient.error <= 2e-16 * abs(coefficient.value)


@pytest.mark.parametrize(
    ("text", "function", "kinks"),
    [
        ("relu(z1 - 1/2)^2", lambda z: max(z - 0.5, 0) ** 2, [0.5]),
        ("abs(z1^3 - 2*z1)", lambda z: abs(z**3 - 2 * z), [-mpmath.sqrt(2), 0, mpmath.sqrt(2)]),
        ("exp(z1/2)*min(z1, 1)", lambda z: mpmath.exp(z / 2) * min(z, 1), [1]),
        ("z1*erf(2*z1 - 1)", lambda z: z * mpmath.erf(2 * z - 1), []),
        ("z1^2*sin(3*z1 + 1)", lambda z: z**2 * mpmath.sin(3 * z + 1), []),
        ("sinh(z1)*erf(z1/3)", lambda z: mpmath.sinh(z) * mpmath.erf(z / 3), []),
        ("max(abs(z1) - 1, 0)", lambda z: max(abs(z) - 1, 0), [-1, 1]),
    ],
)
def test_coefficients_agree_with_mpmath_to_20_digits(text, function, kinks):
    form, _ = closed_form(text)
    with mpmath.workdps(25):
        # The density at 13 is 8e-38.
        edges = sorted([-13, -8, -4, 0, 4, 8, 13, *kinks])
        for order in (0, 1, 2, 5):
            powers = hermite_powers(order)

            def integrand(z, powers=powers):
                polynomial = sum(c * z**power for power, c in powers.items())
                return function(z) * polynomial * mpmath.npdf(z)

            value = mpmath.quad(integrand, edges)
            found = form.coefficients(order)
            exact = found[(order,)].exact if found else 0
            assert abs(mpmath.mpf(sympy.N(exact, 25)) - value) < 1e-20


@pytest.mark.parametrize(("text", "value", "why"), CONSTANT)
def test_constants_are_proved(text, value, why):
    form, _ = closed_form(text)
    assert form.is_constant, why
    assert form.highest_order == 0
    assert difference(form.constant_value(), constant(value)) == 0
    assert all(form.coefficients(order) == {} for order in range(1, 5))


@pytest.mark.parametrize(("text", "named"), REFUSED.items())
def test_other_targets_are_refused_by_name(text, named):
    with pytest.raises(NoClosedForm, match=r"here|no value") as caught:
        closed_form(text)
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)


def test_polynomials_end_at_their_degree():
    form, _ = closed_form("(z1 + z2)^3 - 6*(z1 + z2)")
    assert form.highest_order == 3
    assert form.coefficients(1) == form.coefficients(2) == form.coefficients(4) == {}
    assert form.coefficients(3)[(2, 1)].exact == 6
    assert closed_form("relu(z1)^3 - relu(-z1)^3")[0].highest_order == 3
    assert closed_form("abs(z1)")[0].highest_order is None


def test_one_order_by_the_function():
    parsed = parse_expression("abs(z1)")
    found = closed_form_coefficients(parsed.outputs[0], parsed.tokens, 0)
    assert found[(0,)].exact == sympy.sqrt(2 / sympy.pi)
    with pytest.raises(InputError, match="order is 41"):
        closed_form_coefficients(parsed.outputs[0], parsed.tokens, 41)
    with pytest.raises(InputError, match="not proved to be constant"):
        ClosedForm.of(parsed.outputs[0], parsed.tokens).constant_value()


def test_high_orders_follow_the_sign_rule():
    """E[sign(z) He_n] = 2 He_{n-1}(0) / sqrt(2 pi), He_{2k}(0) = (-1)^k (2k - 1)!!."""
    form, _ = closed_form("sign(z1)")
    double_factorial = math.prod(range(1, 38, 2))
    value = form.coefficients(39)[(39,)].exact
    assert difference(value, -double_factorial * sympy.sqrt(2 / sympy.pi)) == 0
    assert form.coefficients(40) == {}


number = st.fractions(-2, 2, max_denominator=4)
nonzero = number.filter(bool)


@st.composite
def factor(draw, token):
    """A function of one token as text, with its kinks."""
    kind = draw(st.sampled_from(["exp", "cos", "sin", "erf", "kink", "extremum", "power"]))
    a, b = draw(nonzero), draw(number)
    form = f"(({a})*{token} + ({b}))"
    if kind == "kink":
        name = draw(st.sampled_from(["abs", "relu", "sign", "heaviside"]))
        return f"{name}({form})", [float(-b / a)]
    if kind == "extremum":
        name, other = draw(st.sampled_from(["min", "max"])), draw(number)
        return f"{name}({form}, {other})", [float((other - b) / a)]
    if kind == "power":
        return f"{form}^{draw(st.integers(0, 3))}", []
    return f"{kind}({form})", []


@st.composite
def members(draw):
    """A target in two tokens as text, with its kinks."""
    terms, kinks = [], [0.0]
    for _ in range(draw(st.integers(1, 2))):
        left, more = draw(factor("z1"))
        right, others = draw(factor("z2"))
        power = draw(st.integers(0, 2))
        terms.append(f"({draw(nonzero)})*z1^{power}*{left}*{right}")
        kinks += more + others
    return " + ".join(terms), [k for k in kinks if abs(k) < 12]


@settings(max_examples=40, derandomize=True, deadline=None)
@given(members())
def test_random_members_agree_with_a_grid(member):
    text, kinks = member
    form, parsed = closed_form(text, 2)
    check_against_grid(form, parsed.outputs[0], parsed.tokens, 4, kinks)
