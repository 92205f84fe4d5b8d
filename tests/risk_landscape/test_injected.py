"""An injected constant breaks the even symmetry of attention: odd targets become learnable."""

import numpy as np
import pytest

from ssiode import Attention, Encoding, Problem, Target, landscape, run_chain, solve_ode

# (target, m at the start, gamma, ODE time, escape order)
TARGETS = {
    "He1": ("He1(z1) + He1(z2)", 0.05, 0.05, 20.0, 1),
    "He3": ("He3(z1) + He3(z2)", 0.2, 0.004, 8.0, 3),
}


def problem(target, injected):
    return Problem(Target(target), Attention("trace"), Encoding(injected=injected))


@pytest.mark.parametrize("name", TARGETS)
def test_odd_targets_are_learned_with_the_constant_and_not_without(name):
    """By the ODE and by the chain; d = 1000, where noise alone moves m by some 0.1."""
    target, m, gamma, time, order = TARGETS[name]
    bare, injected = problem(target, None), problem(target, (-1, -1))
    found = landscape(injected, minima=False)
    assert (found.escape_order, found.steepest_direction["m"]) == (order, pytest.approx(1.0))
    assert landscape(bare, minima=False).descent.status == "flat"
    assert "the student is even" in landscape(bare, minima=False).explanations[0]
    for one, recovers in ((injected, True), (bare, False)):
        solution = solve_ode(one, gamma=gamma, t_max=time, m=m)
        steps = int(time * 1000 / gamma)
        chain = run_chain(one, gamma=gamma, d=1000, steps=steps, replicas=8, m=m)
        assert (solution.recovery_time is not None) is recovers
        assert np.all((chain.recovery_steps >= 0) == recovers)
    assert abs(solution.m[-1]) < m


def test_constant_that_swapping_and_negation_undo_changes_nothing():
    """With (1, -1) the sum of both tokens stays invisible."""
    found = landscape(problem("He1(z1) + He1(z2)", (1, -1)), minima=False)
    assert found.descent.status == "flat"
