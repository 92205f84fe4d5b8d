"""Which steps are recorded."""

import numpy as np
import pytest

from ssiode import InputError
from ssiode.dynamics.records import record_steps


@pytest.mark.parametrize("spacing", ["linear", "log"])
@pytest.mark.parametrize("steps", [1, 2, 7, 1000, 10**9])
@pytest.mark.parametrize("records", [1, 2, 3, 200])
def test_records_start_at_zero_end_at_the_last_step_and_increase(spacing, steps, records):
    recorded = record_steps(steps, records, spacing)
    assert recorded[0] == 0
    assert recorded[-1] == steps
    assert np.all(np.diff(recorded) > 0)
    assert len(recorded) <= records + 1
    assert recorded.dtype.kind == "i"


def test_linear_records_are_equidistant_to_rounding():
    assert np.array_equal(record_steps(1000, 10), np.arange(0, 1001, 100))
    assert np.all(np.abs(record_steps(1003, 10) - np.arange(11) * 100.3) <= 0.5)


def test_log_records_have_equal_ratios():
    recorded = record_steps(10**8, 9, "log")
    assert np.array_equal(recorded, [0, *(10**i for i in range(9))])


def test_more_records_than_steps_are_every_step():
    assert np.array_equal(record_steps(5, 100), np.arange(6))
    assert np.array_equal(record_steps(5, 100, "log"), np.arange(6))


@pytest.mark.parametrize("records", [0, -1, 1.5, float("nan"), True, "many"])
def test_bad_numbers_of_records_are_refused(records):
    with pytest.raises(InputError, match="records"):
        record_steps(10, records)


def test_unknown_spacing_is_refused():
    with pytest.raises(InputError, match="spacing"):
        record_steps(10, 2, "loga")
