"""Drift, noise and orders against problems that are solved by hand."""

import numpy as np
import pytest

from ssiode import Attention, Encoding, Problem, Target, TiedNetwork, UntiedNetwork, solve_ode
from ssiode.recovery_scaling.law import RecoveryLaw
from ssiode.recovery_scaling.outlook import MEDIAN_START, look_ahead
from tests.recovery_scaling.problems import FLAT, ORDER_1, ORDER_2, ORDER_3, QUARTIC


def test_drift_and_noise_of_a_linear_network_are_those_by_hand():
    # R = 2 - 2 m and V = 4 E (y - f)^2 = 4 R, so D = 2.
    found = look_ahead(ORDER_1.replace(batch=4), 0.5)
    m = found.overlaps
    assert np.allclose(found.drift, [2 * (1 - m**2), -2 * (1 - m**2)], rtol=1e-10)
    assert np.allclose(found.noise, [2 - 2 * m, 2 + 2 * m], rtol=1e-10)
    assert m[-1] == pytest.approx(0.5)


def test_the_safe_constant_leaves_half_of_the_drift():
    # Noise and drift of the linear network are equal at gamma = (1 + m) / (2 m), 1.5 at 0.5.
    assert look_ahead(ORDER_1, 0.5).safe_constant(1) == 0.75
    assert look_ahead(ORDER_1.replace(batch=2), 0.5).safe_constant(1) == 1.5


@pytest.mark.parametrize(("problem", "order"), [(ORDER_1, 1), (ORDER_2, 2), (ORDER_3, 3)])
def test_the_ode_recovers_up_to_twice_the_safe_constant(problem, order):
    found, law = look_ahead(problem, 0.5), RecoveryLaw(order)
    # The constant is rounded to two digits, and takes the noise at the start for that at 0.05.
    slow, fast = (share * found.safe_constant(order) * law.rate(100) for share in (1.9, 2.1))
    assert found.steps(100, slow, order) is not None
    assert found.steps(100, fast, order) is None
    assert found.steps(10**4, 0.5 * slow * law.rate(10**4) / law.rate(100), order) is not None


@pytest.mark.parametrize(("problem", "order"), [(ORDER_1, 1), (ORDER_2, 2), (ORDER_3, 3)])
def test_the_order_is_seen(problem, order):
    assert look_ahead(problem, 0.5).seen_order == order


def test_odd_orders_grow_at_one_sign_and_even_ones_at_both():
    assert look_ahead(ORDER_2, 0.5).sides == (1, -1)
    assert look_ahead(ORDER_3, 0.5).sides == (1,)
    flipped = Problem(Target("-He3(z1)"), ORDER_3.student)
    assert look_ahead(flipped, 0.5).sides == (-1,)


def test_a_minimum_and_a_flat_risk_are_told_apart():
    minimum, flat = look_ahead(QUARTIC, 0.5), look_ahead(FLAT, 0.5)
    assert (minimum.sides, minimum.is_flat, minimum.seen_order) == ((), False, 4)
    assert (flat.sides, flat.is_flat, flat.seen_order) == ((), True, None)
    assert minimum.safe_constant(4) is None
    assert minimum.steps(100, 0.1, 4) is None


def test_with_an_encoding_signs_of_m_do_not_decide():
    network = TiedNetwork("0.1*(s^3 - 3*s)")
    found = look_ahead(Problem(ORDER_3.target, network, Encoding("orthonormal")), 0.5)
    assert found.sides is None


def test_no_outlook_for_several_weight_vectors():
    assert look_ahead(Problem(Target("z1*z2"), UntiedNetwork("relu")), 0.5) is None


@pytest.mark.parametrize(("problem", "order", "gamma"), [(ORDER_2, 2, 0.2), (ORDER_3, 3, 0.005)])
def test_steps_are_those_of_the_ode(problem, order, gamma):
    d = 400
    steps = look_ahead(problem, 0.5).steps(d, gamma, order)
    start = MEDIAN_START / np.sqrt(d)
    solution = solve_ode(problem, m=start, gamma=gamma, t_max=2 * gamma * steps / d)
    # Drift and noise are interpolated between 13 overlaps.
    assert solution.recovery_time * d / gamma == pytest.approx(steps, rel=0.03)


def test_a_drift_lost_in_errors_is_not_called_flat():
    # Monte Carlo, which Python functions of several tokens get, cannot see a small quartic drift.
    quartic = Target(lambda z: 1e-3 * ((z**2 - 3) ** 2 - 6).sum(axis=-1), length=5)
    found = look_ahead(Problem(quartic, Attention("trace")), 0.5)
    assert not found.is_exact
    assert found.sides is None


def test_noise_turns_weights_in_these_steps():
    # dm/dt = -gamma V m / 2 at t = gamma tau / d.
    found = look_ahead(FLAT, 0.5)
    assert found.turning_steps(100, 0.1) == pytest.approx(200 / (0.01 * found.noise[0, 0]))
