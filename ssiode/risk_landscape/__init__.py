"""The landscape of the population risk: descent at initialisation, minima, basins, escape."""
