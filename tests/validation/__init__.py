"""Tests of the comparison of theory and simulation."""
