"""Where linked kernels are kept between processes."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path

import platformdirs


@cache
def cache_folder() -> Path:
    """Folder of the linked kernels: $SSIODE_CACHE, the user's cache folder, or a temporary one.

    The first of these that can be written is taken, and made if it is missing.
    """
    wanted = os.environ.get("SSIODE_CACHE")
    for folder in (wanted, platformdirs.user_cache_dir("ssiode", appauthor=False)):
        if folder and _is_writable(Path(folder)):
            return Path(folder)
    return Path(tempfile.mkdtemp(prefix="ssiode-"))


def write_once(path: Path, text: str) -> None:
    """Write `text` to `path` unless the file exists; safe when several processes do it at once."""
    if path.exists():
        return
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
    os.replace(temporary, path)


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
