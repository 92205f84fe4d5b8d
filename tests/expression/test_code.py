"""Generated NumPy and numba code against SymPy's own arbitrary-precision evaluation."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from ssiode.expression import parse_expression, token_symbols
from ssiode.expression.code import array_function, kernel_function
from ssiode.expression.functions import He, relu, sigmoid
from ssiode.expression.names import FUNCTIONS
from ssiode.kernels.linker import link, piece
from tests.checks import refuses

EXPRESSIONS = [
    "z1 + z2 - z3",
    "-z1",
    "2",
    "z1/3 - 0.1*z2",
    "pi*z1",
    "z1^2*z2^3",
    "z1^7",
    "(z1 + z2)^2",
    "(z1*z2 + 1)^-2",
    "1/(1 + z1^2)",
    "1/(2 + z1^2)^3",
    "sqrt(1 + z1^2)",
    "1/sqrt(1 + z1^2)",
    "(1 + z1^2)^(2/3)",
    "(1 + z1^2)^-0.3",
    "((1 + z1^2)^3)^(1/3)",
    "(z1^4 + 1)^(3/2)",
    "((1 + z1^2)^(1/3) + 1)^3",
    "(2^z1)^(1/3)",
    "2^z1 + 3^(z1*z2)",
    "exp(z1 - z2)",
    "exp(-z1^2/2)",
    "log(1 + z1^2)",
    "sin(z1)*cos(z2) + tan(z3/4)",
    "sinh(z1) - cosh(z2)",
    "tanh(z1*z2)",
    "erf(z1 + z2)",
    "sigmoid(z1^2 - z1*z2)",
    "relu(z1 - z2)",
    "abs(z1 - 2*z2)",
    "sign(z1)*z2",
    "heaviside(z1 - 1/10)",
    "max(z1, z2, z3^2)",
    "min(z1, -z2, 0.1)",
    "He0(z1) + He1(z2)",
    "He2(z1)*He4(z2)*He3(z3)",
    "He7(z1/2 - z2)",
    "He3(He2(z1))",
    "sum(He2(z)) + prod(z) - mean(z^2)",
    "(z1 + z2)*tanh(z1 + z2) + exp(z1 + z2)/(1 + (z1 + z2)^2)",
    "relu(tanh(abs(z1) - max(z2, sigmoid(z3))))",
    "sqrt(2)*z1 + log(3)*z2",
]
POINTS = np.vstack(
    [np.random.default_rng(0).standard_normal((6, 3)), [[0.25, -0.5, 1.5], [-2.0, 3.0, 0.125]]]
)
SYMBOLS = token_symbols(3)


def exact_values(expression):
    """Evaluate with 30 digits at the exact values of the points."""
    values = []
    for point in POINTS:
        exact = dict(zip(SYMBOLS, map(sympy.Rational, point.tolist()), strict=True))
        values.append(float(sympy.N(expression.subs(exact).doit(), 30)))
    return np.array(values)


@pytest.fixture(scope="module")
def outputs():
    return [parse_expression(text, length=3).outputs[0] for text in EXPRESSIONS]


@pytest.fixture(scope="module")
def exact(outputs):
    return np.array([exact_values(output) for output in outputs])


@pytest.fixture(scope="module")
def array_values(outputs):
    return array_function(outputs, SYMBOLS)(POINTS)


@pytest.fixture(scope="module")
def kernel(outputs):
    source = kernel_function("evaluate", outputs, SYMBOLS)
    return link([piece("scalar_functions"), source]).evaluate


def test_every_function_is_among_the_expressions():
    text = " ".join(EXPRESSIONS)
    assert [name for name in FUNCTIONS if f"{name}(" not in text] == []


@pytest.mark.parametrize("index", range(len(EXPRESSIONS)), ids=EXPRESSIONS)
def test_array_function(array_values, exact, index):
    # Roundings of a few operations; He7 and the products lose one or two digits near their roots.
    np.testing.assert_allclose(array_values[:, index], exact[index], rtol=1e-12, atol=1e-12)


def test_each_expression_alone(outputs, array_values):
    # Alone, no common part is taken out; the text differs and the value must not.
    for index, output in enumerate(outputs):
        alone = array_function([output], SYMBOLS)(POINTS)[:, 0]
        np.testing.assert_allclose(alone, array_values[:, index], rtol=1e-13, atol=1e-13)


def test_kernel_function(kernel, array_values):
    out = np.full(len(EXPRESSIONS), np.nan)
    for point, expected in zip(POINTS, array_values, strict=True):
        kernel(point, out)
        # The same operations; libm and NumPy differ by an ulp or two.
        np.testing.assert_allclose(out, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("text", ["z1^3", "tanh(z1)*z2", "He4(z1)", "relu(z1)*z2", "max(z1, z2)"])
def test_derivatives_have_code(text):
    expression = parse_expression(text, length=3).outputs[0].diff(SYMBOLS[0])
    values = array_function([expression], SYMBOLS)(POINTS)[:, 0]
    step = 1e-5
    shift = step * np.eye(3)[0]
    function = array_function(parse_expression(text, length=3).outputs, SYMBOLS)
    difference = (function(POINTS + shift) - function(POINTS - shift))[:, 0] / (2 * step)
    # Central difference of functions with third derivatives below 100.
    np.testing.assert_allclose(values, difference, atol=2e-8)


def test_shapes():
    function = array_function([SYMBOLS[0], sympy.Integer(2)], SYMBOLS)
    for shape in [(3,), (5, 3), (2, 0, 3), (2, 4, 3)]:
        assert function(np.zeros(shape)).shape == (*shape[:-1], 2)


def test_powers_of_powers_keep_their_order():
    x = sympy.Symbol("x", real=True)
    tower = sympy.Pow(x**3, sympy.Rational(1, 3))
    assert array_function([tower], [x])(np.array([[8.0]]))[0, 0] == pytest.approx(8.0, rel=1e-14)
    assert array_function([2 ** (x**2)], [x])(np.array([[3.0]]))[0, 0] == 512.0


def test_numbers_are_printed_to_full_precision():
    x = sympy.Symbol("x", real=True)
    numbers = [sympy.Rational(1, 3), sympy.pi, sympy.sqrt(2), sympy.Integer(0), -sympy.exp(1)]
    numbers += [sympy.Rational(-7, 5), sympy.Integer(10) ** 300, sympy.Rational(1, 10**300)]
    values = array_function([n + 0 * x for n in numbers], [x])(np.zeros((1, 1)))[0]
    assert values.tolist() == [float(n) for n in numbers]


def test_code_does_not_depend_on_the_process():
    # The file of the kernel is named by this text, so it must not follow the hash of strings.
    import os
    import subprocess
    import sys

    code = (
        "from ssiode import Target;"
        "from ssiode.dynamics.target_kernel import target_kernel;"
        "text = 'max(z1, z2, z3) + exp(z1*z2)*tanh(z1 + z2) + z3*z1^2';"
        "print(target_kernel(Target(text)).pieces)"
    )
    texts = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.getcwd()}
        texts.add(
            subprocess.run(
                [sys.executable, "-c", code],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
    assert len(texts) == 1


def test_a_name_cannot_bring_code():
    evil = sympy.Symbol("__import__('os').system('false')", real=True)
    refuses(lambda: array_function([evil + 1], SYMBOLS), "has no value")
    # As one of the arguments, the symbol is renamed.
    assert array_function([evil + 1], [evil])(np.array([[2.0]])).tolist() == [[3.0]]
    assert "import" not in kernel_function("f", [evil**2], [evil])


@pytest.mark.parametrize(
    ("expression", "part"),
    [
        (sympy.gamma(SYMBOLS[0]), "gamma"),
        (sympy.Function("f")(SYMBOLS[0]), "no numerical form"),
        (sympy.Integral(SYMBOLS[0], SYMBOLS[1]), "Integral"),
        (sympy.Derivative(sympy.tanh(SYMBOLS[0]), SYMBOLS[0]), "Derivative"),
        (sympy.DiracDelta(SYMBOLS[0]), "DiracDelta"),
        (sympy.Piecewise((SYMBOLS[0], SYMBOLS[0] > 0), (0, True)), "Piecewise"),
        (sympy.acos(SYMBOLS[0]), "acos"),
        (SYMBOLS[0] + sympy.I, "I"),
        (SYMBOLS[0] + sympy.oo * SYMBOLS[1], "oo"),
        (sympy.zoo + sympy.Integer(0), "zoo"),
        (sympy.nan + sympy.Integer(0), "nan"),
        (sympy.Symbol("b") * SYMBOLS[0], "b has no value"),
        (He(sympy.Symbol("n"), SYMBOLS[0]), "n has no value"),
        (SYMBOLS[0] < 1, "no numerical form"),
    ],
)
def test_what_is_not_whitelisted_is_refused(expression, part):
    refuses(lambda: array_function([expression], SYMBOLS), part)
    refuses(lambda: kernel_function("f", [expression], SYMBOLS), part)


def test_saturation_without_a_warning():
    x = sympy.Symbol("x", real=True)
    values = array_function([sigmoid(x), sympy.tanh(x), sympy.erf(x), relu(x)], [x])(
        np.array([[-1e5], [1e5]])
    )
    assert values.tolist() == [[0.0, -1.0, -1.0, 0.0], [1.0, 1.0, 1.0, 1e5]]
