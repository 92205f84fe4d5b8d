"""Run the command line in this process and look at what it prints."""

import json
from dataclasses import dataclass

import pytest

from ssiode.cli.application import run


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self):
        """The one JSON object on standard output; anything else there fails."""
        return json.loads(self.out, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))

    def refuses(self, *parts):
        """Bad input: exit code 2, nothing on standard output, one line that has all the parts."""
        assert self.code == 2
        assert self.out == ""
        assert self.err.count("\n") == 1
        assert self.err.endswith("\n")
        for part in parts:
            assert part in self.err
        return True


@pytest.fixture
def ssiode(capsys):
    """Call the command line with arguments."""

    def call(*arguments):
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def problem_file(tmp_path):
    """Write a problem file from text and return its path."""

    def write(text):
        path = tmp_path / "problem.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write
