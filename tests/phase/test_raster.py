"""Rasters against the regions and tasks of their pixels."""

from __future__ import annotations

import numpy as np
import pytest

from ssiode.phase import phase_raster, phase_region
from ssiode.phase.raster import QUANTITIES
from ssiode.phase.task import Task
from tests.checks import refuses

ZOOM = {"a_range": (0.7, 0.8), "omega_range": (0.9, 1.0)}


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_pixels(quantity):
    raster = phase_raster(quantity, pixels=7, **ZOOM)
    for i, omega in enumerate(raster.omega.tolist()):
        for j, a in enumerate(raster.a.tolist()):
            task, region = Task.of(omega, a), phase_region(omega, a)
            (ee, _), (_, mm) = task.hessian(0.0, 0.0)
            lowest = region.global_minimum
            expected = {
                "risk_gap": task.risk(1.0, 0.0) - task.risk(0.0, 1.0),
                "escape_rate": -min(ee, mm),
                "steepest_angle": 90.0 if ee < mm else 0.0,
                "minimum_angle": np.degrees(np.arctan2(lowest.e, lowest.m)),
                "minimum_risk": lowest.risk,
                "hessian_ee": ee,
                "hessian_mm": mm,
            }
            assert raster.values[i, j] == pytest.approx(expected[quantity], abs=1e-6)


def test_functions_of_a_task():
    gap = phase_raster(lambda task: task.risk(1.0, 0.0) - task.risk(0.0, 1.0), pixels=3)
    np.testing.assert_allclose(gap.values, phase_raster("risk_gap", pixels=3).values, atol=1e-15)


def test_figure_and_data():
    raster = phase_raster("steepest_angle", pixels=4)
    assert raster.as_dict()["values"].shape == (4, 4)
    assert len(raster.figure().axes) == 2


def test_hostile_input():
    refuses(lambda: phase_raster("riskgap"), "risk_gap")
    refuses(lambda: phase_raster("risk_gap", pixels=0), "pixels")
    refuses(lambda: phase_raster("risk_gap", a_range=(1, 0)), "a")
