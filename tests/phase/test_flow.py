"""Gradient flow from the origin."""

from __future__ import annotations

import numpy as np
import pytest

from ssiode.phase.arc import arc_minima
from ssiode.phase.flow import flow_end
from ssiode.phase.task import Task


@pytest.mark.parametrize(("omega", "a"), [(0.67, 1.0), (0.95, 0.76), (0.9695, 0.76), (0.3, 0.2)])
def test_the_path_falls_and_ends_on_the_arc(omega, a):
    task = Task.of(omega, a)
    hessian = task.hessian(0.0, 0.0)
    direction = (1.0, 0.0) if hessian[0, 0] < hessian[1, 1] else (0.0, 1.0)
    found = flow_end(task, direction, arc_minima(task).places)
    e, m = np.array(found.path).T
    assert np.all(np.diff(task.risk(e, m)) < 1e-12)
    assert e[-1] ** 2 + m[-1] ** 2 == pytest.approx(1, abs=1e-5)
    assert found.place in arc_minima(task).places
