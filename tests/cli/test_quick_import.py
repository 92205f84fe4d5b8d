import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run_python(code):
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    return done.stdout.split()


def test_the_collector_is_as_it_was():
    code = (
        "import gc, sys; {}; from ssiode.cli.quick_import import import_sympy; import_sympy();"
        "print(gc.isenabled(), 'sympy' in sys.modules, gc.get_freeze_count() > 10_000)"
    )
    assert run_python(code.format("pass")) == ["True", "True", "True"]
    assert run_python(code.format("gc.disable()")) == ["False", "True", "True"]


def test_nothing_is_frozen_when_sympy_is_there():
    code = (
        "import gc, sympy; from ssiode.cli.quick_import import import_sympy; import_sympy();"
        "print(gc.get_freeze_count())"
    )
    (count,) = run_python(code)
    (before,) = run_python("import gc, sympy; print(gc.get_freeze_count())")
    assert int(count) == int(before)
