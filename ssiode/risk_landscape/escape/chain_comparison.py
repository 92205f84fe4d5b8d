"""Predicted escape times against the exact chain of the overlaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm import tqdm

from ssiode.errors import InputError, whole_number
from ssiode.interrupts import held_interrupts
from ssiode.recovery_scaling.passages import Counting, RecoveryPoint, first_passages
from ssiode.risk_landscape.escape.escape_times import EscapeTimes
from ssiode.risk_landscape.escape.passage_times import PassageTimes

# The chain ends after so many predicted medians; without one, after so many steps of all replicas.
_MEDIANS, _STEPS_TOGETHER = 30.0, 1e8


@dataclass(frozen=True, eq=False)
class ChainComparison:
    """A prediction beside the chain at the same d, gamma and threshold.

    Attributes
    ----------
    prediction : EscapeTimes
    chain : RecoveryPoint
        With the steps of each replica, their `median` and its `log_error`.
    """

    prediction: EscapeTimes
    chain: RecoveryPoint

    @property
    def ratio(self) -> float | None:
        """Predicted median over the median of the chain; None if one of them is not known."""
        return self._ratio(self.prediction.prediction)

    @property
    def ratio_of_ode(self) -> float | None:
        """The same for the ODE without noise."""
        return self._ratio(self.prediction.ode)

    @property
    def ratio_error(self) -> float | None:
        """Standard error of the ratio, from the finite numbers of replicas and of starts."""
        sample = self.prediction.prediction
        error, chain_error = sample.error(), self.chain.log_error
        if self.ratio is None or error is None or chain_error is None:
            return None
        return self.ratio * float(np.hypot(error / sample.median, chain_error))

    def _ratio(self, sample: PassageTimes) -> float | None:
        if sample.median is None or not self.chain.median:
            return None
        return sample.median * self.prediction.steps_per_time / self.chain.median

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "prediction": self.prediction.as_dict(),
            "chain": self.chain.as_dict(),
            "ratio": self.ratio,
            "ratio_error": self.ratio_error,
            "ratio_of_ode": self.ratio_of_ode,
        }


def compare_with_chain(
    prediction: EscapeTimes,
    *,
    replicas: int = 100,
    max_steps: int | None = None,
    progress: bool = False,
) -> ChainComparison:
    """Run replicas of the chain from random weights until the predicted median can be judged.

    A run ends when three quarters of the replicas have escaped. Its cost is about 0.1 us a step and
    replica.

    Parameters
    ----------
    prediction : EscapeTimes
        Its d, gamma, threshold and seed are those of the chain.
    replicas : int
        At least 2. At an exponent of 2 the relative error of the median is about 3 over their
        square root times log d.
    max_steps : int, optional
        Most steps of a replica; by default 30 predicted medians.
    progress : bool
        Show how far it is on standard error.

    Returns
    -------
    ChainComparison
        After Ctrl-C with a chain of status `interrupted`.

    Raises
    ------
    InputError
        If the learning rate is 0, or a number is out of range.

    Examples
    --------
    >>> from ssiode import Problem, Target, TiedNetwork
    >>> from ssiode.risk_landscape.escape.escape_times import escape_times
    >>> linear = Problem(Target("z1"), TiedNetwork("identity"))
    >>> found = compare_with_chain(escape_times(linear, d=1000, gamma=0.1), replicas=64)
    >>> abs(found.ratio - 1) < 4 * found.ratio_error < 0.2
    True
    """
    replicas = whole_number("replicas", replicas, minimum=2)
    if prediction.problem.sgd.gamma == 0:
        raise InputError("gamma is 0; the chain needs a learning rate > 0")
    if max_steps is not None:
        limit: float = whole_number("max_steps", max_steps, minimum=1)
    elif prediction.median_steps is not None:
        limit = _MEDIANS * prediction.median_steps
    else:
        limit = _STEPS_TOGETHER / replicas
    problem = prediction.problem.replace(replicas=replicas)
    counting = Counting(prediction.threshold, 0, None)
    with (
        held_interrupts() as interrupted,
        tqdm(bar_format="{desc} [{elapsed}]", disable=not progress, leave=False) as bar,
    ):
        chain = first_passages(
            problem, "chain", counting, limit, interrupted, bar.set_description_str
        )
    return ChainComparison(prediction, chain)
