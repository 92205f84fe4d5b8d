"""Random texts through the whole commands: exit code 0, or 2 with one line, and no traceback."""

import contextlib
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssiode.cli.application import run
from tests.cli.conftest import Outcome

TOKENS = [
    *"()[],+-*/^.0123 ",
    "z1",
    "z2",
    "z1",
    "(z1)",
    "+z1*",
    "*z2",
    "z",
    "L",
    "sum(z)",
    "prod",
    "exp",
    "abs",
    "sin(",
    "erf(",
    "relu",
    "max(z1,",
    "b",
    "He2",
    "He3(z1)",
    "sqrt(2)",
    "pi",
    "1e-3",
    "1/3",
]
JUNK = st.text(max_size=8)
ATOMS = st.sampled_from(["z1", "z2", "2", "1/3", "sqrt(2)", "pi", "b", "1e-3"])
UNARY = st.sampled_from(["exp", "sin", "tanh", "abs", "relu", "sign", "log", "sqrt", "He2", "-"])


def _larger(inner):
    return st.one_of(
        st.tuples(UNARY, inner).map("{0[0]}({0[1]})".format),
        st.tuples(inner, st.sampled_from("+-*/^"), inner).map("({0[0]}{0[1]}{0[2]})".format),
    )


SENTENCES = st.recursive(ATOMS, _larger, max_leaves=3)
TEXTS = st.one_of(
    SENTENCES,
    st.lists(st.sampled_from(TOKENS), max_size=10).map("".join),
    st.tuples(st.lists(st.sampled_from(TOKENS), max_size=5).map("".join), JUNK).map("".join),
    st.text(max_size=20),
)


def called(arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    return Outcome(code, out.getvalue(), err.getvalue())


def answers_or_refuses(arguments):
    outcome = called(arguments)
    if outcome.code != 0:
        assert outcome.refuses("ssiode: ")
        assert outcome.err.isprintable() or outcome.err[:-1].isprintable()
        return
    assert outcome.err == ""
    if "--json" in arguments:
        assert outcome.json.keys() >= {"length", "outputs"}
    else:
        assert outcome.out


@settings(deadline=None, derandomize=True, max_examples=150)
@given(TEXTS, st.booleans())
def test_sie_answers_or_refuses(text, as_json):
    answers_or_refuses(["sie", text, "--max-order", "3", *["--json"] * as_json])


@settings(deadline=None, derandomize=True, max_examples=150)
@given(TEXTS, st.integers(-1, 3), st.sampled_from(["--json", "--latex", None]))
def test_hermite_answers_or_refuses(text, order, flag):
    answers_or_refuses(["hermite", text, "--order", str(order), *([flag] if flag else [])])


WORDS = st.one_of(
    st.sampled_from(["--json", "--length", "--max-order", "--order", "--param", "--tensor", "2"]),
    st.sampled_from(["--latex", "b=1", "b=", "=", "b=z1", "-1", "x", "--", "z1*z2+b", "-z1", ""]),
    JUNK,
)


@settings(deadline=None, derandomize=True, max_examples=150)
@given(st.sampled_from(["sie", "hermite"]), st.lists(WORDS, max_size=6))
def test_any_command_line_is_answered_or_refused(command, words):
    outcome = called([command, *words])
    assert outcome.code == 0 or outcome.refuses("ssiode: ")


def test_a_traceback_would_be_seen(monkeypatch):
    monkeypatch.setattr("ssiode.exponent.sie", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        called(["sie", "z1"])
