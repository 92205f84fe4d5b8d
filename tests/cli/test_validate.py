import numpy as np
import pytest

LINEAR = ("--target", "z1", "--student", "tied", "--activation", "identity")
RUN = ("--gamma", 0.2, "--d", 200, "--steps", 800, "--replicas", 8, "--records", 8, "--m", 0.3)


def test_verdict_trajectories_and_figure(ssiode, tmp_path):
    figure = tmp_path / "agreement.png"
    data = ssiode("validate", *LINEAR, *RUN, "--figure", figure, "--json").json
    assert data["agrees"] is True
    assert data["max_deviation"] > 0
    assert 0 < data["expected_fluctuation"] < 0.5
    assert data["ode"]["t"] == data["sgd"]["t"]
    assert np.shape(data["ode"]["m"]) == np.shape(data["sgd"]["m_mean"]) == (9,)
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert data["figure"] == str(figure)


def test_text_gives_the_verdict(ssiode):
    outcome = ssiode("validate", *LINEAR, *RUN)
    assert "ODE and SGD agree" in outcome.out
    assert "fluctuation" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--figure", "figure.gif"], [".png"]),
        (["--figure", "no/such/folder/figure.png"], ["folder"]),
        (["--replicas", 2], ["replicas"]),
        (["--gamma", 0], ["gamma"]),
    ],
)
def test_bad_input_is_refused_in_one_line(ssiode, arguments, parts):
    assert ssiode("validate", *LINEAR, *arguments).refuses(*parts)
