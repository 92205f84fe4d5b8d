"""Targets whose exponent is known by hand, from every family."""

import pytest

import ssiode

# By parity, orthogonality, or the first derivative with a mean that is not zero.
EXACT = [
    ("z1 + z2 + z3", 1),
    ("z1*z2", 2),
    ("z1*z2*z3*z4", 4),
    ("He1(z1)*He4(z2) + He2(z3)*He2(z4)", 4),
    ("He2(z1)*He3(z2)*He1(z3)", 6),
    ("(z1+z2)^3 - 6*(z1+z2)", 3),
    ("z1^2*z2^2 - z1^2 - z2^2", 4),
    ("1e-12*z1 + z2^2", 1),
    ("0.1*z1 + 0.2*z1 - 0.3*z1 + z1*z2", 2),
    ("sqrt(2)*z1 - 2*z1/sqrt(2) + z2^2", 2),
    ("pi*z1 - z1*pi + He5(z2)", 5),
    ("z1^4 - 6*z1^2", 4),
    ("abs(z1)", 2),
    ("abs(z1*z2)", 2),
    ("abs(z1) - sqrt(2/pi)*z1^2/2", 4),
    ("abs(z1)*z2", 1),
    ("relu(z1)", 1),
    ("relu(z1) - z1/2", 2),
    ("relu(z1) - z1/2 - z1^2/(2*sqrt(2*pi))", 4),
    ("relu(z1)*relu(z2)", 1),
    ("relu(z1) + relu(-z1)", 2),
    ("relu(z1 + z2)", 1),
    ("abs(z1 + z2)", 2),
    ("abs(3*z1 - 4*z2)", 2),
    ("sign(z1)", 1),
    ("sign(z1)*sign(z2)", 2),
    ("sign(z1)*sign(z2)*sign(z3)", 3),
    ("sign(z1*z2)", 2),
    ("sign(z1) - sqrt(2/pi)*z1", 3),
    ("heaviside(z1)", 1),
    ("heaviside(z1)*heaviside(z2) - heaviside(z1)/2 - heaviside(z2)/2", 2),
    ("max(z1, 0) - z1/2", 2),
    ("min(z1, 1)", 1),
    ("max(-1, min(1, z1))", 1),
    ("exp(z1)", 1),
    ("exp(z1 + z2)", 1),
    ("exp(z1) - exp(1/2)*z1", 2),
    ("exp(z1) + exp(-z1)", 2),
    ("cosh(z1)", 2),
    ("sinh(z1)", 1),
    ("sinh(z1) - exp(1/2)*z1", 3),
    ("cos(z1)", 2),
    ("cos(z1 + z2)", 2),
    ("cos(z1) - exp(-1/2)*(1 - He2(z1)/2)", 4),
    ("sin(z1)", 1),
    ("sin(z1)*sin(z2)", 2),
    ("sin(z1) - exp(-1/2)*z1", 3),
    ("sin(z1)*cos(z2)", 1),
    ("sin(z1)*sin(z2)*sin(z3)", 3),
    ("z1*exp(-z2) - exp(1/2)*z1", 2),
    ("erf(z1)", 1),
    ("erf(z1) - 2*z1/sqrt(3*pi)", 3),
    ("erf(z1)*erf(z2)", 2),
    ("[z1*z2, He3(z1)]", 2),
    ("[He3(z1), cos(z2)]", 2),
]
# Zeros below the exponent by symmetry, the exponent itself by a number beyond its error.
NUMERIC = [
    ("tanh(z1)", 1),
    ("tanh(z1)*tanh(z2)", 2),
    ("tanh(z1)^2", 2),
    ("tanh(z1*z2)", 2),
    ("tanh(z1)*tanh(z2)*tanh(z3)", 3),
    ("sigmoid(z1) - 1/2", 1),
    ("sigmoid(z1^2 - z1*z2)", 2),
    ("log(1 + z1^2)", 2),
    ("log(1 + exp(z1))", 1),
    ("1/(1 + z1^2)", 2),
    ("z1/(1 + z2^2)", 1),
    ("tanh(z1)*He3(z2)", 4),
    ("tanh(z1) - tanh(z2)", 1),
]


