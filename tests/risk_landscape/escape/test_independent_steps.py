"""Steps of many states: their order, their interpolation and what they cross."""

import numpy as np
import pytest

from ssiode.risk_landscape.escape.independent_steps import Step, first_sizes, next_factors


def logistic(v):
    return v * (1 - v)


def exact(v, t):
    return 1 / (1 + (1 / v - 1) * np.exp(-t))


def step_of(v, size):
    v = np.array(v, dtype=float)[:, None]
    return Step.take(logistic, v, logistic(v), np.array(size, dtype=float))


def errors_of_halved_steps(value):
    sizes = 0.4 * 0.5 ** np.arange(5)
    errors = [abs(value(step_of([0.2], [h]), h) - exact(0.2, h)) for h in sizes]
    return np.log2(np.array(errors[:-1]) / errors[1:])


def test_a_step_is_of_order_five():
    orders = errors_of_halved_steps(lambda step, h: step.after[0, 0])
    assert np.all(np.abs(orders - 6) < 0.5)


def test_what_is_between_is_of_order_four():
    def worst(step, h):
        shares = np.linspace(0.1, 0.9, 9)
        apart = [step.at(np.array([s]))[0, 0] - exact(0.2, s * h) for s in shares]
        return exact(0.2, h) + np.abs(apart).max()

    assert np.all(errors_of_halved_steps(worst) > 4.6)


def test_the_error_is_estimated_to_order_four():
    orders = errors_of_halved_steps(lambda step, h: exact(0.2, h) + step.error[0, 0])
    assert np.all(np.abs(orders - 5) < 0.4)


def test_the_rate_is_that_of_the_ode():
    v = np.array([[1.0, 2.0]])
    step = Step.take(lambda v: v * [-3.0, -1.0], v, v * [-3.0, -1.0], np.array([0.1]))
    assert step.rate[0] == pytest.approx(3.0, rel=0.1)
    at_rest = step_of([1.0], [0.5])
    assert at_rest.rate[0] == 0.0
    assert at_rest.next_sizes(np.zeros(1))[0] == 0.5


def test_first_crossings_are_those_of_the_solution():
    step = step_of([0.2, 0.4, 0.9, 0.01], [0.9, 0.9, 0.9, 0.9])
    shares = step.first_crossings(0.35)
    np.testing.assert_allclose(exact(0.2, 0.9 * shares[0]), 0.35, atol=2e-5)
    assert shares[2] == 0.0
    assert np.isnan(shares[3])
    assert np.isnan(step.first_crossings(5.0)).all()


def test_a_crossing_within_a_step_that_ends_below_is_seen():
    """(cos t, sin t / 2) is longest, with norm 1, at t = 0 and pi."""

    def turning(v):
        return np.column_stack([-2 * v[:, 1], v[:, 0] / 2])

    start = np.array([[np.cos(2.8), np.sin(2.8) / 2]])
    step = Step.take(turning, start, turning(start), np.array([0.7]))
    assert np.linalg.norm(step.after) < 0.99
    t = 2.8 + 0.7 * step.first_crossings(0.99)[0]
    np.testing.assert_allclose(np.cos(t) ** 2 + np.sin(t) ** 2 / 4, 0.99**2, atol=2e-4)
    assert t < np.pi


def test_a_state_does_not_depend_on_those_beside_it():
    many, one = step_of([0.1, 0.7, 0.3], [0.5, 0.2, 0.4]), step_of([0.7], [0.2])
    for name in ("after", "error", "rate"):
        assert np.array_equal(getattr(many, name)[1:2], getattr(one, name))
    chosen = many.of(np.array([1]))
    assert np.array_equal(chosen.at(np.array([0.3])), one.at(np.array([0.3])))


def test_sizes_shrink_where_the_field_is_not_finite():
    assert next_factors(np.array([np.inf, 1e-20])).tolist() == [0.2, 10.0]
    sizes = first_sizes(np.array([[1.0], [0.0]]), np.array([[0.5], [0.0]]), np.full(2, 1e-9), 1e-6)
    assert sizes.tolist() == [pytest.approx(0.02), np.inf]
