"""The series: published values, independent sums, samples, and errors that hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from ssiode.encoding import Encoding
from ssiode.loss import FrobeniusLoss, SquaredLoss
from ssiode.population_risk import SeriesEngine
from ssiode.population_risk.mehler.table import MehlerTable
from ssiode.problem import Problem
from ssiode.student import Attention, TiedNetwork
from ssiode.target import Target
from tests import reference
from tests.checks import refuses
from tests.population_risk.bilinear_reference import (
    BilinearReference,
    SummedFieldsReference,
    smooth_target,
)
from tests.population_risk.problems import (
    SETTINGS,
    column,
    errors,
    feasible_points,
    he2,
    moments,
    positional_semantic,
)
from tests.reference import ReferenceStudent

# The references are sums of up to 10^5 terms: their rounding is relative to the largest moment.
_ROUNDING = 2e-14

PUBLISHED = {(0, 0): 0.131752, (0.5, 0.5): 0.1151998, (1, 0): 0.1015513, (0, 1): 0.0826822}
DECIMALS = {(0, 0): 6, (0.5, 0.5): 7, (1, 0): 7, (0, 1): 7}


def agree(result, exact: np.ndarray) -> None:
    allowed = errors(result) + _ROUNDING * np.abs(exact).max()
    assert np.all(np.abs(moments(result) - exact) <= allowed), (moments(result), exact)


def positional_semantic_reference(omega: float = 0.67) -> BilinearReference:
    student = reference.attention_identity()
    positional = reference.softmax_rows(np.array([[1.0, -1.0], [-1.0, 1.0]])).ravel()
    target = ReferenceStudent(
        lambda z: (1 - omega) * student.value(z) + omega * positional,
        lambda z: (1 - omega) * student.jacobian(z),
    )
    return BilinearReference(target, student, 2, scale=0.5)


@pytest.fixture(scope="module")
def transition() -> SeriesEngine:
    return SeriesEngine(positional_semantic())


@pytest.mark.parametrize("state", PUBLISHED)
def test_published_values(transition, state):
    e, m = state
    v = np.array([e, -e, m], dtype=float)
    result = transition.evaluate(v)
    exact = positional_semantic_reference().moments(v)
    assert round(result.value, DECIMALS[state]) == PUBLISHED[state]
    assert result.value == pytest.approx(exact[0], abs=1e-8)
    assert result.value_error < 1e-8
    agree(result, exact)


@pytest.mark.parametrize("state", [(0.6, -0.8), (0.0, -1.0), (0.1, 0.99)])
def test_the_whole_right_hand_side_up_to_the_boundary(transition, state):
    v = np.array([state[0], -state[0], state[1]])
    agree(transition.evaluate(v), positional_semantic_reference().moments(v))


def test_mean_attention_entry():
    # R_2 - R_0 = 4 - 4 E A_11 for the targets 2 and 0.
    student = Attention("projection", left=(1, 0), right=(1, 0))
    engines = [SeriesEngine(Problem(Target(g, length=2), student)) for g in ("2", "0")]
    risks = [engine.evaluate(np.zeros(3)).value for engine in engines]
    assert (4 + risks[1] - risks[0]) / 4 == pytest.approx(1 - math.sqrt(2) / 4, abs=1e-12)


SMOOTH = {
    "trace": (
        Problem(Target("He2(z1) + z2"), Attention("trace"), Encoding("opposite")),
        BilinearReference(
            smooth_target(column(lambda x, y: he2(x) + y)),
            reference.attention_weighted(np.eye(2)),
            2,
        ),
    ),
    "projection, injected, noisy": (
        Problem(
            Target("tanh(z1)*z2 + cos(z2)"),
            Attention("projection", left=(1, 0.5), right=(0, 1)),
            Encoding("orthonormal", injected=(0.3, -0.2)),
            label_noise=0.4,
        ),
        BilinearReference(
            smooth_target(column(lambda x, y: np.tanh(x) * y + np.cos(y))),
            reference.attention_weighted(np.array([[0.0, 1.0], [0.0, 0.5]])),
            2,
            injected=(0.3, -0.2),
            label_noise=0.4,
        ),
    ),
    "tanh, exponential target": (
        Problem(Target("exp(z1/2) - z2"), TiedNetwork("tanh"), Encoding("orthonormal")),
        BilinearReference(
            smooth_target(column(lambda x, y: np.exp(x / 2) - y)),
            reference.tied_network("tanh"),
            2,
        ),
    ),
    "He3, one token": (
        Problem(Target("tanh(2*z1)"), TiedNetwork("He3"), Encoding("orthonormal")),
        BilinearReference(
            smooth_target(column(lambda x: np.tanh(2 * x))), reference.tied_network("He3"), 1
        ),
    ),
    "a target that decays": (
        Problem(Target("exp(-z1^2)"), TiedNetwork("erf"), Encoding("orthonormal")),
        BilinearReference(
            smooth_target(column(lambda x: np.exp(-(x**2)))), reference.tied_network("erf"), 1
        ),
    ),
    "erf, one token": (
        Problem(Target("tanh(z1) + z1^2"), TiedNetwork("erf"), Encoding("orthonormal")),
        BilinearReference(
            smooth_target(column(lambda x: np.tanh(x) + x**2)), reference.tied_network("erf"), 1
        ),
    ),
}


def boundary_points(problem: Problem, seed: int) -> list[np.ndarray]:
    """Poles, states near them, and one state on the boundary in a random direction."""
    geometry = problem.geometry
    generator = np.random.default_rng(seed)
    u = generator.standard_normal(geometry.rank)
    axis = np.zeros(problem.length + 1)
    axis[-1] = 1.0
    return [axis, -axis, 0.99 * axis, -0.998 * axis, geometry.basis @ (u / np.linalg.norm(u))]


@pytest.mark.parametrize("name", SMOOTH)
def test_stated_errors_bound_the_truth_up_to_the_boundary(name):
    problem, exact = SMOOTH[name]
    points = [*boundary_points(problem, 1), *feasible_points(problem, 2, seed=2)]
    truths = [exact.moments(v) for v in points]
    for order in (None, 12, 30):
        engine = SeriesEngine(problem, order)
        for v, truth in zip(points, truths, strict=True):
            agree(engine.evaluate(v), truth)


KINKED = {
    "relu": ((lambda s: np.maximum(s, 0.0), lambda s: (s > 0) * 1.0), (0.0,)),
    "abs(s)": ((np.abs, np.sign), (0.0,)),
    "max(s, 1/2) - relu(-s)": (
        (
            lambda s: np.maximum(s, 0.5) - np.maximum(-s, 0.0),
            lambda s: (s > 0.5) * 1.0 + (s < 0) * 1.0,
        ),
        (0.0, 0.5),
    ),
}


@pytest.mark.parametrize("activation", KINKED)
@pytest.mark.parametrize(
    ("target", "function", "encoding"),
    [
        ("He2(z1) + z1*z2 - z2", lambda x, y: he2(x) + x * y - y, Encoding("orthonormal")),
        ("z1^3 + z2", lambda x, y: x**3 + y, Encoding("none")),
        (
            "z1 + z2 + He3(z2)",
            lambda x, y: x + y + y**3 - 3 * y,
            Encoding("gram", matrix=((1.0, 0.3), (0.3, 0.5)), teacher_overlap=(0.4, -0.2)),
        ),
    ],
)
def test_students_with_kinks(activation, target, function, encoding):
    problem = Problem(Target(target), TiedNetwork(activation), encoding, label_noise=0.2)
    sigma, kinks = KINKED[activation]
    exact = SummedFieldsReference(smooth_target(column(function)), sigma, 2, kinks, 0.2)
    engine = SeriesEngine(problem)
    points = [*feasible_points(problem, 4, seed=3), *boundary_points(problem, 4)]
    for v in points:
        agree(engine.evaluate(v), exact.moments(v))


@cache
def engine_of(name: str) -> SeriesEngine:
    return SeriesEngine((SETTINGS | SMOOTH)[name][0])


def differences(risk_at: Callable, v: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Five-point differences of a risk along feasible directions."""
    step, found = 1e-3, []
    for direction in directions:
        values = [risk_at(v + k * step * direction) for k in (-2, -1, 1, 2)]
        found.append(np.dot(values, [1, -8, 8, -1]) / (12 * step))
    return np.array(found)


