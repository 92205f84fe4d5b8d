"""Choice of an engine and the one-call interface to the risk."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.errors import InputError, unknown_name
from ssiode.population_risk.mehler.teacher import NoSeriesError
from ssiode.population_risk.protocol import (
    RiskEngine,
    RiskEvaluation,
    engine_class,
    engine_classes,
)

if TYPE_CHECKING:
    from ssiode.problem import Problem


def make_engine(
    problem: Problem,
    name: str | None = None,
    v: np.ndarray | None = None,
    tolerance: float = 1e-6,
    **options: Any,
) -> RiskEngine:
    """Build the engine of that name, or the one that suits the problem.

    Parameters
    ----------
    problem : Problem
    name : str, optional
        `series`, `quadrature` or `montecarlo`; by default the first of these that serves the
        problem, quadrature only where it converges fast (L <= 2 and all is smooth).
    v : array of shape (L + 1,), optional
        State at which the order of the quadrature is chosen; without it the order is a default.
    tolerance : float
        Error, relative to the risk, that the order of the quadrature is chosen for.
    **options
        Arguments of the engine, such as `order` or `samples` and `seed`; the seed is by default
        that of the problem.

    Raises
    ------
    InputError
        On an unknown engine or option, or one that cannot serve the problem.
    """
    if name is not None:
        return _named(problem, name, v, tolerance, options)
    objections = []
    for kind in sorted(engine_classes(problem).values(), key=lambda kind: kind.rank):
        objection = kind.objection(problem) or kind.reluctance(problem) or _not_taken(kind, options)
        if objection is None:
            try:
                engine = _named(problem, kind.name, v, tolerance, options)
            except NoSeriesError as error:
                objection = str(error)
            else:
                objection = None if v is None else engine.objection_at(v)
            if objection is None:
                engine.reason = "; ".join(filter(None, [kind.suits, *objections]))
                return engine
        objections.append(f"no {kind.name}: {objection}")
    raise InputError("no engine serves this problem: " + "; ".join(objections))


def _not_taken(kind: type[RiskEngine], options: dict[str, Any]) -> str | None:
    """Why options of another engine rule this one out; options of none are refused later."""
    others = {name for other in RiskEngine.engines.values() for name in _option_names(other)}
    strange = [name for name in options if name in others and name not in _option_names(kind)]
    return f"it takes no {strange[0]!r}" if strange else None


def _option_names(kind: type[RiskEngine]) -> list[str]:
    return list(inspect.signature(kind).parameters)[1:]


def _named(
    problem: Problem, name: str, v: np.ndarray | None, tolerance: float, options: dict[str, Any]
) -> RiskEngine:
    kind = engine_class(problem, name)
    for option in options:
        if option not in _option_names(kind):
            raise unknown_name(f"option of engine {name!r}", option, _option_names(kind))
    return kind.suited(problem, v, tolerance, **options)


def risk(
    problem: Problem,
    e: Any = None,
    m: Any = 0.0,
    engine: str | None = None,
    project: bool = False,
    **options: Any,
) -> RiskEvaluation:
    """Population risk R(e, m), its gradient and the second moment V of the gradient.

    Parameters
    ----------
    problem : Problem
    e : float or sequence of L floats, optional
        Positional overlaps; 0 if not given.
    m : float, or sequence of L floats for an untied network
        Semantic overlap.
    engine : str, optional
        `series`, `quadrature` or `montecarlo`; chosen if not given, with the reason on the result.
    project : bool
        Take the projection of an infeasible (e, m) on the feasible set.
    **options
        Arguments of the engine.

    Raises
    ------
    InputError
        If (e, m) is infeasible for the encoding, or the engine does not fit.

    Examples
    --------
    >>> from ssiode import Problem, Target, TiedNetwork
    >>> result = risk(Problem(Target("z1"), TiedNetwork("identity")), m=0.25)
    >>> round(result.value, 12), round(float(result.gradient[-1]), 12)
    (1.5, -2.0)
    """
    v = problem.geometry.state(e, m, project)
    return make_engine(problem, engine, v, **options).evaluate(v)
