import itertools
import math
import time

import pytest
import sympy
from sympy import QQ, ring

from ssiode.exponent import sie
from ssiode.expression import parse_expression
from ssiode.hermite.parametric.expansion import parametric_expansion
from ssiode.hermite.parametric.exponent import parametric_exponent
from ssiode.hermite.parametric.ideals import Budget, Ideals, TooHardError, is_unit
from ssiode.hermite.parametric.real_points import is_zero
from ssiode.hermite.polynomial.exact import polynomial_coefficients
from tests.checks import refuses


def exponent_of(text, length=None):
    return parametric_exponent(parse_expression(text, length))


def special_sets(text, length=None):
    found = exponent_of(text, length)
    return found.sie, {s.condition: s.sie for s in found.special_parameters}


@pytest.mark.parametrize(
    ("text", "generic", "special"),
    [
        # c_2 = 2b + 12, c_4 = 24
        ("z1^4 + b*z1^2", 2, {"b = -6": 4}),
        # c_1 = b + 3, c_3 = 6
        ("z1^3 + b*z1", 1, {"b = -3": 3}),
        ("b*z1*z2", 2, {"b = 0": None}),
        # b^3 He_3 of |b| = 1 is He_3; otherwise c_1 = 3 b (b^2 - 1).
        ("He3(b*z1)", 1, {"b = -1": 3, "b = 1": 3, "b = 0": None}),
        ("(b^2 - 2)*z1 + He3(z1)", 1, {"b**2 - 2 = 0": 3}),
        ("(b^3 - 2)*z1 + z1*z2", 1, {"b**3 - 2 = 0": 2}),
        ("(b^2 + 1)*z1 + He2(z1)", 1, {}),
        ("(sqrt(2)*b - 1)*z1 + z1*z2", 1, {"b = sqrt(2)/2": 2}),
        ("(pi*b - 1)*z1 + z1*z2", 1, {"b = 1/pi": 2}),
        (
            "(b - 1)*(b + 2)^2*z1 + (b + 2)*z1*z2 + (b + 2)*b*He3(z2)",
            1,
            {"b = -2": None, "b = 1": 2},
        ),
        # Nested: c_1 = c, then c_2 = 2 b + 12.
        ("z1^4 + b*z1^2 + c*z1", 1, {"c = 0": 2, "b = -6 and c = 0": 4}),
        (
            "a*prod(z) + b*sum(z) + c*sum(He2(z))",
            1,
            {
                "b = 0": 2,
                "b = 0 and c = 0": 3,
                "a = 0 and b = 0 and c = 0": None,
            },
        ),
        ("b*c*z1 + (b - 1)*He2(z1)", 1, {"b = 0": 2, "c = 0": 2, "b = 1 and c = 0": None}),
        # A sum of squares is 0 at one real point only.
        ("(b^2 + c^2)*z1 + b*z1*z2 + He3(z1)", 1, {"b = 0 and c = 0": 3}),
        ("(b^2 + b*c + c^2)*z1 + He2(z1)", 1, {"b = 0 and c = 0": 2}),
        ("((b^2 - 1)^2 + c^2)*z1 + He2(z1)", 1, {"b = -1 and c = 0": 2, "b = 1 and c = 0": 2}),
        ("(b^2 + c^2 + 1)*z1 + He2(z1)", 1, {}),
        ("(b*c - 1)*z1 + He2(z1)", 1, {"b*c - 1 = 0": 2}),
        # E[He_7(x)'] vanishes for b^2 + c^2 = 1, where b z1 + c z2 is normal itself.
        ("He7(b*z1 + c*z2)", 1, {"b**2 + c**2 - 1 = 0": 7, "b = 0 and c = 0": None}),
        # Several outputs: the exponent is the lowest of them.
        ("[b*z1, (b - 1)*z2]", 1, {}),
        ("[b*z1 + He2(z1), b^2*z2 + c*z1*z2]", 1, {"b = 0": 2}),
        ("[b*z1, b*z1 + c*He3(z1)]", 1, {"b = 0": 3, "b = 0 and c = 0": None}),
        ("[(b + c)*z1, (b - c)*z2, He2(z1)]", 1, {"b = 0 and c = 0": 2}),
    ],
)
def test_special_parameters_by_hand(text, generic, special):
    length = 3 if "prod" in text else None
    assert special_sets(text, length) == (generic, special)


