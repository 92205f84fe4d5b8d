"""Do two ways of running SGD have one law? Kolmogorov-Smirnov tests of overlaps and hit times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ssiode.results import Ensemble

# The asymptotic law is accurate for more values, and the exact one takes minutes.
_MOST_EXACT = 500
# Overlaps that differ by less are equal but for rounding.
_DIGITS = 9


@dataclass(frozen=True)
class LawTest:
    """A two-sample Kolmogorov-Smirnov test of one quantity.

    Attributes
    ----------
    quantity : str
        `e1`, ..., `m` at the last common record, or `recovery_steps`, `semantic_recovery_steps`.
    statistic, p_value : float
        Largest distance of the two distribution functions, and how often equal laws exceed it.
    """

    quantity: str
    statistic: float
    p_value: float


def compare_laws(first: Ensemble, second: Ensemble) -> tuple[LawTest, ...]:
    """Test the final overlaps and the hit times of two ensembles of one problem.

    What never moves and what no replica reached is not tested; a hit time that was not reached
    counts as later than all others. Replicas that have diverged have no final overlaps.

    Examples
    --------
    >>> from ssiode import Problem, Target, TiedNetwork, run_chain, run_sgd
    >>> linear = Problem(Target("z1"), TiedNetwork("identity"))
    >>> settings = dict(m=0.1, gamma=0.5, d=30, steps=30, replicas=200, records=1)
    >>> tests = compare_laws(run_chain(linear, **settings), run_sgd(linear, **settings, seed=1))
    >>> [test.quantity for test in tests], min(test.p_value for test in tests) > 1e-3
    (['m', 'recovery_steps', 'semantic_recovery_steps'], True)
    """
    record = min(len(first.steps), len(second.steps)) - 1
    ours, theirs = (run.v[:, record].round(_DIGITS).T for run in (first, second))
    pairs = list(zip(first.problem.geometry.overlap_names, ours, theirs, strict=True))
    for name in ("recovery_steps", "semantic_recovery_steps"):
        hits = (getattr(run, name) for run in (first, second))
        pairs.append((name, *(np.where(steps < 0, np.inf, steps) for steps in hits)))
    return tuple(_test(*pair) for pair in pairs if _has_law(*pair[1:]))


def _has_law(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether there are values that differ."""
    both = np.concatenate([first, second])
    both = both[~np.isnan(both)]
    return bool(len(both)) and bool(np.any(both != both[0]))


def _test(quantity: str, first: np.ndarray, second: np.ndarray) -> LawTest:
    from scipy.stats import ks_2samp

    first, second = (values[~np.isnan(values)] for values in (first, second))
    if not len(first) or not len(second):
        return LawTest(quantity, 1.0, 0.0)
    # Only the order matters, and the order of infinities is that of large numbers.
    ranks = np.unique(np.concatenate([first, second]), return_inverse=True)[1].astype(float)
    method = "exact" if max(len(first), len(second)) <= _MOST_EXACT else "asymp"
    result = ks_2samp(ranks[: len(first)], ranks[len(first) :], method=method)
    return LawTest(quantity, float(result.statistic), float(result.pvalue))
