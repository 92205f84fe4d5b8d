"""Students given by expressions: values, derivatives, symmetries and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from ssiode import Attention, Encoding, ExpressionStudent, Problem, Target, TiedNetwork, risk
from ssiode.student import Student
from tests.checks import refuses
from tests.test_student import Kernel

EXPRESSIONS = {
    "products": ("[z1*z2, sum(z^2)/L, b*z1]", {"b": "1/3"}),
    "smooth": ("tanh(z1*z2) + exp(-z1^2/2)", None),
    "kinked": ("[abs(z1) - relu(z2), max(z1, z2)]", None),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
@pytest.mark.parametrize("length", [2, 3])
def test_outputs_and_gradient(name, length):
    text, parameters = EXPRESSIONS[name]
    student = ExpressionStudent(text, scale=-1.5, parameters=parameters)
    kernel = Kernel(student, length)
    target = Target(text, length, parameters)
    generator = np.random.default_rng(length)
    for _ in range(5):
        z, cotangent = (
            generator.standard_normal(length),
            generator.standard_normal(target.n_outputs),
        )
        outputs, gradient = kernel(z, cotangent)
        np.testing.assert_allclose(outputs, -1.5 * target(z[None])[0], rtol=1e-13)
        steps = 1e-6 * np.eye(length)
        difference = (target(z + steps) - target(z - steps)) @ cotangent / 2e-6
        # Rounding of 1e-10, and no point so near a kink.
        np.testing.assert_allclose(gradient, -1.5 * difference, rtol=1e-7, atol=1e-8)


def test_a_network_as_an_expression_has_the_risk_of_the_network():
    pairs = [
        (TiedNetwork("tanh"), ExpressionStudent("tanh((z1 + z2)/sqrt(2))")),
        (
            Attention("trace"),
            ExpressionStudent("sigmoid(z1*(z1 - z2)) + sigmoid(z2*(z2 - z1))"),
        ),
    ]
    for known, same in pairs:
        problem = Problem(Target("He2(z1) + z2"), known, Encoding("opposite"))
        found = [risk(problem.replace(student=f), e=(0.2, -0.2), m=0.5) for f in (known, same)]
        allowed = found[0].value_error + found[1].value_error
        assert abs(found[0].value - found[1].value) <= allowed < 1e-6
        np.testing.assert_allclose(found[0].gradient, found[1].gradient, atol=1e-7)
        assert found[0].second_moment == pytest.approx(found[1].second_moment, rel=1e-7)


@pytest.mark.parametrize(
    ("text", "is_even", "is_smooth"),
    [
        ("z1*z2 + cos(z1)", True, True),
        ("z1 + z2^2", False, True),
        ("abs(z1)*z2^2", True, False),
        ("sum(z)^L", False, True),
    ],
)
def test_symmetry_and_smoothness(text, is_even, is_smooth):
    student = ExpressionStudent(text)
    assert student.is_smooth(2) is is_smooth
    assert student.is_even(2) is is_even


def test_evenness_follows_the_length():
    student = ExpressionStudent("sum(z)^L")
    assert not student.is_even(3)
    assert student.n_outputs(3) == 1


def test_sympy_and_lists_are_kept_as_text():
    z1, z2 = sympy.symbols("z1 z2")
    for given in (z1 * z2, "z1*z2", [z1 * z2]):
        assert ExpressionStudent(given).outputs(2) == ExpressionStudent("z1*z2").outputs(2)
    assert ExpressionStudent(["z1", z1 + z2]).n_outputs(2) == 2


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_tables_round_trip(name):
    text, parameters = EXPRESSIONS[name]
    student = ExpressionStudent(text, 2.0, parameters)
    assert Student.from_table(student.to_table()) == student


def test_what_cannot_be_is_refused():
    two = Target("z1*z2")
    refuses(lambda: ExpressionStudent(3), "expression of the student is 3")
    refuses(lambda: ExpressionStudent([]), "expression of the student is []")
    refuses(lambda: ExpressionStudent("z1", scale="x"), "student scale")
    refuses(lambda: ExpressionStudent("z1", parameters=[1]), "table")
    refuses(lambda: Problem(two, ExpressionStudent("b*z1")), "parameter b of the student")
    refuses(lambda: Problem(two, ExpressionStudent("z3")), "z3", "length is 2")
    refuses(lambda: Problem(two, ExpressionStudent("[z1, z2]")), "1 outputs", "2")
    refuses(lambda: Problem(two, ExpressionStudent("z1 +")), "ends too early")
    refuses(lambda: Student.from_table({"kind": "expression", "text": "z1"}), "key of student")
