import pytest


def test_keys_of_the_json(ssiode):
    data = ssiode("hermite", "abs(z1)*z2", "--order", 3, "--json").json
    assert [row["alpha"] for row in data["coefficients"]] == [[0, 1], [2, 1]]
    assert data["coefficients"][0]["coefficient"] == "sqrt(2)/sqrt(pi)"
    assert {"value", "error"} <= data["coefficients"][0].keys()
    assert data["left_out_norm"][0] > 0


def test_the_table_and_latex(ssiode):
    table = ssiode("hermite", "z1^2*z2", "--order", 3).out
    assert "He2(z1) He1(z2)" in table
    assert "left out: L2 norm 0" in table
    latex = ssiode("hermite", "z1^2*z2", "--order", 3, "--latex").out
    assert latex == "\\mathrm{He}_{1}(z_{2}) + \\mathrm{He}_{2}(z_{1}) \\mathrm{He}_{1}(z_{2})\n"


def test_an_expression_may_start_with_a_minus(ssiode):
    assert ssiode("hermite", "-z1", "--order", 1).code == 0


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["z1", "--order", -1], "order"),
        (["z1"], "--order"),
        (["b*z1", "--order", 1], "--param b=2"),
        (["exp(z1^2)", "--order", 1], "finite"),
        (["tanh(z1)", "--order", 100], "order"),
    ],
)
def test_bad_input_is_refused_in_one_line(ssiode, arguments, part):
    assert ssiode("hermite", *arguments).refuses(part)
