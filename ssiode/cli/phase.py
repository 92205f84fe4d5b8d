"""Positional against semantic learning: boundaries, regions, the diagram and its transition."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ssiode.cli.output import emit, json_option
from ssiode.cli.problem_options import NumberList, WholeNumberList
from ssiode.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _Answer(NamedTuple):
    data: Mapping[str, Any]
    text: Callable[[], str]
    figure: Callable[[], Figure]
    was_interrupted: bool = False


@click.command()
@click.option("--a", type=float, help="Strength of the positional part, in (0, 1].")
@click.option("--omega", type=float, help="Positional part of the target, in [0, 1].")
@click.option("--loss", help="squared (as analysed; default) or frobenius (as trained).")
@click.option("--a-range", type=NumberList(), help="Part of the diagram, as 0.7,0.85.")
@click.option("--omega-range", type=NumberList(), help="Part of the diagram, as 0.85,1.")
@click.option("--raster", help="A scalar over the diagram, such as risk_gap or escape_rate.")
@click.option("--pixels", type=int, help="On each side of the raster; 200 by default.")
@click.option("--transition", is_flag=True, help="Where SGD ends at finite d, by the chain.")
@click.option("--dims", type=WholeNumberList(), help="Dimensions, as 100,1000; 1000 by default.")
@click.option("--omegas", type=NumberList(), help="Values of omega, as 0.5,0.6,0.7.")
@click.option("--gamma", type=float, help="Learning rate of the runs; 0.05 by default.")
@click.option("--time", type=float, help="ODE time of the runs; by default until recovery.")
@click.option("--replicas", type=int, help="Runs for each omega and d; 64 by default.")
@click.option("--start", help="Of the runs: origin (e = m = 0; default) or random.")
@click.option("--eta", type=float, help="Recovery: e^2 + m^2 >= eta^2; 0.5 by default.")
@click.option("--seed", type=int, help="Seed of the runs; 0 by default.")
@click.option("--shifted", is_flag=True, help="The target without transition, over omega.")
@click.option("--figure", type=click.Path(dir_okay=False), help="Write a figure (png, pdf, svg).")
@json_option
def command(
    transition: bool, shifted: bool, figure: str | None, as_json: bool, **flags: Any
) -> None:
    """Map positional against semantic learning: the diagram, one --a, or one task.

    With --a the boundaries in omega; with --a and --omega all minima, their region and the flow;
    with neither the whole diagram. --transition measures where SGD ends at finite d, with
    --loss frobenius by default; Ctrl-C keeps and prints what was measured.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    question = _question(transition, shifted, given)
    taken, answer = _QUESTIONS[question]
    for name in given:
        if name not in taken:
            flags_taken = ", ".join(map(_flag, taken))
            raise InputError(f"{_flag(name)} is not taken {question}, which takes {flags_taken}")
    if figure is not None:
        from ssiode.plots import check_figure_path, save_figure

        check_figure_path(figure)
    found = answer(**given)
    if figure is not None:
        save_figure(found.figure(), figure)
    emit({**found.data, "figure": figure}, as_json, found.text)
    if found.was_interrupted:
        raise KeyboardInterrupt


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _question(transition: bool, shifted: bool, given: Mapping[str, Any]) -> str:
    asked = {"transition": transition, "shifted": shifted, "raster": "raster" in given}
    names = [name for name, is_asked in asked.items() if is_asked]
    if len(names) > 1:
        raise InputError(f"--{names[0]} and --{names[1]} are two questions; ask one at a time")
    if names:
        return f"with --{names[0]}"
    if "omega" in given and "a" not in given:
        raise InputError("--omega needs the strength of the positional part; give it, as in --a 1")
    if "a" not in given:
        return "by the diagram"
    is_task, is_frobenius = "omega" in given, given.get("loss") == "frobenius"
    return f"by {'a task' if is_task else 'one a'}" + (" of this loss" if is_frobenius else "")


