"""The gain of tied over untied networks: policies, powers, what is blind, and refusals."""

import json

import numpy as np
import pytest

from ssiode import Attention, InputError, Problem, Target, TiedNetwork, UntiedNetwork, gain
from ssiode.loss import FrobeniusLoss, SquaredLoss
from ssiode.plots import new_figure, save_figure

SQUARES = Problem(Target("sum(He2(z))", length=2), TiedNetwork("relu")).replace(gamma=0.005)
SUM = Problem(Target("sum(z)/sqrt(L)", length=2), TiedNetwork("relu")).replace(gamma=0.1)


@pytest.mark.parametrize("policy", ["equal", "best"])
@pytest.mark.parametrize("problem", [SUM, SQUARES])
def test_symmetric_targets_gain_the_length(problem, policy):
    found = gain(problem, [1, 2, 5], policy=policy)
    np.testing.assert_allclose(found.gain, [1, 2, 5], rtol=2e-3)
    np.testing.assert_allclose(found.predicted_gain, [1, 2, 5], rtol=1e-6)
    assert found.power("tied").value == pytest.approx(1, abs=2e-3)


def test_the_ratio_of_the_paper_gives_the_square():
    found = gain(SQUARES.replace(gamma=1e-4), [1, 2, 4], policy="paper")
    gammas = found.as_dict()["gammas"]
    np.testing.assert_allclose(np.divide(gammas["tied"], gammas["untied"]), [1, 2, 4])
    np.testing.assert_allclose(found.gain, [1, 4, 16], rtol=1e-2)
    assert found.theorem_gain == pytest.approx([1, 4, 16])
    assert found.power("tied").value == pytest.approx(2, abs=0.01)


@pytest.mark.parametrize("length", [4, pytest.param(8, marks=pytest.mark.slow)])
def test_two_tokens_of_many(length):
    # L rbar = 2 at equal rates, and L rbar^2 = 4 / L at the best ones.
    problem = Problem(Target("z1*z2"), TiedNetwork("relu")).replace(gamma=1e-4)
    assert gain(problem, [length]).gain == pytest.approx([2], rel=0.02)
    assert gain(problem, [length], policy="best").gain == pytest.approx([4 / length], rel=1e-3)


def test_the_default_lengths_hold_all_tokens():
    problem = Problem(Target("z1*z2*z3"), TiedNetwork("tanh"))
    assert gain(problem.replace(gamma=1e-4), [3]).lengths == (3,)
    from ssiode.weight_sharing.gain import _checked_lengths

    assert _checked_lengths(problem, None) == (4, 8, 16)


def test_overlaps_start_with_the_sign_that_grows():
    problem = Problem(Target("sum(He3(z))", length=2), TiedNetwork("tanh")).replace(gamma=1e-4)
    found = gain(problem, [2])
    assert found.results[0].overlaps["tied"] == pytest.approx(-1 / np.sqrt(1000))
    assert found.gain == pytest.approx([2], rel=1e-4)


def test_an_invisible_target_gains_nothing_and_is_named():
    problem = Problem(Target("z1 - z2"), TiedNetwork("relu")).replace(gamma=0.1)
    found = gain(problem, [2])
    assert (found.steps("tied"), found.gain, found.status) == ((None,), (0.0,), "finished")
    (remark,) = found.results[0].remarks
    assert "the ODE does not recover at any learning rate" in remark
    assert "orthogonal to the shared direction, and so are all others" in remark


def test_token_weights_restore_what_the_sum_does_not_see():
    names = ("weighted", "tied", "untied")
    problem = Problem(Target("z1 - z2"), TiedNetwork("relu", token_weights=(2, -1)))
    settings = {"threshold": 0.1, "overlap": 1e-4, "students": names}
    found = gain(problem.replace(gamma=1e-3), [2], **settings)
    assert found.steps("tied") == (None,)
    # <C, b> = 3 / sqrt(5) of the norm sqrt(2), at drifts that differ by the factor L.
    assert found.gain == pytest.approx([2 * 3 / np.sqrt(10)], rel=0.05)
    assert gain(problem, [2]).students == ("weighted", "untied")


@pytest.mark.slow
def test_random_starts_are_medians_over_draws():
    found = gain(SQUARES, [1, 3], start="random")
    assert found.results[1].overlaps["untied"] is None
    assert found.gain[0] == pytest.approx(1, rel=0.3)
    assert found.gain[1] == pytest.approx(found.predicted_gain[1], rel=0.1)


def test_other_students():
    problem = Problem(Target("sum(He2(z))/sqrt(L)", length=2), TiedNetwork("relu"))
    names = ("attention", "linear-attention", "tied")
    found = gain(problem.replace(gamma=0.002), [2, 3], students=names)
    assert found.theorem_gain == (None, None)
    for name in names[:2]:
        assert found.gains(name) == pytest.approx(found.predicted_gains(name), rel=0.03)
    data = found.as_dict()
    assert {"attention_steps", "linear_attention_steps", "tied_steps"} <= set(data)


def test_json_has_the_keys_of_the_contract():
    data = gain(SQUARES, [1, 2]).as_dict()
    names = {"lengths", "tied_steps", "untied_steps", "gain", "predicted_gain", "policy", "gammas"}
    assert names <= set(data)
    json.dumps(data, default=lambda value: value.tolist())


