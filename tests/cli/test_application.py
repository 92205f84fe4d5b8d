import ast
import errno
import json
import os
import subprocess
import sys
from pathlib import Path, PurePosixPath

import click
import numpy as np
import pytest

import ssiode as package
from ssiode.cli import application, main
from ssiode.cli.application import command_files, short_help
from ssiode.cli.output import emit, plain
from ssiode.errors import InputError

ROOT = Path(__file__).parents[2]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT)}


def test_version_and_help(ssiode):
    assert ssiode("--version").out == f"ssiode {package.__version__}\n"
    for arguments in (["--help"], ["-h"], []):
        outcome = ssiode(*arguments)
        assert outcome.code == 0
        assert "sie" in outcome.out
        assert short_help("sie") in outcome.out


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["info"]])
def test_quick_commands_import_nothing_heavy(arguments):
    code = (
        f"import sys; from ssiode.cli.application import run; run({arguments});"
        "print([n for n in ('sympy', 'numpy', 'numba', 'scipy', 'matplotlib') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=ENVIRONMENT
    )
    assert done.stdout.endswith("[]\n")


def test_import_of_the_package_is_light():
    code = "import sys, ssiode; print([n for n in ('sympy', 'numpy', 'click') if n in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=ENVIRONMENT
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", sorted(command_files()))
def test_every_command_has_help_and_json(ssiode, name):
    outcome = ssiode(name, "--help")
    assert outcome.code == 0
    assert "--json" in outcome.out
    assert short_help(name).endswith(".")
    assert "\n" not in short_help(name)


def test_a_new_file_is_a_new_command(tmp_path, monkeypatch):
    monkeypatch.setattr(application, "__file__", str(tmp_path / "application.py"))
    (tmp_path / "new_one.py").write_text('"""Do it.\n\nMore."""\n\ncommand = None\n')
    (tmp_path / "typed.py").write_text('"""Do that."""\ncommand: object = None\n')
    (tmp_path / "helper.py").write_text('"""No command."""\n\n\ndef f():\n    command = 1\n')
    command_files.cache_clear()
    try:
        assert list(command_files()) == ["new-one", "typed"]
        assert short_help("new-one") == "Do it."
    finally:
        command_files.cache_clear()


def test_files_of_commands_are_named_by_their_function():
    for file in command_files().values():
        names = {
            node.name
            for node in ast.parse(file.read_text(encoding="utf-8")).body
            if isinstance(node, ast.FunctionDef)
        }
        assert "command" in names


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["sei"], "did you mean 'sie'"),
        (["x" * 5000], "unknown command"),
        (["--versoin"], "did you mean '--version'"),
        (["--verbose"], "unknown option '--verbose'"),
        (["info", "--jsn"], "did you mean '--json'"),
        (["info", "extra"], "extra"),
        (["sie\n\nz1"], "unknown command"),
    ],
)
def test_unknown_names(ssiode, arguments, part):
    assert ssiode(*arguments).refuses("ssiode: ", part)


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (InputError("two\nlines"), 2, "ssiode: two lines\n"),
        (click.ClickException("wrong"), 2, "ssiode: wrong\n"),
        (
            click.BadParameter("wrong"),
            2,
            "ssiode: Invalid value: wrong; see 'ssiode info --help'\n",
        ),
        (KeyboardInterrupt(), 130, "ssiode: interrupted\n"),
        (click.Abort(), 130, "ssiode: interrupted\n"),
        (BrokenPipeError(), 141, ""),
        (
            MemoryError(),
            2,
            "ssiode: out of memory; lower the sizes, such as length, d or samples\n",
        ),
        (OSError(28, "No space", "f"), 1, "ssiode: cannot read or write 'f': No space\n"),
    ],
)
def test_errors_become_one_line_and_a_code(ssiode, monkeypatch, error, code, text):
    def fail(arguments):
        raise error

    monkeypatch.setattr(application, "_invoke", fail)
    monkeypatch.setattr(application, "silence_standard_output", lambda: None)
    outcome = ssiode("info")
    assert (outcome.code, outcome.out, outcome.err) == (code, "", text)


