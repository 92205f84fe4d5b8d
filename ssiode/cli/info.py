"""Show versions, threads and folders: what a bug report needs."""

from __future__ import annotations

import platform
from importlib import metadata

import click

import ssiode
from ssiode.cli.output import emit, json_option

DEPENDENCIES = (
    "click",
    "matplotlib",
    "numba",
    "numpy",
    "platformdirs",
    "scipy",
    "sympy",
    "threadpoolctl",
    "tomli-w",
    "tqdm",
)


@click.command()
@json_option
def command(as_json: bool) -> None:
    """Show versions, threads and folders: what a bug report needs."""
    from ssiode.kernels.cache import cache_folder
    from ssiode.threads import thread_count

    versions = {name: _version(name) for name in DEPENDENCIES}
    result = {
        "ssiode": ssiode.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "dependencies": versions,
        "threads": thread_count(),
        "cache_folder": str(cache_folder()),
    }
    rows = {name: value for name, value in result.items() if name != "dependencies"} | versions
    width = max(map(len, rows))
    lines = [f"{name.replace('_', ' '):{width}}  {value}" for name, value in rows.items()]
    emit(result, as_json, "\n".join(lines))


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
