r"""When the overlaps escape from random initial weights: the ODE from the distribution of starts.

Weights uniform on the sphere have :math:`v_0 \sim N(0, \Gamma/d)` at large d; their law at finite d
is drawn exactly. The ODE takes each start to :math:`|v| = \eta` in a time t, which is
:math:`\tau = t\,d/\gamma` steps. It leaves out the noise of SGD on the way, which near the origin
acts like a wider distribution of the starts: see :mod:`ssiode.risk_landscape.escape.initial_noise`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.complexity import SampleComplexity
from ssiode.errors import InputError, finite_number, whole_number
from ssiode.population_risk import RiskEngine, make_engine
from ssiode.recovery import DEFAULT_THRESHOLD, check_threshold
from ssiode.recovery_scaling.law import RecoveryLaw
from ssiode.results import provenance
from ssiode.risk_landscape.coordinates import FeasibleCoordinates
from ssiode.risk_landscape.escape.flow import Flow, flow_from, long_time
from ssiode.risk_landscape.escape.initial_noise import noise_covariance
from ssiode.risk_landscape.escape.passage_times import PassageTimes
from ssiode.settings import InitialCondition
from ssiode.threads import one_blas_thread

if TYPE_CHECKING:
    from ssiode.problem import Problem

# Streams of the starts and of their noise, beside those of a run with the same seed.
_STREAM_OF_STARTS, _STREAM_OF_NOISE = int.from_bytes(b"v0"), int.from_bytes(b"dB")


@dataclass(frozen=True)
class EscapeScale:
    """Scales of Theorem 1 at one d, up to constants (Arnaboldi et al., arXiv 2506.02651).

    Attributes
    ----------
    complexity : SampleComplexity
        The scales in words.
    samples, learning_rate, time : float
        d, d log^2 d or d^(n-1); 1, 1/log d or d^(1-n/2); 1, log d or d^(n/2-1).

    Examples
    --------
    >>> scale = EscapeScale.of(3, 10_000)
    >>> scale.samples, scale.learning_rate, scale.time
    (100000000.0, 0.01, 100.0)
    """

    complexity: SampleComplexity
    samples: float
    learning_rate: float
    time: float

    @classmethod
    def of(cls, order: int, d: int) -> EscapeScale:
        """Return the scales of an exponent n >= 1."""
        law = RecoveryLaw(order)
        samples, rate = law.steps(d), law.rate(d)
        return cls(SampleComplexity.of(order), samples, rate, rate * samples / d)


@dataclass(frozen=True, eq=False)
class EscapeTimes:
    """Predicted times of escape from random initial overlaps.

    Attributes
    ----------
    problem : Problem
        With the d, gamma and seed of the prediction.
    threshold : float
        eta of |v| >= eta.
    t_max : float
        Last ODE time.
    ode : PassageTimes
        Of the ODE from the law of the starts.
    ode_with_noise : PassageTimes or None
        Of the ODE from starts that are widened by the noise of SGD near the origin; None if not
        asked for, or if no direction grows there.
    scale : EscapeScale or None
        Theorem 1 at the exponent of the target; None if that is not known.
    engine : str
    status, message : str
        `finished`, `failed` or `interrupted`, and in words.
    """

    problem: Problem
    threshold: float
    t_max: float
    ode: PassageTimes
    ode_with_noise: PassageTimes | None
    scale: EscapeScale | None
    engine: str
    status: str
    message: str

    @property
    def prediction(self) -> PassageTimes:
        """The times with noise, if there are any, else those of the ODE."""
        return self.ode if self.ode_with_noise is None else self.ode_with_noise

    @property
    def steps_per_time(self) -> float | None:
        """Steps of SGD in a unit of ODE time, d / gamma; None for gradient flow."""
        sgd = self.problem.sgd
        return sgd.d / sgd.gamma if sgd.gamma > 0 else None

    @property
    def median_steps(self) -> float | None:
        """Predicted median steps; None for gradient flow, or if half of the starts never escape."""
        median, factor = self.prediction.median, self.steps_per_time
        return None if median is None or factor is None else median * factor

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        sgd, scale, noisy = self.problem.sgd, self.scale, self.ode_with_noise
        return {
            "d": sgd.d,
            "gamma": sgd.gamma,
            "seed": sgd.seed,
            "threshold": self.threshold,
            "t_max": self.t_max,
            "starts": len(self.ode.times),
            "median_steps": self.median_steps,
            "ode": self.ode.as_dict(self.steps_per_time),
            "ode_with_noise": None if noisy is None else noisy.as_dict(self.steps_per_time),
            "scale": None
            if scale is None
            else {
                "exponent": scale.complexity.exponent,
                "samples": scale.samples,
                "learning_rate": scale.learning_rate,
                "time": scale.time,
                "samples_text": scale.complexity.samples,
                "time_text": scale.complexity.time,
            },
            "engine": self.engine,
            "status": self.status,
            "message": self.message,
        } | provenance(self.problem)


def escape_times(
    problem: Problem,
    d: int | None = None,
    gamma: float | None = None,
    *,
    starts: int = 1000,
    threshold: float = DEFAULT_THRESHOLD,
    seed: int | None = None,
    engine: str | RiskEngine | None = None,
    t_max: float | None = None,
    noise: bool = True,
    order: int | None = None,
) -> EscapeTimes:
    """Predict when |v| reaches the threshold, from weights uniform on the sphere.

    Parameters
    ----------
    problem : Problem
        Its initial condition is not used.
    d, gamma, seed : optional
        Instead of the problem's: dimension >= L + 2, learning rate >= 0 and seed of the starts.
    starts : int
        Number of random starts, >= 2.
    threshold : float
        eta in (0, 1].
    engine : str or RiskEngine, optional
        Engine of the population risk; chosen if not given.
    t_max : float, optional
        Last ODE time; by default that of :func:`ssiode.risk_landscape.escape.flow.long_time`.
    noise : bool
        Give the times with noise as well.
    order : int, optional
        Exponent n of Theorem 1 beside the prediction; by default that of the target.

    Returns
    -------
    EscapeTimes
        After Ctrl-C with status `interrupted` and what is known.

    Raises
    ------
    InputError
        On numbers out of range, or a problem without a population risk.

    Examples
    --------
    The linear problem m' = 2 (1 - m^2) at small learning rates, in time artanh(1/2) / 2 = 0.275:

    >>> from ssiode import Problem, Target, TiedNetwork
    >>> linear = Problem(Target("z1"), TiedNetwork("identity"))
    >>> found = escape_times(linear, d=10**8, gamma=1e-6)
    >>> round(found.ode.median, 3), found.ode.escaped, found.scale.samples
    (0.275, 1.0, 100000000.0)
    """
    given = {"d": d, "gamma": gamma, "seed": seed}
    settings = {name: value for name, value in given.items() if value is not None}
    problem = problem.replace(**settings, initial=InitialCondition())
    starts = whole_number("starts", starts, minimum=2, maximum=10**7)
    threshold = check_threshold(threshold)
    d, length, gamma = problem.sgd.d, problem.length, problem.sgd.gamma
    if d < length + 2:
        raise InputError(f"d is {d}; SGD with {length} tokens needs d >= {length + 2} (length + 2)")
    if not isinstance(engine, RiskEngine):
        engine = make_engine(problem, engine)
    v = random_starts(problem, starts)
    t_max = long_time(problem, engine, gamma, v) if t_max is None else finite_number("t_max", t_max)
    flows = [flow_from(problem, engine, gamma, v, t_max=t_max, threshold=threshold)]
    ode, noisy = PassageTimes.of(flows[0]), None
    if noise and flows[0].status != "interrupted":
        widened = _widened(problem, engine, v, ode.median)
        if widened is not None:
            flows.append(
                flow_from(problem, engine, gamma, widened, t_max=t_max, threshold=threshold)
            )
            noisy = PassageTimes.of(flows[1])
    return EscapeTimes(
        problem=problem,
        threshold=threshold,
        t_max=t_max,
        ode=ode,
        ode_with_noise=noisy,
        scale=_scale(problem, order),
        engine=engine.name,
        status=_worst(flows),
        message="; with noise ".join(flow.message for flow in flows),
    )


def random_starts(problem: Problem, count: int) -> np.ndarray:
    """Draw overlaps of weights uniform on the sphere from the problem's seed, (count, L + 1).

    The first ones do not depend on how many are drawn.
    """
    generator = _generator(problem, _STREAM_OF_STARTS)
    draws = [problem.geometry.random_state(problem.sgd.d, generator) for _ in range(count)]
    return np.array(draws).reshape(count, problem.length + 1)


def _generator(problem: Problem, stream: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(problem.sgd.seed, spawn_key=(stream,)))


def _widened(
    problem: Problem, engine: RiskEngine, v: np.ndarray, time: float | None
) -> np.ndarray | None:
    """The starts with the noise that SGD adds to them near the origin; None if it adds none."""
    with one_blas_thread():
        added = noise_covariance(
            problem, engine, problem.sgd.gamma, np.inf if time is None else time
        )
        values, vectors = np.linalg.eigh(added)
    if values[-1] <= 0:
        return None
    roots = vectors * np.sqrt(np.maximum(values, 0.0) / problem.sgd.d)
    normals = _generator(problem, _STREAM_OF_NOISE).standard_normal((len(v), len(values)))
    coordinates = FeasibleCoordinates(problem.geometry)
    u = coordinates.coordinates(v) + np.sum(roots * normals[:, None, :], axis=2)
    # Only at the smallest d the sum can be longer than weights are.
    u /= np.maximum(1.0, np.sqrt(np.sum(u**2, axis=1, keepdims=True)))
    return coordinates.overlaps(u)


def _scale(problem: Problem, order: int | None) -> EscapeScale | None:
    from ssiode.exponent import sie

    if order is not None:
        order = whole_number("order", order, minimum=1, maximum=20)
    else:
        try:
            order = sie(problem.target).sie
        except InputError:  # a target that is a function has no exact coefficients
            order = None
    return None if order is None else EscapeScale.of(order, problem.sgd.d)


def _worst(flows: list[Flow]) -> str:
    for status in ("interrupted", "failed"):
        if any(flow.status == status for flow in flows):
            return status
    return "finished"
