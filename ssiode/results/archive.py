"""Runs in files: one NumPy archive with the arrays, and the problem as JSON inside."""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ssiode.errors import InputError, shown_path
from ssiode.results.checkpoint import Checkpoint
from ssiode.results.ensemble import Ensemble
from ssiode.results.provenance import provenance

_FORMAT = "ssiode ensemble 1"
_HEADER = "header"
_CHECKPOINT = "checkpoint."


def save_ensemble(ensemble: Ensemble, path: str | Path) -> None:
    """Write a run to a file; see :meth:`Ensemble.save`."""
    tables = ensemble.problem.to_tables()
    fields = _fields(ensemble, "")
    if ensemble.checkpoint is not None:
        fields |= _fields(ensemble.checkpoint, _CHECKPOINT)
    arrays = {name: value for name, value in fields.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in fields.items() if name not in arrays}
    header = {"format": _FORMAT, **provenance(ensemble.problem), "problem": tables} | plain
    text = np.array(json.dumps(header))
    _replace(Path(path), arrays | {_HEADER: text})


def _fields(instance: Any, prefix: str) -> dict[str, Any]:
    names = [field.name for field in dataclasses.fields(instance)]
    values = {name: getattr(instance, name) for name in names if name not in _NOT_PLAIN}
    return {prefix + name: value for name, value in values.items() if value is not None}


_NOT_PLAIN = ("problem", "checkpoint")


def _replace(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write the archive beside the file and rename it, so that no reader finds a part of one."""
    name = shown_path(path)
    if path.is_dir():
        raise InputError(f"cannot save the run in {name}: it is a folder; give the name of a file")
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:40]}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                np.savez(stream, **arrays)
            with suppress(OSError):
                os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise InputError(
            f"cannot save the run in {name}: {error.strerror or error}; give another file"
        ) from error


def _umask() -> int:
    """The permissions that new files of this process do not get; it can only be read by a write."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def load_ensemble(path: str | Path) -> Ensemble:
    """Read a run from a file; see :meth:`Ensemble.load`."""
    from ssiode.problem import Problem

    arrays = _read(Path(path))
    name = shown_path(path)
    try:
        header = json.loads(str(arrays.pop(_HEADER)))
        if header.pop("format") != _FORMAT:
            raise ValueError
        del header["versions"]
        problem = Problem.from_tables(header.pop("problem"))
        values = header | arrays
        stopped = {
            key.removeprefix(_CHECKPOINT): values.pop(key)
            for key in list(values)
            if key.startswith(_CHECKPOINT)
        }
        checkpoint = Checkpoint(**stopped) if stopped else None
        return Ensemble(problem=problem, checkpoint=checkpoint, **values | _absent(values))
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name} holds no run; give a file that --save wrote") from error


def _absent(values: dict[str, Any]) -> dict[str, None]:
    """Fields without a default that are left out of a file when they are None."""
    return {} if "seconds_per_step" in values else {"seconds_per_step": None}


def _read(path: Path) -> dict[str, np.ndarray]:
    name = shown_path(path)
    try:
        if not path.is_file():
            path.stat()
            raise InputError(f"cannot read {name}: it is no file; give a file that --save wrote")
        with np.load(path, allow_pickle=False) as archive:
            return dict(archive)
    except InputError:
        raise
    except OSError as error:
        raise InputError(
            f"cannot read {name}: {error.strerror or error}; give a file that --save wrote"
        ) from error
    except (
        ValueError,
        TypeError,
        EOFError,
        KeyError,
        zipfile.BadZipFile,
        NotImplementedError,
    ) as error:
        raise InputError(
            f"{name} is damaged or holds no run; give a file that --save wrote"
        ) from error
