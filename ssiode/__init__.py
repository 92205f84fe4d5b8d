"""How SGD learns sequence single-index models: exponents, ODEs and finite-size checks.

A target, a student and an encoding make a :class:`Problem`; a problem has a Hermite expansion, a
population risk and a vector field on the sufficient statistics (e, m); the ODE and direct SGD are
ways to move on it. Names are imported when first used, so ``import ssiode`` is fast.

>>> import ssiode
>>> ssiode.sie("z1*z2").sie
2
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "Attention": "ssiode.student",
    "Encoding": "ssiode.encoding",
    "Ensemble": "ssiode.results",
    "ExpressionStudent": "ssiode.student",
    "InputError": "ssiode.errors",
    "LinearAttention": "ssiode.student",
    "Problem": "ssiode.problem",
    "Target": "ssiode.target",
    "TiedNetwork": "ssiode.student",
    "UntiedNetwork": "ssiode.student",
    "gain": "ssiode.weight_sharing",
    "hermite_coefficients": "ssiode.hermite.expansion",
    "landscape": "ssiode.risk_landscape",
    "phase_boundaries": "ssiode.phase",
    "phase_region": "ssiode.phase",
    "resume_run": "ssiode.dynamics",
    "risk": "ssiode.population_risk",
    "run_chain": "ssiode.dynamics",
    "run_diffusion": "ssiode.dynamics",
    "run_sgd": "ssiode.dynamics",
    "scaling": "ssiode.recovery_scaling",
    "sie": "ssiode.exponent",
    "solve_ode": "ssiode.dynamics",
    "validate": "ssiode.validation",
}

__all__ = ["__version__", *_HOME]

# Python started in the root of a clone finds this folder before an installed package, and then
# `validation/` and `derivations/` lie beside it instead of inside it.
_root = Path(__file__).parent.parent
if not (Path(__file__).parent / "validation").is_dir() and (_root / "setup.cfg").is_file():
    __path__.append(str(_root))


def __getattr__(name: str) -> Any:
    """Import a public name from its module on first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'ssiode' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted(__all__)
