"""Derivations of the formulas: each prints its steps and proves or measures every one of them.

A derivation is a module of this package with a function ``derive``; a new file is found by itself.
``python -m derivations`` in the root of a clone, or ``python -m ssiode.derivations`` anywhere,
prints all of them and fails when a check does. They share no code with what they check.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable

from .report import Derivation


def find_derivations() -> dict[str, Callable[[], Derivation]]:
    """Find the modules of this package that have a function ``derive``.

    Returns
    -------
    dict
        The functions by the name of their module.

    Examples
    --------
    >>> "sgd_to_ode" in find_derivations()
    True
    """
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    modules = {
        name: importlib.import_module(f"{__name__}.{name}")
        for name in names
        if not name.startswith("_")
    }
    return {name: module.derive for name, module in modules.items() if hasattr(module, "derive")}
