"""The folder of the linked kernels."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import platformdirs
import pytest

from ssiode.kernels.cache import cache_folder, write_once


@pytest.fixture(autouse=True)
def _fresh():
    cache_folder.cache_clear()
    yield
    cache_folder.cache_clear()


def not_a_folder(tmp_path):
    """Return a path below a plain file, which nobody can make, root included."""
    (tmp_path / "file").write_text("")
    return tmp_path / "file" / "cache"


def test_the_variable_names_the_folder_and_it_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("SSIODE_CACHE", str(tmp_path / "a" / "b"))
    assert cache_folder() == tmp_path / "a" / "b"
    assert (tmp_path / "a" / "b").is_dir()
    assert list((tmp_path / "a" / "b").iterdir()) == []


@pytest.mark.parametrize("value", [None, "", "unwritable"])
def test_the_user_folder_is_next(tmp_path, monkeypatch, value):
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda *_, **__: str(tmp_path / "user"))
    if value is None:
        monkeypatch.delenv("SSIODE_CACHE", raising=False)
    else:
        monkeypatch.setenv("SSIODE_CACHE", str(not_a_folder(tmp_path)) if value else "")
    assert cache_folder() == tmp_path / "user"


def test_a_temporary_folder_is_last(tmp_path, monkeypatch):
    unwritable = str(not_a_folder(tmp_path))
    monkeypatch.setenv("SSIODE_CACHE", unwritable)
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda *_, **__: unwritable)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = cache_folder()
    assert folder.parent == tmp_path
    assert folder.name.startswith("ssiode-")
    assert cache_folder() == folder


def test_write_once_keeps_the_first_text(tmp_path):
    path = tmp_path / "x.py"
    write_once(path, "é first\n")
    write_once(path, "second\n")
    assert path.read_text(encoding="utf-8") == "é first\n"
    assert os.listdir(tmp_path) == ["x.py"]


def test_write_once_from_many_threads(tmp_path):
    path: Path = tmp_path / "x.py"
    text = "x = 1\n" * 10_000
    seen = []

    def work():
        write_once(path, text)
        seen.append(path.read_text())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Nobody sees a file that is partly written.
    assert seen == [text] * 8
    assert os.listdir(tmp_path) == ["x.py"]
