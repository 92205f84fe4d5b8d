import pytest

POSITIONAL_SEMANTIC = """
[target]
name = "positional-semantic"
omega = 0.67
a = 1.0
[student]
kind = "attention"
reduction = "identity"
[encoding]
kind = "opposite"
[loss]
scale = 0.5
"""


@pytest.mark.parametrize(
    ("e", "m", "expected", "orders"),
    [
        # The order that the quadrature chooses takes seconds; two need it.
        ("0,0", 0, 0.131752, ()),
        ("1,-1", 0, 0.1015513, ()),
        ("0.5,-0.5", 0.5, 0.1151998, ("--order", 24)),
        ("0,0", 1, 0.0826822, ("--order", 24)),
    ],
)
def test_reference_values_of_the_positional_semantic_target(
    ssiode, problem_file, e, m, expected, orders
):
    path = problem_file(POSITIONAL_SEMANTIC)
    data = ssiode("risk", path, "--e", e, "--m", m, "--json").json
    assert data["engine"] == "series"
    assert data["value"] == pytest.approx(expected, abs=1e-5)
    # The references have six or seven digits.
    assert abs(data["value"] - expected) <= data["error"] + 5e-7
    quadrature = ("--engine", "quadrature", *orders)
    product = ssiode("risk", path, "--e", e, "--m", m, *quadrature, "--json").json
    assert product["value"] == pytest.approx(expected, abs=1e-5)
    assert abs(product["value"] - expected) <= product["error"] + 5e-7
    sampled = ssiode("risk", path, "--e", e, "--m", m, "--engine", "montecarlo", "--json").json
    # Four standard errors of 16 blocks are exceeded with probability 1.2e-3 in each of four cases.
    assert abs(sampled["value"] - expected) <= 4 * sampled["error"] + 5e-7
    assert sampled["error"] < 2e-3


def test_keys_of_the_json(ssiode):
    data = ssiode("risk", "--target", "z1", "--student", "tied", "--m", 0.3, "--json").json
    assert set(data["gradient"]) == set(data["gradient_error"]) == {"e", "m"}
    assert len(data["gradient"]["e"]) == 1
    for key in ("value", "error", "second_moment", "second_moment_error"):
        assert isinstance(data[key], float)


def test_flags_override_the_file(ssiode, problem_file):
    path = problem_file(POSITIONAL_SEMANTIC)
    at_file = ssiode("risk", path, "--json").json["value"]
    scaled = ssiode("risk", path, "--loss-scale", 1, "--json").json["value"]
    # Twice the loss is twice the risk, up to rounding.
    assert scaled == pytest.approx(2 * at_file, rel=1e-12)
    other = ssiode("risk", path, "--omega", 0.1, "--json").json["value"]
    assert other != at_file


def test_text_states_errors(ssiode):
    outcome = ssiode("risk", "--target", "z1", "--student", "tied", "--activation", "identity")
    assert outcome.code == 0
    assert outcome.out.count("+-") == 4
    assert "engine: series" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--target", "z1*foo(z2)"], ["foo"]),
        (["--target", "(z1"], []),
        (["--target", "z5", "--length", "2"], ["z5", "2"]),
        (["--target", "9**9**9"], []),
        ([], ["target"]),
        (["--target", "z1", "--student", "atention"], ["atention", "attention"]),
        (["--target", "z1", "--m", "1.5"], ["infeasible"]),
        (["--target", "z1*z2", "--encoding", "opposite", "--e", "0.1,0.1"], ["infeasible"]),
        (["--target", "z1*z2", "--encoding", "opposite", "--e", "0.9,-0.9", "--m", "0.9"], []),
        (["--target", "z1*z2", "--e", "0.1,x"], ["0.1,x"]),
        (["--target", "z1", "--m", "nan"], ["finite"]),
        (["--target", "z1", "--engine", "series2"], ["quadrature"]),
        (["--target", "z1", "--engine", "montecarlo", "--order", "8"], ["order"]),
        (["--target", "z1*z2*z3*z4", "--engine", "quadrature"], ["length"]),
        (["--target", "b*z1"], ["b"]),
        (["--target", "b*z1", "--param", "b"], ["b=2"]),
        (["--target", "z1", "--loss", "absolute"], ["squared"]),
        (["--target", "z1", "--reduction", "identity", "--length", "2"], ["4", "1"]),
        (["--target", "positional-semantic", "--omega", "2", "--a", "1"], ["omega"]),
        (["--target", "positional-semantic", "--omega", "0.5"], ["needs a"]),
        (["--targt", "z1"], ["--target"]),
        (["--target", "z1", "--engine", "montecarlo", "--samples", 10**12], ["lower samples"]),
        (["--target", "z1", "--m", "1.000001"], ["1.000001", "1.000002"]),
        (["no-such-file.toml"], ["no-such-file.toml"]),
    ],
)
def test_bad_input_is_refused_in_one_line(ssiode, arguments, parts):
    assert ssiode("risk", *arguments).refuses(*parts)