def test_solutions_are_exact_where_formulas_exist():
    (special,) = exponent_of("(b^2 - 2)*z1 + He3(z1)").special_parameters
    assert special.solutions == ({"b": "-sqrt(2)"}, {"b": "sqrt(2)"})
    assert special.values[1]["b"] == pytest.approx(2**0.5, abs=1e-15)
    assert (special.status, special.at_least) == ("proved", 3)


def test_solutions_without_formula_are_counted_and_located():
    (special,) = exponent_of("(b^5 - b - 1)*z1 + z1*z2").special_parameters
    assert special.solutions == ({"b": None},)
    assert special.values[0]["b"] == pytest.approx(1.1673039782614187, abs=1e-14)
    (special,) = exponent_of("(b^3 - 3*b + sqrt(3))*z1 + z1*z2").special_parameters
    roots = [value["b"] for value in special.values]
    # With b = 2 cos(t) this is 2 cos(3 t) + sqrt(3) = 0.
    expected = sorted(2 * math.cos((5 + 12 * k) * math.pi / 18) for k in range(3))
    assert roots == pytest.approx(expected, abs=1e-14)


def test_points_of_one_system_may_have_different_exponents():
    found = exponent_of("[(b^2 - 2)*z1, (c^2 - 2)*z2, (b - c)*z1*z2, He3(z1)]")
    second, third = found.special_parameters
    assert (second.sie, third.sie) == (2, 3)
    assert {"b": "sqrt(2)", "c": "sqrt(2)"} in third.solutions
    assert {"b": "sqrt(2)", "c": "-sqrt(2)"} in second.solutions
    assert len(second.solutions) == len(third.solutions) == 2


def test_conditions_without_real_solutions_are_named():
    found = exponent_of("(b^2 + 1)*z1 + He2(z1)")
    assert found.without_real_points == ("b**2 + 1 = 0",)
    assert found.special_parameters == ()
    assert exponent_of("(b^2 + sqrt(2)*b + 1)*z1").without_real_points


def test_lines_have_no_list_of_solutions():
    line, point = exponent_of("z1^4 + b*z1^2 + c*z1").special_parameters
    assert (line.condition, line.solutions) == ("c = 0", None)
    assert point.solutions == ({"b": "-6", "c": "0"},)


def test_constant_targets_and_targets_without_parameters():
    assert exponent_of("b + 1").status == "constant"
    found = exponent_of("z1*z2")
    assert (found.sie, found.special_parameters) == (2, ())
    assert found.message.startswith("the Sequence")
    assert exponent_of("b*z1").message.startswith("for almost all b the")


def test_leading_terms_are_polynomials_in_the_parameters():
    b = sympy.Symbol("b", real=True)
    assert exponent_of("z1^4 + b*z1^2").leading_terms == ((0, (2,), 2 * b + 12),)


@pytest.mark.parametrize(
    "text",
    [
        "z1^4*z2 + b*z1^2 + b^3*c*z2",
        "[sqrt(2)*b*z1^3, (b + pi*c)^2*z1*z2 - He2(z2)]",
        "He4(b*z1 + c*z2)/3 + b",
    ],
)
def test_expansion_agrees_with_values_put_in_first(text):
    parsed = parse_expression(text)
    expansion = parametric_expansion(parsed)
    for values in itertools.product([-2, 0, sympy.Rational(3, 7)], repeat=len(parsed.parameters)):
        known = dict(zip(parsed.parameters, values, strict=True))
        for output, expression in enumerate(parsed.outputs):
            expected = polynomial_coefficients(expression.subs(known), parsed.tokens)
            found = {
                alpha: sympy.expand(coefficient.subs(known))
                for n in expansion.by_order
                for place, alpha, coefficient in expansion.at_order(n)
                if place == output
            }
            found = {alpha: value for alpha, value in found.items() if value != 0}
            assert found == {alpha: sympy.expand(value) for alpha, value in expected.items()}


def predicted(found, parameters, values):
    """The exponent that a result says there is at some values of the parameters."""
    known = dict(zip(parameters, values, strict=True))
    names = {parameter.name: parameter for parameter in parameters}
    exponents = [found.sie]
    for special in found.special_parameters:
        assert special.status != "undetermined"
        equations = [text.split(" = ") for text in special.condition.split(" and ")]
        sides = [[sympy.sympify(side, names) for side in sides] for sides in equations]
        if all(is_zero((left - right).subs(known)) for left, right in sides):
            exponents.append(special.sie)
    return None if None in exponents else max(exponents)


