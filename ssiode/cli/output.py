"""Results on standard output, as text or as one JSON object."""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def json_option(command: Command) -> Command:
    """Give a command the flag ``--json``; its function receives `as_json`.

    Examples
    --------
    >>> @click.command()
    ... @json_option
    ... def command(as_json: bool) -> None: ...
    >>> [parameter.name for parameter in command.params]
    ['as_json']
    """
    text = "Write one JSON object on standard output and nothing else."
    return click.option("--json", "as_json", is_flag=True, help=text)(command)


def emit(result: Mapping[str, Any], as_json: bool, human_text: str | Callable[[], str]) -> None:
    """Write a result on standard output.

    Parameters
    ----------
    result : mapping
        What ``--json`` writes; NumPy values are fine.
    as_json : bool
        Whether to write JSON or text.
    human_text : str or callable
        The text, or a function that makes it.

    Examples
    --------
    >>> emit({"value": float("nan")}, True, "")
    {"value": null}
    """
    if as_json:
        click.echo(json.dumps(plain(result), allow_nan=False))
    else:
        click.echo(human_text() if callable(human_text) else human_text)


def plain(value: Any) -> Any:
    """Return `value` in the types of strict JSON; NaN and infinities become None.

    Raises
    ------
    TypeError
        If a value has no form in JSON.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"t": np.array([0.0, np.inf]), "n": np.int64(2), "done": np.bool_(True)})
    {'t': [0.0, None], 'n': 2, 'done': True}
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, PurePath):
        return str(value)
    # NumPy arrays and scalars, without importing NumPy.
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    raise TypeError(f"{type(value).__name__} has no form in JSON")
