"""The target without transition."""

from __future__ import annotations

import numpy as np
import pytest

from ssiode import Target
from ssiode.phase import shifted_path
from tests.checks import refuses


def test_the_target():
    target = Target.named("positional-semantic-shift", omega=0.3, a=0.8)
    z = np.random.default_rng(0).standard_normal((5, 2))
    s = 0.7 * z + 0.3 * 0.8 * np.array([1, -1])
    exponents = s[:, :, None] * s[:, None, :]
    rows = np.exp(exponents) / np.exp(exponents).sum(axis=2, keepdims=True)
    np.testing.assert_allclose(target(z), rows.reshape(5, 4), rtol=1e-13)


@pytest.mark.slow
def test_the_global_minimum_moves_without_a_jump():
    path = shifted_path(1.0)
    assert all(one.is_certified for one in path.minima)
    # The two are (e, m) and (-e, -m).
    assert {one.n_minima for one in path.minima} == {2}
    assert (path.minima[0].e, path.minima[0].m) == pytest.approx((0, 1), abs=1e-6)
    assert (path.minima[-1].e, path.minima[-1].m) == pytest.approx((1, 0), abs=1e-6)
    assert np.all(np.diff([one.e for one in path.minima]) > 0)
    finer = shifted_path(1.0, np.linspace(0.8, 1.0, 41))
    coarse = shifted_path(1.0, np.linspace(0.8, 1.0, 21))
    # Twice as many points, half of the longest step: a jump would keep it.
    assert finer.longest_step < 0.65 * coarse.longest_step


def test_data_and_figure():
    path = shifted_path(0.5, [0.2, 0.4])
    assert path.as_dict()["status"] == "finished"
    assert len(path.figure().axes) == 1


def test_hostile_input():
    refuses(lambda: shifted_path(0), "a")
    refuses(lambda: shifted_path(1.0, []), "omegas")
    refuses(lambda: shifted_path(1.0, [2]), "omega")
