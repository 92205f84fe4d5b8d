"""All local minima of the population risk on the closed feasible set."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.errors import InputError, whole_number
from ssiode.population_risk import RiskEngine, make_engine
from ssiode.results import provenance
from ssiode.risk_landscape.minima.certificate import Certificate, certify
from ssiode.risk_landscape.minima.multi_start import Found, search, without_slopes
from ssiode.risk_landscape.minima.projected_descent import residual
from ssiode.risk_landscape.minima.reduced_risk import ReducedRisk
from ssiode.threads import one_blas_thread

if TYPE_CHECKING:
    from ssiode.problem import Problem
    from ssiode.risk_landscape.minima.stationary import StationaryPoint

# Newton steps leave places this far from exact where the error of the slope is rounding.
_PLACE = 1e-9
_ROUNDING = 1e-14
_SAME_RISK = 1e-9
_STARTS = {True: 96, False: 16}
_ROUNDS = 3


@dataclass(frozen=True)
class Minimum:
    """A local minimum of R on the feasible set.

    Attributes
    ----------
    e : tuple of L floats
    m : float
    coordinates : tuple of r floats
        The same in the frame of :class:`FeasibleCoordinates`, where the feasible set is the unit
        ball and the last one is m.
    risk, risk_error : float
    kind : str
        `semantic` along the direction of the teacher, `positional` orthogonal to it (m = 0),
        `mixed`, or `uninformed` at the origin; told apart within the error of the place.
    is_boundary : bool
        Whether the student has no weight outside the span of the encoding and the teacher.
    curvature, curvature_error : float
        Smallest second derivative along geodesics of the ball, inf at the ends of a segment; and
        the error of the differences of slopes that give it.
    position_error : float
        How far the minimum of the true risk may be; inf where the slope is never known.
    is_isolated : bool
        Whether R is known to rise in every direction.
    hits : int
        So many starts ended here.
    """

    e: tuple[float, ...]
    m: float
    coordinates: tuple[float, ...]
    risk: float
    risk_error: float
    kind: str
    is_boundary: bool
    curvature: float
    curvature_error: float
    position_error: float
    is_isolated: bool
    hits: int


@dataclass(frozen=True, eq=False)
class Minima:
    """The local minima in the order of their risk, and what is known about their number.

    Attributes
    ----------
    problem : Problem
    minima : tuple of Minimum
    certificate : Certificate
    status : str
        `isolated`; `flat` if the risk is constant within its error; `degenerate` if some minimum
        is not known to be isolated: one of a continuum then stands for all; `unknown`, without
        minima, if the engine knows no slope.
    starts, seed : int
    engine : str
        Which engine, and why.
    left_out : int
        Ends of descents that were not followed further: where evaluations are dear only the lowest
        are.
    """

    problem: Problem
    minima: tuple[Minimum, ...]
    certificate: Certificate
    status: str
    starts: int
    seed: int
    engine: str
    left_out: int = 0

    @property
    def message(self) -> str:
        """The status in words."""
        rest = f"; {self.left_out} higher ends of descents were not followed further"
        return self._status + (rest if self.left_out else "")

    @property
    def _status(self) -> str:
        count = len(self.minima)
        noun = "minimum" if count == 1 else "minima"
        if self.status == "flat":
            return "the risk is constant within its error on the whole feasible set"
        if self.status == "unknown":
            return "the slopes of the risk are below their errors, so its minima are not known"
        if self.status == "degenerate":
            loose = sum(not minimum.is_isolated for minimum in self.minima)
            return (
                f"{count} {noun}, {loose} not known to be isolated and listed once for a continuum"
            )
        return f"{count} isolated {noun}"

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "minima": [dataclasses.asdict(minimum) for minimum in self.minima],
            "certificate": self.certificate.as_dict(),
            "status": self.status,
            "message": self.message,
            "starts": self.starts,
            "seed": self.seed,
            "engine": self.engine,
            "left_out": self.left_out,
        } | provenance(self.problem)


def local_minima(
    problem: Problem,
    *,
    engine: RiskEngine | str | None = None,
    starts: int | None = None,
    seed: int = 0,
) -> Minima:
    """Find all local minima of R on the closed feasible set, inside and on its boundary.

    Descents start on a grid where the student sees one or two overlaps, and at random points of
    the ball; what they find is polished by Newton steps. Points without a slope that descend in
    some direction are saddles and are left along it. With one or two overlaps and an engine that
    has a table a proof follows that none was missed, see :func:`certify`.

    Parameters
    ----------
    problem : Problem
    engine : RiskEngine or str, optional
        An engine of the problem or its name; the one that suits it if not given.
    starts : int, optional
        Number of random starts; 96 for engines with a table and 16 for others if not given.
    seed : int
        Of the random starts.

    Raises
    ------
    InputError
        If no engine serves the problem, or one is given for another problem.

    Examples
    --------
    >>> from ssiode import Attention, Encoding, Problem, Target
    >>> problem = Problem(Target("He2(z1) + He2(z2)"), Attention("trace"), Encoding("opposite"))
    >>> found = local_minima(problem)
    >>> [(minimum.kind, round(minimum.m, 9), minimum.is_boundary) for minimum in found.minima]
    [('semantic', -1.0, True), ('semantic', 1.0, True)]
    >>> found.certificate.status
    'certified'
    """
    if not isinstance(engine, RiskEngine):
        engine = make_engine(problem, engine)
    elif engine.problem is not problem:
        raise InputError("the engine is of another problem; make one with make_engine(problem)")
    risk = ReducedRisk(engine)
    starts = _STARTS[risk.is_tabulated] if starts is None else starts
    starts = whole_number("starts", starts, minimum=1, maximum=100_000)
    seed = whole_number("seed", seed, minimum=0)
    with one_blas_thread():
        reason = without_slopes(risk, seed)
        if reason is not None:
            return _without_slopes(risk, reason, starts, seed)
        found = search(risk, starts, seed)
        for _ in range(_ROUNDS):
            certificate = certify(risk, found.minima, found.soft_saddles, found.search_size)
            if not len(certificate.unresolved):
                break
            more = found.beside(risk, certificate.unresolved)
            if more.count == found.count:
                break
            found = more
        return _result(risk, found, certificate, starts, seed)


def _result(
    risk: ReducedRisk, found: Found, certificate: Certificate, starts: int, seed: int
) -> Minima:
    minima = [
        _minimum(risk, point, hits) for point, hits in zip(found.minima, found.hits, strict=True)
    ]
    # Copies by symmetry have the same risk up to errors: then the order is that of the places.
    unit = max((max(one.risk_error, _SAME_RISK * abs(one.risk)) for one in minima), default=1.0)
    minima.sort(key=lambda one: (round(one.risk / unit), [round(x, 6) for x in one.coordinates]))
    is_isolated = all(minimum.is_isolated for minimum in minima)
    status = "isolated" if is_isolated else "degenerate"
    engine = risk.engine
    return Minima(
        engine.problem,
        tuple(minima),
        certificate,
        status,
        starts,
        seed,
        f"{engine.name}: {engine.description}",
        found.left_out,
    )


def _minimum(risk: ReducedRisk, point: StationaryPoint, hits: int) -> Minimum:
    y = _place(risk, point)
    value, gradient = risk.value_and_gradient(y[None])
    error = risk.errors(y[None])[0]
    v, u = risk.overlaps(y), y @ risk.seen
    known = 2 * point.position_error if np.isfinite(point.position_error) else 0.0
    # What is not seen bends up along the boundary, and is flat inside.
    curvature = point.curvature
    if risk.n_unseen:
        unseen = -float(y @ gradient[0]) if point.is_boundary else 0.0
        curvature = min(curvature, unseen)
    return Minimum(
        e=_without_rounding(v[:-1]),
        m=_without_rounding(v[-1:])[0],
        coordinates=_without_rounding(u),
        risk=float(value[0]),
        risk_error=float(error[0]),
        kind=risk.coordinates.kind(v, max(known, _PLACE)),
        is_boundary=point.is_boundary,
        curvature=curvature,
        curvature_error=point.curvature_error,
        position_error=point.position_error,
        is_isolated=point.is_isolated and (point.is_boundary or not risk.n_unseen),
        hits=hits,
    )


def _place(risk: ReducedRisk, point: StationaryPoint) -> np.ndarray:
    """The point, with coordinates of 0 where they may be 0 and the slope there may vanish too."""
    if not point.is_isolated:
        return point.y
    y = np.where(np.abs(point.y) <= point.position_error, 0.0, point.y)
    if point.is_boundary:
        y = y / max(float(np.linalg.norm(y)), _ROUNDING)
    slope = residual(y[None], risk.gradient(y[None]))[0]
    _, error = risk.errors(y[None])
    return y if np.all(np.abs(slope) <= error[0]) else point.y


def _without_rounding(overlaps: np.ndarray) -> tuple[float, ...]:
    """What is rounding of overlaps up to 1 is 0."""
    return tuple(np.where(np.abs(overlaps) > _ROUNDING, overlaps, 0.0).tolist())


def _without_slopes(risk: ReducedRisk, status: str, starts: int, seed: int) -> Minima:
    """For a flat risk the origin, in the place of all points; else nothing."""
    from ssiode.risk_landscape.minima.stationary import StationaryPoint

    engine, origin = risk.engine, np.zeros((1, risk.dimension))
    point = StationaryPoint(
        y=origin[0],
        is_boundary=False,
        curvature=0.0,
        curvature_error=float(np.linalg.norm(risk.hessian(origin).error)),
        is_minimum=True,
        is_soft=True,
        is_isolated=False,
        position_error=np.inf,
    )
    reasons = {
        "flat": "the risk is flat within its error",
        "unknown": "lower the norm or the injected constant, or choose another engine",
    }
    return Minima(
        engine.problem,
        (_minimum(risk, point, 0),) if status == "flat" else (),
        Certificate("not certified", reasons[status], 0, "", 0.0),
        status,
        starts,
        seed,
        f"{engine.name}: {engine.description}",
    )
