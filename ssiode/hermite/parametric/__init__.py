"""Targets with free parameters: exponents, expansions, and where they change."""
