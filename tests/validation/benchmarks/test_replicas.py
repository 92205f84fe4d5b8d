"""The benchmark of replicas measures what it says, on few steps."""

from __future__ import annotations

import os

import pytest

from validation.benchmarks import replicas


@pytest.mark.parametrize(
    "problems",
    [
        # Its kernels are those of other tests.
        ["attention trace, opposite"],
        pytest.param(list(replicas.PROBLEMS), marks=pytest.mark.slow),
    ],
)
def test_all_times_are_measured(monkeypatch, problems):
    chosen = {name: replicas.PROBLEMS[name] for name in problems}
    monkeypatch.setattr(replicas, "PROBLEMS", chosen)
    normals, pairs = replicas.step_times(d=20, rounds=1, direct=10, chain=10)
    assert normals > 0
    assert pairs.keys() == chosen.keys()
    assert all(min(pair) > 0 for pair in pairs.values())


def test_threads_are_set_for_the_block_alone(monkeypatch):
    for before in (None, "3"):
        if before is None:
            monkeypatch.delenv("SSIODE_THREADS", raising=False)
        else:
            monkeypatch.setenv("SSIODE_THREADS", before)
        with replicas.threads(2):
            assert os.environ["SSIODE_THREADS"] == "2"
        assert os.environ.get("SSIODE_THREADS") == before


def test_dims_and_threads():
    assert min(replicas.chain_over_dims(rounds=1, steps=5).values()) > 0
    assert replicas.thread_gains(2, rounds=1, direct=5, chain=5).keys() == {"sgd", "chain"}
