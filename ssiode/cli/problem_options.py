"""The problem of a command: a file, flags that override it, or flags alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import click

from ssiode.errors import InputError


class NumberList(click.ParamType):
    """Comma-separated numbers, such as ``0.1,-0.1``."""

    name = "numbers"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return a tuple of floats."""
        if not isinstance(value, str):
            return value
        try:
            return tuple(float(part) for part in value.split(","))
        except ValueError:
            self.fail(f"{value!r} is not a list of numbers; write it as 0.1,-0.1", param, ctx)


class NameList(click.ParamType):
    """Comma-separated names, such as ``none,opposite``."""

    name = "names"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return a list of names."""
        return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


class WholeNumberList(click.ParamType):
    """Comma-separated whole numbers, such as ``100,1000``."""

    name = "numbers"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return a list of integers."""
        if not isinstance(value, str):
            return value
        try:
            return [int(part) for part in value.split(",")]
        except ValueError:
            self.fail(f"{value!r} is no list of whole numbers; write it as 100,1000", param, ctx)


class NumbersOrName(NumberList):
    """A list of numbers, or a name."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return a list of floats, or text that is none."""
        if isinstance(value, str) and value.isidentifier() and value not in ("nan", "inf"):
            return value
        return super().convert(value, param, ctx)


class _Flag(NamedTuple):
    table: str
    key: str
    type: Any
    help: str


_FLAGS = {
    "--target": _Flag("target", "expression", str, "Expression in z1...zL, or a target's name."),
    "--length": _Flag("target", "length", int, "Number of tokens L."),
    "--omega": _Flag("target", "omega", float, "Mixing of the positional-semantic target."),
    "--a": _Flag("target", "a", float, "Positional strength of the positional-semantic target."),
    "--label-noise": _Flag("target", "label_noise", float, "Variance of noise on the labels."),
    "--student": _Flag(
        "student", "kind", str, "attention, linear-attention, tied, untied or expression."
    ),
    "--reduction": _Flag("student", "reduction", str, "identity, trace or projection."),
    "--left": _Flag("student", "left", NumberList(), "Left vector of the projection."),
    "--right": _Flag("student", "right", NumberList(), "Right vector of the projection."),
    "--scale": _Flag("student", "scale", float, "Multiplies the student's output."),
    "--activation": _Flag("student", "activation", str, "Activation of a tied or untied network."),
    "--token-weights": _Flag(
        "student",
        "token_weights",
        NumbersOrName(),
        "Weights of the tokens of a tied network, as 1,-1, or alternating, signs or random.",
    ),
    "--token-seed": _Flag("student", "token_seed", int, "Seed of random token weights."),
    "--constraint": _Flag("student", "constraint", str, "row or joint norms of an untied network."),
    "--student-expression": _Flag(
        "student", "expression", str, "Outputs of the student in z1...zL, for kind expression."
    ),
    "--encoding": _Flag(
        "encoding",
        "kind",
        str,
        "none, opposite, orthonormal, random, sinusoidal, matrix or gram.",
    ),
    "--norm": _Flag("encoding", "norm", float, "Norm of the encoding's rows."),
    "--matrix": _Flag("encoding", "matrix", str, ".npy file of the encoding's rows, or Gram."),
    "--encoding-dimension": _Flag(
        "encoding", "dimension", int, "Dimension of the rows of a random or sinusoidal encoding."
    ),
    "--encoding-seed": _Flag("encoding", "seed", int, "Seed of the rows of a random encoding."),
    "--teacher-overlap": _Flag(
        "encoding", "teacher_overlap", NumberList(), "Overlap of the encoding with the teacher."
    ),
    "--injected": _Flag("encoding", "injected", NumberList(), "Constant added to the fields z."),
    "--loss": _Flag("loss", "kind", str, "squared or frobenius."),
    "--loss-scale": _Flag("loss", "scale", float, "Multiplies the loss."),
    "--gamma": _Flag("sgd", "gamma", float, "Learning rate; 0 is gradient flow (ODE only)."),
    "--d": _Flag("sgd", "d", int, "Token dimension."),
    "--batch": _Flag("sgd", "batch", int, "Samples per step."),
    "--steps": _Flag("sgd", "steps", int, "Number of SGD steps."),
    "--replicas": _Flag("sgd", "replicas", int, "Number of independent runs."),
    "--seed": _Flag("sgd", "seed", int, "Seed of all randomness."),
}


