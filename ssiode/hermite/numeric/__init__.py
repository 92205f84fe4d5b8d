"""Hermite coefficients by quadrature, each with a bound of its error."""
