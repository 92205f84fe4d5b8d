"""Exponents of problems of known order, what counts, and what is said when nothing is learned."""

import dataclasses
import signal

import numpy as np
import pytest

import ssiode
from ssiode import Attention, Encoding, InputError, Problem, Target, TiedNetwork, UntiedNetwork
from ssiode.dynamics.replicas import Replicas
from ssiode.recovery_scaling import Scaling, scaling
from ssiode.recovery_scaling.outlook import look_ahead
from ssiode.recovery_scaling.run import known_law
from ssiode.settings import InitialCondition
from tests.recovery_scaling.problems import FLAT, MINIMUM, ORDER_1, ORDER_2, ORDER_3


def test_order_1_has_the_exponent_1():
    found = scaling(ORDER_1, [100, 1000, 10_000, 100_000], replicas=32)
    assert found.exponent == pytest.approx(1, abs=3 * found.exponent_error)
    assert found.exponent_error < 0.01
    assert found.predicted == 1
    assert found.agrees is True
    # The median start is m = 0, from which the ODE gives the steps without any fit.
    assert found.steps[-1] == pytest.approx(found.ode_steps[-1], rel=0.01)


def test_order_2_has_the_logarithms():
    found = scaling(ORDER_2, [100, 316, 1000, 3162, 10_000], replicas=32)
    assert found.agrees is True
    power, line, curvature = found.logarithm
    assert power.value == pytest.approx(2, abs=3 * power.error)
    assert line.value > 3 * line.error
    assert abs(curvature.value) < 3 * curvature.error
    assert found.predicted == pytest.approx(1.27, abs=0.02)
    assert found.exponent == pytest.approx(found.predicted, abs=3 * found.exponent_error)


def test_at_a_small_learning_rate_no_wrong_sign_recovers():
    found = scaling(ORDER_3, [100, 150], replicas=32, constant=0.02)
    assert all(point.wrong_sign > 8 for point in found.points)
    assert [point.wrong_sign_recovered for point in found.points] == [0, 0]
    assert found.exponent is not None


def test_order_3_counts_the_wrong_signs_apart():
    found = scaling(ORDER_3, [100, 150, 225], replicas=32)
    assert found.sides == (1,)
    data = found.as_dict()
    for point, wrong in zip(found.points, data["wrong_sign"], strict=True):
        assert wrong == (point.start < 0).sum() > 0
        assert point.is_counted.sum() == 32 - wrong
    assert data["predicted"] == 2
    assert found.exponent == pytest.approx(2, abs=3 * found.exponent_error)


@pytest.mark.parametrize(("problem", "why"), [(MINIMUM, "rises"), (FLAT, "is flat")])
def test_what_is_not_learned_has_no_exponent(problem, why):
    found = scaling(problem, [100, 200, 400], replicas=4, max_steps=20_000)
    assert (found.exponent, found.exponent_error, found.agrees) == (None, None, None)
    assert found.steps == (None,)
    assert found.status == "not recovered"
    assert found.message.startswith("no exponent: at d = 100 0 of 4 replicas recovered within")
    assert f"the population risk {why} from m = 0 to both signs" in found.message
    assert found.as_dict()["requested_dims"] == (100, 200, 400)


def test_a_budget_that_is_too_small_has_no_exponent():
    found = scaling(ORDER_2, [100, 1000], replicas=8, max_steps=900)
    assert found.steps[0] is not None
    assert found.steps[1] is None
    assert found.exponent is None
    assert "at d = 1000 0 of 8 replicas recovered within 900 steps" in found.message
    assert "max_steps" in found.message


def test_a_learning_rate_that_is_too_large_is_named():
    found = scaling(ORDER_2, [300, 600], replicas=8, constant=300, max_steps=3000)
    assert found.exponent is None
    assert "lower the constant" in found.message


def test_a_dimension_does_not_depend_on_the_others():
    several, one = (scaling(ORDER_2, dims, replicas=8) for dims in ([100, 200, 400], [50, 400]))
    assert np.array_equal(several.points[-1].recovery_steps, one.points[-1].recovery_steps)
    other = scaling(ORDER_2, [200, 400], replicas=8, seed=1)
    assert not np.array_equal(several.points[-1].recovery_steps, other.points[-1].recovery_steps)


def test_a_result_does_not_depend_on_threads(monkeypatch):
    results = []
    for threads in ("1", "2"):
        monkeypatch.setenv("SSIODE_THREADS", threads)
        results.append(scaling(ORDER_2, [100, 200], replicas=9, search_gamma=True).as_dict())
    assert results[0] == results[1]


