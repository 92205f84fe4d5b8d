"""The landscape of a problem: how the risk leaves the origin, and where it has its minima."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ssiode.errors import InputError, whole_number
from ssiode.results import provenance
from ssiode.risk_landscape.at_origin.descent import Descent, descent
from ssiode.risk_landscape.at_origin.explanation import explanations, verdict
from ssiode.risk_landscape.at_origin.flatness import Flatness
from ssiode.risk_landscape.at_origin.hessian import Hessian
from ssiode.risk_landscape.at_origin.taylor import TaylorExpansion

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ssiode.exponent import SequenceExponent
    from ssiode.population_risk import RiskEngine
    from ssiode.problem import Problem
    from ssiode.risk_landscape.minima import Minima

LAST_ORDER = 8


@dataclass(frozen=True, eq=False)
class Landscape:
    """The population risk around the origin of the overlaps, and its local minima.

    Attributes
    ----------
    problem : Problem
    exponent : SequenceExponent
        Of the target.
    flatness : Flatness
        The flatness index and the leading form of R.
    hessian : Hessian
        At the origin, with its eigenvalues in the metric of the encoding.
    descent : Descent
        The escape order, the steepest direction and their proof.
    explanations : tuple of str
        Why the student does not see what the target has.
    verdict : str
        How SGD leaves the origin.
    largest_gamma, largest_gamma_error : float or None
        Learning rate above which the noise of the gradient holds v at the origin, where the escape
        order is 2; None elsewhere and without such noise.
    minima : Minima or None
        The local minima of R, None if not asked for or interrupted.
    status : str
        `finished`, or `interrupted` while the minima were sought.
    coefficients : str
        Where the coefficients of the student come from.
    engine : RiskEngine
        Engine of the risk.
    """

    problem: Problem
    exponent: SequenceExponent
    flatness: Flatness
    hessian: Hessian
    descent: Descent
    explanations: tuple[str, ...]
    verdict: str
    largest_gamma: float | None
    largest_gamma_error: float | None
    minima: Minima | None
    status: str
    coefficients: str
    engine: RiskEngine

    @property
    def flatness_index(self) -> int | None:
        """Order kappa of the first derivative of R that does not vanish, None if not proved."""
        return self.flatness.index

    @property
    def escape_order(self) -> int | None:
        """Smallest order at which some direction goes down, None if there is none."""
        return self.descent.order

    @property
    def steepest_direction(self) -> dict[str, Any] | None:
        """Its e and m, of length 1 in the metric of the encoding."""
        v = self.descent.direction
        return None if v is None else {"e": v[:-1].tolist(), "m": float(v[-1])}

    @property
    def leading_form(self) -> str | None:
        """The part of R of order kappa."""
        form = self.flatness.leading_form
        return None if form is None else str(form)

    def figure(self, size: int | None = None) -> Figure:
        """Draw R on the feasible set with its flow, its minima and the steepest direction.

        All is drawn from one table of `size` states on an axis; with more than two independent
        overlaps on the plane of the teacher and the lowest positional direction.
        """
        from ssiode.landscape_plots import landscape_figure
        from ssiode.risk_landscape.coordinates import FeasibleCoordinates
        from ssiode.risk_landscape.surface import risk_surface

        v = self.descent.direction
        coordinates = FeasibleCoordinates(self.problem.geometry)
        return landscape_figure(
            risk_surface(self.problem, engine=self.engine, size=size),
            () if self.minima is None else self.minima.minima,
            None if v is None else coordinates.coordinates(v),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        form, falling = self.flatness.leading_form, self.descent
        data = {
            "sie": self.exponent.sie,
            "flatness_index": self.flatness_index,
            "flatness_status": self.flatness.status,
            "flatness_at_least": self.flatness.at_least,
            "leading_form": self.leading_form,
            "leading_terms": None if form is None else form.as_list(),
            "hessian": self.hessian.as_dict(),
            "escape_order": self.escape_order,
            "escape_status": falling.status,
            "escape_reason": falling.reason,
            "escape_form": None if falling.form is None else str(falling.form),
            "steepest_direction": self.steepest_direction,
            "slope": falling.slope,
            "slope_error": falling.slope_error,
            "largest_gamma": self.largest_gamma,
            "largest_gamma_error": self.largest_gamma_error,
            "status": self.status,
            "explanations": list(self.explanations),
            "verdict": self.verdict,
            "coefficients": self.coefficients,
        }
        if self.minima is None:
            return data | {"minima": None} | provenance(self.problem)
        found = self.minima.as_dict()
        search = {f"minima_{name}": found[name] for name in ("status", "message", "starts", "seed")}
        kept = {name: found[name] for name in ("minima", "certificate", "engine")}
        return data | kept | search | provenance(self.problem)


def landscape(
    problem: Problem,
    *,
    max_order: int = LAST_ORDER,
    minima: bool = True,
    engine: str | RiskEngine | None = None,
    **engine_options: Any,
) -> Landscape:
    r"""Tell how the risk leaves the origin (e, m) = 0, and where its local minima are.

    R is expanded at the origin in Hermite coefficients of f, :math:`|f|^2` and g, exactly where
    these are exact (after Arnaboldi et al., arXiv 2506.02651, section 3). The escape order is the
    smallest order at which some direction of the feasible set goes down; the flatness index alone
    does not tell that any does.

    Parameters
    ----------
    problem : Problem
        With the squared loss and one weight vector for all tokens.
    max_order : int
        Highest order of the expansion, from 2; at most 8 for attention, whose coefficients end
        there.
    minima : bool
        Also find all local minima on the feasible set.
    engine : str or RiskEngine, optional
        Engine of the risk for the minima; chosen if not given.
    **engine_options
        Arguments of the engine.

    Returns
    -------
    Landscape
        After Ctrl-C during the search for minima with status `interrupted` and without them.

    Raises
    ------
    InputError
        If the problem has no such expansion.

    Examples
    --------
    >>> from ssiode import Attention, Encoding, Problem, Target
    >>> problem = Problem(Target("He4(z1) + He4(z2)"), Attention("trace"), Encoding("opposite"))
    >>> found = landscape(problem, minima=False)
    >>> found.flatness_index, found.escape_order
    (2, None)
    """
    from ssiode.exponent import sie

    max_order = whole_number("max_order", max_order, minimum=2)
    expansion = TaylorExpansion(problem)
    if max_order > expansion.last_order:
        if max_order != LAST_ORDER:
            raise InputError(
                f"max_order is {max_order}; the coefficients of this problem end at order "
                f"{expansion.last_order}"
            )
        max_order = expansion.last_order
    exponent = sie(problem.target)
    flatness = Flatness.of(expansion, max_order)
    found = descent(expansion, max_order)
    at_risk = _engine(problem, engine, engine_options)
    largest_gamma, largest_gamma_error = _largest_gamma(problem, found, at_risk)
    try:
        lowest, status = _minima(problem, at_risk) if minima else None, "finished"
    except KeyboardInterrupt:
        lowest, status = None, "interrupted"
    return Landscape(
        problem=problem,
        exponent=exponent,
        flatness=flatness,
        hessian=Hessian(expansion.form(2), expansion.seen),
        descent=found,
        explanations=explanations(expansion, max_order),
        verdict=verdict(problem.geometry, flatness, found, exponent.sie),
        largest_gamma=largest_gamma,
        largest_gamma_error=largest_gamma_error,
        minima=lowest,
        status=status,
        coefficients=expansion.student.how,
        engine=at_risk,
    )


def _engine(problem: Problem, engine: str | RiskEngine | None, options: Any) -> RiskEngine:
    from ssiode.population_risk import RiskEngine, make_engine

    if isinstance(engine, RiskEngine):
        return engine
    return make_engine(problem, engine, problem.geometry.state(), **options)


def _minima(problem: Problem, engine: RiskEngine) -> Minima:
    from ssiode.risk_landscape.minima import local_minima

    return local_minima(problem, engine=engine)


def _largest_gamma(
    problem: Problem, found: Descent, engine: RiskEngine
) -> tuple[float | None, float | None]:
    r"""The root of the rate of growth :math:`-\lambda - \gamma V(0) / 2b`, and its error."""
    if found.order != 2:
        return None, None
    origin = engine.evaluate(problem.geometry.state())
    second_moment, error = origin.second_moment, origin.second_moment_error
    if not second_moment > 0:
        return None, None
    gamma = 4 * problem.sgd.batch * found.slope / second_moment
    return gamma, gamma * (found.slope_error / found.slope + error / second_moment)
