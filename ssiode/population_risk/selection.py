"""Choice of an engine and the one-call interface to the risk."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.errors import InputError, unknown_name
from ssiode.population_risk.montecarlo import MonteCarloEngine
from ssiode.population_risk.protocol import RiskEngine, RiskEvaluation, engine_class
from ssiode.population_risk.quadrature import QuadratureEngine
from ssiode.population_risk.series import NoSeriesError, SeriesEngine

if TYPE_CHECKING:
    from ssiode.problem import Problem

# With three tokens a point costs a million evaluations of the loss.
_LONGEST_QUADRATURE = 2
_LARGEST_RELATIVE_ERROR = 0.1


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
    for kind, suits in (
        (SeriesEngine, "squared loss"),
        (QuadratureEngine, "short and smooth"),
        (MonteCarloEngine, ""),
    ):
        objection = kind.objection(problem) or _is_slow(kind, problem) or _not_taken(kind, options)
        if objection is None:
            try:
                engine = _named(problem, kind.name, v, tolerance, options)
            except NoSeriesError as error:
                objection = str(error)
            else:
                objection = _is_useless(engine, v)
            if objection is None:
                engine.reason = "; ".join([suits, *objections] if suits else objections)
                return engine
        objections.append(f"no {kind.name}: {objection}")
    raise InputError("no engine serves this problem: " + "; ".join(objections))


def _is_slow(kind: type[RiskEngine], problem: Problem) -> str | None:
    """Why an engine that would serve is not chosen."""
    if kind is QuadratureEngine and not problem.is_smooth:
        return "target, student or loss is not known to be smooth"
    if kind is QuadratureEngine and problem.length > _LONGEST_QUADRATURE:
        return f"length is {problem.length}, too long to be fast"
    return None


def _is_useless(engine: RiskEngine, v: np.ndarray | None) -> str | None:
    """Why the series is not taken at v: cut off too early, it knows R or V to one digit at most."""
    if v is None or not isinstance(engine, SeriesEngine):
        return None
    result = engine.evaluate(v)
    for name, value, error in (
        ("R", result.value, result.value_error),
        ("V", result.second_moment, result.second_moment_error),
    ):
        if error > max(_LARGEST_RELATIVE_ERROR * abs(value), 1e-9):
            return f"its error of {name} is {error:.1g} here"
    return None


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
    kind = engine_class(name)
    if kind is MonteCarloEngine:
        options = {"seed": problem.sgd.seed, **options}
    for option in options:
        if option not in _option_names(kind):
            raise unknown_name(f"option of engine {name!r}", option, _option_names(kind))
    if kind is QuadratureEngine and v is not None and not options:
        return QuadratureEngine.converged(problem, v, tolerance)
    return kind(problem, **options)


def risk(
    problem: Problem,
    e: Any = None,
    m: float = 0.0,
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
    m : float
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
