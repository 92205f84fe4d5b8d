"""The landscape of the population risk: descent at initialisation, minima, basins, escape."""

from ssiode.risk_landscape.analysis import Landscape, landscape

__all__ = ["Landscape", "landscape"]
