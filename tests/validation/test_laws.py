"""Tests of laws find other laws, and find none where there is none.

Seeds are fixed; where laws are equal a comparison fails for a random seed at the stated p-values.
"""

from __future__ import annotations

import numpy as np
import pytest

from ssiode import Problem, Target, TiedNetwork, UntiedNetwork, run_chain, run_sgd
from ssiode.validation import validate
from ssiode.validation.laws import compare_laws
from tests.checks import refuses
from tests.test_results import ensemble

LINEAR = Problem(Target("z1"), TiedNetwork("identity"))
SETTINGS = {"m": 0.2, "gamma": 0.5, "d": 40, "steps": 40, "replicas": 200, "records": 2}


def test_equal_laws_pass_and_others_fail():
    direct = run_sgd(LINEAR, **SETTINGS)
    same = compare_laws(run_chain(LINEAR, **SETTINGS, seed=1), direct)
    assert [test.quantity for test in same] == ["m", "recovery_steps", "semantic_recovery_steps"]
    assert min(test.p_value for test in same) > 1e-4
    for changes in ({"gamma": 0.3}, {"d": 20}):
        other = compare_laws(run_chain(LINEAR, **SETTINGS | changes, seed=1), direct)
        assert min(test.p_value for test in other) < 1e-4


@pytest.mark.slow
def test_rows_are_named_apart():
    untied = Problem(Target("z1 + z2"), UntiedNetwork("identity"))
    runs = [run_chain(untied, **SETTINGS, seed=seed) for seed in (1, 2)]
    names = [test.quantity for test in compare_laws(*runs)]
    assert names == ["m1", "m2", "recovery_steps", "semantic_recovery_steps"]


def test_what_is_lost_or_never_reached_has_no_law():
    one = ensemble(recovery_steps=np.full(4, -1), semantic_recovery_steps=np.full(4, -1))
    assert [test.quantity for test in compare_laws(one, one)] == ["e1", "e2", "m"]
    m = one.m.copy()
    m[0, -1] = np.nan
    (law,) = (t for t in compare_laws(ensemble(m=m), one) if t.quantity == "m")
    assert 0 < law.p_value <= 1
    m[:, -1] = np.nan
    (law,) = (t for t in compare_laws(ensemble(m=m), one) if t.quantity == "m")
    assert law.p_value == 0


def test_values_equal_but_for_rounding_are_ties():
    one = ensemble(m=np.full((4, 3), 0.1))
    other = ensemble(m=np.full((4, 3), 0.1) + 1e-13)
    assert "m" not in [test.quantity for test in compare_laws(one, other)]


def test_a_hit_that_was_not_reached_is_late():
    late = ensemble(recovery_steps=np.array([1, 2, -1, -1]))
    later = ensemble(recovery_steps=np.array([-1, -1, -1, -1]))
    (law,) = (t for t in compare_laws(late, later) if t.quantity == "recovery_steps")
    assert law.statistic == 0.5


SMALL = {"m": 0.3, "gamma": 0.2, "d": 200, "steps": 600, "replicas": 16, "records": 10}


def test_all_four_moves_are_overlaid():
    result = validate(LINEAR, **SMALL)
    data = result.as_dict()
    assert data["agrees"]
    assert {run.method for run in (result.ensemble, result.chain, result.diffusion)} == {
        "sgd",
        "chain",
        "diffusion",
    }
    for name in ("sgd", "chain", "diffusion"):
        assert data[name]["steps"].tolist() == result.ensemble.steps.tolist()
        assert abs(data[name]["m_mean"][-1] - data["ode"]["m"][-1]) < 0.1
    assert len({data[name]["seed"] for name in ("sgd", "chain", "diffusion")}) == 3
    assert data["laws"][0]["quantity"] == "m"
    assert data["law_threshold"] == pytest.approx(1e-3 / len(data["laws"]))
    title = result.figure().axes[0].get_legend().get_title().get_text()
    assert "x: chain mean" in title
    assert "+: diffusion mean" in title


def test_another_law_of_the_chain_is_a_disagreement(monkeypatch):
    def run(problem, **options):
        return run_chain(problem.replace(d=60), **options)

    monkeypatch.setattr("ssiode.validation.agreement.run_chain", run)
    result = validate(LINEAR, **SMALL | {"replicas": 200}, moves=("chain",))
    assert result.agrees is False
    assert "different laws of m" in result.reason
    assert result.diffusion is None


def test_the_moves_are_chosen_by_name():
    assert validate(LINEAR, **SMALL, moves=()).laws == ()
    refuses(lambda: validate(LINEAR, **SMALL, moves=("chains",)), "unknown move", "chain")


def test_a_diffusion_that_does_not_serve_is_left_out_with_the_reason():
    def stiff(*_, **__):
        from ssiode import InputError

        raise InputError("too stiff")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ssiode.validation.agreement.run_diffusion", stiff)
        result = validate(LINEAR, **SMALL, moves=("diffusion",))
    assert result.diffusion is None
    assert result.remark == "no diffusion: too stiff"
    assert result.as_dict()["diffusion"] is None
    slow = validate(LINEAR, **SMALL, moves=("diffusion",), engine="quadrature")
    assert slow.diffusion is None
    assert "engine quadrature" in slow.remark
