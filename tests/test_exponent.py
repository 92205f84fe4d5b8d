import json
import math
import time
from types import SimpleNamespace

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from ssiode.cli.output import plain
from ssiode.complexity import SampleComplexity
from ssiode.errors import InputError
from ssiode.exponent import sie
from ssiode.expression import He, token_symbols

z1, z2, z3, z4 = token_symbols(4)


@pytest.mark.parametrize(
    ("target", "exponent"),
    [
        ("z1+z2+z3+z4", 1),
        ("z1*z2", 2),
        ("He1(z1)*He4(z2) + He2(z3)*He2(z4)", 4),
        ("He3(z1)*He2(z2)*He1(z3)", 6),
        ("He5(z1)*He4(z2)", 9),
        # These cancel only once they are multiplied out.
        ("(z1+z2)^3 - 6*(z1+z2)", 3),
        ("z1^2*z2^2 - z1^2 - z2^2", 4),
        ("(z1+z2)^2 - z1^2 - z2^2 - 2*z1*z2 + He7(z1)", 7),
        ("1e-12*z1 + z2^2", 1),
        ("0.1*z1 + 0.2*z1 - 0.3*z1 + z1*z2", 2),
        ("sqrt(2)*z1 - z1*2/sqrt(2) + He3(z1)", 3),
        ("z1^3 - 3*z1 + 5", 3),
        ("[z1*z2, He3(z1)]", 2),
        ("[7, z1^2, 1]", 2),
        ("He100(z1)", 100),
    ],
)
def test_exponents(target, exponent):
    result = sie(target)
    assert result.sie == exponent
    assert result.status == "proved"
    assert result.lower_bound == exponent
    assert all(sum(term.alpha) == exponent for term in result.leading_terms)
    assert all(term.value != 0 for term in result.leading_terms)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=5).filter(any))
def test_products_of_hermite_polynomials_add_their_orders(orders):
    target = "*".join(f"He{order}(z{index})" for index, order in enumerate(orders, 1))
    result = sie(target, length=len(orders))
    (term,) = result.leading_terms
    assert result.sie == sum(orders)
    assert term.alpha == tuple(orders)
    assert term.coefficient == str(math.prod(map(math.factorial, orders)))


@settings(deadline=None, derandomize=True, max_examples=30)
@given(st.lists(st.integers(-3, 3), min_size=3, max_size=3).filter(any), st.integers(1, 5))
def test_rotations_keep_the_exponent(direction, order):
    # He_n of a normalised sum is again of pure order n.
    squared = sum(a * a for a in direction)
    field = "+".join(f"({a})*z{i}" for i, a in enumerate(direction, 1))
    assert sie(f"He{order}(({field})/sqrt({squared}))").sie == order


@pytest.mark.parametrize(
    "target", ["3", "sqrt(2) - pi", "z1 - z1", "0", "[1, 2]", "He2(z1) - z1^2", "sigmoid(2)"]
)
def test_constants_have_no_exponent(target):
    result = sie(target)
    assert result.sie is None
    assert result.status == "constant"
    assert result.leading_terms == ()
    assert result.sample_complexity is None


def test_leading_terms_are_exact():
    result = sie("[sum(z)/sqrt(L), 3*z2]", length=3)
    assert [term.output for term in result.leading_terms] == [0, 0, 0, 1]
    first = result.leading_terms[0]
    assert first.alpha == (1, 0, 0)
    assert first.coefficient == "sqrt(3)/3"
    assert abs(sympy.sqrt(3).evalf(50) / 3 - sympy.Rational(first.value)) <= first.error
    last = result.leading_terms[3]
    assert (last.coefficient, last.value, last.error) == ("3", 3.0, 0.0)


@pytest.mark.parametrize(
    ("exponent", "text"), [(1, "d"), (2, "d log^2 d"), (3, "d^2"), (4, "d^3"), (7, "d^6")]
)
def test_sample_complexity(exponent, text):
    assert SampleComplexity.of(exponent).samples == text
    assert sie(f"He{exponent}(z1)").sample_complexity == text


