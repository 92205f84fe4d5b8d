import configparser
import platform
from importlib import metadata
from pathlib import Path

import ssiode as package
from ssiode.cli import info

SETUP = Path(__file__).parents[2] / "setup.cfg"


def test_keys_of_the_json(ssiode, monkeypatch):
    monkeypatch.setenv("SSIODE_THREADS", "3")
    data = ssiode("info", "--json").json
    assert data["ssiode"] == package.__version__
    assert data["python"] == platform.python_version()
    assert data["dependencies"]["sympy"] == metadata.version("sympy")
    assert data["threads"] == 3
    assert Path(data["cache_folder"]).is_dir()


def test_text_for_people(ssiode):
    out = ssiode("info").out
    assert f"sympy          {metadata.version('sympy')}\n" in out
    assert "cache folder" in out


def test_dependencies_are_those_of_the_package():
    setup = configparser.ConfigParser()
    setup.read(SETUP, encoding="utf-8")
    required = setup["options"]["install_requires"].split()
    assert {name.partition(">=")[0] for name in required} == set(info.DEPENDENCIES)


def test_missing_packages_are_shown_as_missing(ssiode, monkeypatch):
    monkeypatch.setattr(info, "DEPENDENCIES", ("no-such-package-at-all",))
    assert ssiode("info", "--json").json["dependencies"] == {"no-such-package-at-all": None}


def test_bad_settings_are_told(ssiode, monkeypatch):
    monkeypatch.setenv("SSIODE_THREADS", "many")
    assert ssiode("info").refuses("SSIODE_THREADS")
