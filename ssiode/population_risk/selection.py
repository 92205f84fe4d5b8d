"""Choice of an engine and the one-call interface to the risk."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.errors import unknown_name
from ssiode.population_risk.montecarlo import MonteCarloEngine
from ssiode.population_risk.protocol import RiskEngine, RiskEvaluation, engine_class
from ssiode.population_risk.quadrature import QuadratureEngine

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
        `quadrature` or `montecarlo`; by default quadrature where it converges fast (L <= 2 and
        smooth target, student and loss), else Monte Carlo.
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
    reason = "asked for by name"
    if name is None:
        objection = QuadratureEngine.objection(problem)
        if objection is None and not problem.is_smooth:
            objection = "target, student or loss is not known to be smooth"
        suits = objection is None
        name = QuadratureEngine.name if suits else MonteCarloEngine.name
        reason = "short and smooth" if suits else f"no quadrature: {objection}"
    kind = engine_class(name)
    if kind is MonteCarloEngine:
        options.setdefault("seed", problem.sgd.seed)
    allowed = list(inspect.signature(kind).parameters)[1:]
    for option in options:
        if option not in allowed:
            raise unknown_name(f"option of engine {name!r}", option, allowed)
    if kind is QuadratureEngine and v is not None and not options:
        engine = QuadratureEngine.converged(problem, v, tolerance)
    else:
        engine = kind(problem, **options)
    engine.reason = reason
    return engine


def risk(
    problem: Problem,
    e: Any = None,
    m: float = 0.0,
    engine: str | None = None,
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
        `quadrature` or `montecarlo`; chosen if not given, with the reason on the result.
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
    v = problem.geometry.state(e, m)
    return make_engine(problem, engine, v, **options).evaluate(v)
