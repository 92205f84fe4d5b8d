"""The transition between semantic and positional ends of SGD at finite d, by the exact chain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.encoding import Encoding
from ssiode.errors import InputError, choose, finite_number, shown, whole_number
from ssiode.interrupts import held_interrupts
from ssiode.loss import FrobeniusLoss, Loss, SquaredLoss
from ssiode.phase.ends import EndCounts, count_ends, run_to_end
from ssiode.phase.linear_regime import STARTS, leading_probability, recovery_probability
from ssiode.phase.origin import LOSSES, Flip, Origin, at_origin, flip_at_origin
from ssiode.phase.task import check_mixture, check_strength
from ssiode.phase.transition_fit import TransitionFit, fit_transition
from ssiode.problem import Problem
from ssiode.settings import InitialCondition, SGDSettings
from ssiode.student import Attention
from ssiode.target import Target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Those of the published experiments.
OMEGAS = (
    0.0, 0.1, 0.2, 0.3, 0.4,
    0.42, 0.44, 0.46, 0.48, 0.5, 0.52, 0.54, 0.56, 0.58,
    0.59, 0.6, 0.61, 0.62, 0.63, 0.64, 0.65, 0.66, 0.67, 0.68, 0.69, 0.7,
    0.72, 0.74, 0.76, 0.78, 0.8, 0.82, 0.84, 0.86, 0.88, 0.9, 0.92, 0.94, 0.96, 0.98, 1.0,
)  # fmt: skip
_SMALLEST_D, _LARGEST_D = 4, 10**9
_LONGEST = 1000.0
_SHIFTS = 4


@dataclass(frozen=True)
class TransitionAt:
    """The transition at one dimension.

    Attributes
    ----------
    d : int
    points : tuple of EndCounts
        By ascending omega.
    fit : TransitionFit or None
        None where the counts do not tell crossing and width.
    predicted_crossing, predicted_width : float or None
        Of the linear regime.
    """

    d: int
    points: tuple[EndCounts, ...]
    fit: TransitionFit | None
    predicted_crossing: float | None
    predicted_width: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "d": self.d,
            "fit": None if self.fit is None else asdict(self.fit),
            "predicted_crossing": self.predicted_crossing,
            "predicted_width": self.predicted_width,
            "points": [point.as_dict() for point in self.points],
        }


@dataclass(frozen=True)
class Transition:
    """Probability that SGD ends on the semantic side, against omega and d.

    Attributes
    ----------
    a, loss, gamma, start, threshold, replicas, seed
        See :func:`transition`.
    time : float or None
        ODE time of the runs; None for runs until recovery.
    flip : Flip
        Where the steepest direction at the origin turns: the transition at infinite d.
    results : tuple of TransitionAt
        By ascending d.
    status, message : str
        `finished` or `interrupted`, and what that means.
    """

    a: float
    loss: str
    gamma: float
    start: str
    time: float | None
    threshold: float
    replicas: int
    seed: int
    flip: Flip
    results: tuple[TransitionAt, ...]
    status: str
    message: str

    @property
    def was_interrupted(self) -> bool:
        """Whether Ctrl-C came before the end."""
        return self.status == "interrupted"

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        names = ("a", "loss", "gamma", "start", "time", "threshold", "replicas", "seed")
        return {name: getattr(self, name) for name in names} | {
            "flip": self.flip.omega,
            "flip_error": self.flip.error,
            "dims": [found.d for found in self.results],
            "transitions": [found.as_dict() for found in self.results],
            "status": self.status,
            "message": self.message,
        }

    def figure(self) -> Figure:
        """Draw probabilities over omega, and crossing and width over d."""
        from ssiode.transition_plots import transition_figure

        return transition_figure(self)


def transition(
    a: float = 1.0,
    dims: Sequence[int] = (1000,),
    *,
    omegas: Sequence[float] | None = None,
    loss: str = "frobenius",
    gamma: float = 0.05,
    time: float | None = None,
    replicas: int = 64,
    start: str = "origin",
    threshold: float = 0.5,
    seed: int = 0,
    progress: bool = False,
) -> Transition:
    r"""Measure in which minimum SGD ends, by replicas of the exact chain.

    A replica is semantic if |m| > |e| at the end of its run. Runs end at weak recovery,
    e^2 + m^2 >= eta^2, or all at one ODE time: the published runs (Arnaboldi et al., arXiv
    2506.02651, figures 5 and 12) have `time` 15, when from e = m = 0 no replica has recovered.

    Parameters
    ----------
    a : float
        Strength of the positional part, in (0, 1].
    dims : sequence of int
        Dimensions d >= 4.
    omegas : sequence of float, optional
        In [0, 1]; by default the 41 of the published runs.
    loss : str
        `frobenius`, |T - S|, which the published training minimises, or `squared`, half of its
        square, which the analysis is of.
    gamma : float
        Learning rate, > 0.
    time : float, optional
        ODE time t = gamma steps / d of all runs; by default until each has recovered, or 1000.
    replicas : int
        For each omega and d.
    start : str
        `origin` (e = m = 0) or `random` (uniform weights).
    threshold : float
        The eta of weak recovery, in (0, 1).
    seed : int
        Of all runs; that of one omega does not depend on the others.
    progress : bool
        Show a bar.

    Returns
    -------
    Transition
        Ctrl-C keeps what was measured.

    Raises
    ------
    InputError
        On numbers out of range.

    Examples
    --------
    >>> found = transition(dims=[100], omegas=[0.3, 0.9], replicas=8, time=15)
    >>> [(point.semantic, point.replicas) for point in found.results[0].points]
    [(8, 8), (0, 8)]
    """
    a = check_strength(a)
    dims = tuple(sorted({*_whole_dims(dims)}))
    points = OMEGAS if omegas is None else tuple(sorted({*_mixtures(omegas)}))
    plan = _Plan(
        a=a,
        loss=choose("loss", loss, LOSSES),
        gamma=_positive("gamma", gamma, np.inf),
        time=None if time is None else _positive("time", time, np.inf),
        replicas=whole_number("replicas", replicas, minimum=1, maximum=10**6),
        start=choose("start", start, STARTS),
        threshold=_positive("threshold", threshold, 1.0),
        seed=whole_number("seed", seed, minimum=0),
    )
    with held_interrupts() as interrupted:
        origins = {omega: at_origin(omega, a, loss=loss, shifts=_SHIFTS) for omega in points}
        flip = flip_at_origin(a, loss=loss)
        results, is_whole = plan.run(dims, points, origins, interrupted, progress)
    message = f"all of {len(dims)} x {len(points)} points"
    if not is_whole:
        done = sum(len(found.points) for found in results)
        message = f"interrupted after {done} of {len(dims) * len(points)} points, which are kept"
    status = "finished" if is_whole else "interrupted"
    return Transition(
        plan.a, plan.loss, plan.gamma, plan.start, plan.time, plan.threshold, plan.replicas,
        plan.seed, flip, results, status, message,
    )  # fmt: skip


def _numbers(name: str, given: object) -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"{name} is {shown(given)}; it must be a list of numbers")
    if not (found := list(given)):
        raise InputError(f"{name} is empty; give one number at least")
    return found


def _whole_dims(given: object) -> list[int]:
    return [
        whole_number("an entry of dims", d, minimum=_SMALLEST_D, maximum=_LARGEST_D)
        for d in _numbers("dims", given)
    ]


def _mixtures(given: object) -> list[float]:
    return [check_mixture(omega) for omega in _numbers("omegas", given)]


def _positive(name: str, given: object, below: float) -> float:
    value = finite_number(name, given, minimum=0)
    if not 0 < value < below:
        upper = "" if below == np.inf else f" and < {below:g}"
        raise InputError(f"{name} is {value:g}; it must be > 0{upper}")
    return value


@dataclass(frozen=True)
class _Plan:
    """What all runs have in common."""

    a: float
    loss: str
    gamma: float
    time: float | None
    replicas: int
    start: str
    threshold: float
    seed: int

    def run(
        self,
        dims: Sequence[int],
        omegas: Sequence[float],
        origins: dict[float, Origin],
        interrupted: Callable[[], bool],
        progress: bool,
    ) -> tuple[tuple[TransitionAt, ...], bool]:
        """The results, and whether they are all."""
        from tqdm import tqdm

        results: list[TransitionAt] = []
        with tqdm(total=len(dims) * len(omegas), disable=not progress, leave=False) as bar:
            for d in dims:
                points: list[EndCounts] = []
                for omega in omegas:
                    bar.set_description_str(f"d = {d}, omega = {omega:g}")
                    point = self._point(d, origins[omega], interrupted)
                    if point is None:
                        break
                    points.append(point)
                    bar.update()
                if points:
                    results.append(_at(d, points))
                if len(points) < len(omegas):
                    return tuple(results), False
        return tuple(results), True

    def _point(self, d: int, origin: Origin, interrupted: Callable[[], bool]) -> EndCounts | None:
        seed = _seed_at(self.seed, d, origin.omega)
        time = _LONGEST if self.time is None else self.time
        threshold = self.threshold if self.time is None else None
        ends = run_to_end(self._problem(d, origin.omega, seed), time, threshold, interrupted)
        if ends is None:
            return None
        return count_ends(origin.omega, ends, self.threshold, seed, self._predicted(d, origin))

    def _predicted(self, d: int, origin: Origin) -> float | None:
        if self.time is None:
            return recovery_probability(origin, self.gamma, d, self.start, self.threshold)
        return leading_probability(origin, self.gamma, self.time, self.start)

    def _problem(self, d: int, omega: float, seed: int) -> Problem:
        losses: dict[str, Loss] = {"squared": SquaredLoss(0.5), "frobenius": FrobeniusLoss()}
        is_random = self.start == "random"
        return Problem(
            Target.named("positional-semantic", omega=omega, a=self.a),
            Attention("identity"),
            Encoding("opposite"),
            losses[self.loss],
            sgd=SGDSettings(gamma=self.gamma, d=d, steps=1, replicas=self.replicas, seed=seed),
            initial=InitialCondition() if is_random else InitialCondition("fixed"),
        )


def _seed_at(seed: int, d: int, omega: float) -> int:
    """Seed of one task, which no other changes."""
    key = int(np.float64(omega).view(np.uint64))
    sequence = np.random.SeedSequence(seed, spawn_key=(d, key & 0xFFFFFFFF, key >> 32))
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))


def _at(d: int, points: list[EndCounts]) -> TransitionAt:
    return TransitionAt(d, tuple(points), fit_transition(points), *_predicted_crossing(points))


def _predicted_crossing(points: list[EndCounts]) -> tuple[float | None, float | None]:
    """Where the predicted P is 1/2, and the width there, between two omega."""
    known = [(p.omega, p.predicted) for p in points if p.predicted is not None]
    inside = [(omega, p) for omega, p in known if 0 < p < 1]
    # The logarithm of sigma_m / sigma_e is nearly linear.
    ratios = [(omega, float(np.log(np.tan(np.pi * p / 2)))) for omega, p in inside]
    for (low, above), (high, below) in pairwise(ratios):
        if above >= 0 > below:
            width = (high - low) / (above - below)
            return low + above * width, width
    return None, None
