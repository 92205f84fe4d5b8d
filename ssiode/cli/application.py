"""The group of all commands: finding them without importing them, and errors in one line."""

from __future__ import annotations

import ast
import difflib
import importlib
import re
import sys
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import click

import ssiode
from ssiode.cli.streams import check_streams, silence_standard_output
from ssiode.errors import InputError, unknown_name

CANNOT_WRITE = 1
BAD_INPUT = 2
INTERRUPTED = 130
BROKEN_PIPE = 141

_LONGEST_LINE = 600

_DEFINES_COMMAND = re.compile(r"^(def command\(|command\b.*=)", re.MULTILINE)


@cache
def command_files() -> dict[str, Path]:
    """Return the file of each command, by name.

    Examples
    --------
    >>> command_files()["sie"].name
    'sie.py'
    """
    found = {}
    for file in sorted(Path(__file__).parent.glob("*.py")):
        if _DEFINES_COMMAND.search(file.read_text(encoding="utf-8")):
            found[file.stem.replace("_", "-")] = file
    return found


def short_help(name: str) -> str:
    """Return the first line of a command's docstring, read and not imported.

    Examples
    --------
    >>> short_help("sie")
    'Compute the Sequence Information Exponent of a target.'
    """
    source = command_files()[name].read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


class LazyGroup(click.Group):
    """A group whose commands are imported when they run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(command_files())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """Import and return one command.

        Raises
        ------
        InputError
            If there is none of that name; the error tells the nearest one.
        """
        if cmd_name not in command_files():
            raise unknown_name("command", cmd_name, command_files())
        module = f"ssiode.cli.{command_files()[cmd_name].stem}"
        return importlib.import_module(module).command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from their docstrings."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, short_help(name)) for name in command_files()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(ssiode.__version__, prog_name="ssiode", message="%(prog)s %(version)s")
def application() -> None:
    """How SGD learns sequence single-index models.

    Exponents, ODEs on the sufficient statistics and finite-size checks. Every command takes
    --json; `ssiode COMMAND --help` tells the rest.
    """


def run(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; those of the process by default.

    Examples
    --------
    >>> run(["--version"])
    ssiode 0.1.0
    0
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        check_streams()
        return _invoke(arguments)
    except InputError as error:
        return _complain(str(error), BAD_INPUT)
    except click.UsageError as error:
        return _complain(_usage_line(error, arguments), BAD_INPUT)
    except click.ClickException as error:
        return _complain(error.format_message(), BAD_INPUT)
    except (KeyboardInterrupt, click.Abort):
        return _complain("interrupted", INTERRUPTED)
    except MemoryError as error:
        what = f"out of memory ({error})" if str(error) else "out of memory"
        return _complain(f"{what}; lower the sizes, such as length, d or samples", BAD_INPUT)
    except BrokenPipeError:
        silence_standard_output()
        return BROKEN_PIPE
    except OSError as error:  # a full disk, or a folder that may not be written
        silence_standard_output()
        where = f" {error.filename!r}" if error.filename else ""
        return _complain(f"cannot read or write{where}: {error.strerror or error}", CANNOT_WRITE)


def _invoke(arguments: list[str]) -> int:
    if not arguments:
        arguments = ["--help"]
    try:
        with warnings.catch_warnings(), application.make_context("ssiode", arguments) as context:
            # What overflows is refused or shown as such; NumPy's warnings would only repeat it.
            warnings.simplefilter("ignore", RuntimeWarning)
            application.invoke(context)
    except click.exceptions.Exit as leave:
        code = leave.exit_code
    else:
        code = 0
    # A closed pipe shows here, inside the caller's try, and not when the interpreter ends.
    sys.stdout.flush()
    return code


def _usage_line(error: click.UsageError, arguments: list[str]) -> str:
    message = error.format_message().rstrip(". ")
    if isinstance(error, click.NoSuchOption):
        near = difflib.get_close_matches(error.option_name, error.possibilities or [], n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        message = f"unknown option {error.option_name[:40]!r}{hint}"
    command = error.ctx.command_path if error.ctx else "ssiode"
    if command == "ssiode" and arguments and arguments[0] in command_files():
        command = f"ssiode {arguments[0]}"
    return f"{message}; see '{command} --help'"


def _complain(message: str, code: int) -> int:
    line = " ".join(message.split())
    if len(line) > _LONGEST_LINE:
        line = f"{line[: _LONGEST_LINE - 200]} ... {line[-190:]}"
    try:
        print(f"ssiode: {line}", file=sys.stderr, flush=True)
    except BrokenPipeError:
        return BROKEN_PIPE
    except OSError:
        return CANNOT_WRITE
    return code
