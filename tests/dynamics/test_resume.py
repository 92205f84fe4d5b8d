"""Runs that are cut short keep what they had, and go on to the numbers of a run that was not."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pytest

from ssiode import (
    Attention,
    Encoding,
    Ensemble,
    InputError,
    Problem,
    Target,
    UntiedNetwork,
    resume_run,
    run_chain,
    run_sgd,
)
from ssiode.dynamics import recording, replicas
from ssiode.interrupts import held_interrupts
from tests.checks import refuses

OPPOSITE = Problem(
    Target("He2(z1) + z2"), Attention("trace"), Encoding("opposite"), label_noise=0.1
)
# The kernels are those of test_chain.py.
JOINT = Problem(
    Target("He2(z1) + z2"),
    UntiedNetwork("relu", constraint="joint"),
    Encoding("orthonormal"),
    label_noise=0.1,
)
SETTINGS = {"m": 0.2, "gamma": 0.5, "d": 20, "batch": 3, "steps": 100, "replicas": 5, "records": 10}
RECORDED = ("steps", "e", "m", "loss", "recovery_steps", "semantic_recovery_steps", "squared_norms")
RUNS = {"chain": run_chain, "sgd": run_sgd}
PROBLEMS = {"attention": OPPOSITE, "joint": JOINT}


def equal(first, second):
    parts = [(getattr(first, name), getattr(second, name)) for name in RECORDED]
    return all(np.array_equal(a, b, equal_nan=True) for a, b in parts if a is not None)


def interrupt(monkeypatch, name, call, kind=replicas.Replicas):
    """Send Ctrl-C from within a call of a method of the replicas."""
    original, calls = getattr(kind, name), []

    def interrupted(self, *arguments):
        calls.append(1)
        if len(calls) == call:
            signal.raise_signal(signal.SIGINT)
        return original(self, *arguments)

    monkeypatch.setattr(kind, name, interrupted)


@pytest.mark.parametrize("method", RUNS)
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize(
    ("name", "call"), [("advance", 1), ("advance", 7), ("add_fresh_losses", 1), ("overlaps", 4)]
)
def test_an_interrupted_run_is_resumed(monkeypatch, tmp_path, method, problem, name, call):
    run, problem = RUNS[method], PROBLEMS[problem]
    whole = run(problem, **SETTINGS)
    with monkeypatch.context() as patch:
        interrupt(patch, name, call)
        stopped = run(problem, **SETTINGS)
    assert stopped.status == "interrupted"
    assert "of 100 steps" in stopped.message
    complete = int(np.isfinite(stopped.loss[0]).sum())
    assert len(stopped.steps) in (complete, complete + 1)
    assert np.array_equal(stopped.m[:, :complete], whole.m[:, :complete])
    assert np.array_equal(stopped.loss[:, :complete], whole.loss[:, :complete])
    assert np.isfinite(stopped.m).all()
    assert stopped.as_dict()["status"] == "interrupted"
    path = tmp_path / "run.npz"
    stopped.save(path)
    for one in (stopped, Ensemble.load(path)):
        assert equal(one, stopped)
        again = resume_run(one)
        assert again.status == "finished"
        assert equal(again, whole)


def test_a_run_can_be_cut_short_many_times(monkeypatch):
    whole = run_chain(OPPOSITE, **SETTINGS)
    with monkeypatch.context() as patch:
        interrupt(patch, "advance", 2)
        stopped = run_chain(OPPOSITE, **SETTINGS)
    for call in (1, 3, 5):
        with monkeypatch.context() as patch:
            interrupt(patch, "advance", call)
            stopped = resume_run(stopped)
    assert stopped.status == "interrupted"
    assert equal(resume_run(stopped), whole)


def test_a_file_is_kept_while_a_run_goes_on(monkeypatch, tmp_path):
    path = tmp_path / "run.npz"
    monkeypatch.setattr(recording, "_SECONDS_BETWEEN_SAVES", 0.0)
    monkeypatch.setattr(recording, "_LARGEST_SHARE_OF_SAVING", np.inf)
    original, found = replicas.Replicas.advance, []

    def advance(self, n_samples):
        found.append(Ensemble.load(path))
        return original(self, n_samples)

    monkeypatch.setattr(replicas.Replicas, "advance", advance)
    whole = run_chain(OPPOSITE, **SETTINGS, save=path)
    monkeypatch.undo()
    assert equal(Ensemble.load(path), whole)
    assert [run.status for run in found] == ["unfinished"] * len(found)
    assert len({run.checkpoint.samples_done for run in found}) > 5
    for run in found[::5]:
        assert equal(resume_run(run), whole)


def test_parts_of_a_run_give_its_replicas():
    whole = run_chain(OPPOSITE, **SETTINGS)
    for first, count in ((0, 2), (2, 3)):
        part = run_chain(OPPOSITE, **SETTINGS | {"replicas": count}, first_replica=first)
        assert np.array_equal(part.v, whole.v[first : first + count])
        assert part.first_replica == first
    refuses(lambda: run_chain(OPPOSITE, **SETTINGS, first_replica=-1), "first_replica", "-1")


def test_a_run_that_is_over_is_not_resumed():
    run = run_chain(OPPOSITE, **SETTINGS)
    assert run.checkpoint is None
    refuses(lambda: resume_run(run), "has ended", "all 100 steps")


def test_what_cannot_be_kept_is_refused_before_it_runs(monkeypatch, tmp_path):
    monkeypatch.setattr(replicas.Replicas, "advance", lambda *_: pytest.fail("it ran"))
    opaque = OPPOSITE.replace(target=Target(lambda z: z[..., 0], length=2))
    refuses(lambda: run_chain(opaque, **SETTINGS, save=tmp_path / "run.npz"), "Python function")
    refuses(lambda: run_chain(OPPOSITE, **SETTINGS, save=tmp_path), "is a folder")
    missing = tmp_path / "none" / "run.npz"
    refuses(lambda: run_chain(OPPOSITE, **SETTINGS, save=missing), "cannot save", "run.npz")


def test_only_a_file_is_replaced_by_a_run(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="pipe or a device") as caught:
        run_chain(OPPOSITE, **SETTINGS, save=pipe)
    assert caught.value.result is None
    assert pipe.is_fifo()
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    for name in (loop, tmp_path / ("x" * 300), tmp_path / "a\0b"):
        refuses(lambda name=name: run_chain(OPPOSITE, **SETTINGS, save=name), "cannot save")
    assert loop.is_symlink()


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_to_a_file_stays_a_link(tmp_path, exists):
    path, link = tmp_path / "run.npz", tmp_path / "link.npz"
    if exists:
        path.write_text("old")
    link.symlink_to(path.name)
    whole = run_chain(OPPOSITE, **SETTINGS, save=link)
    assert link.is_symlink()
    assert not path.is_symlink()
    assert equal(Ensemble.load(path), whole)


FOREIGN_PARTS = [
    {"weights": np.ones((5, 1, 2))},
    {"weights": np.full((5, 1, 3), "a")},
    {"updates": np.ones((5, 1, 2))},
    {"streams": np.ones((5, 3, 4))},
    {"fresh_streams": np.ones((2, 1, 1), dtype=np.uint64)},
    {"alive": np.ones(3, dtype=bool)},
    {"planned_steps": np.array([0, 50, 20, 100])},
    {"planned_steps": np.array([0, 10**15])},
    {"records_done": 99},
    {"records_done": -1},
    {"samples_done": -5},
    {"samples_done": "many"},
]


@pytest.mark.parametrize("parts", FOREIGN_PARTS)
def test_a_checkpoint_of_another_run_is_refused(monkeypatch, parts):
    interrupt(monkeypatch, "advance", 3)
    stopped = run_chain(OPPOSITE, **SETTINGS)
    checkpoint = dataclasses.replace(stopped.checkpoint, **parts)
    wrong = dataclasses.replace(stopped, checkpoint=checkpoint)
    refuses(lambda: resume_run(wrong), "damaged", "start it anew")
    refuses(lambda: resume_run(dataclasses.replace(stopped, method="chian")), "'chain'")


FOREIGN_FIELDS = [
    {"e": np.zeros((5, 11))},
    {"m": np.zeros((2, 11))},
    {"loss": np.full((5, 11), "a")},
    {"recovery_steps": np.zeros(5)},
    {"squared_norms": np.zeros(5)},
    {"threshold": "x"},
    {"fresh_samples": 0},
    {"first_replica": -1},
    {"seconds_per_step": "fast"},
    {"seed": 12},
    {"status": 3},
    {"options": [3]},
]


@pytest.mark.parametrize("fields", FOREIGN_FIELDS)
def test_a_file_whose_parts_do_not_fit_is_refused(tmp_path, fields):
    path = tmp_path / "run.npz"
    dataclasses.replace(run_chain(OPPOSITE, **SETTINGS), **fields).save(path)
    with pytest.raises(InputError):
        Ensemble.load(path)


@pytest.mark.parametrize("header", ["null", "3", '"x"', "[]", "{}", "[" * 100000])
def test_a_file_of_something_else_is_refused(tmp_path, header):
    path = tmp_path / "run.npz"
    np.savez(path, header=np.array(header))
    refuses(lambda: Ensemble.load(path), "holds no run")


def test_a_damaged_file_is_refused_or_whole(tmp_path):
    path, rng = tmp_path / "run.npz", np.random.default_rng(0)
    run_chain(OPPOSITE, **SETTINGS).save(path)
    content = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    for _ in range(100):
        damaged = content.copy()
        damaged[rng.integers(len(content), size=4)] = rng.integers(256, size=4)
        path.write_bytes(damaged.tobytes())
        with suppress(InputError):
            Ensemble.load(path)


def test_a_disk_that_fills_up_keeps_the_run_on_the_error(monkeypatch, tmp_path):
    original = replicas.Replicas.advance

    def advance(self, n_samples):
        monkeypatch.setattr(Ensemble, "save", fail)
        return original(self, n_samples)

    def fail(self, path):
        raise InputError("cannot save the run: No space left on device")

    monkeypatch.setattr(replicas.Replicas, "advance", advance)
    with pytest.raises(InputError, match="No space") as caught:
        run_chain(OPPOSITE, **SETTINGS, save=tmp_path / "run.npz")
    assert caught.value.result.status == "finished"


def test_interrupts_act_at_once_the_second_time():
    with held_interrupts() as interrupted:
        assert not interrupted()
        signal.raise_signal(signal.SIGINT)
        assert interrupted()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_interrupts_are_as_before_afterwards():
    before = signal.getsignal(signal.SIGINT)
    with held_interrupts():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


LINEAR = ("--target", "z1", "--student", "tied", "--activation", "identity", "--d", "1000000")
LINEAR += ("--replicas", "3", "--records", "7", "--json")


def command(*arguments):
    return [sys.executable, "-m", "ssiode", "chain", *arguments]


def test_the_command_is_interrupted_and_resumed(tmp_path):
    path, steps = str(tmp_path / "run.npz"), ("--steps", "20000000")
    subprocess.run(command(*LINEAR, "--steps", "10"), check=True, capture_output=True)
    process = subprocess.Popen(
        command(*LINEAR, *steps, "--save", path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        while process.poll() is None and not (tmp_path / "run.npz").exists():
            time.sleep(0.05)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert Ensemble.load(path).status == "interrupted"
    resumed = subprocess.run(command("--resume", path), capture_output=True, check=True)
    assert b"all 20000000 steps were done" in resumed.stdout
    assert Ensemble.load(path).status == "finished"
    whole = run_chain(Ensemble.load(path).problem, records=7)
    assert equal(Ensemble.load(path), whole)
