import numpy as np
import pytest

SQUARE = ("--target", "He2(z1)", "--student", "tied", "--activation", "0.1*s^2")
RUN = ("--dims", "100,200,4e2", "--replicas", 8)


def test_json_and_figure(ssiode, tmp_path):
    figure = tmp_path / "scaling.png"
    data = ssiode("scaling", *SQUARE, *RUN, "--figure", figure, "--json").json
    assert data["dims"] == [100, 200, 400]
    assert data["steps"] == sorted(data["steps"])
    assert abs(data["exponent"] - data["predicted"]) < 4 * data["exponent_error"]
    assert data["predicted_law"] == "d log^2 d"
    assert data["figure"] == str(figure)
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert np.shape(data["points"]) == (3,)
    assert data["wrong_sign"] == [0, 0, 0]


def test_text_gives_the_fit(ssiode):
    out = ssiode("scaling", *SQUARE, *RUN, "--search-gamma").out
    assert "the Sequence Information Exponent is 2" in out
    assert "tried C = " in out
    assert "tau = K d^p: p = " in out
    assert "tau / d = A log d (log d + b)" in out


@pytest.mark.slow
def test_what_is_not_learned_is_said(ssiode, tmp_path):
    control = ("--target", "He4(z1) + He4(z2)", "--student", "attention", "--max-steps", 2000)
    data = ssiode("scaling", *control, *RUN, "--json").json
    assert data["exponent"] is data["exponent_error"] is data["agrees"] is None
    assert data["steps"] == [None]
    assert data["predicted"] == 3
    assert "does not learn" in data["message"]
    figure = tmp_path / "scaling.png"
    assert "no exponent" in ssiode("scaling", *control, *RUN, "--figure", figure).out
    assert figure.exists()


@pytest.mark.slow
def test_wrong_signs_are_shown(ssiode):
    cubic = ("--target", "He3(z1)", "--student", "tied", "--activation", "0.1*(s^3 - 3*s)")
    out = ssiode("scaling", *cubic, "--dims", "100,150", "--replicas", 16).out
    assert "wrong sign" in out
    assert "recovered)" in out


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--dims", "100;200"], ["100;200"]),
        (["--dims", "100"], ["two or more"]),
        (["--dims", "100,2.5"], ["2.5"]),
        (["--method", "sdg"], ["did you mean 'sgd'"]),
        (["--eta", 0], ["eta"]),
        (["--constant", -1], ["constant"]),
        (["--figure", "scaling.gif"], [".png"]),
        (["--gamma", 0.1], ["--gamma", "--constant"]),
        (["--d", 100], ["--d ", "--dims"]),
        (["--steps", 100], ["--steps", "--max-steps"]),
    ],
)
def test_bad_input_is_refused_in_one_line(ssiode, arguments, parts):
    assert ssiode("scaling", *SQUARE, *arguments).refuses(*parts)
