"""The command of the positional-semantic model."""

from __future__ import annotations

import pytest


def test_boundaries(ssiode):
    data = ssiode("phase", "--a", "1", "--json").json
    names = {"flip", "equal_minima", "positional_birth", "semantic_death"}
    assert names <= set(data)
    assert data["flip"] == pytest.approx(0.640963, abs=1e-6)
    assert ssiode("phase", "--a", "0.5", "--json").json["flip"] is None
    assert "0.640962618" in ssiode("phase", "--a", "1").out


def test_a_task(ssiode, tmp_path):
    figure = tmp_path / "task.png"
    call = ("phase", "--a", "0.76", "--omega", "0.98")
    data = ssiode(*call, "--json", "--figure", figure).json
    assert {"region", "minima", "steepest_direction", "hessian"} <= set(data)
    assert data["region"] == "unique mixed"
    assert figure.stat().st_size > 1000
    text = ssiode(*call).out
    for part in ("unique mixed", "certified", "positional", "0.96424"):
        assert part in text


def test_the_diagram(ssiode, tmp_path):
    figure = tmp_path / "diagram.svg"
    data = ssiode("phase", "--json", "--figure", figure).json
    assert len(data["regions"]) == 9
    assert len(data["crossings"]) == 7
    assert figure.stat().st_size > 1000
    zoom = ssiode("phase", "--a-range", "0.75,0.76", "--omega-range", "0.97,1")
    assert "unique mixed" in zoom.out


def test_a_raster(ssiode, tmp_path):
    figure = tmp_path / "raster.png"
    data = ssiode("phase", "--raster", "risk_gap", "--pixels", "3", "--json").json
    assert len(data["values"]) == 3
    found = ssiode("phase", "--raster", "escape_rate", "--figure", figure)
    assert "200 x 200" in found.out
    assert figure.stat().st_size > 1000


def test_the_frobenius_loss(ssiode):
    data = ssiode("phase", "--a", "1", "--loss", "frobenius", "--json").json
    assert data["flip"] == pytest.approx(0.6278, abs=1e-4)
    assert 0 < data["flip_error"] < 1e-5
    task = ("phase", "--a", "1", "--omega", "0.5", "--loss", "frobenius")
    data = ssiode(*task, "--json").json
    assert data["steepest_direction"] == {"e": 0.0, "m": 1.0}
    assert "V_e" in ssiode(*task).out


def test_the_shifted_target(ssiode):
    found = ssiode("phase", "--shifted", "--omegas", "0.4,0.5")
    assert "0.379624" in found.out
    assert "finished" in found.out


@pytest.mark.slow
def test_the_transition(ssiode, tmp_path):
    figure = tmp_path / "transition.pdf"
    call = ("phase", "--transition", "--dims", "50,80", "--omegas", "0.4,0.6,0.7,0.9")
    found = ssiode(*call, "--replicas", "16", "--figure", figure)
    assert found.code == 0
    for part in ("crossing", "width", "one sigma", "seed 0", "flip"):
        assert part in found.out
    assert figure.stat().st_size > 1000
    early = ssiode(*call, "--time", "0.5", "--replicas", "4")
    assert "have not recovered" in early.out


REFUSED = [
    (("--omega", "0.5"), "--a"),
    (("--a", "2"), "(0, 1]"),
    (("--a", "nan"), "nan"),
    (("--a", "1", "--omega", "-1"), "[0, 1]"),
    (("--pixels", "3"), "--a-range"),
    (("--raster", "risk_gap", "--a", "1"), "--a is not taken with --raster"),
    (("--raster", "gap"), "risk_gap"),
    (("--transition", "--shifted"), "two questions"),
    (("--transition", "--omega", "0.5"), "--omegas"),
    (("--transition", "--dims", "2"), "dims"),
    (("--a", "1", "--loss", "frob"), "frobenius"),
    (("--a", "1", "--figure", "x.jpg"), ".png"),
    (("--a-range", "1,0"), "ascending"),
    (("--a", "1", "--seed", "0"), "--seed"),
    (("--a", "1", "--loss", "frobenius", "--a-range", "0,1"), "--a-range"),
]


@pytest.mark.parametrize(("arguments", "part"), REFUSED)
def test_bad_input(ssiode, arguments, part):
    assert ssiode("phase", *arguments).refuses(part)


def test_no_figure_of_the_frobenius_loss(ssiode, tmp_path):
    path = tmp_path / "x.png"
    found = ssiode("phase", "--a", "1", "--loss", "frobenius", "--figure", path)
    assert found.refuses("squared")
    assert not path.exists()
