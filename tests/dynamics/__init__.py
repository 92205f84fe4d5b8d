"""Tests of the ODE and of direct SGD."""
