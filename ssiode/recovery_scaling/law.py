r"""The scales of Theorem 1 as numbers.

.. math:: \gamma = C,\ \frac{C}{\log d},\ C\,d^{1 - n/2}, \qquad
          \tau \sim d,\ d \log^2 d,\ d^{n - 1}

for the orders n = 1, n = 2 and n >= 3 (Arnaboldi et al., arXiv 2506.02651, Theorem 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ssiode.complexity import SampleComplexity

# Where a law of so many steps (times the d of a step of direct SGD) ends the default dimensions.
_LONGEST_CHAIN = 1e8
_LONGEST_DIRECT = 1e5
_SHORTEST_RANGE = (50.0, 200.0)


@dataclass(frozen=True)
class RecoveryLaw:
    """Theorem 1 at one order n >= 1, up to constants.

    Examples
    --------
    >>> law = RecoveryLaw(3)
    >>> law.text, law.power, law.rate(100), law.steps(100)
    ('d^2', 2, 0.1, 10000.0)
    >>> RecoveryLaw(2).default_dims("chain")[:3]
    (100, 316, 1000)
    """

    order: int

    @property
    def text(self) -> str:
        """The samples in words, as `d log^2 d`."""
        return SampleComplexity.of(self.order).samples

    @property
    def power(self) -> int:
        """Power of d in the samples, logarithms left out."""
        return max(1, self.order - 1)

    def rate(self, d: float) -> float:
        """Learning rate at the constant C = 1."""
        if self.order <= 2:
            return 1.0 / np.log(d) if self.order == 2 else 1.0
        return float(d ** (1 - self.order / 2))

    def steps(self, d: float) -> float:
        """Number of steps, up to a constant."""
        return float(d**self.power * (np.log(d) ** 2 if self.order == 2 else 1.0))

    def default_dims(self, method: str) -> tuple[int, ...]:
        """Dimensions in steps of half a decade or less, as far as their law can be run."""
        if method == "chain":
            longest = 1e6 if self.order <= 2 else _LONGEST_CHAIN ** (1 / self.power)
        else:
            longest = 1e3 if self.order <= 2 else _LONGEST_DIRECT ** (1 / self.power)
        longest = max(longest, _SHORTEST_RANGE[1])
        shortest = min(100.0, max(_SHORTEST_RANGE[0], longest / 10))
        count = max(5, round(2 * np.log10(longest / shortest)) + 1)
        return tuple(round(d) for d in np.geomspace(shortest, longest, count).tolist())
