"""The risk of a task against other engines and differences."""

from __future__ import annotations

import numpy as np
import pytest

from ssiode import Attention, Encoding, Problem, Target, risk
from ssiode.loss import SquaredLoss
from ssiode.phase import storage
from ssiode.phase.table import N_X, compute_table, phase_table
from ssiode.phase.task import Task

PLACES = [(0.0, 0.0), (0.3, 0.4), (-0.6, 0.8), (1.0, 0.0), (0.0, -1.0), (0.7, -0.1)]


@pytest.mark.parametrize(("omega", "a"), [(0.67, 1.0), (0.95, 0.76), (0.0, 0.3), (1.0, 0.9)])
def test_risk_is_that_of_the_series_engine(omega, a):
    target = Target.named("positional-semantic", omega=omega, a=a)
    problem = Problem(target, Attention("identity"), Encoding("opposite"), SquaredLoss(0.5))
    task = Task.of(omega, a)
    for e, m in PLACES:
        found = risk(problem, e=[e, -e], m=m)
        # The engine leaves orders out, which matters at |m| = 1 alone.
        allowed = found.value_error + task.error() + 1e-14
        assert task.risk(e, m) == pytest.approx(found.value, abs=allowed)


def test_derivatives_are_those_of_the_risk():
    task, h = Task.of(0.8, 0.77), 1e-5
    for e, m in [(0.2, 0.3), (-0.5, 0.6), (0.0, 0.7)]:
        slopes = [
            (task.risk(e + h, m) - task.risk(e - h, m)) / (2 * h),
            (task.risk(e, m + h) - task.risk(e, m - h)) / (2 * h),
        ]
        np.testing.assert_allclose(task.gradient(e, m), slopes, atol=1e-9)
        rows = [
            (task.gradient(e + h, m) - task.gradient(e - h, m)) / (2 * h),
            (task.gradient(e, m + h) - task.gradient(e, m - h)) / (2 * h),
        ]
        np.testing.assert_allclose(task.hessian(e, m), rows, atol=1e-8)


def test_arrays_of_overlaps():
    e, m = np.zeros((2, 3)), np.full((2, 3), 0.5)
    task = Task.of(0.5, 0.5)
    assert task.risk(e, m).shape == (2, 3)
    assert task.gradient(e, m).shape == (2, 3, 2)
    assert task.hessian(e, m).shape == (2, 3, 2, 2)


def test_the_table_is_exact_to_ten_digits():
    assert phase_table().error < 1e-10
    # The first derivatives decide about the boundaries.
    assert phase_table().derivative_error(1, 0).max() < 1e-10
    assert phase_table().derivative_error(0, 1).max() < 1e-10


def test_closed_values_of_the_table():
    at_zero = float(phase_table().first @ (-1.0) ** np.arange(N_X))
    assert at_zero == pytest.approx(1 - np.sqrt(2) / 4, abs=1e-14)


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04 and no more", b"\x00" * 100], ids=["empty", "cut", "zeros"]
)
def test_a_damaged_file_is_replaced(tmp_path, monkeypatch, content):
    monkeypatch.setattr(storage, "cache_folder", lambda: tmp_path)
    phase_table.__wrapped__()
    (path,) = tmp_path.glob("PhaseTable-*.npz")
    whole = path.read_bytes()
    path.write_bytes(content)
    found = phase_table.__wrapped__()
    np.testing.assert_array_equal(found.second, compute_table().second)
    assert path.read_bytes() == whole
