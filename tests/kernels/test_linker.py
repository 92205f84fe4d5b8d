"""Linked modules: named by their content, found again by the next process, never stale."""

from __future__ import annotations

import ast
import hashlib
import importlib.resources
import os
import subprocess
import sys

import pytest

from ssiode.kernels import cache, linker
from ssiode.kernels.linker import link, piece

PIECES = sorted(
    entry.name.removesuffix(".py")
    for entry in importlib.resources.files("ssiode.kernels").iterdir()
    if entry.name.endswith(".py") and entry.name not in ("__init__.py", "linker.py", "cache.py")
)
ONE = "def one():\n    return 1\n"
TWO = "def two():\n    return 1 + one()\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Use an empty cache folder, and forget the modules linked into it."""
    monkeypatch.setenv("SSIODE_CACHE", str(tmp_path))
    cache.cache_folder.cache_clear()
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("ssiode_kernel_"):
            del sys.modules[name]
    cache.cache_folder.cache_clear()


def files(folder):
    return sorted(path.name for path in folder.glob("*.py"))


def test_same_pieces_give_the_same_module(folder):
    module = link([ONE, TWO])
    assert module.two() == 2
    assert link(iter((ONE, TWO))) is module
    assert link([ONE, TWO, ONE]) is module
    assert files(folder) == [f"{module.__name__}.py"]
    assert sys.modules[module.__name__] is module


def test_name_is_the_hash_of_the_text(folder):
    module = link([ONE])
    text = (folder / f"{module.__name__}.py").read_bytes()
    assert module.__name__ == f"ssiode_kernel_{hashlib.sha256(text).hexdigest()[:24]}"
    assert b"generated, do not edit" in text


def test_an_edited_piece_gives_another_file(folder):
    first, second = link([ONE, TWO]), link([ONE.replace("1", "5"), TWO])
    assert first is not second
    assert (first.two(), second.two()) == (2, 6)
    assert len(files(folder)) == 2
    assert link([ONE, TWO]) is first


def test_a_piece_that_fails_leaves_no_module(folder):
    before = set(sys.modules)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            link([ONE, "x = 1 / 0\n"])
    assert not {name for name in set(sys.modules) - before if name.startswith("ssiode_kernel")}


@pytest.mark.parametrize("name", PIECES)
def test_pieces_have_no_docstring_and_do_not_import_pieces(name):
    tree = ast.parse(piece(name))
    assert ast.get_docstring(tree) is None
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert not any(alias.name.startswith("ssiode") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module != "__future__"
            assert not node.module.startswith("ssiode.kernels")


@pytest.mark.parametrize("name", PIECES)
def test_pieces_keep_every_definition(name):
    source = importlib.resources.files("ssiode.kernels").joinpath(f"{name}.py").read_text("utf-8")
    definitions = [
        {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
        for text in (source, piece(name))
    ]
    assert definitions[0] == definitions[1]


def test_pieces_are_found_by_name_only():
    with pytest.raises(FileNotFoundError):
        piece("no_such_piece")


SCRIPT = """
from ssiode.kernels.linker import link
text = '''
@njit(cache=True)
def double(x):
    return helper(x) * 2.0
'''
helper = '''
@njit
def helper(x):
    return x + {shift}
'''
module = link([helper, text])
print(module.double(1.0), sum(module.double.stats.cache_hits.values()))
"""


def run(folder, shift):
    environment = {**os.environ, "SSIODE_CACHE": str(folder), "PYTHONPATH": os.getcwd()}
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(shift=shift)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_the_next_process_finds_the_compiled_code_and_an_edit_does_not(tmp_path):
    # Two processes fill the empty cache at the same time.
    for process in [run(tmp_path, 1.0), run(tmp_path, 1.0)]:
        assert process.communicate(timeout=120)[0].split()[0] == "4.0"
    assert run(tmp_path, 1.0).communicate(timeout=120)[0].split() == ["4.0", "1"]
    # The helper is edited: numba alone would return the stale 4.0.
    assert run(tmp_path, 2.0).communicate(timeout=120)[0].split() == ["6.0", "0"]
    assert not list(tmp_path.glob("*.tmp"))


def test_linking_uses_the_folder_of_the_cache(folder):
    assert linker.cache_folder() == folder
