"""What a network sees of a target's leading tensor."""

import numpy as np
import pytest

from ssiode import InputError, Problem, Target, TiedNetwork, UntiedNetwork
from ssiode.hermite.coefficient import Verdict
from ssiode.loss import SquaredLoss
from ssiode.weight_sharing.alignment import alignment


def seen(expression, length, activation="relu"):
    return alignment(Problem(Target(expression, length=length), TiedNetwork(activation)))


@pytest.mark.parametrize(
    ("expression", "length", "order", "ratio", "theorem"),
    [
        ("sum(z)/sqrt(L)", 9, 1, 1.0, 9.0),
        ("sum(He2(z))", 8, 2, 1.0, 64.0),
        ("sum(He3(z))", 4, 3, 0.5, 4.0),
        ("sum(He4(z))", 4, 4, 0.25, 1.0),
        ("z1*z2", 8, 2, 0.25, 4.0),
    ],
)
def test_gains_of_theorem_2(expression, length, order, ratio, theorem):
    found = seen(expression, length, "s + He2(s) + He3(s) + He4(s)")
    assert found.order == order
    assert found.leading.ones_ratio.value == pytest.approx(ratio, rel=1e-12)
    assert found.theorem_gain == pytest.approx(theorem, rel=1e-12)


def test_three_tokens_have_the_norm_of_their_product():
    found = seen("z1*z2*z3", 3, "tanh")
    assert found.leading.operator_norm.value == pytest.approx(2 / np.sqrt(3), rel=1e-12)
    assert found.along.value == pytest.approx(6 / 3**1.5, rel=1e-12)


def test_strength_is_the_drift_of_the_tied_network():
    student = TiedNetwork("relu", scale=0.5)
    problem = Problem(Target("sum(He2(z))", length=5), student, loss=SquaredLoss(scale=0.3))
    found = alignment(problem)
    from ssiode import risk

    m = 1e-4
    drift = -risk(problem, m=m).gradient[-1]
    assert found.strength * found.along.value * m == pytest.approx(drift, rel=1e-3)


def test_orders_that_the_activation_does_not_see_are_left_out():
    found = seen("sum(He3(z)) + 0.1*sum(He4(z))", 3, "relu")
    assert (found.order, found.blind_orders) == (4, (3,))


def test_an_invisible_target_is_proved_so():
    for expression in ("z1 - z2", "(z1^2 - z2^2)/sqrt(2)"):
        found = seen(expression, 2)
        assert found.along.verdict is Verdict.ZERO
        assert (found.rescued_at, found.sees_nothing) == (None, True)
        assert found.theorem_gain == 0


def test_a_higher_order_rescues():
    found = seen("z1 - z2 + 0.3*He2(z1)", 2)
    assert found.along.verdict is Verdict.ZERO
    assert (found.order, found.rescued_at, found.sees_nothing) == (1, 2, False)


def test_tied_and_untied_networks_see_the_same():
    target = Target("sum(He2(z)) + z1", length=3)
    tied, untied = (
        alignment(Problem(target, kind("tanh"))) for kind in (TiedNetwork, UntiedNetwork)
    )
    assert tied.as_dict() == untied.as_dict()


def test_refusals_say_why():
    with pytest.raises(InputError, match="no order of the target"):
        seen("z1", 2, "square")
    with pytest.raises(InputError, match="Python function"):
        alignment(Problem(Target(lambda z: z[..., 0], length=2), TiedNetwork("relu")))
