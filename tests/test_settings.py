"""Settings of a run and where it starts."""

from __future__ import annotations

import numpy as np
import pytest

from ssiode.encoding import Encoding
from ssiode.settings import InitialCondition, SGDSettings
from tests.checks import refuses

ORTHONORMAL = Encoding("orthonormal").geometry(2)


def test_ode_time():
    assert SGDSettings(gamma=0.2, d=500, steps=5000).ode_time == pytest.approx(2.0, rel=1e-15)
    assert SGDSettings(gamma=0).ode_time == 0.0


def test_numbers_become_plain():
    settings = SGDSettings(gamma=1, d=1000.0, steps=np.int64(7))
    assert (type(settings.gamma), type(settings.d), type(settings.steps)) == (float, int, int)


@pytest.mark.parametrize("name", ["gamma", "d", "batch", "steps", "replicas", "seed"])
@pytest.mark.parametrize("value", ["1", [1], True, None, -1, np.nan, np.inf, 1j, {}])
def test_what_is_no_number_is_refused(name, value):
    refuses(lambda: SGDSettings(**{name: value}), f"{name} is")


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"d": 2}, ">= 3"),
        ({"d": 10.5}, "10.5"),
        ({"batch": 0}, ">= 1"),
        ({"steps": 0}, ">= 1"),
        ({"replicas": 0}, ">= 1"),
        ({"steps": 10**400}, "<= 1000000000000000"),
        ({"d": 1e300}, "<= 1000000000000000"),
    ],
)
def test_numbers_out_of_range_are_refused(settings, part):
    refuses(lambda: SGDSettings(**settings), part)


def test_seeds_may_be_as_large_as_those_of_numpy():
    assert SGDSettings(seed=2**128).seed == 2**128


def test_fixed_states():
    assert InitialCondition("fixed").state(ORTHONORMAL, 100, 0).tolist() == [0, 0, 0]
    assert InitialCondition("fixed", e=0.1).state(ORTHONORMAL, 100, 0).tolist() == [0.1, 0.1, 0]
    start = InitialCondition("fixed", e=[0.1, 0.2], m=-0.3)
    assert start.state(ORTHONORMAL, 100, 0).tolist() == [0.1, 0.2, -0.3]
    assert start.fixed_state(ORTHONORMAL).tolist() == [0.1, 0.2, -0.3]


def test_random_states_depend_on_the_seed_alone():
    states = [InitialCondition().state(ORTHONORMAL, 100, seed) for seed in (0, 0, 1)]
    assert np.array_equal(states[0], states[1])
    assert not np.array_equal(states[0], states[2])
    assert InitialCondition().fixed_state(ORTHONORMAL) is None


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"kind": "rndom"}, "did you mean 'random'?"),
        ({"e": 0.1}, "takes no e and m"),
        ({"m": 0.0}, "takes no e and m"),
        ({"kind": "fixed", "e": "0.1"}, "e is '0.1'"),
        ({"kind": "fixed", "e": ["0.1"]}, "entry of e"),
        ({"kind": "fixed", "e": [[0.1]]}, "entry of e"),
        ({"kind": "fixed", "m": "x"}, "m is 'x'"),
        ({"kind": "fixed", "m": [[0.1]]}, "entry of m"),
        ({"kind": "fixed", "m": np.nan}, "m is nan"),
        ({"kind": "fixed", "e": True}, "e is True"),
    ],
)
def test_bad_starts_are_refused(options, part):
    refuses(lambda: InitialCondition(**options), part)


def test_infeasible_starts_are_refused():
    start = InitialCondition("fixed", e=0.8, m=0.8)
    refuses(lambda: start.fixed_state(ORTHONORMAL), "infeasible", "nearest")
    refuses(lambda: InitialCondition("fixed", e=(1, 2, 3)).fixed_state(ORTHONORMAL), "3 entries")
