"""Measuring how the steps of weak recovery grow with the dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from ssiode.errors import InputError, choose, finite_number, shown, whole_number
from ssiode.interrupts import held_interrupts
from ssiode.recovery import DEFAULT_THRESHOLD, check_threshold
from ssiode.recovery_scaling.law import RecoveryLaw
from ssiode.recovery_scaling.outlook import Outlook, look_ahead
from ssiode.recovery_scaling.passages import (
    Counting,
    RecoveryPoint,
    checked,
    first_passages,
    seed_at,
)
from ssiode.recovery_scaling.result import GammaTrial, Scaling
from ssiode.settings import InitialCondition
from ssiode.student import Attention, LinearAttention

if TYPE_CHECKING:
    from ssiode.problem import Problem

_OVERLAPS = ("v", "m")
_SMALLEST_D, _LARGEST_D = 10, 10**12
# Limits of the steps of a run, where the user gives none: so many times what the ODE needs from a
# median start, or what the law makes of the median one dimension before; and without either so
# many steps of all replicas together.
_ODE_TIMES, _LAW_TIMES = 30.0, 10.0
_STEPS_TOGETHER = {"chain": 1e8, "sgd": 1e6}
# Where nothing is learned: in longer runs noise takes weights to eta by chance.
_TURNS_TO_CONFIRM = 10.0
_STEPS_TO_CONFIRM = {"chain": 2e7, "sgd": 2e5}
_RATE_TO_CONFIRM, _REFERENCE_D = 0.1, 100
_USE_OF_SEARCH = 2
SHORTEST_SEARCH = 40.0  # d eta^2
_MOST_TRIALS = 8  # in each direction


def scaling(
    problem: Problem,
    dims: Sequence[int] | None = None,
    *,
    method: str = "chain",
    constant: float | None = None,
    search_gamma: bool = False,
    threshold: float = DEFAULT_THRESHOLD,
    overlap: str = "v",
    sie: int | None = None,
    max_steps: int | None = None,
    replicas: int | None = None,
    seed: int | None = None,
    progress: bool = False,
) -> Scaling:
    r"""Measure the median steps of weak recovery over d and fit the exponent of Theorem 1.

    At every d replicas start at weights uniform on the sphere, :math:`|m_0| \sim d^{-1/2}`,
    whatever the problem's initial condition, and take steps with the learning rate of the theorem,
    :math:`\gamma = C,\ C/\log d,\ C d^{1 - n/2}` for n = 1, n = 2 and n >= 3, where n is the
    Sequence Information Exponent of the target (Arnaboldi et al., arXiv 2506.02651, Theorem 1).

    Where m is the only overlap and n >= 3 is odd, overlaps of one sign shrink: those replicas are
    run and reported but the median is that of the others. Replicas that do not recover count as
    slower than all that do; there is no median, and then no exponent, unless more than half do.

    Parameters
    ----------
    problem : Problem
        Its batch, and by default its replicas and seed, are those of every run; its gamma, d,
        steps and initial condition are not used.
    dims : sequence of int, optional
        Dimensions, at least two, from 10 (and L + 2) to 10^12; by default up to 10^6 at n <= 2
        and fewer beyond.
    method : str
        `chain`, or `sgd` for a check on d-dimensional vectors.
    constant : float, optional
        C > 0; by default the noise takes half of the drift at a median start at d = 100.
    search_gamma : bool
        Search C in steps of a factor 2, from `constant`, for the smallest median at the smallest
        d, or at d = 40 / eta^2 if that is larger: noise alone takes overlaps to eta below.
    threshold : float
        eta in (0, 1] of weak recovery.
    overlap : str
        `v` for |v| >= eta, with v = (e, m), or `m` for |m| >= eta.
    sie : int, optional
        Order n >= 1 whose law is used; by default the exponent of the target, or the order that
        the student sees of it where m is the only overlap.
    max_steps : int, optional
        Most steps of a replica at any d; by default a multiple of what is expected.
    replicas, seed : int, optional
        Instead of the problem's.
    progress : bool
        Show how far it is on standard error.

    Returns
    -------
    Scaling
        After Ctrl-C with status `interrupted` and what was measured up to there.

    Raises
    ------
    InputError
        On numbers out of range, an exponent that is not known, or no known learning rate.

    Examples
    --------
    >>> from ssiode import Problem, Target, TiedNetwork
    >>> linear = Problem(Target("z1"), TiedNetwork("identity"))
    >>> found = scaling(linear, dims=[100, 1000, 10000], replicas=64)
    >>> found.predicted, abs(found.exponent - 1) < 3 * found.exponent_error
    (1.0, True)
    """
    choose("method", method, ("chain", "sgd"))
    choose("overlap", overlap, _OVERLAPS)
    threshold = check_threshold(threshold)
    settings = {"replicas": replicas, "seed": seed}
    given = {name: value for name, value in settings.items() if value is not None}
    problem = problem.replace(**given, initial=InitialCondition())
    if constant is not None:
        constant = finite_number("constant", constant)
        if constant <= 0:
            raise InputError(f"constant is {constant:g}; it must be > 0, as it scales the rate")
    if max_steps is not None:
        max_steps = whole_number("max_steps", max_steps, minimum=1)
    outlook = look_ahead(problem, threshold)
    law, remark = known_law(problem, outlook, sie)
    dims = _dims(problem, dims, law, method)
    checked(problem.replace(d=dims[-1]), method)  # before any of them takes its time
    constant = _start_constant(constant, outlook, law)
    counting = Counting(threshold, _OVERLAPS.index(overlap), _sides(outlook, law))
    with held_interrupts() as interrupted:
        plan = _Plan(problem, method, counting, law, outlook, max_steps, interrupted, progress)
        trials: tuple[GammaTrial, ...] = ()
        if search_gamma and not plan.is_hopeless:
            constant, trials = plan.searched(plan.search_d(dims[0]), constant)
        points = plan.points(dims, constant)
        was_interrupted = interrupted()
    return Scaling(
        problem=problem,
        method=method,
        law=law,
        remark=remark,
        constant=constant,
        threshold=threshold,
        overlap=overlap,
        requested_dims=dims,
        points=tuple(points),
        trials=trials,
        sides=counting.sides if law.order >= 2 and outlook is not None else None,
        outlook=outlook,
        was_interrupted=was_interrupted,
    )


def known_law(
    problem: Problem, outlook: Outlook | None, order: int | None
) -> tuple[RecoveryLaw, str]:
    """Return the law to use, and how it relates to the exponent of the target, in words.

    Raises
    ------
    InputError
        If neither the target nor the outlook tells the order, and none is given.
    """
    from ssiode.exponent import sie

    if order is not None:
        order = whole_number("sie", order, minimum=1, maximum=20)
        return RecoveryLaw(order), f"law of order {order}, as given"
    seen = outlook.seen_order if outlook is not None and outlook.is_whole else None
    try:
        found = sie(problem.target)
        exponent, why = found.sie, found.message
    except InputError as error:
        exponent, why, found = None, str(error), None
    if exponent is None and (seen is None or (found is not None and found.status == "constant")):
        raise InputError(f"the exponent of the target is not known: {why}; or give sie (--sie 2)")
    if exponent is None:
        return RecoveryLaw(seen), f"the student sees order {seen} of the target ({why})"
    remark = f"the Sequence Information Exponent is {exponent}"
    if seen is not None and seen != exponent:
        remark += f", but the student sees order {seen} first: the law of that order is used"
        return RecoveryLaw(seen), remark
    if outlook is not None and not outlook.is_whole and outlook.is_flat:
        remark += "; along m alone the risk does not fall, so that only the encoding may help"
    elif outlook is not None and outlook.is_flat and found.even_student is not None:
        remark += f"; {found.even_student}" if _is_even(problem) else ""
    return RecoveryLaw(exponent), remark


def _is_even(problem: Problem) -> bool:
    is_attention = isinstance(problem.student, Attention | LinearAttention)
    return is_attention and not problem.geometry.injected.any()


def _dims(
    problem: Problem, given: Sequence[int] | None, law: RecoveryLaw, method: str
) -> tuple[int, ...]:
    smallest = max(_SMALLEST_D, problem.length + 2)
    if given is None:
        return tuple(d for d in law.default_dims(method) if d >= smallest)
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise InputError(f"dims is {shown(given)}; it must be a list of numbers such as 100,1000")
    found = tuple(
        whole_number("an entry of dims", d, minimum=smallest, maximum=_LARGEST_D) for d in given
    )
    if len(set(found)) < max(2, len(found)):
        raise InputError(
            f"dims is {shown(list(found))}; give two or more different ones, such as 100,1000"
        )
    return tuple(sorted(found))


def _sides(outlook: Outlook | None, law: RecoveryLaw) -> tuple[int, ...] | None:
    """Signs of m that count: where just one of them grows from small overlaps."""
    sides = None if outlook is None or law.order == 1 else outlook.sides
    return sides if sides is not None and len(sides) == 1 else None


def _start_constant(given: float | None, outlook: Outlook | None, law: RecoveryLaw) -> float:
    if given is not None:
        return given
    found = None if outlook is None else outlook.safe_constant(law.order)
    if found is not None:
        return found
    if outlook is not None and outlook.is_whole:
        # Nothing grows; a rate at which noise alone turns the weights in ten units of time or so,
        # so that they could be seen to learn.
        rate = _RATE_TO_CONFIRM / outlook.noise.max() / law.rate(_REFERENCE_D)
        return float(f"{rate:.2g}")
    why = "is not available" if outlook is None else "does not fall along m alone"
    raise InputError(
        f"no learning rate is known, as the risk along a single m {why}; give a constant "
        "(--constant 0.1), with --search-gamma to search from it"
    )


@dataclass(frozen=True)
class _Plan:
    """All that the runs at different dimensions have in common."""

    problem: Problem
    method: str
    counting: Counting
    law: RecoveryLaw
    outlook: Outlook | None
    max_steps: int | None
    interrupted: Callable[[], bool]
    progress: bool

    @property
    def is_hopeless(self) -> bool:
        """Whether the population risk leads back to the origin from both signs of m."""
        return self.outlook is not None and self.outlook.sides == ()

    def search_d(self, smallest: int) -> int:
        """Dimension of the search: at smaller ones noise takes weights to the threshold by chance.

        Uniform weights have |m| >= eta with a probability of about exp(-d eta^2 / 2).
        """
        return max(smallest, ceil(SHORTEST_SEARCH / self.counting.threshold**2))

    def points(self, dims: Sequence[int], constant: float) -> list[RecoveryPoint]:
        """Run at each dimension in turn, until one has no median with an error."""
        points: list[RecoveryPoint] = []
        for d in dims:
            if self.interrupted():
                break
            limit = self._limit(d, constant, points)
            seed = seed_at(self.problem.sgd.seed, d)
            points.append(self._at(d, constant, limit, seed))
            if points[-1].log_error is None:
                break
        return points

    def _at(self, d: int, constant: float, limit: float, seed: int) -> RecoveryPoint:
        from tqdm import tqdm

        gamma = constant * self.law.rate(d)
        problem = self.problem.replace(d=d, gamma=gamma, seed=seed)

        def tell(text: str) -> None:
            bar.set_description_str(f"d = {d}, gamma = {gamma:.3g}: {text}")

        with tqdm(bar_format="{desc} [{elapsed}]", disable=not self.progress, leave=False) as bar:
            return first_passages(
                problem, self.method, self.counting, limit, self.interrupted, tell
            )

    def _limit(self, d: int, constant: float, points: Sequence[RecoveryPoint]) -> float:
        if self.max_steps is not None:
            return self.max_steps
        replicas = self.problem.sgd.replicas
        if self.is_hopeless:
            turning = self.outlook.turning_steps(d, constant * self.law.rate(d))
            return min(_TURNS_TO_CONFIRM * turning, _STEPS_TO_CONFIRM[self.method] / replicas)
        if points and points[-1].median:
            return _LAW_TIMES * points[-1].median * self.law.steps(d) / self.law.steps(points[-1].d)
        expected = None
        if self.outlook is not None:
            expected = self.outlook.steps(d, constant * self.law.rate(d), self.law.order)
        unknown = _STEPS_TOGETHER[self.method] / replicas
        return unknown if expected is None else max(_ODE_TIMES * expected, 1000.0)

    def searched(self, d: int, constant: float) -> tuple[float, tuple[GammaTrial, ...]]:
        """Search the constant of the smallest median at one dimension.

        A trial ends where the best one had its median: it is no better. All trials have the same
        starts and samples, other ones than the run at that dimension.
        """
        seed = seed_at(self.problem.sgd.seed, d, _USE_OF_SEARCH)
        trials: list[GammaTrial] = []

        def tried(value: float) -> bool:
            """Whether this constant is the best up to now."""
            best = min((t.median for t in trials if t.median), default=None)
            limit = self._limit(d, value, ()) if best is None else best
            point = self._at(d, value, limit, seed)
            is_better = point.median is not None and (best is None or point.median < best)
            counted = int(point.is_counted.sum())
            recovered = int((point.recovery_steps[point.is_counted] >= 0).sum())
            median = point.median if is_better else None
            trials.append(
                GammaTrial(d, value, point.gamma, median, recovered, counted, point.steps_run)
            )
            return is_better

        best, found = constant, tried(constant)
        # Downwards first where the start is too fast to learn at all.
        for factor in (2.0, 0.5) if found else (0.5, 2.0):
            value, has_moved = best * factor, False
            for _ in range(_MOST_TRIALS):
                if self.interrupted():
                    return best, tuple(trials)
                if tried(value):
                    best, found, has_moved = value, True, True
                elif found:
                    break
                value *= factor
            if has_moved:
                break
        return best, tuple(trials)