@pytest.mark.parametrize(("target", "exponent"), EXACT)
def test_exponents_with_exact_coefficients(target, exponent):
    found = ssiode.sie(target)
    assert (found.sie, found.status) == (exponent, "proved")
    assert all(term.coefficient is not None for term in found.leading_terms)
    assert found.lower_bound == found.upper_bound == exponent


@pytest.mark.parametrize(("target", "exponent"), NUMERIC)
def test_exponents_with_numbers_beyond_their_errors(target, exponent):
    found = ssiode.sie(target)
    assert (found.sie, found.status) == (exponent, "proved")
    assert all(abs(term.value) > term.error for term in found.leading_terms)


@pytest.mark.parametrize(
    "target",
    [
        "3",
        "relu(z1) - relu(-z1) - z1",
        "tanh(z1) + tanh(-z1)",
        "abs(z1) - abs(-z1)",
        "sign(z1)*sign(-z1)*0 + 2",
        "heaviside(z1) + heaviside(-z1)",
        "max(z1, 0) + min(z1, 0) - z1",
        "[1, sqrt(2)]",
    ],
)
def test_constants_have_no_exponent(target):
    found = ssiode.sie(target)
    assert (found.sie, found.status) == (None, "constant")
    assert "constant" in found.message


def test_a_small_coefficient_beyond_its_error_is_proved():
    # E[tanh(z) z] = 0.6057055096..., so the first coefficient is about -1e-7 and not zero.
    found = ssiode.sie("tanh(z1)*(1 + tanh(z2)) - 0.605705609609*z1")
    assert (found.sie, found.status) == (1, "proved")
    assert found.leading_terms[0].value == pytest.approx(-1e-7, rel=1e-2)


def test_what_is_not_proved_is_not_guessed():
    # The first coefficient is about 1e-18, below the rounding of its average: neither zero nor not.
    found = ssiode.sie("tanh(z1*z2 + 1e-18*z1)")
    assert (found.sie, found.status) == (None, "undetermined")
    assert (found.lower_bound, found.upper_bound) == (1, 2)
    (doubt,) = found.undetermined
    assert doubt["alpha"] == (1, 0)
    assert 0 < doubt["bound"] < 1e-12


def test_the_positional_semantic_target():
    target = ssiode.Target.named("positional-semantic", omega=0.67, a=1.0)
    found = ssiode.sie(target)
    assert (found.sie, found.status, found.outputs) == (2, "proved", 4)
    assert found.output_exponents == (2, 2, 2, 2)


def test_an_even_student_is_told_of_an_odd_leading_order():
    assert "constant" in ssiode.sie("z1 + z2").even_student
    assert "exponent is 2" in ssiode.sie("exp(z1)").even_student
    assert ssiode.sie("z1*z2").even_student is None


def test_the_proof_in_words():
    assert ssiode.sie("abs(z1)").message.endswith("proved by exact coefficients")
    assert ssiode.sie("tanh(z1)").message.endswith("proved by numbers beyond their errors")
    assert "by symmetry below it and numbers" in ssiode.sie("tanh(z1)^2").message


@pytest.mark.parametrize("target", ["tanh(z1)", "sin(z1) + 3", "[erf(z1 - z2), z1]", "z1^3"])
def test_odd_targets_leave_an_even_student_nothing(target):
    assert "which is constant: it learns nothing" in ssiode.sie(target).even_student


@pytest.mark.parametrize(("target", "order"), [("exp(z1)", 2), ("[tanh(z1), tanh(z2)^2]", 2)])
def test_other_targets_leave_an_even_student_their_even_part(target, order):
    assert f"whose exponent is {order}" in ssiode.sie(target).even_student
