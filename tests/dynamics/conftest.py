"""Fixtures of the tests of the dynamics."""

import pytest


@pytest.fixture
def one_thread(monkeypatch):
    """Rules this small cost more to hand to threads than to sum."""
    monkeypatch.setenv("SSIODE_THREADS", "1")