def problem_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the argument PROBLEM and all flags that describe a problem."""
    for name, flag in reversed(_FLAGS.items()):
        command = click.option(name, type=flag.type, help=flag.help)(command)
    parameter = "Value of a free name of the target, as b=2; repeatable."
    command = click.option("--param", multiple=True, metavar="NAME=VALUE", help=parameter)(command)
    return click.argument("problem", required=False, metavar="[PROBLEM]")(command)


def state_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the overlaps --e and --m."""
    text = "Semantic overlap; a list holds one for each weight vector of an untied network."
    command = click.option("--m", type=NumberList(), help=text)(command)
    text = "Positional overlaps, as 0.1,-0.1; one number holds for every token."
    return click.option("--e", type=NumberList(), help=text)(command)


_ENGINE_FLAGS = {
    "--engine": (str, "series, quadrature or montecarlo; chosen if not given."),
    "--order": (int, "Order of the series, or nodes per axis of the quadrature."),
    "--samples": (int, "Base samples of the Monte Carlo."),
    "--sampling": (str, "sobol or plain samples of the Monte Carlo."),
    "--engine-seed": (int, "Seed of the Monte Carlo; that of the problem if not given."),
}


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of the engine of the population risk."""
    for name, (kind, text) in reversed(_ENGINE_FLAGS.items()):
        command = click.option(name, type=kind, help=text)(command)
    return command


def given_engine_options(flags: dict[str, Any]) -> dict[str, Any]:
    """Take the engine's options that were given out of the flags of a command.

    >>> given_engine_options({"engine": "montecarlo", "engine_seed": 3, "samples": None})
    {'engine': 'montecarlo', 'seed': 3}
    """
    given = {name: flags.pop(_variable(name), None) for name in _ENGINE_FLAGS}
    if (seed := given.pop("--engine-seed")) is not None:
        given["seed"] = seed
    return {name.removeprefix("--"): v for name, v in given.items() if v is not None}


def build_problem(path: str | None, param: tuple[str, ...], flags: dict[str, Any]) -> Any:
    """Build the problem from its file and from flags, which override the file.

    Raises
    ------
    InputError
        On a file or a flag that cannot be used, or no target at all.
    """
    from ssiode.problem import Problem, load_rows, read_tables
    from ssiode.threads import thread_count

    thread_count()  # a wrong number of threads is told before any work
    tables = read_tables(path) if path is not None else {}
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise InputError(f"[{name[:40]}] in the problem file must be a table of keys")
    given = {name: flags.pop(_variable(name)) for name in _FLAGS}
    target = given["--target"]
    if target is not None:
        _replace_target(tables, target)
    if given["--matrix"] is not None:
        from pathlib import Path

        given["--matrix"] = load_rows(Path(given["--matrix"]))
    for name, value in given.items():
        if value is not None and name != "--target":
            _replace_kind(tables, _FLAGS[name], value)
            tables.setdefault(_FLAGS[name].table, {})[_FLAGS[name].key] = value
    if param:
        tables.setdefault("target", {})["parameters"] = parse_parameters(param)
    return Problem.from_tables(tables)


def parse_parameters(pairs: tuple[str, ...]) -> dict[str, str]:
    """Read ``("b=2",)`` as ``{"b": "2"}``.

    >>> parse_parameters(("b=1/3",))
    {'b': '1/3'}
    """
    values = {}
    for pair in pairs:
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not (name and equals and value):
            raise InputError(f"--param {pair!r} is not NAME=VALUE; write it as --param b=2")
        if name in values:
            raise InputError(
                f"parameter {name[:40]!r} is given twice, as {values[name][:40]} and as "
                f"{value[:40]}; give it once"
            )
        values[name] = value
    return values


def _replace_target(tables: dict[str, Any], target: str) -> None:
    from ssiode.named_targets import NAMED_TARGETS

    old = tables.get("target", {})
    if target in NAMED_TARGETS:
        kept = {"omega", "a", "label_noise"} if old.get("name") == target else {"label_noise"}
        key = "name"
    else:
        kept = {"length", "parameters", "label_noise"} if "expression" in old else {"label_noise"}
        key = "expression"
    tables["target"] = {k: v for k, v in old.items() if k in kept} | {key: target}


def _replace_kind(tables: dict[str, Any], flag: _Flag, value: Any) -> None:
    """Another kind than the file's drops the settings that belonged to the file's."""
    table = tables.get(flag.table, {})
    if flag.key == "kind" and table.get("kind", value) != value:
        tables[flag.table] = {}


def _variable(name: str) -> str:
    return name.removeprefix("--").replace("-", "_")