def test_starts_are_random_whatever_the_problem_says():
    fixed = ORDER_2.replace(initial=InitialCondition("fixed", m=0.4), d=50, gamma=3.0, steps=7)
    ours, plain = (scaling(p, [100, 200], replicas=8).as_dict() for p in (fixed, ORDER_2))
    assert ours["steps"] == plain["steps"]
    assert ours["problem"]["initial"] == {"kind": "random"}


def test_the_search_finds_a_faster_rate_and_keeps_its_trials():
    slow = scaling(ORDER_2, [200, 400], replicas=16, constant=0.5)
    found = scaling(ORDER_2, [200, 400], replicas=16, constant=0.5, search_gamma=True)
    assert found.constant > 2
    assert found.steps[0] < slow.steps[0] / 2
    constants = [trial.constant for trial in found.trials]
    assert constants[:3] == [0.5, 1.0, 2.0]
    medians = [trial.median for trial in found.trials if trial.median]
    assert medians == sorted(medians, reverse=True)
    assert found.trials[-1].median is None
    assert found.constant == [t.constant for t in found.trials if t.median][-1]
    assert found.as_dict()["gamma_search"][0] == dataclasses.asdict(found.trials[0])


def test_the_search_goes_down_from_a_rate_at_which_nothing_is_learned():
    found = scaling(
        ORDER_2, [200, 400], replicas=8, constant=80.0, search_gamma=True, max_steps=2000
    )
    constants = [trial.constant for trial in found.trials]
    assert constants[:2] == [80.0, 40.0]
    assert found.constant < 20
    assert found.steps[1] is not None


def test_the_search_avoids_dimensions_at_which_chance_recovers():
    found = scaling(ORDER_2, [20, 40], replicas=8, search_gamma=True)
    assert {trial.d for trial in found.trials} == {160}


@pytest.mark.slow
def test_direct_sgd_agrees_with_the_chain():
    chain, direct = (
        scaling(ORDER_2, [60, 120, 240], method=method, replicas=48) for method in ("chain", "sgd")
    )
    for ours, theirs in zip(direct.points, chain.points, strict=True):
        error = np.hypot(ours.log_error, theirs.log_error)
        assert abs(np.log(ours.median / theirs.median)) < 4 * error


def test_the_order_that_the_student_sees_is_taken():
    blind = Problem(Target("He1(z1) + He2(z1)"), ORDER_2.student)
    law, remark = known_law(blind, look_ahead(blind, 0.5), None)
    assert law.order == 2
    assert "is 1, but the student sees order 2" in remark
    assert known_law(blind, look_ahead(blind, 0.5), 3)[0].order == 3
    assert known_law(blind, None, None)[0].order == 1


def test_what_even_attention_does_not_see_is_said():
    odd = Problem(Target("z1 + z2"), Attention("trace"))
    law, remark = known_law(odd, look_ahead(odd, 0.5), None)
    assert law.order == 1
    assert "sees only the even part of the target" in remark


def test_an_order_that_nothing_tells_is_asked_for():
    unknown = Problem(Target(lambda z: z[..., 0], length=1), ORDER_2.student)
    with pytest.raises(InputError, match="exponent of the target is not known"):
        known_law(unknown, None, None)


def test_a_python_target_has_the_order_that_is_seen():
    square = Problem(Target(lambda z: z[..., 0] ** 2 - 1, length=1), ORDER_2.student)
    assert known_law(square, look_ahead(square, 0.5), None)[0].order == 2


def test_untied_networks_need_a_constant():
    untied = Problem(Target("He2(z1) + He2(z2)"), UntiedNetwork("relu"))
    with pytest.raises(InputError, match="no learning rate is known") as caught:
        scaling(untied, [100, 200])
    assert "--constant" in str(caught.value)


@pytest.mark.slow
def test_untied_networks_recover():
    untied = Problem(Target("He2(z1) + He2(z2)"), UntiedNetwork("relu"))
    found = scaling(untied, [50, 100, 200], constant=0.3)
    assert found.sides is None
    assert found.exponent == pytest.approx(found.predicted, abs=3 * found.exponent_error)


@pytest.mark.slow
def test_an_encoding_recovers_by_e_too():
    encoded = ORDER_2.replace(encoding=Encoding("orthonormal"))
    by_v, by_m = (scaling(encoded, [100, 200], replicas=8, overlap=o) for o in ("v", "m"))
    assert all(a <= b for a, b in zip(by_v.steps, by_m.steps, strict=True))
    assert by_m.as_dict()["overlap"] == "m"


