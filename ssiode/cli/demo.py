"""Show the main job: exponent, ODE and cross-check of a target for attention."""

from __future__ import annotations

import sys
import time

import click

from ssiode.cli.output import emit, json_option

TARGET = "He2(z1) + He2(z2)"
_TABLES = {
    "target": {"expression": TARGET, "length": 2},
    "student": {"kind": "attention", "reduction": "trace"},
    "encoding": {"kind": "opposite"},
    "sgd": {"gamma": 0.1, "d": 1000, "steps": 30_000, "replicas": 16, "seed": 1},
    "initial": {"kind": "fixed", "e": [0.1, -0.1], "m": 0.2},
}


@click.command()
@click.option(
    "--figure",
    default="ssiode-demo.png",
    show_default=True,
    type=click.Path(dir_okay=False),
    help="Where the figure goes (png, pdf, svg).",
)
@json_option
def command(figure: str, as_json: bool) -> None:
    """Show the main job on He2(z1) + He2(z2), learned by attention with opposite encoding.

    Prints the Sequence Information Exponent, solves the ODE on (e, m), runs direct SGD at
    d = 1000 from the same start, says whether they agree, and draws both.
    """
    start = time.perf_counter()
    from ssiode.cli.tables import agreement_table
    from ssiode.exponent import sie
    from ssiode.plots import check_figure_path, save_figure
    from ssiode.problem import Problem
    from ssiode.threads import thread_count
    from ssiode.validation import validate

    thread_count()  # a wrong number of threads is told before any work
    check_figure_path(figure)
    problem = Problem.from_tables(_TABLES)
    exponent = sie(problem.target)
    result = validate(problem, records=60, progress=sys.stderr.isatty())
    save_figure(result.figure(), figure)
    seconds = time.perf_counter() - start
    text = (
        f"target {TARGET}: Sequence Information Exponent {exponent.sie} ({exponent.status}), "
        f"weak recovery in O({exponent.sample_complexity}) samples\n"
        "student: attention, trace; encoding: opposite; d = 1000, learning rate 0.1\n\n"
        f"{agreement_table(result)}\n\nfigure: {figure}; {seconds:.1f} s"
    )
    data = result.as_dict() | {"sie": exponent.as_dict(), "figure": figure, "seconds": seconds}
    emit(data, as_json, text)
    if result.was_interrupted:
        raise KeyboardInterrupt
