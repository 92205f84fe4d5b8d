"""Symmetric tensors of Hermite coefficients: norms and decompositions."""