def test_an_interrupt_keeps_what_was_measured(monkeypatch):
    advance, calls = Replicas.advance, []

    def interrupting(self, n_samples):
        if self.state.problem.sgd.d == 400:
            calls.append(1)
            if len(calls) == 3:
                signal.raise_signal(signal.SIGINT)
        return advance(self, n_samples)

    monkeypatch.setattr(Replicas, "advance", interrupting)
    found = scaling(ORDER_2, [100, 200, 400, 800], replicas=8)
    assert found.status == "interrupted"
    assert found.dims == (100, 200, 400)
    assert found.points[-1].status == "interrupted"
    assert found.message == "interrupted: 2 of 4 dimensions have a median"
    monkeypatch.undo()
    assert found.steps[:2] == scaling(ORDER_2, [100, 200], replicas=8).steps
    assert found.exponent is not None


def test_an_interrupted_search_has_no_points(monkeypatch):
    def interrupting(self, n_samples):
        signal.raise_signal(signal.SIGINT)
        return advance(self, n_samples)

    advance = Replicas.advance
    monkeypatch.setattr(Replicas, "advance", interrupting)
    found = scaling(ORDER_2, [100, 200], replicas=8, search_gamma=True)
    assert (found.status, found.dims, found.exponent) == ("interrupted", (), None)
    assert found.message == "interrupted: 0 of 2 dimensions have a median"
    assert found.as_dict()["steps"] == ()
    found.figure().canvas.draw()


def test_a_start_beyond_the_threshold_is_named():
    found = scaling(ORDER_3, [100, 200], replicas=16, threshold=0.001)
    assert found.law.order == 3
    assert found.exponent is None
    assert "at d = 100 the median start has recovered; leave this d out or raise eta" in (
        found.message
    )


def test_memory_is_checked_before_anything_runs(monkeypatch):
    monkeypatch.setattr(Replicas, "advance", lambda *_: pytest.fail("it ran"))
    with pytest.raises(InputError, match="memory"):
        scaling(ORDER_2, [100, 10**11], replicas=8, method="sgd")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dims": [100]}, "two or more"),
        ({"dims": [100, 100]}, "two or more"),
        ({"dims": []}, "two or more"),
        ({"dims": [100, 5]}, "dims is 5; it must be a whole number >= 10"),
        ({"dims": [100, 100.5]}, "dims is 100.5"),
        ({"dims": [100, 1e13]}, "<= 10"),
        ({"dims": 100}, "must be a list"),
        ({"method": "chian"}, "did you mean 'chain'"),
        ({"overlap": "e"}, "unknown overlap 'e'"),
        ({"threshold": 2}, "threshold eta"),
        ({"constant": 0}, "constant is 0; it must be > 0"),
        ({"constant": float("nan")}, "constant is nan"),
        ({"max_steps": 0}, "max_steps"),
        ({"sie": 0}, "sie is 0"),
        ({"replicas": 0}, "replicas"),
    ],
)
def test_bad_input_is_refused(settings, message):
    with pytest.raises(InputError, match=message) as caught:
        scaling(ORDER_2, **settings)
    assert "\n" not in str(caught.value)


def test_a_constant_target_is_refused():
    with pytest.raises(InputError, match="constant"):
        scaling(Problem(Target("3 + 0*z1"), TiedNetwork("square")), [100, 200])


def test_the_package_has_it():
    assert ssiode.scaling is scaling
    assert Scaling.__module__ == "ssiode.recovery_scaling.result"


# The demonstrations: every decade of the specification, from random starts, by the chain.


@pytest.mark.slow
def test_demonstration_of_order_1():
    found = scaling(ORDER_1, replicas=64)
    assert (found.dims[0], found.dims[-1]) == (100, 10**6)
    assert found.exponent == pytest.approx(1, abs=3 * found.exponent_error)
    assert found.exponent_error < 0.002
    assert found.power.p_value > 0.001


@pytest.mark.slow
def test_demonstration_of_order_2():
    found = scaling(ORDER_2, replicas=16)
    assert (found.dims[0], found.dims[-1]) == (100, 10**6)
    power, line, curvature = found.logarithm
    assert line.p_value > 0.001
    assert line.value > 5 * line.error
    assert abs(curvature.value) < 3 * curvature.error
    assert power.value == pytest.approx(2, abs=3 * power.error)
    assert power.error < 0.2


@pytest.mark.slow
def test_demonstration_of_order_3():
    found = scaling(ORDER_3, replicas=16, constant=1.2)
    assert (found.dims[0], found.dims[-1]) == (100, 10**4)
    assert found.exponent == pytest.approx(2, abs=3 * found.exponent_error)
    assert found.exponent_error < 0.3
    assert sum(point.wrong_sign for point in found.points) > 20
