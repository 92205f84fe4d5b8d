"""Tests of the derivations."""
