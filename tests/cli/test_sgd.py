import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from ssiode import Ensemble

LINEAR = ("--target", "z1", "--student", "tied", "--activation", "identity")
RUN = ("--gamma", 0.2, "--d", 50, "--steps", 200, "--replicas", 3, "--records", 4, "--m", 0.3)


def test_keys_and_shapes(ssiode):
    data = ssiode("sgd", *LINEAR, *RUN, "--seed", 5, "--json").json
    assert data["steps"] == [0, 50, 100, 150, 200]
    np.testing.assert_allclose(data["t"], np.array(data["steps"]) * 0.2 / 50)
    for key in ("m_mean", "m_std", "abs_m_mean", "loss_mean", "loss_error"):
        assert np.shape(data[key]) == (5,)
    assert np.shape(data["e_mean"]) == np.shape(data["e_std"]) == (5, 1)
    assert np.shape(data["final"]["m"]) == (3,)
    assert np.shape(data["final"]["e"]) == (3, 1)
    assert len(data["recovery_steps"]) == 3
    assert data["seed"] == 5
    assert data["status"] == "finished"
    assert data["seconds_per_step"] > 0
    assert data["m_mean"][0] == pytest.approx(0.3, abs=1e-12)
    assert data["problem"]["sgd"]["d"] == 50
    assert data["versions"]["ssiode"]


def test_the_seed_fixes_every_digit(ssiode):
    first = ssiode("sgd", *LINEAR, *RUN, "--seed", 5, "--json").json
    again = ssiode("sgd", *LINEAR, *RUN, "--seed", 5, "--json").json
    other = ssiode("sgd", *LINEAR, *RUN, "--seed", 6, "--json").json
    assert first["m_mean"] == again["m_mean"]
    assert first["m_mean"] != other["m_mean"]


def test_text_has_the_overlaps(ssiode):
    opposite = ("--student", "tied", "--encoding", "opposite", "--e", "0.1,-0.1")
    lines = ssiode("sgd", "--target", "z1*z2", *opposite, *RUN).out.splitlines()
    assert lines[0].split()[:5] == ["steps", "t", "e1_mean", "e2_mean", "m_mean"]
    assert lines[1].split()[:5] == ["0", "0", "0.1", "-0.1", "0.3"]


def test_a_single_replica_has_no_spread(ssiode):
    data = ssiode("sgd", *LINEAR, *RUN, "--replicas", 1, "--json").json
    assert data["m_std"] == [None] * 5
    assert None not in data["m_mean"]


def test_ctrl_c_prints_what_was_recorded():
    command = [sys.executable, "-m", "ssiode", "sgd", *LINEAR, "--json", "--records", "1000000"]
    # A short run leaves the compiled kernels in the cache, so that the long one starts at once.
    subprocess.run([*command, "--steps", "10"], check=True, capture_output=True)
    process = subprocess.Popen(
        [*command, "--steps", str(10**9)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that starts the tests in the background hands an ignored Ctrl-C down.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        time.sleep(8)
        process.send_signal(signal.SIGINT)
        stopped = time.perf_counter()
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    # A chunk takes half a second; the rest is room for a busy machine.
    assert time.perf_counter() - stopped < 10
    data = json.loads(out)
    assert data["status"] == "interrupted"
    assert len(data["steps"]) >= 1
    assert f"of {10**9} steps" in data["message"]
    assert process.returncode == 130
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--gamma", -0.1], ["gamma", ">= 0"]),
        (["--length", 9, "--d", 10], ["d is 10", ">= 11"]),
        (["--d", 2], ["d is 2"]),
        (["--steps", 0], ["steps"]),
        (["--replicas", 0], ["replicas"]),
        (["--batch", 0], ["batch"]),
        (["--records", 0], ["records"]),
        (["--spacing", "logarithmic"], ["log"]),
        (["--seed", -1], ["seed"]),
        (["--m", -1.01], ["infeasible"]),
        (["--eta", 0], ["eta"]),
    ],
)
def test_bad_input_is_refused_in_one_line(ssiode, arguments, parts):
    assert ssiode("sgd", *LINEAR, *arguments).refuses(*parts)


def test_a_run_that_is_over_is_copied_to_another_file(ssiode, tmp_path):
    first, copy = str(tmp_path / "run.npz"), str(tmp_path / "copy.npz")
    ssiode("sgd", *LINEAR, *RUN, "--save", first)
    ssiode("sgd", "--resume", first, "--save", copy)
    assert np.array_equal(Ensemble.load(copy).m, Ensemble.load(first).m)


def test_a_file_that_cannot_be_written_leaves_standard_output_empty(ssiode, tmp_path):
    assert ssiode("sgd", *LINEAR, *RUN, "--json", "--save", tmp_path).refuses("is a folder")
