import time

import pytest

from ssiode.errors import InputError
from ssiode.expression import parse_expression
from ssiode.hermite.closed_form.coefficients import ClosedForm


def read(text, length=20):
    parsed = parse_expression(text, length)
    return ClosedForm.of(parsed.outputs[0], parsed.tokens)


@pytest.mark.parametrize(
    "text",
    [
        "(abs(z1) + 1)^1000",
        "(z1 + z2 + z3 + exp(z1))^60",
        "exp(1000*z1)",
        "cos(1e100*z1)",
        "sum(z)*prod(cos(z))",
        "sum(z)^8*relu(z1)",
        "prod(exp(z) + cos(z))^4",
        "relu(z1 - 1e6)",
        "prod(1 + cos(z))",
        "exp(sum(z))",
        "cos(z1)^60*cos(z2)^60*sin(z1 + z2)^60",
    ],
)
def test_large_targets_are_refused_soon(text):
    started = time.process_time()
    with pytest.raises(InputError):
        read(text).coefficients(40)
    # About 1 s each on a quiet machine.
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    "text", ["sum(abs(z))", "prod(1 + cos(z))", "sum(z*erf(z))", "relu(sum(z))"]
)
def test_twenty_tokens(text):
    form = read(text)
    found = form.coefficients(1) or form.coefficients(2)
    assert found
    assert len({coefficient.exact for coefficient in found.values()}) <= 2


@pytest.mark.parametrize(
    "text",
    [
        "relu(z1)",
        "abs(z1*z2)",
        "sign(z1)*sign(z2)*sign(z3)",
        "exp(z1 + z2)",
        "sin(z1)*sin(z2)",
        "erf(z1) - 2*z1/sqrt(3*pi)",
        "cos(z1) - exp(-1/2)*(1 - He2(z1)/2)",
        "relu(z1) - relu(-z1) - z1",
        "relu((z1 + z2 + z3)/sqrt(3))",
    ],
)
def test_small_targets_are_quick(text):
    def seconds():
        started = time.process_time()
        form = read(text, 4)
        for order in range(5):
            form.coefficients(order)
        return time.process_time() - started

    # 2 to 10 ms each on a quiet machine.
    assert min(seconds() for _ in range(3)) < 0.05
