"""How a result was made: its problem, and the versions that computed it."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import ssiode
from ssiode.errors import InputError

if TYPE_CHECKING:
    from ssiode.problem import Problem


def provenance(problem: Problem) -> dict[str, Any]:
    """Return the problem as tables, and the versions that computed it."""
    try:
        tables = problem.to_tables()
    except InputError:
        tables = {"target": repr(problem.target)}
    names = ("numpy", "scipy", "numba", "sympy")
    versions = {"python": platform.python_version(), "ssiode": ssiode.__version__}
    return {"problem": tables, "versions": versions | {name: version(name) for name in names}}
