"""The flatness index, Lemma 1 of the paper, and zeros by name."""

import numpy as np
import pytest

from ssiode import (
    Attention,
    Encoding,
    ExpressionStudent,
    LinearAttention,
    Problem,
    Target,
    TiedNetwork,
    sie,
)
from ssiode.hermite.coefficient import Verdict
from ssiode.risk_landscape.at_origin.explanation import explanations
from ssiode.risk_landscape.at_origin.flatness import Flatness
from ssiode.risk_landscape.at_origin.taylor import TaylorExpansion
from tests.risk_landscape.at_origin.problems import NEARLY_BLIND, random_polynomial

STUDENTS = (
    Attention("trace"),
    Attention("projection", left=(1, 0), right=(0, 1)),
    TiedNetwork("relu"),
    TiedNetwork("sigmoid"),
    TiedNetwork("He3"),
    LinearAttention(),
)


def random_encoding(generator):
    """An encoding of random rank and norm, without overlap with the teacher."""
    rows = generator.standard_normal((2, generator.integers(1, 4))) * generator.choice([0.3, 1, 2])
    return Encoding("matrix", matrix=tuple(map(tuple, rows)))


def test_encoding_never_raises_the_flatness_index():
    """Lemma 1, on 300 random problems."""
    generator = np.random.default_rng(0)
    lowered = 0
    for _ in range(300):
        target = Target(random_polynomial(generator), length=2)
        student = STUDENTS[generator.integers(len(STUDENTS))]
        bare = Flatness.of(TaylorExpansion(Problem(target, student)), 6)
        encoding = random_encoding(generator)
        encoded = Flatness.of(TaylorExpansion(Problem(target, student, encoding)), 6)
        assert "undetermined" not in (bare.status, encoded.status)
        if bare.index is not None:
            assert encoded.index is not None
            assert encoded.index <= bare.index
        lowered += encoded.index is not None and encoded.index != bare.index
    assert lowered > 50  # or the lemma would have said nothing


def test_flatness_index_is_the_exponent_where_the_student_has_the_coefficient():
    """On 100 random targets; the control are those where it has not."""
    generator = np.random.default_rng(1)
    equal = blind = 0
    while equal < 100:
        target = Target(random_polynomial(generator), length=2)
        student = STUDENTS[generator.integers(len(STUDENTS))]
        expansion = TaylorExpansion(Problem(target, student))
        exponent = sie(target).sie
        overlap = expansion.form(exponent)
        found = Flatness.of(expansion, 6)
        if overlap.verdict is Verdict.NONZERO:
            assert found.index == exponent
            equal += 1
        else:
            assert found.index is None or found.index > exponent
            assert explanations(expansion, 6)
            blind += 1
    assert blind > 20


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (
            Problem(Target("He3(z1)", length=2), Attention("trace")),
            "student is even and the order 3",
        ),
        (Problem(Target("z1 - z2"), TiedNetwork("relu")), "orthogonal to the all-ones direction"),
        (Problem(Target("He3(z1)"), TiedNetwork("relu")), "no coefficient of order 3"),
        (Problem(Target("z1^2 - z2^2"), Attention("trace")), "cancel in the sum over tokens"),
        (
            Problem(Target("z1*z2"), TiedNetwork("relu"), Encoding("opposite")),
            "1 positional direction of the encoding is not seen",
        ),
    ],
)
def test_zeros_are_explained_by_name(problem, words):
    assert words in " ".join(explanations(TaylorExpansion(problem), 6))


def test_explanation_speaks_of_the_order_that_is_missing_alone():
    problem = Problem(Target("He2(z1) + z2"), Attention("trace"))
    expansion = TaylorExpansion(problem)
    (sentence,) = explanations(expansion, 6)
    assert sentence.endswith("the risk has no term of order 1 in m alone")
    assert expansion.form(2).coefficient((2,)).value < 0


def test_tokens_are_called_alike_only_by_a_symmetric_student():
    # The coefficients of order 2 cancel in the sum, but this student prefers the first token.
    student = ExpressionStudent("z1^2 + z2*z1^3")
    problem = Problem(Target("z1*z2 - 3/2*He2(z1) + 2*He2(z2)"), student)
    words = " ".join(explanations(TaylorExpansion(problem), 6))
    assert "treats all tokens alike" not in words


def test_what_is_seen_needs_no_explanation():
    problem = Problem(Target("He2(z1) + He2(z2)"), Attention("trace"), Encoding("opposite"))
    assert explanations(TaylorExpansion(problem), 6) == ()


def test_constant_risk_is_told_from_an_undetermined_index():
    blind = Problem(Target("z1^2 - z2^2"), TiedNetwork("relu"))
    assert Flatness.of(TaylorExpansion(blind), 4).status == "constant"
    found = Flatness.of(TaylorExpansion(NEARLY_BLIND), 4)
    assert (found.index, found.status, found.at_least) == (None, "undetermined", 2)
