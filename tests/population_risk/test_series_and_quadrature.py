"""Series and quadrature agree on random states, for every smooth student and every encoding."""

from __future__ import annotations

import numpy as np
import pytest

from ssiode.encoding import Encoding
from ssiode.population_risk import QuadratureEngine, SeriesEngine
from ssiode.problem import Problem
from ssiode.student import Attention, ExpressionStudent, LinearAttention, TiedNetwork
from ssiode.target import Target
from tests.population_risk.problems import errors, feasible_points, moments

STUDENTS = (
    Attention("trace"),
    Attention("identity"),
    Attention("projection", left=(1, 0.5), right=(0, 1)),
    LinearAttention(),
    TiedNetwork("tanh"),
    TiedNetwork("erf"),
    TiedNetwork("He3"),
    TiedNetwork("sigmoid"),
    ExpressionStudent("tanh(z1*z2) + z1/2"),
)
ENCODINGS = (
    Encoding("none"),
    Encoding("opposite"),
    Encoding("orthonormal"),
    Encoding("matrix", matrix=((1,), (2,))),
    Encoding("gram", matrix=((1.0, 0.3), (0.3, 0.5)), teacher_overlap=(0.4, -0.2)),
    Encoding("opposite", norm=0.7, injected=(0.3, -0.2)),
)
TARGETS = {
    1: ("He2(z1) + z2/2 + z1*z2/3", "He3(z1) + z2", "tanh(z1)*z2 + cos(z2)", "exp(z1/2) - z2"),
    4: ("[z1, tanh(z2), z1*z2, 1]", "[He2(z1), z2, 0, z1]"),
}


def campaign(per_engine: int, seed: int, orders: tuple[int, ...]) -> tuple[int, list[str]]:
    """Compare series and quadrature for every student and encoding.

    Returns the number of states, and those where they are further apart than their errors.
    """
    count, misses = 0, []
    for i, student in enumerate(STUDENTS):
        for j, encoding in enumerate(ENCODINGS):
            targets = TARGETS[student.n_outputs(2)]
            target = Target(targets[(i + j) % len(targets)], length=2)
            problem = Problem(target, student, encoding, label_noise=0.3 * (j % 2))
            series = SeriesEngine(problem)
            rules = [QuadratureEngine(problem, order) for order in orders]
            for v in feasible_points(problem, per_engine, seed + count):
                found = series.evaluate(v)
                assert np.array_equal(series.moments(v[None])[0], moments(found))
                for rule in rules:
                    other = rule.evaluate(v)
                    apart = np.abs(moments(found) - moments(other))
                    if not np.all(apart <= errors(found) + errors(other)):
                        misses.append(f"{target} {student} {encoding} {rule.order} {v}")
                count += 1
    return count, misses


@pytest.mark.parametrize("per_engine", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_series_and_quadrature_agree_to_the_sum_of_their_errors(per_engine):
    count, misses = campaign(per_engine=per_engine, seed=0, orders=(12,))
    assert count >= 40 * per_engine
    assert not misses


@pytest.mark.slow
@pytest.mark.parametrize(("per_engine", "orders"), [(8, (10, 14)), (2, (24,))])
def test_series_and_quadrature_agree_in_a_larger_campaign(per_engine, orders):
    count, misses = campaign(per_engine, seed=10**6, orders=orders)
    assert count == len(STUDENTS) * len(ENCODINGS) * per_engine
    assert not misses
