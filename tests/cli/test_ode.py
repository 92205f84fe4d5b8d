import numpy as np
import pytest

LINEAR = ("--target", "z1", "--student", "tied", "--activation", "identity")


def test_gradient_flow_of_the_linear_problem(ssiode):
    data = ssiode(
        "ode", *LINEAR, "--gamma", 0, "--t-max", 2, "--m", 0, "--points", 9, "--json"
    ).json
    # m' = 2 (1 - m^2); the solver's relative tolerance is 1e-9.
    np.testing.assert_allclose(data["m"], np.tanh(2 * np.array(data["t"])), atol=1e-7)
    assert data["recovery_time"] == pytest.approx(np.arctanh(0.5) / 2, abs=1e-8)
    assert data["status"] == "finished"
    assert np.shape(data["e"]) == (9, 1)
    np.testing.assert_allclose(data["risk"], 2 - 2 * np.array(data["m"]), atol=1e-9)


def test_recovery_time_is_null_if_not_reached(ssiode):
    data = ssiode("ode", *LINEAR, "--gamma", 0, "--t-max", 0.01, "--json").json
    assert data["recovery_time"] is None


def test_time_of_the_run_is_the_default(ssiode):
    options = ("--gamma", 0.1, "--steps", 500, "--d", 100, "--m", 0.1)
    assert ssiode("ode", *LINEAR, *options, "--json").json["t"][-1] == pytest.approx(0.5)


def test_text_says_what_was_reached(ssiode):
    text = ssiode("ode", *LINEAR, "--gamma", 0.1, "--t-max", 1, "--m", 0.1).out
    assert "weak recovery |v| >= 0.5 at time" in text
    assert "finished" in text
    assert "numerical error at most" in text


def test_engine_and_tolerance_can_be_chosen(ssiode):
    options = ("--gamma", 0, "--t-max", 1, "--m", 0, "--points", 2, "--json")
    sampled = ("--engine", "montecarlo", "--samples", 64, "--sampling", "plain", "--engine-seed", 7)
    reason = ssiode("ode", *LINEAR, *options, *sampled).json["reason"]
    assert "64 plain samples" in reason
    assert "seed 7" in reason
    ordered = (*options, "--engine", "quadrature", "--order", 10, "--t-max", 20)
    loose, tight = (ssiode("ode", *LINEAR, *ordered, "--rtol", r).json for r in (1e-2, 1e-11))
    assert "10 nodes" in tight["reason"]
    assert tight["n_evaluations"] > loose["n_evaluations"]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--gamma", -1], ["gamma", ">= 0"]),
        (["--t-max", 0], ["t_max"]),
        (["--t-max", "nan"], ["t_max"]),
        (["--points", 1], ["points"]),
        (["--points", 10**12], ["of memory", "lower points"]),
        (["--eta", 2], ["eta"]),
        (["--rtol", 1], ["rtol"]),
        (["--engine", "montecarlo", "--sampling", "grid"], ["sobol"]),
        (["--m", 2], ["infeasible"]),
        (["--e", 0.5], ["infeasible"]),
        (["--engine", "quad"], ["quadrature"]),
    ],
)
def test_bad_input_is_refused_in_one_line(ssiode, arguments, parts):
    assert ssiode("ode", *LINEAR, *arguments).refuses(*parts)
