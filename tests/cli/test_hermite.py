import pytest
import sympy


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
        (["tanh(b*z1)", "--order", 1], "--param b=2"),
        (["a*b*c*d*e1*z1", "--order", 1], "5 free parameters"),
        (["exp(z1^2)", "--order", 1], "finite"),
        (["tanh(z1)", "--order", 100], "order"),
    ],
)
def test_bad_input_is_refused_in_one_line(ssiode, arguments, part):
    assert ssiode("hermite", *arguments).refuses(part)


def test_free_parameters_stay_in_the_coefficients(ssiode):
    data = ssiode("hermite", "[z1^4 + b*z1^2, b*z1]", "--order", 2, "--json").json
    rows = [(row["output"], row["alpha"], row["coefficient"]) for row in data["coefficients"]]
    assert rows == [(0, [0], "b + 3"), (0, [2], "2*b + 12"), (1, [1], "b")]
    assert all(row["value"] is None and row["error"] is None for row in data["coefficients"])
    assert data["left_out_norm"] == [None, None]
    assert data["left_out_squared"] == ["24", "0"]
    out = ssiode("hermite", "z1^4 + b*z1^2", "--order", 2).out
    assert out == "1  b + 3\nHe2(z1)  2*b + 12\nleft out: squared L2 norm 24\n"
    latex = ssiode("hermite", "z1^4 + b*z1^2", "--order", 4, "--latex").out
    assert latex.endswith(
        r"\left(b + 6\right) \mathrm{He}_{2}(z_{1}) + \mathrm{He}_{4}(z_{1})" "\n"
    )
    assert r"\dots" in ssiode("hermite", "z1^4 + b*z1^2", "--order", 2, "--latex").out


def test_coefficients_with_parameters_are_those_with_values(ssiode):
    text = "(z1 + b*z2)^4 + sqrt(2)*b*c*z1^3 - c^2*z2"
    free = ssiode("hermite", text, "--order", 4, "--json").json["coefficients"]
    values = ["--param", "b=2/3", "--param", "c=-3"]
    fixed = ssiode("hermite", text, "--order", 4, "--json", *values).json["coefficients"]
    at = {sympy.Symbol("b"): sympy.Rational(2, 3), sympy.Symbol("c"): -3}
    substituted = {tuple(row["alpha"]): sympy.sympify(row["coefficient"]).subs(at) for row in free}
    assert {tuple(row["alpha"]): sympy.sympify(row["coefficient"]) for row in fixed} == {
        alpha: sympy.expand(value) for alpha, value in substituted.items() if value != 0
    }