def test_max_order_caps_the_search():
    result = sie("He4(z1)", max_order=3)
    assert (result.sie, result.status, result.lower_bound) == (None, "undetermined", 4)
    assert "at least 4" in result.message
    assert sie("He4(z1)", max_order=4).sie == 4
    assert sie("5", max_order=4).status == "constant"
    for wrong in (0, -1, 1.5, "2", True):
        with pytest.raises(InputError, match="max_order"):
            sie("z1", max_order=wrong)


def test_targets_in_sympy():
    plain_symbols = sympy.symbols("z1 z2")
    positive = sympy.Symbol("z1", positive=True)
    assert sie(plain_symbols[0] * plain_symbols[1]).sie == 2
    assert sie(positive**2 - 1).sie == 2
    assert sie([z1 * z2, He(3, z1)]).sie == 2
    assert sie(["z1*z2", He(3, z1)]).sie == 2
    assert sie([z1 * z2, 1], length=4).length == 4
    assert sie(0.25 * z1 + z2**2).leading_terms[0].coefficient == "1/4"
    assert sie(sympy.Integer(3)).status == "constant"
    assert (
        sie(sympy.Symbol("b") * z1, parameters={"b": "1/3"}).leading_terms[0].coefficient == "1/3"
    )


def test_targets_as_objects():
    target = SimpleNamespace(expressions=(z1 * z2,), length=3)
    result = sie(target)
    assert (result.sie, result.length, result.leading_terms[0].alpha) == (2, 3, (1, 1, 0))
    with pytest.raises(InputError, match="3 tokens"):
        sie(target, length=2)
    with pytest.raises(InputError, match="Python function"):
        sie(SimpleNamespace(expressions=None, length=2))


@pytest.mark.parametrize(
    ("target", "part"),
    [
        ("exp(z1^2)", "E"),
        ("exp(b*z1)", "--param b=2"),
        (["z1, z2", "z1"], "one expression"),
        ([], "empty"),
        (None, "NoneType"),
        (lambda z: z, "function"),
        (sympy.exp(sympy.Symbol("x1") * z1), "x1"),
        ("z1 +", "too early"),
    ],
)
def test_targets_without_an_exponent(target, part):
    with pytest.raises(InputError) as caught:
        sie(target)
    assert part in str(caught.value)


def test_dictionary_is_strict_json():
    data = sie("[z1*z2, sqrt(2)*He2(z1)]").as_dict()
    keys = {"sie", "status", "length", "outputs", "leading_terms", "sample_complexity"}
    assert keys | {"undetermined", "special_parameters"} <= data.keys()
    text = json.dumps(plain(data), allow_nan=False)
    assert json.loads(text)["leading_terms"][1] == {
        "output": 1,
        "alpha": [2, 0],
        "coefficient": "2*sqrt(2)",
        "value": pytest.approx(2 * math.sqrt(2)),
        "error": pytest.approx(0, abs=4.5e-16),
        "proof": "exact value",
    }


def test_values_beyond_floats_stay_exact():
    (term,) = sie("He100(z1)*He100(z2)*1e20").leading_terms
    assert term.value == math.inf
    assert term.coefficient == str(math.factorial(100) ** 2 * 10**20)


def test_five_hundred_terms_do_not_hang():
    target = "+".join(
        f"{i}*z{i % 7 + 1}^{i % 3 + 2}*z{i % 5 + 1}*He{i % 4}(z{i % 6 + 1})" for i in range(1, 501)
    )
    start = time.process_time()
    sie(target)
    # A guard against hanging; speed is measured in the benchmarks.
    assert time.process_time() - start < 20


@pytest.mark.parametrize("target", ["sum(z)", "sum(He2(z))", "prod(z)", "sum(z)^2/L", "mean(z^3)"])
def test_many_tokens(target):
    length = 100
    result = sie(target, length=length)
    assert result.sie == {"prod(z)": length, "sum(z)": 1, "mean(z^3)": 1}.get(target, 2)