TARGET = "[target]\nexpression = 'z1'\n"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[target]\nexpresion = 'z1'", ["expresion", "expression"]),
        (TARGET + "[sgd]\ngama = 1", ["gama", "gamma"]),
        ("[targets]\nexpression = 'z1'", ["targets", "target"]),
        (TARGET + "[student]\nkind = 'tied'\nactivatoin = 'relu'", ["activation"]),
        (TARGET + "[encoding]\nnrm = 1", ["norm"]),
        (TARGET + "[loss]\nkind = 'squared'\nfactor = 1", ["factor", "scale"]),
        (TARGET + "[initial]\nkind = 'fixed'\nmm = 1", ["mm"]),
        ("[target\nexpression = 'z1'", ["TOML"]),
        ("target = 3", ["table"]),
        ("[target]\nexpression = 3", ["text"]),
        (TARGET + "[sgd]\ngamma = -0.1", ["gamma", ">= 0"]),
        (TARGET + "[sgd]\nd = 1000.5", ["d is 1000.5"]),
        (TARGET + "[sgd]\ngamma = 'fast'", ["gamma"]),
    ],
)
def test_bad_files_are_refused_in_one_line(ssiode, problem_file, text, parts):
    assert ssiode("risk", problem_file(text)).refuses(*parts)


def test_an_error_that_is_not_known(ssiode):
    arguments = ["risk", "--target", "1/(z1^2 + z2^2)", "--student", "tied"]
    arguments += ["--activation", "tanh"]
    data = ssiode(*arguments, "--json").json
    assert data["error"] is None
    assert data["value"] > 0
    assert "heavy tail of R" in data["reason"]
    text = ssiode(*arguments).out
    assert "+- unknown" in text
    assert "the error is not known" in text


def test_an_infinite_risk_is_refused_in_one_line(ssiode):
    outcome = ssiode("risk", "--target", "1/z1", "--student", "tied")
    assert outcome.refuses("the risk is infinite", "E|g|", "z1 = 0")


def test_symbolic_risk(ssiode):
    arguments = ["risk", "--target", "He2(z1) + He2(z2)", "--student", "linear-attention"]
    data = ssiode(*arguments, "--symbolic", "--json").json
    assert data["symbolic"]["value"] == "7 - 4*m**2"
    assert data["symbolic"]["gradient"] == {"e": ["0", "0"], "m": "-8*m"}
    assert data["symbolic"]["exact"] is True
    assert data["value"] == pytest.approx(7.0)
    assert "R = 7 - 4*m**2\n" in ssiode(*arguments, "--symbolic").out
    attention = ssiode("risk", "--target", "He2(z1) + He2(z2)", "--symbolic").out
    assert "errors at most" in attention
    refused = ssiode("risk", "--target", "tanh(z1)", "--student", "tied", "--symbolic")
    assert refused.refuses("target is no polynomial")


def test_an_infeasible_state_can_be_projected(ssiode):
    arguments = ["risk", "--target", "z1*z2", "--m", 2]
    assert ssiode(*arguments).refuses("infeasible")
    projected = ssiode(*arguments, "--project", "--json").json
    assert (
        projected["value"] == ssiode("risk", "--target", "z1*z2", "--m", 1, "--json").json["value"]
    )


def test_token_weights_are_numbers_or_a_name(ssiode):
    student = ("risk", "--target", "z1 - z2", "--student", "tied", "--token-weights")
    assert ssiode(*student, "1,-1").code == 0
    refused = ssiode(*student, "loud")
    assert (refused.code, "alternating" in refused.err) == (2, True)
