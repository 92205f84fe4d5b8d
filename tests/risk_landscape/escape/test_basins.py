"""Basins of problems whose minima and symmetries are known."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from ssiode import Attention, Encoding, Problem, Target
from ssiode.loss import SquaredLoss
from ssiode.population_risk import make_engine
from ssiode.risk_landscape.escape.basins import assign_to_minima, basins
from tests.checks import refuses
from tests.recovery_scaling.problems import QUARTIC

EVEN = Problem(Target("He2(z1) + He2(z2)"), Attention("trace"), Encoding("opposite"))


def minimum(e, m):
    return SimpleNamespace(e=(e, -e), m=m, risk=0.0)


SEMANTIC = (minimum(0.0, 1.0), minimum(0.0, -1.0))
POSITIONAL = (minimum(1.0, 0.0), minimum(-1.0, 0.0))


def competing(omega):
    target = Target.named("positional-semantic", omega=omega, a=1.0)
    return Problem(target, Attention("identity"), Encoding("opposite"), SquaredLoss(0.5))


def test_the_sign_of_m_decides_where_the_risk_is_even():
    generator = np.random.default_rng(0)
    starts = np.array([EVEN.geometry.random_state(10, generator) for _ in range(100)])
    for gamma in (0.0, 0.1):
        found = assign_to_minima(EVEN, SEMANTIC, starts, gamma=gamma)
        assert np.array_equal(found.index, np.where(starts[:, -1] > 0, 0, 1))
        assert found.elsewhere.sum() == found.unfinished.sum() == 0


def test_halves_of_random_starts_end_in_each():
    """Binomial counts of 300 starts within 4 errors, false alarms in 10^-4 of seeds."""
    found = basins(EVEN, SEMANTIC, (100, 10**6), starts=300, seed=3)
    assert np.all(np.abs(found.fractions - 0.5) < 4 * found.errors)
    assert found.counts.sum(axis=1).tolist() == [300, 300]
    assert found.status == "finished"
    assert np.array_equal(
        found.counts[1], basins(EVEN, SEMANTIC, [10**6], starts=300, seed=3).counts[0]
    )
    data = json.loads(json.dumps(found.as_dict()))
    assert data["dims"] == [100, 10**6]
    assert data["minima"][0] == {"e": [0.0, -0.0], "m": 1.0, "risk": 0.0}


@pytest.mark.parametrize(("omega", "winner"), [(0.6, "semantic"), (0.7, "positional")])
def test_the_steepest_direction_wins_as_d_grows(omega, winner):
    """The flip is at omega = 0.641; both minima exist on either side.

    Near the origin e and m grow apart like powers of their rates, so shares change slowly with d.
    The starts of all d come from the same numbers: the shares differ by many errors of 0.03.
    """
    problem = competing(omega)
    found = basins(problem, SEMANTIC + POSITIONAL, (100, 10**5, 10**12), starts=150)
    assert found.elsewhere.sum() == found.unfinished.sum() == 0
    semantic = found.fractions[:, :2].sum(axis=1)
    share = semantic if winner == "semantic" else 1 - semantic
    assert 0.4 < share[0] < share[1] < share[2]
    assert share[2] - share[0] > 0.1
    assert share[2] > 0.95


def test_noise_moves_the_ends_but_not_their_names():
    problem = competing(0.6)
    starts = np.array([[0.6, -0.6, 0.1], [0.1, -0.1, 0.6], [-0.6, 0.6, 0.1]])
    found = assign_to_minima(problem, SEMANTIC + POSITIONAL, starts, gamma=0.1)
    assert found.index.tolist() == [2, 0, 3]
    assert np.abs(found.flow.states[0] - [1.0, -1.0, 0.0]).max() > 0.01


def test_ends_that_are_none_of_the_minima_are_told():
    starts = np.array([[0.0, 0.0, 0.3], [0.0, 0.0, -0.3], [0.3, -0.3, 0.0]])
    found = assign_to_minima(EVEN, SEMANTIC[:1], starts)
    assert found.index.tolist() == [0, -1, -1]
    assert found.elsewhere.tolist() == [False, True, True]
    early = assign_to_minima(EVEN, SEMANTIC, starts[:2], t_max=0.1)
    assert early.unfinished.tolist() == [True, True]
    nothing = basins(EVEN, (), [100], starts=10)
    assert (nothing.counts.shape, nothing.elsewhere.tolist()) == ((1, 0), [10])


def test_a_minimum_that_is_reached_slowly_counts():
    """m' = -3.8 m^3 near the origin never converges in finite time."""
    origin = SimpleNamespace(e=(0.0, 0.0), m=0.0, risk=0.0)
    found = basins(QUARTIC, [origin], [10**4], starts=20)
    assert found.counts.tolist() == [[20]]


def test_ctrl_c_keeps_the_dimensions_that_were_done():
    engine = make_engine(EVEN)
    moments, calls = engine.moments, 0

    def interrupted_later(v):
        nonlocal calls
        calls += 1
        if calls == 700:
            raise KeyboardInterrupt
        return moments(v)

    engine.moments = interrupted_later
    found = basins(EVEN, SEMANTIC, (100, 1000, 10**4), starts=5, engine=engine)
    assert found.status == "interrupted"
    assert 0 < len(found.dims) < 3
    assert len(found.counts) == len(found.dims)
    assert found.message == f"{len(found.dims)} of 3 dimensions done"


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"dims": [3]}, "an entry of dims is 3"),
        ({"dims": 100}, "list of numbers"),
        ({"starts": 0}, "starts is 0"),
        ({"gamma": -0.1}, "gamma"),
        ({"minima": [minimum(0.9, 0.9)]}, "infeasible"),
    ],
)
def test_bad_input_is_refused(options, part):
    refuses(lambda: basins(EVEN, **{"minima": SEMANTIC, "dims": [100], **options}), part)
