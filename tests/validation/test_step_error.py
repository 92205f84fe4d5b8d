"""The deviation that finite steps explain, where the student is perfect."""

import numpy as np

from ssiode import Problem, Target, TiedNetwork, solve_ode
from ssiode.population_risk import make_engine
from ssiode.validation import validate
from ssiode.validation.step_error import step_error

# At m = 1 the gradient of every sample is zero: relu is right where it has a slope.
PERFECT = Problem(Target("z1"), TiedNetwork("relu"))
SETTINGS = {"gamma": 0.2, "d": 20, "steps": 40, "replicas": 4, "records": 4}


def below_zero(engine):
    """The engine, with V = 0 rounded to below zero."""
    exact = engine.moments

    def moments(v):
        rounded = exact(v)
        rounded[:, -1] = -1e-15
        return rounded

    engine.moments = moments
    return engine


def test_a_second_moment_that_rounds_to_below_zero_counts_as_zero():
    engine = below_zero(make_engine(PERFECT, "quadrature", order=8))
    solution = solve_ode(
        PERFECT, gamma=0.2, t_max=1.0, m=1.0, points=4, engine=engine, estimate_error=False
    )
    np.testing.assert_allclose(solution.m, 1.0, atol=1e-12)
    assert np.abs(step_error(solution, engine)).max() < 1e-12


def test_a_perfect_student_that_stays_agrees():
    engine = below_zero(make_engine(PERFECT, "quadrature", order=8))
    result = validate(PERFECT, e=0.0, m=1.0, engine=engine, **SETTINGS)
    assert result.agrees is True
    assert result.max_deviation < 1e-12
