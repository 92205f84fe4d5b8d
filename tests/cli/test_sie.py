import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def process(*arguments, timeout=20):
    """Run the command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "ssiode", *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "exponent", "samples"),
    [
        (["sum(z)", "--length", "4"], 1, "d"),
        (["z1*z2"], 2, "d log^2 d"),
        (["He1(z1)*He4(z2)+He2(z3)*He2(z4)"], 4, "d^3"),
        (["(z1+z2)^3 - 6*(z1+z2)"], 3, "d^2"),
        (["[z1*z2, He3(z1)]"], 2, "d log^2 d"),
        (["b*z1*z2 + c*z1", "--param", "b=2", "--param", "c=0"], 2, "d log^2 d"),
        (["3"], None, None),
        # A minus does not make an option.
        (["-z1"], 1, "d"),
        (["-2*z1^2"], 2, "d log^2 d"),
        (["-(z1)"], 1, "d"),
        (["-.5*z1"], 1, "d"),
        (["--z1"], 1, "d"),
        (["-h*z1*z2", "--param", "h=1"], 2, "d log^2 d"),
        (["--", "-z1"], 1, "d"),
        (["--param", "b=-2", "-b*z1", "--length", "3"], 1, "d"),
    ],
)
def test_exponents(ssiode, arguments, exponent, samples):
    data = ssiode("sie", "--json", *arguments).json
    assert data["sie"] == exponent
    assert data["sample_complexity"] == samples
    assert data["status"] == ("constant" if exponent is None else "proved")


def test_keys_of_the_json(ssiode):
    data = ssiode("sie", "[z1, z1*z2/3]", "--json").json
    assert data == {
        "sie": 1,
        "status": "proved",
        "length": 2,
        "outputs": 2,
        "leading_terms": [
            {
                "output": 0,
                "alpha": [1, 0],
                "coefficient": "1",
                "value": 1.0,
                "error": 0.0,
                "proof": "exact value",
            }
        ],
        "sample_complexity": "d",
        "learning_rate": "1",
        "time": "1",
        "even_student": data["even_student"],
        "lower_bound": 1,
        "upper_bound": 1,
        "output_exponents": [1, 2],
        "message": data["message"],
        "undetermined": [],
        "special_parameters": [],
    }


def test_infinite_values_become_null(ssiode):
    data = ssiode("sie", "He100(z1)*He100(z2)", "--json").json
    assert data["leading_terms"][0]["value"] is None
    assert len(data["leading_terms"][0]["coefficient"]) == 316


def test_text_for_people(ssiode):
    out = ssiode("sie", "[sqrt(2)*He2(z1) + z1*z2, z2^2]").out
    assert "Sequence Information Exponent: 2 (proved; 2 tokens, 2 outputs)" in out
    assert "output 1: He2(z1): 2.828427125 = 2*sqrt(2)" in out
    assert "output 1: He1(z1) He1(z2): 1\n" in out
    assert "output 2: He2(z2): 2\n" in out
    assert "O(d log^2 d)" in out
    assert "and 20 more" in ssiode("sie", "sum(z)", "--length", "30").out
    assert "constant" in ssiode("sie", "3").out


def test_max_order(ssiode):
    outcome = ssiode("sie", "He4(z1)", "--max-order", "3", "--json")
    assert outcome.code == 0
    assert outcome.json["sie"] is None
    assert outcome.json["status"] == "undetermined"
    assert outcome.json["lower_bound"] == 4


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([], "EXPR"),
        (["z1", "z2"], "z2"),
        (["tahn(z1)"], "did you mean"),
        (["exp(z1^2)"], "E"),
        (["exp(b*z1)"], "b"),
        (["b*z1", "--param", "b"], "NAME=VALUE"),
        (["b*z1", "--param", "b=1", "--param", "b = 2"], "given twice, as 1 and as 2"),
        (["positional-semantic"], "--param omega=1/2 --param a=1/2"),
        (["positional-semantic", "--param", "omega=2", "--param", "a=1"], "omega is 2"),
        (["z1", "--param", "b=2"], "does not use it"),
        (["z1", "--lenght", "3"], "did you mean '--length'"),
        (["z1", "--length", "x"], "valid integer"),
        (["z3", "--length", "2"], "z3 is used"),
        (["z1", "--length"], "argument"),
        (["z1", "--max-order", "0"], "max_order"),
        (["sum(z)"], "--length"),
        ([""], "empty"),
    ],
)
def test_bad_input(ssiode, arguments, part):
    assert ssiode("sie", *arguments).refuses("ssiode: ", part)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('touch pwned')",
        "9**9**9",
        "(" * 20_000 + "z1" + ")" * 20_000,
        "-" * 50_000 + "z1",
        "exp(exp(exp(100)))",
        "(z1+z2+z3+z4+z5+z6)^400",
    ],
    ids=range(6),
)
def test_hostile_text_in_a_process(text):
    done = process("sie", text)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("ssiode: ")
    assert done.stderr.count("\n") == 1
    assert not (ROOT / "pwned").exists()


def test_a_process_from_start_to_end():
    done = process("sie", "-z1*z2", "--json")
    assert done.returncode == 0
    assert done.stderr == ""
    assert json.loads(done.stdout)["sie"] == 2


def test_neither_numpy_nor_numba_is_imported():
    code = (
        "import sys; from ssiode.cli.application import run; run(['sie', 'z1*z2']);"
        "print([name for name in ('numpy', 'numba', 'scipy', 'matplotlib') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.endswith("[]\n")


def test_the_leading_tensor_on_request(ssiode):
    data = ssiode("sie", "z1^2 - z2^2", "--tensor", "--json").json
    (leading,) = data["leading_tensors"]
    assert leading["is_pathological"] is True
    assert leading["operator_norm"]["exact"] == "2"
    text = ssiode("sie", "z1*z2*z3", "--tensor").out
    assert "orthogonally decomposable: no" in text


def test_free_parameters_and_where_the_exponent_jumps(ssiode):
    data = ssiode("sie", "z1^4 + b*z1^2", "--json").json
    assert (data["sie"], data["status"]) == (2, "proved")
    (special,) = data["special_parameters"]
    assert (special["condition"], special["sie"]) == ("b = -6", 4)
    assert "where b = -6: 4" in ssiode("sie", "z1^4 + b*z1^2").out
    assert ssiode("sie", "z1^4 + b*z1^2", "--param", "b=-6", "--json").json["sie"] == 4


def test_a_target_by_name(ssiode):
    parameters = ["--param", "omega=1/2", "--param", "a=1"]
    data = ssiode("sie", "positional-semantic", *parameters, "--json").json
    assert (data["sie"], data["status"], data["output_exponents"]) == (2, "proved", [2] * 4)
    parameters = ["--param", "omega=1", "--param", "a=1"]
    assert ssiode("sie", "positional-semantic", *parameters, "--json").json["status"] == "constant"
