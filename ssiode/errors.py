"""Errors that say what was given, what is allowed and how to mend it, in one line."""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Iterable
from typing import Any

_LONGEST_SHOWN = 60
_LONGEST_PATH = 160


class InputError(ValueError):
    """Bad input from the user; its text is one line that is shown as it is.

    Attributes
    ----------
    result : object or None
        What had been computed before, where that is worth keeping.

    Examples
    --------
    >>> raise InputError("gamma is -1.0; it must be >= 0")
    Traceback (most recent call last):
    ...
    ssiode.errors.InputError: gamma is -1.0; it must be >= 0
    """

    result: Any = None


def unknown_name(what: str, given: str, allowed: Iterable[str]) -> InputError:
    """Build the error for a name that does not exist, with the nearest one that does.

    >>> print(unknown_name("student", "atention", ["attention", "tied"]))
    unknown student 'atention'; did you mean 'attention'? allowed: attention, tied
    """
    given, names = str(given), sorted(allowed)
    near = difflib.get_close_matches(given, names, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else ";"
    shown = given if len(given) <= 40 else given[:37] + "..."
    return InputError(f"unknown {what} {shown!r}{hint} allowed: {', '.join(names)}")


def choose(what: str, given: str, allowed: Iterable[str]) -> str:
    """Return `given` if it is one of the allowed names, else raise :func:`unknown_name`.

    >>> choose("loss", "squared", ["squared", "frobenius"])
    'squared'
    """
    names = tuple(allowed)
    if not isinstance(given, str) or given not in names:
        raise unknown_name(what, str(given), names)
    return given


def finite_number(name: str, value: object, *, minimum: float = -math.inf) -> float:
    """Return `value` as a finite float that is at least `minimum`, else raise `InputError`.

    >>> finite_number("gamma", 0.5, minimum=0.0)
    0.5
    """
    bound = "a finite number" if minimum == -math.inf else f"a finite number >= {minimum:g}"
    try:
        number = float(value) if _is_real(value) else math.nan  # type: ignore[arg-type]
    except OverflowError:
        number = math.nan
    if not math.isfinite(number) or number < minimum:
        raise InputError(f"{name} is {shown(value)}; it must be {bound}")
    return number


def whole_number(name: str, value: object, *, minimum: int, maximum: int | None = None) -> int:
    """Return `value` as an integer from `minimum` to `maximum`, else raise `InputError`.

    >>> whole_number("replicas", 16, minimum=1)
    16
    """
    try:
        number = int(value) if _is_real(value) else None  # type: ignore[call-overload]
    except (ValueError, OverflowError):
        number = None
    if number is None or number != value or number < minimum:
        raise InputError(f"{name} is {shown(value)}; it must be a whole number >= {minimum}")
    if maximum is not None and number > maximum:
        raise InputError(f"{name} is {shown(value)}; it must be a whole number <= {maximum}")
    return number


def number_list(name: str, value: object) -> tuple[float, ...]:
    """Return `value` as a tuple of finite floats, else raise `InputError`.

    >>> number_list("left", [1, 0.5])
    (1.0, 0.5)
    """
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InputError(f"{name} is {shown(value)}; it must be a list of numbers")
    return tuple(finite_number(f"an entry of {name}", entry) for entry in value)


def _is_real(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def shown(value: object) -> str:
    """Show any value in one short line.

    >>> shown(["z"] * 1000)
    "['z', 'z', 'z', 'z', 'z', 'z', 'z', 'z', 'z', 'z', 'z', '..."
    """
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python does not print integers of thousands of digits
        return "too long to show"
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


def shown_path(path: object) -> str:
    """Show a path in quotes; of a very long one the end, which names the file.

    >>> shown_path("problem.toml")
    "'problem.toml'"
    """
    text = repr(str(path))
    return text if len(text) <= _LONGEST_PATH else "'..." + text[3 - _LONGEST_PATH :]