def test_bugs_are_not_hidden(monkeypatch):
    def fail(arguments):
        raise ZeroDivisionError

    monkeypatch.setattr(application, "_invoke", fail)
    with pytest.raises(ZeroDivisionError):
        application.run(["info"])


def test_main_exits():
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    with pytest.raises(SystemExit) as caught:
        main(["nothing"])
    assert caught.value.code == 2


@pytest.mark.parametrize("arguments", [["sie", "z1"], ["--help"], ["info", "--json"]])
def test_a_closed_pipe_is_quiet(arguments):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "ssiode", *arguments],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env=ENVIRONMENT,
    )
    os.close(writing)
    assert done.stderr == ""
    assert done.returncode == 141


def shell(command):
    python = f"{sys.executable} -W error -m ssiode"
    return subprocess.run(
        ["bash", "-c", command.replace("ssiode", python)],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
    )


def test_a_closed_standard_output_is_told_before_any_work():
    done = shell("ssiode sie z1 >&-")
    assert done.returncode == 2
    assert done.stderr == "ssiode: standard output is closed; lead it to a file or a pipe\n"


@pytest.mark.parametrize("arguments", ["sie z1", "--help"])
def test_a_file_that_cannot_grow_is_one_line(arguments, tmp_path):
    # A limit on the size of files stands for a full disk, which not every system can pretend.
    done = shell(f"ulimit -f 0; ssiode {arguments} > {tmp_path / 'out'}")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert os.strerror(errno.EFBIG) in done.stderr


def test_errors_never_go_to_standard_output():
    assert (shell("ssiode sie '(' 2>&-").returncode, shell("ssiode sie '(' 2>&-").stdout) == (2, "")
    assert shell("ssiode sie z1 --json 2>&-").stdout.startswith('{"sie": 1')


def test_an_interrupt_during_the_imports_is_quiet():
    code = (
        "import sys, ssiode.cli\n"
        "class Interrupt:\n"
        "    def find_spec(self, *_):\n"
        "        raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "ssiode.cli.main(['info'])\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_long_lines_are_cut_in_the_middle(ssiode, monkeypatch):
    def fail(arguments):
        raise InputError("begin " + "x" * 10_000 + " end")

    monkeypatch.setattr(application, "_invoke", fail)
    outcome = ssiode("info")
    assert len(outcome.err) < 650
    assert outcome.refuses("ssiode: begin", " ... ", " end\n")


def test_a_missing_value_points_to_the_help_of_the_command(ssiode):
    assert ssiode("risk", "--matrix").refuses("'ssiode risk --help'")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--loss-scale", "1e308"),
        ("--activation", "exp(s^4)"),
        ("--e", "1e308"),
    ],
)
def test_a_refusal_stands_alone(arguments):
    tied = "ssiode risk --target z1 --student tied --activation identity"
    done = shell(f"{tied} {arguments[0]} '{arguments[1]}'".replace("-W error", ""))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["risk", "ode", "sgd", "validate", "demo"])
def test_a_wrong_number_of_threads_is_told_at_once(ssiode, monkeypatch, command):
    monkeypatch.setenv("SSIODE_THREADS", "many")
    assert ssiode(command).refuses("SSIODE_THREADS is 'many'")


def test_emit(capsys):
    emit({"a": np.float64(1.5), "b": [np.nan, np.inf]}, True, "")
    assert json.loads(capsys.readouterr().out) == {"a": 1.5, "b": [None, None]}
    emit({}, False, lambda: "made late")
    assert capsys.readouterr().out == "made late\n"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.arange(3), [0, 1, 2]),
        (np.array(2.5), 2.5),
        (np.array([[True, False]]), [[True, False]]),
        (np.bool_(True), True),
        (np.float32(0.5), 0.5),
        ((1, None, "x"), [1, None, "x"]),
        ({1: -np.inf}, {"1": None}),
        (PurePosixPath("a/b"), "a/b"),
        (True, True),
    ],
    ids=repr,
)
def test_plain(value, expected):
    found = plain(value)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("value", [object(), {1, 2}, 1j, b"x"])
def test_what_json_cannot_hold(value):
    with pytest.raises(TypeError, match="JSON"):
        plain(value)
