"""The benchmark of landscapes runs; what it measures is not tested."""

import pytest

from validation.benchmarks.landscape import measure


@pytest.mark.slow
def test_every_part_is_measured():
    seconds = measure(size=21, rounds=1)
    assert all(value > 0 for value in seconds.values())
    assert "table and figure" in seconds
