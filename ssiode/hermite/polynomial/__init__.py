"""Exact Hermite coefficients of polynomials, and the arithmetic of their constants."""
