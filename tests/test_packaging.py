"""What is installed is what the repository holds."""

from __future__ import annotations

import configparser
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_package_is_installed():
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg")
    listed = set(settings["options"]["packages"].split())
    found = set()
    for top, prefix in (("ssiode", ""), ("derivations", "ssiode."), ("validation", "ssiode.")):
        for file in (ROOT / top).rglob("__init__.py"):
            found.add(prefix + ".".join(file.parent.relative_to(ROOT).parts))
    assert listed == found
