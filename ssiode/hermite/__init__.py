"""Hermite polynomials: exact and numerical coefficients, nodes, tensors."""
