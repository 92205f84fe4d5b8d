"""The expansion at the origin, against the risk itself and against numbers known otherwise."""

import numpy as np
import pytest

from ssiode import (
    Attention,
    Encoding,
    Problem,
    Target,
    TiedNetwork,
    UntiedNetwork,
)
from ssiode.errors import InputError
from ssiode.population_risk import make_engine
from ssiode.risk_landscape.at_origin.taylor import TaylorExpansion
from tests.risk_landscape.at_origin.problems import OPPOSITE, PROBLEMS, overlaps

ORDER = 6


def polynomial(expansion, v, order=ORDER):
    """The expansion up to an order at states v, without R(0)."""
    seen = expansion.seen
    axes = expansion.problem.student.axes(expansion.problem.length)
    o = np.column_stack([v[:, :-1] @ axes.T, v[:, -1]])
    x = o[:, list(seen.coordinates.independent)]
    forms = [expansion.form(n) for n in range(1, order + 1)]
    return sum(form(x) for form in forms), sum(form.error(x) for form in forms)


@pytest.mark.parametrize("name", PROBLEMS)
def test_expansion_is_the_risk_up_to_its_order(name):
    problem = PROBLEMS[name]
    engine = make_engine(problem, None, problem.geometry.state())
    expansion = TaylorExpansion(problem)
    left_out = []
    for size in (0.1, 0.2):
        v = overlaps(problem, size)
        found, origin = engine.estimates(v), engine.estimates(np.zeros((1, problem.length + 1)))
        risk = found.value[:, 0] - origin.value[0, 0]
        sums, error = polynomial(expansion, v)
        allowed = (
            found.error[:, 0] + origin.error[0, 0] + error + 1e-13 * np.abs(origin.value[0, 0])
        )
        left_out.append(np.abs(risk - sums) - allowed)
    # What is left out is of order 7, whatever its constant: 2^7 between the sizes.
    assert np.max(left_out[0]) <= np.max(np.abs(left_out[1])) / 2**6.5 + 1e-12
    assert np.max(left_out[1]) < 5e-4


def test_moved_order_is_noticed():
    """Negative control: without its form of order 4 the expansion of the trace is off."""
    problem = PROBLEMS["trace"]
    engine = make_engine(problem, None, problem.geometry.state())
    v = overlaps(problem, 0.1)
    risk = engine.moments(v)[:, 0] - engine.moments(np.zeros((1, 3)))[0, 0]
    sums, _ = polynomial(TaylorExpansion(problem), v, order=3)
    assert np.abs(risk - sums).max() > 1e-6


@pytest.mark.parametrize("encoding", [Encoding(), OPPOSITE])
def test_trace_of_two_tokens_has_the_published_coefficients(encoding):
    quadratic = Problem(Target("He2(z1) + He2(z2)"), Attention("trace"), encoding)
    quartic = Problem(Target("He4(z1) + He4(z2)"), Attention("trace"), encoding)
    size = 1 if encoding.kind == "none" else 2
    form = TaylorExpansion(quadratic).form(2)
    assert form.coefficient((0, 2)[-size:]).value == pytest.approx(-0.563914, abs=1e-6)
    form = TaylorExpansion(quartic).form(4)
    assert form.coefficient((0, 4)[-size:]).value == pytest.approx(0.961026, abs=1e-6)
    if size == 2:
        form = TaylorExpansion(quadratic).form(2)
        assert 2 * form.coefficient((2, 0)).value == pytest.approx(2.076008, abs=1e-6)


def test_scale_of_the_trace_turns_the_curvature_in_e():
    target = Target("4/3 + He4(z1) + 2*He4(z2)")
    curvature = [
        2 * TaylorExpansion(problem).form(2).coefficient((2, 0)).value
        for problem in (
            Problem(target, Attention("trace"), OPPOSITE),
            Problem(target, Attention("trace", scale=2**-0.5), OPPOSITE),
        )
    ]
    assert curvature == pytest.approx([0.190390, -0.295329], abs=1e-6)


def test_polynomials_have_exact_coefficients():
    problem = Problem(Target("He2(z1) + He2(z2)"), TiedNetwork("square"), Encoding("orthonormal"))
    form = TaylorExpansion(problem).form(2)
    assert {p: str(n.exact) for p, n in form.terms.items()} == {(2, 0): "6", (0, 2): "-4"}
    assert all(number.error == 0 for number in form.terms.values())


@pytest.mark.parametrize("length", [3, 5, 8])
def test_long_sequences_agree_with_monte_carlo(length):
    problem = Problem(Target("sum(He2(z))", length=length), Attention("trace"))
    engine = make_engine(problem, "montecarlo", None, samples=2**15, seed=1)
    form = TaylorExpansion(problem).form(2)
    curvature = form.coefficient((2,))
    m = 0.3
    slope = engine.evaluate(problem.geometry.state(m=m))
    higher = TaylorExpansion(problem).form(4)(np.array([[m]]))[0]
    assert higher == 0  # a quadratic target
    allowed = 2 * m * curvature.error + 5 * slope.gradient_error[-1]
    assert abs(slope.gradient[-1] - 2 * m * curvature.value) <= allowed


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (
            Problem.from_tables({"target": {"expression": "z1"}, "loss": {"kind": "frobenius"}}),
            "loss",
        ),
        (Problem(Target(lambda z: z[..., 0], length=1), TiedNetwork("relu")), "function"),
        (Problem(Target("z1*z2"), UntiedNetwork("relu")), "tied"),
    ],
)
def test_problems_without_expansion_are_refused(problem, words):
    with pytest.raises(InputError, match=words):
        TaylorExpansion(problem)
