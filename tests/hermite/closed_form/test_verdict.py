import math
from fractions import Fraction

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import QQ

from ssiode.errors import InputError
from ssiode.hermite.closed_form.enclosure import as_expression, enclosure, magnitude
from ssiode.hermite.closed_form.field import Field, NoClosedForm, add, rational, scale
from ssiode.hermite.closed_form.verdict import judge, nearest_float, sign
from ssiode.hermite.coefficient import Verdict


def minus(left, right):
    return add(left, scale(right, -1))


def root(field, numerator, denominator=1, order=2):
    return field.root(QQ(numerator, denominator), order)


def pi_times(field, numerator, denominator):
    return scale(field.pi_power(2), QQ(numerator, denominator))


def cosine(field, angle):
    phase = field.imaginary(angle)
    return scale(add(field.exp(phase), field.exp(scale(phase, -1))), QQ(1, 2))


ZEROS = {
    "sqrt(8) = 2 sqrt(2)": lambda f: minus(root(f, 8), scale(root(f, 2), 2)),
    "sqrt(2) sqrt(3) = sqrt(6)": lambda f: minus(f.multiply(root(f, 2), root(f, 3)), root(f, 6)),
    "sqrt(2) cube root(2) = 2^(5/6)": lambda f: minus(
        f.multiply(root(f, 2), root(f, 2, order=3)), root(f, 32, order=6)
    ),
    "4^(1/4) = sqrt(2)": lambda f: minus(root(f, 4, order=4), root(f, 2)),
    "1/(1 + sqrt(2)) = sqrt(2) - 1": lambda f: minus(
        f.inverse(add(rational(1), root(f, 2))), add(root(f, 2), rational(-1))
    ),
    "1/(sqrt(2) + sqrt(3)) = sqrt(3) - sqrt(2)": lambda f: minus(
        f.inverse(add(root(f, 2), root(f, 3))), minus(root(f, 3), root(f, 2))
    ),
    "e^(1/3) e^(2/3) = e": lambda f: minus(
        f.multiply(f.exp(rational(1, 3)), f.exp(rational(2, 3))), f.exp(rational(1))
    ),
    "sqrt(e) = e^(1/2)": lambda f: minus(f.square_root(f.exp(rational(1))), f.exp(rational(1, 2))),
    "cos(2) = 2 cos(1)^2 - 1": lambda f: minus(
        cosine(f, rational(2)),
        add(scale(f.power(cosine(f, rational(1)), 2), 2), rational(-1)),
    ),
    "cos(pi/6) = sqrt(3)/2": lambda f: minus(
        cosine(f, pi_times(f, 1, 6)), scale(root(f, 3), QQ(1, 2))
    ),
    "cos(7 pi/4) = 1/sqrt(2)": lambda f: minus(cosine(f, pi_times(f, 7, 4)), root(f, 1, 2)),
    "cos(5 pi) = -1": lambda f: add(cosine(f, pi_times(f, 5, 1)), rational(1)),
    "erf is odd": lambda f: add(f.erf(rational(1, 3)), f.erf(rational(-1, 3))),
    "erf(sqrt(2)/2) = erf(1/sqrt(2))": lambda f: minus(
        f.erf(scale(root(f, 2), QQ(1, 2))), f.erf(f.inverse(root(f, 2)))
    ),
    "sqrt(pi) sqrt(pi) = pi": lambda f: minus(f.power(f.pi_power(1), 2), f.pi_power(2)),
}


@pytest.mark.parametrize("name", ZEROS)
def test_zeros_are_proved(name):
    field = Field()
    assert judge(field, ZEROS[name](field)) == (Verdict.ZERO, 0.0, 0.0, "exact value")


@pytest.mark.parametrize("name", ZEROS)
def test_what_is_next_to_zero_is_not(name):
    field = Field()
    found = judge(field, add(ZEROS[name](field), rational(1, 10**100)))
    assert found.verdict is Verdict.NONZERO
    assert found.value == pytest.approx(1e-100, rel=1e-15)


def test_close_numbers_are_told_apart():
    """The fraction is that of Heron's rule for sqrt(2), right to 97 digits."""
    value = Fraction(3, 2)
    for _ in range(6):
        value = value / 2 + 1 / value
    field = Field()
    found = judge(field, minus(rational(value.numerator, value.denominator), root(field, 2)))
    assert found.verdict is Verdict.NONZERO
    assert 0 < found.value < 1e-95
    assert found.error <= 2e-16 * found.value


