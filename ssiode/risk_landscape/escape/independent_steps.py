r"""Steps of Dormand and Prince for many states of one autonomous ODE, each with its own size.

With stages :math:`k_j = F(v + h \sum_{i<j} a_{ji} k_i)` the new state is :math:`v + h\sum_j b_j
k_j`, of order 5; the last stage is taken there and is the first one of the next step. Sums run over
the stages without BLAS, so that a state does not depend on those beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

VectorField = Callable[[np.ndarray], np.ndarray]

_SAFETY, _SMALLEST_FACTOR, _LARGEST_FACTOR = 0.9, 0.2, 10.0
_LARGEST_DECAY = 2.0
_ROUNDING, _REST = 1e-12, 1e-9
_FIRST_SHARE = 0.01
_LOOKS_IN_A_STEP = 8
_HALVINGS = 50


class _Tableau(NamedTuple):
    """Weights of the stages; of their sum after a step, which is a stage; and of its error.

    `interpolation` holds for each stage the coefficients of the powers 1 to 4 of the share of the
    step (Shampine, Math. Comput. 46 (1986) 135).
    """

    stages: list[list[float]]
    error: list[float]
    interpolation: list[list[float]]


@cache
def _tableau() -> _Tableau:
    """Coefficients of Dormand and Prince, J. Comput. Appl. Math. 6 (1980) 19, from SciPy.

    >>> [round(sum(row), 12) for row in _tableau().stages]
    [0.2, 0.3, 0.8, 0.888888888889, 1.0, 1.0]
    """
    from scipy.integrate import RK45

    rows = [row[:i].tolist() for i, row in enumerate(RK45.A) if i]
    return _Tableau([*rows, RK45.B.tolist()], RK45.E.tolist(), RK45.P.tolist())


@dataclass(frozen=True, eq=False)
class Step:
    """One step of each of p states of n entries.

    Attributes
    ----------
    before, after, error : arrays of shape (p, n)
        States, and the estimated error of those after.
    size : array of shape (p,)
    rate : array of shape (p,)
        Fastest rate of the ODE, as far as the last two stages show it: explicit steps are unstable
        where their size is more than 3.3 times its inverse. 0 where they are equal.
    stages : seven arrays of shape (p, n)
        The first and the last are the velocities before and after.
    """

    before: np.ndarray
    after: np.ndarray
    error: np.ndarray
    size: np.ndarray
    rate: np.ndarray
    stages: Sequence[np.ndarray]

    @classmethod
    def take(
        cls, field: VectorField, v: np.ndarray, velocity: np.ndarray, size: np.ndarray
    ) -> Step:
        """Step from states v, shape (p, n), with their velocities, of the same shape.

        >>> v = np.ones((1, 1))
        >>> step = Step.take(lambda v: -v, v, -v, np.array([0.1]))
        >>> bool(abs(step.after[0, 0] - np.exp(-0.1)) < 1e-8)
        True
        """
        h, stages, after = size[:, None], [velocity], v
        for row in _tableau().stages:
            last, after = after, v + h * _weighted(row, stages)
            stages.append(field(after))
        apart = np.abs(after - last).max(axis=1)
        change = np.abs(stages[-1] - stages[-2]).max(axis=1)
        is_seen = apart > _ROUNDING * np.abs(after).max(axis=1)
        rate = np.divide(change, apart, out=np.zeros_like(size), where=is_seen)
        return cls(v, after, h * _weighted(_tableau().error, stages), size, rate, stages)

    def error_norms(self, absolute: np.ndarray, relative: float) -> np.ndarray:
        """Largest error of an entry in units of what is allowed, shape (p,)."""
        largest = np.maximum(np.abs(self.before), np.abs(self.after))
        return np.max(np.abs(self.error) / (absolute[:, None] + relative * largest), axis=1)

    def of(self, chosen: np.ndarray) -> Step:
        """The step of some of the states."""
        arrays = (self.before, self.after, self.error, self.size, self.rate)
        stages = [stage[chosen] for stage in self.stages]
        return Step(*(array[chosen] for array in arrays), stages)

    def next_sizes(self, error_norms: np.ndarray) -> np.ndarray:
        """Sizes of the next steps: for the errors, and so that what decays comes to rest."""
        sizes = self.size * next_factors(error_norms)
        with np.errstate(divide="ignore"):
            calm = _LARGEST_DECAY / self.rate
        # At rest no error is seen, and a step that grows would be unstable.
        moved, extent = (np.abs(a).max(axis=1) for a in (self.after - self.before, self.after))
        calm = np.where(moved <= _REST * extent, np.minimum(calm, self.size), calm)
        # The stages of a step that is not taken can be far from the states.
        return np.where(error_norms <= 1.0, np.minimum(sizes, calm), sizes)

    def at(self, share: np.ndarray) -> np.ndarray:
        """States when these shares of the step are done, of shape (p,) in [0, 1]."""
        powers = [share**n for n in (1, 2, 3, 4)]
        weights = (
            sum(c * power for c, power in zip(row, powers, strict=True))
            for row in _tableau().interpolation
        )
        moved = sum(w[:, None] * stage for w, stage in zip(weights, self.stages, strict=True))
        return self.before + self.size[:, None] * moved

    def first_crossings(self, threshold: float) -> np.ndarray:
        """Shares of the step after which |v| first reaches the threshold, NaN where it does not.

        It is looked for between nine points of the step.
        """
        crossings = np.full(len(self.size), np.nan)
        # None of the states can be further than its fastest stage takes it.
        reach = self.size * np.max([_norms(stage) for stage in self.stages], axis=0)
        near = np.flatnonzero(_norms(self.before) + 2 * reach >= threshold)
        if not len(near):
            return crossings
        step = self.of(near)
        shares = np.linspace(0.0, 1.0, _LOOKS_IN_A_STEP + 1)
        beyond = np.array([_norms(step.at(np.full(len(near), s))) >= threshold for s in shares])
        beyond[-1] = _norms(step.after) >= threshold
        crossed = np.flatnonzero(beyond.any(axis=0))
        if not len(crossed):
            return crossings
        first, step = beyond.argmax(axis=0)[crossed], step.of(crossed)
        low, high = shares[np.maximum(first - 1, 0)], shares[first]
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            is_beyond = _norms(step.at(middle)) >= threshold
            low, high = np.where(is_beyond, low, middle), np.where(is_beyond, middle, high)
        crossings[near[crossed]] = high
        return crossings


def first_sizes(
    v: np.ndarray, velocity: np.ndarray, absolute: np.ndarray, relative: float
) -> np.ndarray:
    """Cautious sizes of the first steps: a hundredth of the time in which the states move on."""
    allowed = absolute[:, None] + relative * np.abs(v)
    scale = np.max(np.abs(v) / allowed, axis=1)
    speed = np.max(np.abs(velocity) / allowed, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = _FIRST_SHARE * np.maximum(scale, 1.0) / speed
    return np.where(np.isfinite(sizes), sizes, np.inf)


def next_factors(error_norms: np.ndarray) -> np.ndarray:
    """Factors between the sizes of two steps; that of an error which is not finite is a fifth.

    >>> next_factors(np.array([0.0, 1.0, np.nan])).tolist()
    [10.0, 0.9, 0.2]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = _SAFETY * error_norms**-0.2
    return np.clip(np.where(np.isnan(factors), 0.0, factors), _SMALLEST_FACTOR, _LARGEST_FACTOR)


def _weighted(weights: Sequence[float], stages: Sequence[np.ndarray]) -> np.ndarray:
    return sum(w * stage for w, stage in zip(weights, stages, strict=True) if w)


def _norms(v: np.ndarray) -> np.ndarray:
    return np.sqrt(np.sum(v**2, axis=1))
