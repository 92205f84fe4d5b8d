"""ODE and SGD agree where the theory is right, and disagree where it is made wrong on purpose.

Seeds are fixed. Where the theory is right, `agrees` is false for a random seed at a rate below 1e-3
a comparison, by the construction of its threshold.
"""

import dataclasses

import numpy as np
import pytest

from ssiode import Attention, Encoding, Problem, Target, TiedNetwork, solve_ode
from ssiode.dynamics import drift
from ssiode.loss import FrobeniusLoss
from ssiode.validation import validate
from ssiode.validation.agreement import compare


def two_squares(z):
    return (z**2 - 1).sum(axis=-1)


def sum_of_fields(z):
    return z.sum(axis=-1) / np.sqrt(z.shape[-1])


# A function as target shares the kernels of trace attention with the other tests.
SQUARES = Target(two_squares, length=2)
# With 32 replicas the threshold is one fluctuation.
REPLICAS = 32
TWELVE_NODES = {"engine": "quadrature", "order": 12}


def engine_arguments(options):
    """The engine of a solve as arguments of `validate`."""
    others = {name: value for name, value in options.items() if name != "engine"}
    return {"engine": options["engine"], "engine_options": others}


RIGHT = drift.vector_field


def without_second_moment(v, metric, gradient, second_moment, gamma, batch=1, is_joint=False):
    return RIGHT(v, metric, gradient, second_moment, 0.0, batch)


def without_metric(v, metric, gradient, second_moment, gamma, batch=1, is_joint=False):
    return RIGHT(v, np.eye(len(v)), gradient, second_moment, gamma, batch)


@dataclasses.dataclass(frozen=True)
class Case:
    """A problem, a run of it, and the ratios that the two wrong theories must exceed."""

    problem: Problem
    settings: dict
    ode_options: dict
    without_second_moment: float | None = None
    without_metric: float | None = None

    def agreement(self):
        options = {
            "replicas": REPLICAS,
            "records": 40,
            "moves": (),
            **engine_arguments(self.ode_options),
        }
        return validate(self.problem, **options, **self.settings)

    def wrong_ratio(self, right, field, monkeypatch):
        """Deviation of the same ensemble from another ODE at the same times."""
        monkeypatch.setattr(drift, "vector_field", field)
        start = {"e": right.trajectory.e[0], "m": right.trajectory.m[0]}
        options = {**start, "times": right.ensemble.t, "estimate_error": False}
        wrong = solve_ode(right.ensemble.problem, **options, **self.ode_options)
        return compare(wrong, right.ensemble).deviation_ratio


FAST = {
    "attention, opposite": Case(
        Problem(SQUARES, Attention("trace"), Encoding("opposite")),
        {"e": (0.2, -0.2), "m": 0.3, "gamma": 0.5, "d": 300, "steps": 1200},
        TWELVE_NODES,
        without_second_moment=4.0,
    ),
    "attention, correlated": Case(
        Problem(
            SQUARES,
            Attention("trace"),
            Encoding("gram", matrix=((1.0, 0.9), (0.9, 1.0)), teacher_overlap=(0.5, 0.5)),
        ),
        {"e": (0.1, 0.1), "m": 0.4, "gamma": 0.3, "d": 600, "steps": 3000},
        TWELVE_NODES,
        without_second_moment=4.0,
        without_metric=2.5,
    ),
}
POSITIONAL_SEMANTIC = Target.named("positional-semantic", omega=0.67, a=1.0)
SLOW = {
    "attention, no encoding": Case(
        Problem(Target("He2(z1) + He2(z2)"), Attention("trace")),
        {"m": 0.3, "gamma": 0.5, "d": 1000, "steps": 4000},
        TWELVE_NODES,
        without_second_moment=5.0,
    ),
    "attention, opposite, d = 1000": Case(
        Problem(Target("He2(z1) + He2(z2)"), Attention("trace"), Encoding("opposite")),
        {"e": (0.2, -0.2), "m": 0.3, "gamma": 0.5, "d": 1000, "steps": 4000},
        TWELVE_NODES,
        without_second_moment=5.0,
    ),
    "positional-semantic, squared": Case(
        Problem(POSITIONAL_SEMANTIC, Attention("identity"), Encoding("opposite")),
        {"e": (0.3, -0.3), "m": 0.2, "gamma": 0.5, "d": 500, "steps": 8000},
        TWELVE_NODES,
        without_metric=2.0,
    ),
    "positional-semantic, not squared": Case(
        Problem(POSITIONAL_SEMANTIC, Attention("identity"), Encoding("opposite"), FrobeniusLoss()),
        {"e": (0.3, -0.3), "m": 0.2, "gamma": 0.5, "d": 500, "steps": 6000},
        {"engine": "montecarlo", "samples": 2**13},
    ),
    "network of five tokens": Case(
        Problem(Target(sum_of_fields, length=5), TiedNetwork("relu")),
        {"m": 0.2, "gamma": 0.5, "d": 500, "steps": 2000},
        {"engine": "montecarlo", "samples": 2**13},
        without_second_moment=4.0,
    ),
    "network, orthonormal": Case(
        Problem(Target(two_squares, length=5), TiedNetwork("relu"), Encoding("orthonormal")),
        {"e": 0.15, "m": 0.3, "gamma": 0.1, "d": 500, "steps": 5000},
        {"engine": "montecarlo", "samples": 2**13},
        without_second_moment=3.0,
    ),
}


def check(case, monkeypatch):
    right = case.agreement()
    assert right.agrees
    assert right.threshold < 1.05
    # It does say something: the overlaps move by more than they fluctuate.
    moved = np.abs(right.trajectory.v[-1] - right.trajectory.v[0]).max()
    assert moved > 1.5 * right.expected_fluctuation
    for field, least in (
        (without_second_moment, case.without_second_moment),
        (without_metric, case.without_metric),
    ):
        if least is not None:
            assert case.wrong_ratio(right, field, monkeypatch) > least
    return right


@pytest.mark.parametrize("name", FAST)
def test_the_ode_agrees_with_sgd_and_wrong_ones_do_not(name, monkeypatch):
    right = check(FAST[name], monkeypatch)
    data = right.as_dict()
    assert data["agrees"] is True
    assert data["ode"]["status"] == data["sgd"]["status"] == "finished"


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_the_ode_agrees_with_sgd_in_larger_runs(name, monkeypatch):
    check(SLOW[name], monkeypatch)
