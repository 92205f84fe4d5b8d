"""Joins pieces of kernel source into one module, kept on disk under the hash of its content."""

from __future__ import annotations

import ast
import hashlib
import importlib.resources
import importlib.util
import sys
from collections.abc import Iterable
from functools import cache
from types import ModuleType

from ssiode.kernels.cache import cache_folder, write_once

_HEADER = '"""Linked kernels; generated, do not edit."""\n\nfrom numba import njit\n\n'


@cache
def piece(name: str) -> str:
    """Source of `ssiode/kernels/<name>.py` without docstring and without imports of other pieces.

    >>> "def student_forward" in piece("attention_identity")
    True
    """
    text = importlib.resources.files("ssiode.kernels").joinpath(f"{name}.py").read_text("utf-8")
    lines = text.splitlines()
    for node in reversed(ast.parse(text).body):
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_link = isinstance(node, ast.ImportFrom) and (
            node.module == "__future__" or str(node.module).startswith("ssiode.kernels")
        )
        if is_docstring or is_link:
            del lines[node.lineno - 1 : node.end_lineno]
    return "\n".join(lines).strip() + "\n"


def link(pieces: Iterable[str]) -> ModuleType:
    """Import the module whose source is the pieces in order, each piece once.

    The file is named by the hash of its text, so an edited piece is a new module and numba's
    cache beside the file is never stale.
    """
    text = _HEADER + "\n\n".join(dict.fromkeys(pieces))
    name = f"ssiode_kernel_{hashlib.sha256(text.encode()).hexdigest()[:24]}"
    if name not in sys.modules:
        path = cache_folder() / f"{name}.py"
        write_once(path, text)
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]
