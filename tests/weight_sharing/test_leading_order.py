"""Hitting times and learning rates at leading order, against numerical integration."""

import numpy as np
import pytest
from scipy.integrate import quad

from ssiode.hermite.tensor.symmetric import SymmetricTensor
from ssiode.weight_sharing.leading_order import LeadingFlow, LeadingLine, fewest_steps


@pytest.mark.parametrize("order", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("share", [0.0, 1e-13, 0.3, 0.999])
def test_hitting_times_are_integrals(order, share):
    line = LeadingLine(order, growth=1.3, noise=2.1, slowness=3.0)
    start, threshold = 0.02, 0.4
    gamma = share * line.largest_gamma(threshold if order == 1 else start)

    def slowness(m):
        return 3.0 / (1.3 * m ** (order - 1) - 0.5 * gamma * 2.1 * m)

    expected = quad(slowness, start, threshold, epsabs=0, epsrel=1e-11, limit=400)[0]
    assert line.hitting_time(gamma, start, threshold) == pytest.approx(expected, rel=1e-7)


def test_noise_stops_beyond_the_largest_rate_and_not_below():
    line = LeadingLine(3, growth=1.0, noise=2.0)
    largest = line.largest_gamma(0.1)
    assert np.isfinite(line.hitting_time(largest * (1 - 1e-9), 0.1, 0.5))
    assert line.hitting_time(largest, 0.1, 0.5) == np.inf


@pytest.mark.parametrize("growth", [0.0, -1.0])
def test_what_does_not_grow_never_arrives(growth):
    line = LeadingLine(2, growth, noise=1.0)
    assert line.hitting_time(0.0, 0.1, 0.5) == np.inf
    assert line.largest_gamma(0.1) == 0
    assert line.best_gamma(0.1, 0.5) is None


def test_a_start_beyond_the_threshold_takes_no_time():
    assert LeadingLine(2, 1.0, 1.0).hitting_time(0.1, 0.6, 0.5) == 0


def test_the_best_rate_at_order_2_is_half_of_the_largest():
    line = LeadingLine(2, growth=1.7, noise=0.4, slowness=5.0)
    assert line.best_gamma(0.01, 0.5) == pytest.approx(line.largest_gamma(0.01) / 2, rel=1e-6)


def test_the_best_share_beyond_order_2():
    # The root of x / (1 - x) = -2 log(1 - x).
    line = LeadingLine(4, growth=2.0, noise=0.7)
    share = line.best_gamma(1e-7, 0.5) / line.largest_gamma(1e-7)
    assert share / (1 - share) == pytest.approx(-2 * np.log(1 - share), rel=1e-5)


def test_fewest_steps_of_no_rate():
    assert fewest_steps(lambda gamma: np.inf, 1.0) is None
    assert fewest_steps(lambda gamma: 1.0, 0.0) is None


def symmetric_tensor(length, order, entry=6.0):
    entries = {tuple(order * int(i == j) for j in range(length)): entry for i in range(length)}
    return SymmetricTensor(order, length, entries)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_equal_overlaps_of_a_symmetric_target_stay_on_a_line(order):
    flow = LeadingFlow(symmetric_tensor(3, order), strength=0.5, noise=1.0)
    line = flow.line(np.full(3, 0.1))
    assert line is not None
    assert (line.order, line.slowness) == (order, 3)
    assert line.growth == pytest.approx(0.5 * 6 * 3 ** (1 - order / 2), rel=1e-12)


def test_other_starts_are_integrated():
    # Rows of a separable target do not meet: a_1 alone grows as if it were alone.
    flow = LeadingFlow(symmetric_tensor(2, 3), strength=0.5, noise=1.0)
    time = flow.hitting_time(0.02, np.array([0.1, 1e-4]), 0.5)
    alone = LeadingLine(3, growth=3.0, noise=1.0, slowness=2.0).hitting_time(0.02, 0.1, 0.5)
    assert flow.line(np.array([0.1, 1e-4])) is None
    assert time == pytest.approx(alone, rel=1e-4)


def test_an_invisible_direction_does_not_move():
    tensor = SymmetricTensor(2, 2, {(2, 0): 2, (0, 2): -2})
    flow = LeadingFlow(tensor, strength=1.0, noise=1.0)
    assert flow.hitting_time(0.0, np.array([0.0, 0.1]), 0.5) == np.inf
    assert flow.hitting_time(0.0, np.array([0.05, 0.05]), 0.5) < 20