@pytest.mark.parametrize("name", ["trace", "tanh, exponential target", "erf, one token"])
def test_gradient_is_the_derivative_of_an_independent_risk(name):
    problem, exact = SMOOTH[name]
    (v,) = feasible_points(problem, 1, seed=5)
    directions = problem.geometry.basis.T
    found = directions @ engine_of(name).evaluate(0.9 * v).gradient
    risk_slopes = differences(lambda state: exact.moments(state)[0], 0.9 * v, directions)
    assert found == pytest.approx(risk_slopes, abs=1e-9)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_gradient_is_the_derivative_of_the_risk(name):
    problem, _ = SETTINGS[name]
    engine, directions = engine_of(name), problem.geometry.basis.T
    for v in feasible_points(problem, 3, seed=6):
        slopes = differences(lambda s: engine.moments(s[None])[0, 0], 0.9 * v, directions)
        found = directions @ engine.evaluate(0.9 * v).gradient
        assert found == pytest.approx(slopes, abs=1e-9)


@pytest.mark.parametrize("name", SETTINGS)
def test_second_moment_agrees_with_samples(name):
    problem, exact = SETTINGS[name]
    (v,) = feasible_points(problem, 1, seed=7)
    generator = np.random.default_rng(8)
    z_star, x = reference.field_samples(2, v[-1], 100_000, generator)
    z = x + v[:-1] + np.array(exact.injected or (0.0, 0.0))
    g = exact.target(z_star)
    g = g + math.sqrt(problem.label_noise) * generator.standard_normal(g.shape)
    _, cotangent = reference.squared_loss(g, exact.student.value(z))
    slopes = np.einsum("na,nal->nl", cotangent, exact.student.jacobian(z))
    squares = exact.scale**2 * (slopes**2).sum(axis=1)
    # 4 standard errors in 4 problems: a random seed fails once in 4000.
    standard_error = squares.std() / math.sqrt(len(squares))
    assert abs(engine_of(name).evaluate(v).second_moment - squares.mean()) <= 4 * standard_error
    assert standard_error < 0.03 * squares.mean()


