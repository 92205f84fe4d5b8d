"""All local minima of the risk on the feasible set, and the proof that none is missed."""

from ssiode.risk_landscape.minima.search import Minima, Minimum, local_minima

__all__ = ["Minima", "Minimum", "local_minima"]
