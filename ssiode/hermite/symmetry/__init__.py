"""Proofs from symmetries of the target that Hermite coefficients vanish or agree."""