def _diagram(
    a_range: tuple[float, ...] = (0, 1), omega_range: tuple[float, ...] = (0, 1)
) -> _Answer:
    from ssiode.cli.phase_text import diagram_text
    from ssiode.phase import phase_diagram

    found = phase_diagram(a_range, omega_range)
    return _Answer(found.as_dict(), lambda: diagram_text(found), found.figure)


def _boundaries(a: float, loss: str = "squared", **ranges: Any) -> _Answer:
    from ssiode.cli.phase_text import boundaries_text
    from ssiode.phase import phase_boundaries, phase_diagram
    from ssiode.phase.origin import check_loss

    check_loss(loss)
    found = phase_boundaries(a)
    data = {"loss": loss, **found.as_dict()}
    return _Answer(data, lambda: boundaries_text(found), lambda: phase_diagram(**ranges).figure(a))


def _region(a: float, omega: float, loss: str = "squared", **ranges: Any) -> _Answer:
    from ssiode.cli.phase_text import region_text
    from ssiode.phase import phase_diagram, phase_region
    from ssiode.phase.origin import check_loss

    check_loss(loss)
    found = phase_region(omega, a)
    data = {"loss": loss, **found.as_dict()}
    return _Answer(
        data, lambda: region_text(found), lambda: phase_diagram(**ranges).figure(a, omega)
    )


def _flip(a: float, loss: str, seed: int = 0) -> _Answer:
    from ssiode.cli.phase_text import flip_text
    from ssiode.phase import flip_at_origin

    found = flip_at_origin(a, loss=loss, seed=seed)
    return _Answer(found.as_dict(), lambda: flip_text(found), _no_figure)


def _origin(a: float, omega: float, loss: str, seed: int = 0) -> _Answer:
    from ssiode.cli.phase_text import origin_text
    from ssiode.phase import at_origin

    found = at_origin(omega, a, loss=loss, seed=seed)
    return _Answer(found.as_dict(), lambda: origin_text(found), _no_figure)


def _no_figure() -> Figure:
    raise InputError("--figure shows the minima of the squared loss; leave --loss frobenius out")


def _raster(raster: str, **options: Any) -> _Answer:
    from ssiode.cli.phase_text import raster_text
    from ssiode.phase import phase_raster

    found = phase_raster(raster, **options)
    return _Answer(found.as_dict(), lambda: raster_text(found), found.figure)


def _transition(
    a: float = 1.0, dims: tuple[int, ...] = (1000,), eta: float = 0.5, **options: Any
) -> _Answer:
    from ssiode.cli.phase_text import transition_text
    from ssiode.phase import transition

    found = transition(a, dims, threshold=eta, progress=sys.stderr.isatty(), **options)
    return _Answer(
        found.as_dict(), lambda: transition_text(found), found.figure, found.was_interrupted
    )


def _shifted(a: float = 1.0, omegas: tuple[float, ...] | None = None) -> _Answer:
    from ssiode.cli.phase_text import shifted_text
    from ssiode.phase import shifted_path

    found = shifted_path(a, omegas)
    return _Answer(
        found.as_dict(), lambda: shifted_text(found), found.figure, found.was_interrupted
    )


_RANGES = ("a_range", "omega_range")
_RUNS = ("dims", "omegas", "gamma", "time", "replicas", "start", "eta", "seed")
# What each question takes, and who answers it.
_QUESTIONS: Mapping[str, tuple[tuple[str, ...], Callable[..., _Answer]]] = {
    "by the diagram": (_RANGES, _diagram),
    "by one a": (("a", "loss", *_RANGES), _boundaries),
    "by a task": (("a", "omega", "loss", *_RANGES), _region),
    "by one a of this loss": (("a", "loss", "seed"), _flip),
    "by a task of this loss": (("a", "omega", "loss", "seed"), _origin),
    "with --raster": (("raster", "pixels", *_RANGES), _raster),
    "with --transition": (("a", "loss", *_RUNS), _transition),
    "with --shifted": (("a", "omegas"), _shifted),
}
