"""How the steps of weak recovery grow with the dimension, measured against Theorem 1.

The scaling law of an order (`law`), what the population risk says beforehand (`outlook`), replicas
run until enough of them recover (`passages`), fits of their medians (`fits`), and the result.
"""

from ssiode.recovery_scaling.result import Scaling
from ssiode.recovery_scaling.run import scaling

__all__ = ["Scaling", "scaling"]
