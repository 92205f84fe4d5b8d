"""Tables that are kept between processes, in the folder of the compiled kernels."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from ssiode.kernels.cache import cache_folder

Table = TypeVar("Table")


def stored(key: str, compute: Callable[[], Table], kind: type[Table]) -> Table:
    """Return the dataclass of arrays that is kept under the key, or compute and keep it.

    A file that cannot be read, or holds other arrays, is replaced; one that cannot be written is
    left out. The key tells all that the arrays depend on.

    Parameters
    ----------
    key : str
    compute : callable
    kind : type
        A dataclass whose fields are all arrays.
    """
    digest = hashlib.sha256(key.encode()).hexdigest()[:16]
    path = cache_folder() / f"{kind.__name__}-{digest}.npz"
    names = [field.name for field in dataclasses.fields(kind)]
    try:
        # A stream of our own is closed where the file is cut.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            return kind(**{name: arrays[name] for name in names})
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        table = compute()
    _write(path, {name: getattr(table, name) for name in names})
    return table


def _write(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write and rename, so that no other process reads half a file."""
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(descriptor, "wb") as stream:
            np.savez(stream, **arrays)
        os.replace(temporary, path)
    except OSError:
        return
