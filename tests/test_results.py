"""Results: shapes, summaries and where they come from."""

import dataclasses
import platform

import numpy as np
import pytest

import ssiode
from ssiode import Attention, Encoding, Problem, Target
from ssiode.results import Ensemble, Trajectory, provenance
from ssiode.settings import SGDSettings

PROBLEM = Problem(
    Target("z1*z2"), Attention("trace"), Encoding("opposite"), sgd=SGDSettings(gamma=0.5, d=100)
)


def trajectory(**changes):
    n = 3
    values = {
        "problem": PROBLEM,
        "gamma": 0.5,
        "t": np.arange(n),
        "e": np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        "m": np.array([7.0, 8.0, 9.0]),
        "risk": np.ones(n),
        "e_error": None,
        "m_error": None,
        "risk_error": None,
        "status": "finished",
        "message": "",
        "threshold": 0.5,
        "recovery_time": None,
        "engine": "quadrature",
        "reason": "",
        "n_evaluations": 1,
    }
    return Trajectory(**{**values, **changes})


def ensemble(replicas=4, records=3, **changes):
    generator = np.random.default_rng(0)
    values = {
        "problem": PROBLEM,
        "method": "sgd",
        "seed": 3,
        "steps": 10 * np.arange(records),
        "e": generator.standard_normal((replicas, records, 2)),
        "m": generator.standard_normal((replicas, records)),
        "loss": generator.standard_normal((replicas, records)),
        "recovery_steps": np.full(replicas, -1),
        "semantic_recovery_steps": np.arange(replicas) - 1,
        "threshold": 0.5,
        "fresh_samples": 8,
        "status": "finished",
        "message": "",
        "seconds_per_step": 1e-5,
    }
    return Ensemble(**{**values, **changes})


def test_states_are_e_and_m_side_by_side():
    assert trajectory().v.tolist() == [[1, 2, 7], [3, 4, 8], [5, 6, 9]]
    several = ensemble()
    assert several.v.shape == (4, 3, 3)
    assert np.array_equal(several.v[..., :2], several.e)
    assert np.array_equal(several.v[..., 2], several.m)


def test_the_time_is_gamma_steps_over_d():
    assert np.array_equal(ensemble().t, 0.5 * np.array([0, 10, 20]) / 100)


def test_results_are_immutable():
    for result in (trajectory(), ensemble()):
        with pytest.raises(dataclasses.FrozenInstanceError):
            result.status = "better"


def test_a_summary_has_means_and_spreads_over_replicas():
    several = ensemble()
    summary = several.as_dict()
    for i in range(3):
        values = several.m[:, i]
        mean = sum(values) / 4
        assert summary["m_mean"][i] == pytest.approx(mean)
        assert summary["m_std"][i] == pytest.approx((sum((values - mean) ** 2) / 3) ** 0.5)
        assert summary["abs_m_mean"][i] == pytest.approx(sum(abs(values)) / 4)
    assert np.allclose(summary["e_mean"], several.e.sum(axis=0) / 4)
    assert summary["e_std"].shape == (3, 2)
    assert np.allclose(summary["loss_error"], several.loss.std(axis=0, ddof=1) / 2)
    assert np.array_equal(summary["final"]["m"], several.m[:, -1])
    assert np.array_equal(summary["final"]["e"], several.e[:, -1])
    assert summary["recovery_steps"] == [None] * 4
    assert summary["semantic_recovery_steps"] == [None, 0, 1, 2]
    assert summary["replicas"] == 4


def test_one_replica_has_no_spread_and_gives_no_warning():
    summary = ensemble(replicas=1).as_dict()
    assert np.all(np.isnan(summary["m_std"]))
    assert np.all(np.isnan(summary["e_std"]))
    assert np.all(np.isnan(summary["loss_error"]))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_diverged_records_give_no_warning(value):
    several = ensemble()
    lost = several.loss.copy()
    lost[1, 2:] = value
    summary = ensemble(loss=lost, status="diverged").as_dict()
    assert np.isnan(summary["loss_error"][2])
    assert np.all(np.isfinite(summary["loss_error"][:2]))


def test_a_trajectory_gives_all_it_has():
    result = trajectory(recovery_time=1.5, m_error=np.zeros(3))
    data = result.as_dict()
    names = {field.name for field in dataclasses.fields(Trajectory)}
    assert names - {"problem"} <= set(data)
    assert data["recovery_time"] == 1.5
    assert data["e_error"] is None


def test_results_know_the_problem_and_the_versions():
    for result in (trajectory(), ensemble()):
        data = result.as_dict()
        rebuilt = Problem.from_tables(data["problem"])
        assert rebuilt.to_tables() == PROBLEM.to_tables()
        assert data["versions"]["ssiode"] == ssiode.__version__
        assert data["versions"]["python"] == platform.python_version()
        assert set(data["versions"]) == {"python", "ssiode", "numpy", "scipy", "numba", "sympy"}
        assert data["versions"]["numpy"] == np.__version__


def test_a_python_function_is_named_where_it_cannot_be_written():
    def my_target(z):
        return z[..., 0]

    problem = Problem(Target(my_target, length=2), Attention("trace"))
    assert "my_target" in provenance(problem)["problem"]["target"]
