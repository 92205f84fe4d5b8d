"""The command that measures the gain."""

import pytest

SQUARES = ("gain", "--target", "sum(He2(z))", "--gamma", "0.005")


def test_text_says_policy_and_what_the_prediction_rests_on(ssiode):
    found = ssiode(*SQUARES, "--lengths", "1,2,4")
    assert found.code == 0
    for part in ("policy equal", "equal overlaps 0.03162", "rbar", "p = 1.0000", "seed 0"):
        assert part in found.out
    assert found.err == ""


def test_keys_of_the_json(ssiode):
    data = ssiode(*SQUARES, "--lengths", "1,2", "--policy", "best", "--json").json
    names = {"lengths", "tied_steps", "untied_steps", "gain", "predicted_gain", "policy", "gammas"}
    assert names <= set(data)
    assert data["gain"] == pytest.approx([1, 2], rel=2e-3)
    assert data["gammas"]["tied"][0] > data["gammas"]["tied"][1]


def test_the_default_lengths_hold_the_tokens_of_the_target(ssiode):
    data = ssiode("gain", "--target", "z1*z2", "--gamma", "0.001", "--json").json
    assert data["lengths"] == [2, 4, 8, 16]


def test_a_problem_file_and_a_figure(ssiode, problem_file, tmp_path):
    path = problem_file(
        '[target]\nexpression = "sum(He2(z))"\nlength = 3\n'
        '[student]\nkind = "untied"\nconstraint = "joint"\n[sgd]\ngamma = 0.005\n'
    )
    figure = tmp_path / "gain.svg"
    found = ssiode("gain", path, "--lengths", "1,3", "--figure", figure, "--json")
    assert found.json["gain"] == pytest.approx([1, 3], rel=1e-3)
    assert figure.stat().st_size > 1000


def test_what_is_not_seen_is_said(ssiode):
    found = ssiode("gain", "--target", "z1 - z2", "--lengths", "2", "--gamma", "0.1")
    assert (found.code, "the target is invisible" in found.out) == (0, True)
    assert "did not recover: tied at L = 2" in found.out


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("--policy", "fair"), ["unknown policy", "equal"]),
        (("--lengths", "1,x"), ["whole numbers"]),
        (("--lengths", "1,1"), ["different"]),
        (("--length", "4"), ["--lengths"]),
        (("--steps", "4"), ["--max-steps"]),
        (("--students", "tied"), ["two or more"]),
        (("--gamma", "0"), ["gamma is 0"]),
        (("--figure", "gain.doc"), ["gain.doc"]),
    ],
)
def test_bad_input_is_refused_in_one_line(ssiode, arguments, parts):
    assert ssiode("gain", "--target", "sum(He2(z))", *arguments).refuses(*parts)
