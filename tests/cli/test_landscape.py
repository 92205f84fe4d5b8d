import pytest

from ssiode.risk_landscape import analysis

HE2 = ("landscape", "--target", "He2(z1) + He2(z2)", "--encoding", "opposite")


def test_json_has_the_keys_of_the_contract(ssiode, tmp_path):
    figure = tmp_path / "landscape.png"
    found = ssiode(*HE2, "--figure", figure, "--json").json
    assert found["flatness_index"] == found["escape_order"] == 2
    assert set(found["hessian"]) >= {"ee", "em", "mm"}
    assert found["hessian"]["ee"] == pytest.approx(2.076008, abs=1e-6)
    assert found["steepest_direction"] == {"e": [0.0, 0.0], "m": 1.0}
    assert isinstance(found["leading_form"], str)
    assert [one["kind"] for one in found["minima"]] == ["semantic", "semantic"]
    assert found["certificate"]["status"] == "certified"
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_no_descent_is_null(ssiode):
    found = ssiode("landscape", "--target", "He4(z1) + He4(z2)", "--no-minima", "--json").json
    assert found["escape_order"] is None
    assert found["escape_status"] == "minimum"
    assert (found["minima"], found["sie"]) == (None, 4)


@pytest.mark.slow
def test_text_tells_verdict_escape_minima_and_basins(ssiode):
    settings = ("--gamma", 0.1, "--d", 300, "--replicas", 64, "--starts", 200)
    outcome = ssiode(*HE2, *settings, "--chain", "--basins", "100,1000")
    assert outcome.code == 0
    for part in (
        "SGD leaves the origin at order 2, along m, the semantic direction",
        "ODE with noise",
        "Theorem 1 at order 2: d log^2 d",
        "prediction over chain",
        "2 isolated minima; certified",
        "where gradient flow from 200 random weights ends",
    ):
        assert part in outcome.out


def test_encodings_side_by_side(ssiode):
    command = ("landscape", "--target", "z1 - z2", "--no-minima", "--escape", "--starts", 50)
    names = "none,opposite,orthonormal,random"
    outcome = ssiode(*command, "--compare", names)
    assert outcome.out.splitlines()[0].split()[:3] == ["encoding", "SIE", "kappa"]
    assert "the student is even and the order 1 of the target is odd" in outcome.out
    found = ssiode(*command, "--compare", names, "--json").json["compare"]
    assert [one["escape_order"] for one in found.values()] == [None, 2, 2, 2]
    assert found["opposite"]["escape"]["median_steps"] > 0
    assert found["none"]["escape"]["median_steps"] is None


def test_interrupted_minima_leave_the_origin(ssiode, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(analysis, "_minima", interrupted)
    outcome = ssiode(*HE2, "--json", "--escape")
    assert outcome.code == 130
    assert outcome.json["status"] == "interrupted"
    assert outcome.json["escape_order"] == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--compare", "oposite"), "did you mean 'opposite'"),
        (("--compare", "none", "--figure", "x.png"), "draws no figure"),
        (("--basins", "100", "--no-minima"), "--no-minima"),
        (("--basins", "100,ten"), "whole numbers"),
        (("--figure", "landscape.txt"), ".png"),
        (("--loss", "frobenius"), "squared"),
        (("--student", "untied", "--encoding", "none"), "tied"),
        (("--escape", "--gamma", "0.1", "--d", "2"), "d is 2"),
        (("--chain", "--gamma", "0"), "gamma"),
        (("--max-order", "1"), "max_order"),
        (("--eta", "2", "--escape"), "2"),
    ],
)
def test_bad_input_is_refused_in_one_line(ssiode, arguments, words):
    assert ssiode(*HE2, *arguments).refuses(words)
