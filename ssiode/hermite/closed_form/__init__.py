"""Exact Hermite coefficients of elementary functions, and the arithmetic of their constants."""