def test_undecided_with_its_bound():
    """1 - erf(200) is about e^-40000, past 4096 bits; it is not zero, and not shown to be."""
    field = Field()
    found = judge(field, minus(rational(1), field.erf(rational(200))))
    assert found.verdict is Verdict.UNDECIDED
    assert found.value == 0.0
    assert 0 < found.error <= 5e-324
    assert "4096 bits" in found.reason
    with pytest.raises(NoClosedForm, match="sign"):
        sign(field, minus(rational(1), field.erf(rational(200))))


constants = st.lists(
    st.tuples(
        st.fractions(-5, 5, max_denominator=9),
        st.sampled_from([1, 2, 3, 6, 8]),
        st.integers(-3, 3),
        st.fractions(-3, 3, max_denominator=4),
        st.fractions(-3, 3, max_denominator=4),
    ),
    min_size=1,
    max_size=4,
)


@given(constants)
@settings(derandomize=True, deadline=None, max_examples=40)
def test_values_agree_with_sympy(parts):
    field, total, expected = Field(), {}, sympy.S.Zero
    for factor, radicand, halves, exponent, argument in parts:
        pieces = [
            rational(factor.numerator, factor.denominator),
            root(field, radicand),
            field.pi_power(halves),
            field.exp(rational(exponent.numerator, exponent.denominator)),
            add(rational(2), field.erf(rational(argument.numerator, argument.denominator))),
            cosine(field, rational(exponent.numerator, exponent.denominator)),
        ]
        total = add(total, field.product(pieces))
        e, x = sympy.Rational(exponent), sympy.Rational(argument)
        expected += (
            sympy.Rational(factor)
            * sympy.sqrt(radicand)
            * sympy.pi ** sympy.Rational(halves, 2)
            * sympy.exp(e)
            * (2 + sympy.erf(x))
            * sympy.cos(e)
        )
    shown = sympy.N(as_expression(field, total), 50)
    exact = sympy.N(expected, 50)
    assert abs(shown - exact) <= 1e-45 * (1 + abs(exact))
    found = judge(field, total)
    assert abs(sympy.Rational(found.value) - exact) <= found.error + 1e-45 * abs(exact)
    if found.verdict is Verdict.NONZERO:
        assert sign(field, total) == sympy.sign(exact)


@pytest.mark.parametrize("bits", [20, 64, 300, 2000])
@pytest.mark.parametrize("argument", [(1, 10**6), (1, 2), (3, 1), (-5, 1), (12, 1), (40, 1)])
def test_error_functions_are_enclosed(argument, bits):
    field = Field()
    low, high = enclosure(field, field.erf(rational(*argument)), bits)
    exact = sympy.N(sympy.erf(sympy.Rational(*argument)), 700, maxn=2000)
    exact = Fraction(int(exact.p), int(exact.q)) if exact.is_Rational else to_fraction(exact)
    margin = Fraction(1, 10**690)
    assert low - margin <= exact <= high + margin
    assert high - low <= abs(exact) * Fraction(1, 2 ** (bits - 16))


def to_fraction(number):
    rational_number = sympy.Rational(number)
    return Fraction(int(rational_number.p), int(rational_number.q))


def test_floats_past_their_range():
    field = Field()
    assert judge(field, field.exp(rational(1000)))[:3] == (Verdict.NONZERO, math.inf, math.inf)
    tiny = judge(field, field.exp(rational(-1000)))
    assert tiny[:2] == (Verdict.NONZERO, 0.0)
    assert 0 < tiny.error <= 5e-324
    assert nearest_float(Fraction(1, 3), Fraction(1, 3)) == (1 / 3, pytest.approx(1.9e-17, rel=0.1))
    assert magnitude(field, scale(field.exp(rational(90_000)), 1)) == (math.inf, 0.0)


def test_limits():
    field = Field()
    with pytest.raises(InputError, match="too large or too small"):
        field.exp(rational(10**6))
    with pytest.raises(NoClosedForm, match="order 25"):
        field.root(QQ(2), 25)
    with pytest.raises(InputError, match="division by zero"):
        field.inverse({})
    with pytest.raises(NoClosedForm, match="inverse of an error function"):
        field.inverse(field.erf(rational(1)))
    with pytest.raises(NoClosedForm, match="with pi"):
        field.inverse(add(rational(1), field.pi_power(1)))
    with pytest.raises(NoClosedForm, match="root of a sum"):
        field.square_root(add(rational(1), root(field, 2)))
    primes = list(sympy.primerange(400))
    for prime in primes[:64]:
        root(field, prime)
    with pytest.raises(NoClosedForm, match="independent roots"):
        root(field, primes[64])
    small, total = Field(), {}
    for prime in primes[:12]:
        total = add(total, root(small, prime))
    with pytest.raises(InputError, match=r"too many terms|independent roots"):
        small.power(total, 16)