def test_the_figure_is_drawn(tmp_path):
    found = gain(SQUARES, [1, 2, 4])
    save_figure(found.figure(), tmp_path / "gain.png")
    assert (tmp_path / "gain.png").stat().st_size > 10_000


def test_a_figure_of_what_never_recovers(tmp_path):
    from ssiode.gain_plots import plot_gain, plot_steps

    problem = Problem(Target("z1 - z2"), TiedNetwork("relu")).replace(gamma=0.1)
    left, right = new_figure().subplots(1, 2)
    found = gain(problem, [2])
    plot_steps(left, found)
    plot_gain(right, found)
    assert left.get_legend() is not None


@pytest.mark.slow
def test_the_chain_has_the_gain_of_the_ode():
    found = gain(SUM.replace(replicas=24), [1, 2], method="chain", seed=3)
    for ratio, error, expected in zip(found.gain, found.gain_error, (1, 2), strict=True):
        assert 0 < error < 0.1
        # Both errors are bootstraps of 24 replicas; beyond four of them once in a thousand runs.
        assert abs(ratio - expected) < 4 * error + 0.02


def test_a_run_repeats_bit_for_bit():
    runs = [gain(SUM.replace(replicas=6), [1], method="chain", seed=5) for _ in range(2)]
    assert runs[0].as_dict() == runs[1].as_dict()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"policy": "fair"}, "policy"),
        ({"method": "guess"}, "method"),
        ({"start": "zero"}, "start"),
        ({"students": ("tied",)}, "two or more"),
        ({"students": ("tied", "tied")}, "two or more"),
        ({"students": ("tied", "transformer")}, "student"),
        ({"lengths": [2, 2]}, "different"),
        ({"lengths": [0]}, "lengths"),
        ({"lengths": []}, "lengths"),
        ({"lengths": "1,2"}, "list of numbers"),
        ({"overlap": 0.7}, "below the threshold"),
        ({"overlap": 0.0}, "must be > 0"),
        ({"overlap": float("nan")}, "overlap"),
        ({"overlap": 0.1, "start": "random"}, "random starts"),
        ({"threshold": 2}, "threshold"),
        ({"max_steps": 0}, "max_steps"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(changes, words):
    with pytest.raises(InputError, match=words) as caught:
        gain(SQUARES, **changes)
    assert "\n" not in str(caught.value)


def test_targets_that_cannot_be_read_at_a_length_are_refused():
    with pytest.raises(InputError, match="z3"):
        gain(Problem(Target("z1*z3"), TiedNetwork("relu")), [2])
    opaque = Problem(Target(lambda z: z[..., 0], length=2), TiedNetwork("relu"))
    with pytest.raises(InputError, match="Python function"):
        gain(opaque, [1, 2])
    named = Problem(Target.named("positional-semantic", omega=0.5, a=1.0), Attention("identity"))
    with pytest.raises(InputError, match="one length"):
        gain(named, [2])


def test_the_scale_of_the_loss_is_that_of_the_learning_rate():
    scaled = gain(SQUARES.replace(loss=SquaredLoss(scale=0.5), gamma=0.01), [2])
    plain = gain(SQUARES, [2])
    assert scaled.steps("tied") == pytest.approx(plain.steps("tied"), rel=1e-9)
    predicted = [found.results[0].measurements["tied"].predicted_steps for found in (scaled, plain)]
    assert predicted[0] == pytest.approx(predicted[1], rel=1e-9)


def test_a_loss_without_a_series_is_measured_and_not_predicted():
    problem = SQUARES.replace(loss=FrobeniusLoss(), replicas=4)
    found = gain(problem, [1], method="chain", max_steps=50, overlap=0.45)
    assert found.predicted_gain == found.ode_gain == (None,)
    assert found.results[0].measurements["tied"].largest_gamma is None


def test_a_student_that_ignores_its_fields_never_recovers():
    found = gain(Problem(Target("z1"), TiedNetwork("1")).replace(gamma=0.1), [1])
    assert (found.steps("tied"), found.status) == ((None,), "not recovered")


def test_a_start_that_has_recovered_is_refused():
    with pytest.raises(InputError, match="larger d or a smaller overlap"):
        gain(SQUARES.replace(d=4), [2])


def test_a_zero_ratio_of_the_paper_is_refused():
    problem = Problem(Target("z1 - z2"), TiedNetwork("relu"))
    with pytest.raises(InputError, match="choose the policy equal or best"):
        gain(problem, [2], policy="paper")


def test_settings_of_an_untied_network_are_kept():
    problem = Problem(Target("sum(He2(z))", length=2), UntiedNetwork("relu", constraint="joint"))
    found = gain(problem.replace(gamma=0.005), [3])
    assert found.gain == pytest.approx([3], rel=1e-3)


@pytest.mark.slow
def test_the_search_gives_the_same_rate_for_three_seeds():
    problem = SUM.replace(replicas=48)
    rates = []
    for seed in range(3):
        (found,) = gain(problem, [2], method="chain", policy="best", seed=seed).results
        rates += [(m.gamma, m.gamma_error) for m in found.measurements.values()]
    # Both networks have one best rate. Of the 15 pairs one is beyond 4.5 errors once in 10^4 runs.
    for gamma, error in rates:
        for other, of_other in rates:
            assert abs(gamma - other) <= 4.5 * np.hypot(error, of_other)
    assert all(error < 0.1 * gamma for gamma, error in rates)
