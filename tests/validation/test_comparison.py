"""The verdict on an ODE and an ensemble: false alarms, power, numbers and refusals."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

from ssiode import Attention, Encoding, InputError, Problem, Target, TiedNetwork, solve_ode
from ssiode.dynamics import drift, run_sgd
from ssiode.population_risk import make_engine
from ssiode.validation import validate
from ssiode.validation.agreement import compare
from ssiode.validation.step_error import step_error
from tests.test_results import ensemble, trajectory
from tests.validation.test_agreement import (
    REPLICAS,
    SQUARES,
    TWELVE_NODES,
    engine_arguments,
    without_second_moment,
)

# False alarms and power --------------------------------------------------------------------------


def part(whole, first, last):
    names = ("e", "m", "loss", "recovery_steps", "semantic_recovery_steps")
    return dataclasses.replace(whole, **{name: getattr(whole, name)[first:last] for name in names})


def test_forty_ensembles_raise_no_alarm_and_a_wrong_ode_always_does(monkeypatch):
    problem = Problem(SQUARES, Attention("trace"))
    settings = {"m": 0.3, "gamma": 0.5, "d": 120, "steps": 480}
    whole = run_sgd(problem, **settings, replicas=640, records=30, fresh_samples=1)
    start = {"m": 0.3, "times": whole.t, **TWELVE_NODES}
    right = solve_ode(whole.problem, **start)
    monkeypatch.setattr(drift, "vector_field", without_second_moment)
    wrong = solve_ode(whole.problem, **start)
    parts = [part(whole, i, i + 16) for i in range(0, 640, 16)]
    # At a rate of 1e-3 an alarm in 40 has a probability of 4 percent.
    verdicts = [compare(right, one).agrees for one in parts]
    assert False not in verdicts
    assert verdicts.count(True) >= 38
    assert all(compare(wrong, one).agrees is False for one in parts)


def gaussian_ensemble(replicas, shift, seed):
    """Paths that scatter by 0.01 around a deviation of `shift` times that, times independent."""
    generator = np.random.default_rng(seed)
    v = 0.01 * (generator.standard_normal((replicas, 51, 3)) + shift)
    v[:, 0] = 0.0
    options = {"e": v[..., :2], "m": v[..., 2], "loss": v[..., 2]}
    return ensemble(replicas, 51, **options)


@pytest.mark.parametrize("replicas", [4, 8, 16, 64])
def test_the_false_alarm_rate_is_kept(replicas):
    several = gaussian_ensemble(replicas, 0.0, 0)
    theory = trajectory(t=several.t, e=np.zeros((51, 2)), m=np.zeros(51), risk=np.zeros(51))
    rate = 0.05
    alarms = sum(
        compare(theory, gaussian_ensemble(replicas, 0.0, seed), rate).agrees is False
        for seed in range(400)
    )
    # Independent times make the union bound nearly sharp; with a margin of one fluctuation it is
    # not. 46 of 400 has a probability of 1e-6 at the rate of 5 percent.
    assert alarms < 46
    if replicas <= 8:
        assert alarms > 2


def test_a_shift_of_three_fluctuations_is_found():
    several = gaussian_ensemble(REPLICAS, 3.0, 1)
    theory = trajectory(t=several.t, e=np.zeros((51, 2)), m=np.zeros(51), risk=np.zeros(51))
    result = compare(theory, several)
    assert result.agrees is False
    assert 3.0 < result.deviation_ratio < 5.5
    time, name = result.worst
    assert time in several.t
    assert f"{name} deviates" in result.reason


def test_a_shift_that_few_replicas_cannot_tell_from_chance_has_no_verdict():
    several = gaussian_ensemble(8, 0.5, 1)
    theory = trajectory(t=several.t, e=np.zeros((51, 2)), m=np.zeros(51), risk=np.zeros(51))
    result = compare(theory, several)
    assert 1 < result.deviation_ratio < result.threshold
    assert result.agrees is None
    assert "more replicas" in result.reason


def test_replicas_that_part_have_no_verdict():
    # Half of them escape up, half down: their mean stays at the saddle, as the ODE does.
    m = np.outer([-1.0, 1.0] * 8, np.linspace(0.0, 0.9, 3))
    result = compare(zeros(), ensemble(16, e=np.zeros((16, 3, 2)), m=m, loss=m))
    assert result.deviation_ratio <= 1
    assert result.agrees is None
    assert "raise d" in result.reason


def test_the_finite_steps_of_large_batches_are_allowed_for():
    problem = Problem(Target("z1"), TiedNetwork("identity"))
    settings = {"m": 0.1, "gamma": 0.5, "d": 50, "steps": 60, "batch": 2000, "replicas": 32}
    result = validate(problem, **settings, records=20)
    assert result.agrees
    # Without the allowance the same comparison fails, and an ODE that is wrong still does.
    assert compare(result.trajectory, result.ensemble).agrees is False
    wrong = dataclasses.replace(result.trajectory, m=result.trajectory.m + 0.02)
    allowed = step_error(result.trajectory, make_engine(problem))
    assert compare(wrong, result.ensemble, finite_steps=allowed).agrees is False


def test_the_step_error_is_linear_in_the_step():
    problem = Problem(Target("z1"), TiedNetwork("identity"))
    engine, times = make_engine(problem), np.linspace(0, 0.5, 6)
    solutions = [
        solve_ode(problem.replace(d=d), gamma=0.1, m=0.1, times=times) for d in (100, 1000)
    ]
    errors = [step_error(solution, engine) for solution in solutions]
    assert np.all(errors[0][0] == 0)
    np.testing.assert_allclose(errors[0], 10 * errors[1], rtol=1e-6)
    # By hand at the first time: dm/dt = 2 (1 - m^2) - gamma V m / 2 and V = 8 (1 - m).
    speed, second_moment = (
        lambda m: 2 * (1 - m**2) - 0.1 * 8 * (1 - m) * m / 2,
        lambda m: 8 * (1 - m),
    )
    m = solutions[0].m[1]
    of_euler = abs(0.1 + 0.1 * speed(0.1) - m) / 0.1
    of_time = speed(m) * 0.1 * np.sqrt(second_moment(0.1))
    assert errors[0][1, -1] == pytest.approx(0.1 / 100 * (of_euler + of_time), rel=1e-6)


@pytest.mark.parametrize("replicas", [4, 16, 32, 1000])
@pytest.mark.parametrize("rate", [1e-2, 1e-3])
def test_the_threshold_is_a_quantile_of_students_law_and_at_least_one(replicas, rate):
    several = gaussian_ensemble(replicas, 0.0, 0)
    theory = trajectory(t=several.t, e=np.zeros((51, 2)), m=np.zeros(51), risk=np.zeros(51))
    quantile = stats.t.isf(rate / 2 / (50 * 3), replicas - 1) / np.sqrt(replicas)
    result = compare(theory, several, rate)
    assert result.threshold == pytest.approx(max(1.0, quantile), rel=1e-9)
    assert result.false_alarm_rate == rate


def test_fluctuations_fall_like_one_over_the_root_of_d():
    problem = Problem(SQUARES, Attention("trace"), Encoding("opposite"))
    options = {"e": (0.2, -0.2), "m": 0.3, "gamma": 0.4, "replicas": 200, "records": 10}
    fluctuations = [
        validate(
            problem, **options, d=d, steps=3 * d, **engine_arguments(TWELVE_NODES)
        ).expected_fluctuation
        for d in (50, 200)
    ]
    # A standard deviation of 200 scatters by 5 percent, so the ratio by 7; corrections of order
    # 1/d are some percent at d = 50.
    assert 1.5 < fluctuations[0] / fluctuations[1] < 2.6


# The numbers and what makes them worthless -------------------------------------------------------


def test_the_numbers_are_those_of_the_definition():
    several, theory = ensemble(replicas=6), trajectory(m_error=np.full(3, 0.5))
    theory = dataclasses.replace(theory, t=several.t, e_error=np.full((3, 2), 0.25))
    result = compare(theory, several)
    ratios, deviations, fluctuations = [], [], []
    for record in (1, 2):  # both start from the same overlaps
        for k in range(3):
            values = several.v[:, record, k]
            mean = sum(values) / 6
            fluctuation = (sum((values - mean) ** 2) / 5) ** 0.5
            deviation = abs(mean - theory.v[record, k])
            error = min(0.5 if k == 2 else 0.25, fluctuation / 2)
            ratios.append(max(deviation - error, 0) / fluctuation)
            deviations.append(deviation)
            fluctuations.append(fluctuation)
    assert result.deviation_ratio == pytest.approx(max(ratios))
    assert result.max_deviation == pytest.approx(max(deviations))
    assert result.expected_fluctuation == pytest.approx(max(fluctuations))
    assert result.worst[0] in several.t[1:]


def zeros(n=3, **changes):
    return trajectory(**{"t": ensemble().t, "e": np.zeros((n, 2)), "m": np.zeros(n), **changes})


def test_a_statistic_that_does_not_fluctuate_must_be_right():
    still = ensemble(e=np.zeros((4, 3, 2)), m=np.zeros((4, 3)))
    assert compare(zeros(), still).agrees
    assert compare(zeros(m=np.full(3, 1e-14)), still).agrees
    result = compare(zeros(m=np.full(3, 1e-3)), still)
    assert not result.agrees
    assert result.deviation_ratio == np.inf


def test_a_failed_solve_agrees_with_nothing():
    assert not compare(zeros(status="failed"), ensemble()).agrees
    short = zeros(1, t=np.zeros(1), status="failed", risk=np.zeros(1))
    assert not compare(short, ensemble()).agrees


def test_a_lost_replica_agrees_with_nothing():
    m = ensemble().m.copy()
    m[1, 2] = np.nan
    result = compare(zeros(), ensemble(m=m, status="diverged"))
    assert not result.agrees
    assert np.isnan(result.deviation_ratio)


def test_an_ensemble_of_the_start_alone_agrees_with_nothing():
    result = compare(zeros(), ensemble(records=1, status="interrupted"))
    assert result.as_dict()["agrees"] is None
    assert np.isnan(result.deviation_ratio)


def test_the_times_both_have_reached_are_compared():
    # An interruption leaves no verdict, and what both have reached is compared.
    m = 5.0 + ensemble().m
    m[:, :2] -= 5.0
    m[:, 0] = 0.0
    several = ensemble(e=np.zeros((4, 3, 2)), m=m)
    short = zeros(2, t=several.t[:2], status="interrupted", risk=np.zeros(2))
    result = compare(short, several)
    assert result.agrees is None
    assert result.max_deviation == pytest.approx(abs(m[:, 1].mean()))


def test_other_times_are_refused():
    with pytest.raises(InputError, match="times"):
        compare(zeros(t=np.array([0.0, 1.0, 2.0])), ensemble())


@pytest.mark.parametrize("settings", [{"gamma": 0.0}, {"replicas": 3}, {"d": 3}, {"m": 2.0}])
def test_settings_that_cannot_be_compared_are_refused(settings):
    problem = Problem(SQUARES, Attention("trace"), Encoding("opposite"))
    with pytest.raises(InputError) as caught:
        validate(problem, **{"steps": 1, **settings})
    assert "\n" not in str(caught.value)


def test_a_random_start_is_shared_by_all_replicas_and_the_ode():
    problem = Problem(SQUARES, Attention("trace"), Encoding("opposite"))
    settings = {"d": 30, "steps": 2, "replicas": 4, "records": 2, "gamma": 0.1}
    result = validate(problem, **settings, seed=3, **engine_arguments(TWELVE_NODES))
    assert np.ptp(result.ensemble.v[:, 0], axis=0).max() < 1e-13
    np.testing.assert_allclose(result.ensemble.v[0, 0], result.trajectory.v[0], atol=1e-13)
    assert np.any(result.trajectory.v[0] != 0)
    assert np.array_equal(result.trajectory.t, result.ensemble.t)


def test_the_figure_says_the_verdict():
    verdicts = []
    still = ensemble(e=np.zeros((4, 3, 2)), m=np.zeros((4, 3)))
    for theory in (zeros(), zeros(m=np.full(3, 100.0))):
        figure = compare(theory, still).figure()
        (ax,) = figure.axes
        verdicts.append(ax.get_title())
    assert "agrees with SGD" in verdicts[0]
    assert "DISAGREES with SGD" in verdicts[1]
    assert "$d=100$" in verdicts[0]
