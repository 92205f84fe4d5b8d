"""Every derivation holds, and a wrong one is caught at every level."""

from __future__ import annotations

import functools
import io
import math
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import sympy

from ssiode.derivations import find_derivations, report
from ssiode.derivations.__main__ import main
from ssiode.derivations.report import Control, Derivation, Measurement, Proof, Step

ROOT = Path(__file__).parents[2]
X = sympy.Symbol("x")
RIGHT = Proof("a square", ((X + 1) ** 2 - X**2 - 2 * X - 1,))
WRONG = Proof("a wrong square", ((X + 1) ** 2 - X**2 - 1,))


@functools.cache
def derivation(name: str) -> Derivation:
    return find_derivations()[name]()


def flattened(checks) -> list:
    return [check.check if isinstance(check, Control) else check for check in checks]


def run_module(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_both_scripts_are_found():
    assert {"risk_and_gradient", "sgd_to_ode"} <= set(find_derivations())
    assert "report" not in find_derivations()


@pytest.mark.parametrize("name", sorted(find_derivations()))
def test_derivation_holds(name):
    failed = [check.describe() for check in derivation(name).checks if not check.holds]
    assert failed == []
    assert derivation(name).holds


@pytest.mark.parametrize("name", sorted(find_derivations()))
def test_derivation_proves_something_and_has_controls(name):
    checks = derivation(name).checks
    assert any(isinstance(check, Proof) and check.holds for check in checks)
    controls = [check for check in checks if isinstance(check, Control)]
    assert controls
    assert not any(control.check.holds for control in controls)


@pytest.mark.parametrize("name", sorted(find_derivations()))
def test_every_step_is_checked_and_printed(name):
    text = derivation(name).markdown()
    for step in derivation(name).steps:
        assert step.checks, step.title
        assert step.title in text
        assert " ".join(step.formula.split()) in text
    assert text.count("$$\n") == 2 * len(derivation(name).steps)
    assert text.count("- [x]") == len(derivation(name).checks)


def test_the_ode_is_measured_on_real_steps_with_power():
    measured = [c for c in flattened(derivation("sgd_to_ode").checks) if isinstance(c, Measurement)]
    right = [check.value for check in measured if check.holds]
    wrong = [check.value for check in measured if not check.holds]
    assert len(right) == 2
    # Every wrong formula is off by twice as many standard errors as are allowed.
    assert min(wrong) > 2 * measured[0].tolerance


def test_named_derivations_run_as_a_part_of_the_package():
    finished = run_module(ROOT, "ssiode.derivations", "squared_loss", "feasible_set")
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.startswith("# The squared loss\n")
    assert "# The feasible set\n" in finished.stdout
    assert r"\Gamma^+" in finished.stdout
    assert finished.stderr == ""


@pytest.mark.slow
def test_all_derivations_run_from_the_root_of_a_clone():
    finished = run_module(ROOT, "derivations")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    for name in find_derivations():
        assert f"# {derivation(name).title}\n" in finished.stdout
    total = sum(len(derivation(name).checks) for name in find_derivations())
    assert finished.stdout.endswith(f"{total} of {total} checks hold.\n")


# One mistake in a formula of each script, small enough to be made by accident.
MISTAKES = [
    ("feasible_set", "flow * two - self.v * self.noise", "flow * two + self.v * self.noise"),
    ("squared_loss", "4 * delta * square", "2 * delta * square"),
    ("gaussian", "2 * m * z_star * (z - e)", "m * z_star * (z - e)"),
]


@pytest.mark.parametrize(("name", "formula", "mistake"), MISTAKES)
def test_a_broken_formula_fails(tmp_path, name, formula, mistake):
    copy = shutil.copytree(ROOT / "derivations", tmp_path / "derivations")
    source = (copy / f"{name}.py").read_text()
    assert formula in source
    (copy / f"{name}.py").write_text(source.replace(formula, mistake))
    finished = run_module(tmp_path, "derivations", "squared_loss", "feasible_set")
    assert finished.returncode == 1
    assert "NOT PROVED" in finished.stdout
    assert "checks hold." in finished.stdout


def test_a_new_file_is_found_and_can_be_run_alone(tmp_path):
    copy = shutil.copytree(ROOT / "derivations", tmp_path / "derivations")
    source = (copy / "feasible_set.py").read_text()
    (copy / "one_more.py").write_text(source.replace('"The feasible set"', '"One more"'))
    listed = run_module(tmp_path, "derivations", "--help")
    assert "one_more" in listed.stdout
    finished = run_module(tmp_path, "derivations.one_more")
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.startswith("# One more\n")


@pytest.mark.parametrize(("out", "code", "lines"), [("| true", 141, 0), ("> /dev/full", 1, 1)])
def test_an_output_that_takes_nothing_ends_without_a_traceback(out, code, lines):
    command = f"{sys.executable} -m derivations --help {out}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (code, lines)


def test_an_unknown_name_is_refused(capsys):
    assert main(["sgd_to_oed"]) == 2
    assert "'sgd_to_oed'; allowed: exact_chain" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("check", "holds"),
    [
        (RIGHT, True),
        (WRONG, False),
        (Proof("nothing", ()), False),
        (Proof("not a number", (sympy.nan,)), False),
        (Proof("a pole", (1 / (X - X) + X,)), False),
        (Proof("one of two", (X - X, X)), False),
        (Measurement("small", 1.0, 2.0, "test"), True),
        (Measurement("large", 3.0, 2.0, "test"), False),
        (Measurement("not a number", math.nan, 2.0, "test"), False),
        (Control("wrong formula", WRONG), True),
        (Control("right formula", RIGHT), False),
        (Control("nothing", Proof("", ())), False),
        (Control("large", Measurement("", 3.0, 2.0, "test")), True),
        (Control("not a number", Measurement("", math.nan, 2.0, "test")), False),
    ],
)
def test_a_check_holds_only_when_it_must(check, holds):
    assert check.holds is holds
    assert any(word in check.describe() for word in ("NOT", "OUT")) is not holds


def test_publish_counts_failures():
    steps = (Step("Squares", "Expand.", "(x + 1)^2", (RIGHT, WRONG, Control("right", RIGHT))),)
    out = io.StringIO()
    assert report.publish([Derivation("Broken", "A test.", steps)], out) == 2
    assert out.getvalue().endswith("1 of 3 checks hold.\n")
    assert "- [ ] NOT PROVED: a wrong square" in out.getvalue()


def test_a_derivation_without_checks_fails():
    assert report.publish([Derivation("Empty", "Nothing.", ())], io.StringIO()) == 1


def test_lines_do_not_break_inside_of_formulas():
    prose = "word " * 18 + "$a - b + c - d + e - f$ and more words"
    text = Derivation("Title", prose, ()).markdown()
    assert "$a - b + c - d + e - f$" in text
    assert max(len(line) for line in text.splitlines()) <= 100