@pytest.mark.parametrize(
    "text",
    [
        "z1^4 + b*z1^2 + c*z1",
        "b*c*(b - c)*z1 + (b + c - 1)*z1*z2 + (b - 1)*He3(z2)",
        "(b*z1 + c*z2)^4 - 6*(b*z1 + c*z2)^2",
        "[(b^2 - c^2)*z1, (b - 1)*z1*z2, (c + 1)*He3(z1)]",
        "(b^2 + c^2 - 1)*z1 + b*c*z1*z2 + c*z2^4",
        "(b^2 - c)*z1 + (b - c^2)*z2 + (b - 1)*z1*z2*z3",
        "(b^2 + 4*b*c + 4*c^2)*z1 + (b + 2)*He2(z2)",
        "(1 + b^2*c^2)*(b - 2)*z1 + c*He2(z1) + b*z1*z2*z3",
        "a*b*z1 + b*c*z1*z2 + c*a*z1*z2*z3",
    ],
)
def test_exponents_at_points_agree_with_values_put_in_first(text):
    parsed = parse_expression(text)
    found = parametric_exponent(parsed)
    grid = [-2, -1, 0, 1, 2] if len(parsed.parameters) < 3 else [-1, 0, 2]
    for values in itertools.product(grid, repeat=len(parsed.parameters)):
        names = [str(parameter) for parameter in parsed.parameters]
        expected = sie(text, parameters=dict(zip(names, values, strict=True))).sie
        assert predicted(found, parsed.parameters, values) == expected, values


@pytest.mark.parametrize(
    "text", ["z1/b", "sqrt(b)*z1", "exp(b)*z1", "abs(b)*z1", "b*tanh(z1)", "sin(b*z1)"]
)
def test_what_is_not_polynomial_is_refused(text):
    refuses(lambda: exponent_of(text), "must be a polynomial in tokens and parameters", "--param b")


def test_too_many_parameters_are_refused():
    refuses(lambda: exponent_of("(a + b + c + d + h)*z1"), "5 free parameters", "at most 4")


@pytest.mark.parametrize(
    "text",
    [
        "[(a^3+b^2*c+d-1)*z1, (b^3+c*d*a-2*a)*z2, (c^3-a*b+d^2)*z3, (d^3+a*b*c-1)*z4]",
        "((a+2*b+3*c+d+1)^8+1)*z1 + z1*z2",
        "(b^50 + 3*b^49 - 7*b + 1)*z1 + z1*z2",
        "(a + b*sqrt(2) + c*sqrt(3) + sqrt(5) + sqrt(7))*z1 + z1*z2",
        "[(pi*b*c+b^3+c)*z1, (c^3-sqrt(3)*b+1)*z2]",
        "(b^6 + c^6 - 3*b^2*c^2 + 1)*z1 + z1*z2",
    ],
)
def test_hard_systems_end_as_undetermined(text):
    start = time.process_time()
    found = exponent_of(text)
    assert time.process_time() - start < 10
    assert found.sie == 1
    (special,) = found.special_parameters
    assert (special.status, special.sie, special.solutions) == ("undetermined", None, None)
    assert special.at_least == 2
    assert len(special.condition) < 300


def test_huge_numbers_do_not_stop_the_printing():
    digits = "9" * 290
    found = exponent_of(f"({digits}*b - 1)*({digits}*b - 7)*({digits}*b^3 - {digits})*z1 + z1*z2")
    assert found.sie == 1
    assert {s.sie for s in found.special_parameters} <= {2, None}


def test_bases_are_reduced_and_generate_the_same_zeros():
    plane, x, y = ring("x, y", QQ)
    ideals = Ideals(plane)
    basis = ideals.basis([x**2 + y**2 - 1, x * y - 2, x**3 - y])
    assert is_unit(basis)
    basis = ideals.basis([x**2 + y, x * y - y])
    expected = sympy.groebner([x.as_expr() ** 2 + y.as_expr(), (x * y - y).as_expr()], order="lex")
    assert [p.as_expr() for p in basis] == list(expected.exprs)


def test_a_budget_is_kept():
    space, x, y, z = ring("x, y, z", QQ)
    ideals = Ideals(space, Budget(1000))
    with pytest.raises(TooHardError):
        ideals.basis([x**5 + y**4 * z - 1, y**5 - x * z**3, z**5 - x * y + 3])


def test_components_inside_others_are_left_out():
    plane, x, y = ring("x, y", QQ)
    assert Ideals(plane).components([x**2 * y, x * y**2]) == [[y], [x]]
