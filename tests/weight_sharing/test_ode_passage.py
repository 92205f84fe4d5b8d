"""Hitting times of the full ODE over the learning rate."""

import numpy as np
import pytest

from ssiode import Problem, Target, TiedNetwork, UntiedNetwork, solve_ode
from ssiode.weight_sharing.ode_passage import OdePassage
from tests.weight_sharing.problems import passage_of

LINEAR = Problem(Target("z1"), TiedNetwork("identity"))


def test_times_are_those_of_the_solver():
    problem = Problem(Target("sum(He2(z))", length=2), UntiedNetwork("relu"))
    start = problem.geometry.state(m=(0.05, 0.02))
    found = OdePassage(problem, start[None], 0.5).time(0.1)
    solved = solve_ode(problem, gamma=0.1, t_max=1.1 * found, m=(0.05, 0.02), estimate_error=False)
    assert found == pytest.approx(solved.recovery_time, rel=1e-5)


def test_the_largest_rate_of_the_linear_problem():
    # m' = 2 (1 - m^2) - gamma/2 V m with V = 8 (1 - m), so m = 1/2 is a fixed point at 1.5.
    passage = passage_of(LINEAR, 0.0, 0.5)
    assert passage.largest_gamma == pytest.approx(1.5, rel=1e-3)
    assert 0 < passage.best_gamma < 1.5


def test_the_best_rate_has_the_fewest_steps():
    passage = passage_of(LINEAR, 0.01, 0.5)
    best = passage.best_gamma
    around = [passage.steps(best * factor) for factor in (0.9, 0.97, 1.03, 1.1)]
    assert passage.steps(best) < min(around)


@pytest.mark.parametrize("expression", ["sum(z)/sqrt(L)", "sum(He2(z))", "sum(He3(z))"])
def test_an_untied_network_is_slower_by_its_length_at_every_rate(expression):
    target = Target(expression, length=3)
    activation = "s + He2(s)/4 + He3(s)/9"
    tied, untied = (
        passage_of(Problem(target, kind(activation)), 0.05, 0.5)
        for kind in (TiedNetwork, UntiedNetwork)
    )
    for share in (0.1, 0.9):
        gamma = share * tied.largest_gamma
        assert untied.time(gamma) == pytest.approx(3 * tied.time(gamma), rel=1e-5)
    assert untied.largest_gamma == pytest.approx(tied.largest_gamma, rel=1e-3)
    assert untied.best_gamma == pytest.approx(tied.best_gamma, rel=1e-2)


def test_an_invisible_target_has_no_rate():
    passage = passage_of(Problem(Target("z1 - z2"), TiedNetwork("relu")), 0.03, 0.5)
    assert passage.time(0.0) == passage.time(0.1) == np.inf
    assert (passage.largest_gamma, passage.best_gamma) == (0.0, None)


def test_times_are_medians_over_starts():
    starts = np.array([LINEAR.geometry.state(m=m) for m in (0.0, 0.1, 0.3)])
    several, middle = OdePassage(LINEAR, starts, 0.5), OdePassage(LINEAR, starts[1:2], 0.5)
    assert several.time(0.2) == middle.time(0.2)


def test_a_start_beyond_the_threshold_takes_no_time():
    assert passage_of(LINEAR, 0.6, 0.5).time(0.2) == 0
