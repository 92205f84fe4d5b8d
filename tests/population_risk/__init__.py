"""Tests of the population risk."""