@pytest.mark.parametrize(
    ("target", "student", "length"),
    [
        ("tanh(3*z1)", TiedNetwork("tanh"), 1),
        ("exp(z1)", TiedNetwork("sigmoid"), 1),
        ("cos(3*z1)", TiedNetwork("abs(s)"), 1),
        ("tanh(z1) + erf(2*z2)", TiedNetwork("relu"), 2),
        ("tanh(z1)*z2 + tanh(z1 + z2)^2", Attention("trace"), 2),
        ("sigmoid(2*z1) + z2", Attention("projection", left=(1, 0), right=(0, 1)), 2),
    ],
)
def test_errors_of_short_series_bound_what_long_ones_add(target, student, length):
    problem = Problem(Target(target, length=length), student)
    short, long = SeriesEngine(problem, 48), SeriesEngine(problem, 128)
    for m in (0.5, 0.9, 0.97, 0.99, 0.999, 1.0, -0.99, -1.0):
        v = np.append(np.zeros(length), m)
        rough, exact = short.evaluate(v), long.evaluate(v)
        assert np.all(np.abs(moments(rough) - moments(exact)) <= errors(rough) + errors(exact)), m


def test_errors_grow_towards_the_pole_and_are_infinite_where_the_series_diverges():
    problem = Problem(Target("tanh(z1)"), TiedNetwork("tanh"))
    engine = SeriesEngine(problem, 40)
    sizes = [engine.evaluate(np.array([0.0, m])).value_error for m in (0.5, 0.9, 0.99, 1.0)]
    assert sizes == sorted(sizes)
    assert sizes[0] < 1e-13
    assert 1e-10 < sizes[-1] < 1e-2


def states_with_ends(problem):
    """States in an array of shape (3, 4, L + 1), the last two with e = 0 and m = 1, -1."""
    states = np.array(feasible_points(problem, 12, seed=10))
    states[-2:] = 0.0
    states[-2:, -1] = 1.0, -1.0
    return states.reshape(3, 4, -1)


@pytest.mark.parametrize(
    "problem",
    [
        positional_semantic(),
        SETTINGS["trace, opposite"][0],
        Problem(Target("He3(z1) + z2"), TiedNetwork("relu"), loss=SquaredLoss(0.25)),
        Problem(Target("tanh(3*z1)"), TiedNetwork("erf"), Encoding("orthonormal")),
    ],
)
def test_many_states_at_once_are_one_call_of_the_kernel(problem, monkeypatch):
    engine, states = SeriesEngine(problem), states_with_ends(problem)
    flat = states.reshape(-1, states.shape[-1])
    alone = [engine.evaluate(state) for state in flat]
    calls, sums = [], MehlerTable.sums
    monkeypatch.setattr(
        MehlerTable, "sums", lambda *args: (calls.append(len(args[1])), sums(*args))[1]
    )
    found = engine.value(states), engine.gradient(states), engine.second_moment(states)
    assert calls == [12, 12, 12]
    assert [part.value.shape for part in found] == [(3, 4), states.shape, (3, 4)]
    for name, part in zip(("value", "gradient", "second_moment"), found, strict=True):
        for array, attribute in zip(part, (name, f"{name}_error"), strict=True):
            expected = np.reshape([getattr(result, attribute) for result in alone], array.shape)
            assert np.array_equal(array, expected), attribute
    columns = np.column_stack([part.value.reshape(12, -1) for part in found])
    assert np.array_equal(columns, engine.moments(flat))
    assert engine.gradient(states[:0]).error.shape == (0, *states.shape[1:])


def test_the_companion_moves_by_the_stated_errors(transition):
    companion = transition.companion()
    for v in feasible_points(transition.problem, 3, seed=11):
        moved = np.abs(companion.moments(v[None])[0] - transition.moments(v[None])[0])
        stated = errors(transition.evaluate(v))
        # A term moves at degrees 0 and 1.
        assert np.all(moved <= 3 * stated + 1e-16)
        assert moved.max() > 0


@pytest.mark.parametrize(
    ("problem", "part"),
    [
        (
            Problem(Target("z1"), TiedNetwork("tanh"), loss=FrobeniusLoss()),
            "frobenius loss has no series",
        ),
        (Problem(Target("z1*z5"), Attention()), "5 directions"),
        (Problem(Target("abs(z1)*tanh(z2)"), Attention()), "kinks and no closed form"),
        (Problem(Target("tanh(sum(z))", length=9), TiedNetwork("tanh")), "9 tokens"),
        (Problem(Target("z1^40*z2*z3"), Attention()), "too high"),
    ],
)
def test_what_has_no_series_is_refused(problem, part):
    refuses(lambda: SeriesEngine(problem), part)


@pytest.mark.parametrize("order", [3, 401, 10.5])
def test_orders_out_of_range_are_refused(order):
    refuses(lambda: SeriesEngine(SMOOTH["trace"][0], order), "order")
