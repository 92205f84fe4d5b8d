"""Runs in files: one NumPy archive with the arrays, and the problem as JSON inside."""

from __future__ import annotations

import dataclasses
import json
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ssiode.errors import InputError, finite_number, shown, shown_path, whole_number
from ssiode.recovery import check_threshold
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
    text = np.array(json.dumps(header, default=_plain))
    _replace(Path(path), arrays | {_HEADER: text})


def _plain(value: Any) -> Any:
    """NumPy's numbers, as an option of an engine can be one, in the types of JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise InputError(f"{shown(value)} among the settings of the run cannot be saved; give a number")


def _fields(instance: Any, prefix: str) -> dict[str, Any]:
    names = [field.name for field in dataclasses.fields(instance)]
    values = {name: getattr(instance, name) for name in names if name not in _NOT_PLAIN}
    return {prefix + name: value for name, value in values.items() if value is not None}


_NOT_PLAIN = ("problem", "checkpoint")


def _replace(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write the archive beside the file and rename it, so that no reader finds a part of one."""
    name = shown_path(path)
    try:
        path = _own_file(path)
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


def _own_file(path: Path) -> Path:
    """The file itself, behind symbolic links; nothing but a file may be replaced.

    Renaming onto a device or a pipe would take it away from all other programs.
    """
    name = shown_path(path)
    if "\0" in str(path):
        raise InputError(f"cannot save the run in {name}: a name has no null; give another file")
    with suppress(FileNotFoundError):
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise InputError(
                f"cannot save the run in {name}: it is a folder; give the name of a file"
            )
        if not stat.S_ISREG(mode):
            raise InputError(
                f"cannot save the run in {name}: it is a pipe or a device; give the name of a file"
            )
    return Path(os.path.realpath(path))


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
        ensemble = Ensemble(problem=problem, checkpoint=checkpoint, **values | _absent(values))
        _check(ensemble)
        return ensemble
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name} holds no run; give a file that --save wrote") from error


def _check(ensemble: Ensemble) -> None:
    """Raise ValueError where the parts of a file do not fit together, as in one made by hand."""
    geometry, replicas = ensemble.problem.geometry, ensemble.problem.sgd.replicas
    rows, n = geometry.n_rows, len(ensemble.steps)
    shapes = {
        "steps": (n,),
        "e": (replicas, n, geometry.length),
        "m": (replicas, n, rows) if rows > 1 else (replicas, n),
        "loss": (replicas, n),
        "recovery_steps": (replicas,),
        "semantic_recovery_steps": (replicas,),
    }
    if ensemble.squared_norms is not None or geometry.is_joint:
        shapes["squared_norms"] = (replicas, n, rows)
    for name, shape in shapes.items():
        array, kind = getattr(ensemble, name), "i" if "steps" in name else "f"
        if array.shape != shape or array.dtype.kind != kind:
            raise ValueError(f"{name} is {array.dtype} of shape {array.shape}, not {shape}")
    check_threshold(ensemble.threshold)
    whole_number("fresh_samples", ensemble.fresh_samples, minimum=1)
    whole_number("first_replica", ensemble.first_replica, minimum=0)
    if ensemble.seconds_per_step is not None:
        finite_number("seconds_per_step", ensemble.seconds_per_step, minimum=0)
    texts = (ensemble.method, ensemble.status, ensemble.message)
    if (
        not all(isinstance(text, str) for text in texts)
        or ensemble.seed != ensemble.problem.sgd.seed
    ):
        raise ValueError("a text or the seed is not that of a run")
    if not isinstance(ensemble.options, dict) or n == 0:
        raise ValueError("no options, or no records")


def _absent(values: dict[str, Any]) -> dict[str, None]:
    """Fields without a default that are left out of a file when they are None."""
    return {} if "seconds_per_step" in values else {"seconds_per_step": None}


def _read(path: Path) -> dict[str, np.ndarray]:
    name = shown_path(path)
    try:
        if not path.is_file():
            path.stat()
            raise InputError(f"cannot read {name}: it is no file; give a file that --save wrote")
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            return dict(archive)
    except InputError:
        raise
    except OSError as error:
        raise InputError(
            f"cannot read {name}: {error.strerror or error}; give a file that --save wrote"
        ) from error
    except Exception as error:  # a damaged archive can raise almost anything
        raise InputError(
            f"{name} is damaged or holds no run; give a file that --save wrote"
        ) from error
