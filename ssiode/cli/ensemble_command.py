"""What the commands that run an ensemble of replicas have in common."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from ssiode.cli.output import emit, json_option
from ssiode.cli.problem_options import build_problem, problem_options, state_options
from ssiode.cli.tables import ensemble_table
from ssiode.errors import InputError

if TYPE_CHECKING:
    from ssiode.results import Ensemble

_OPTIONS = {
    "--records": (int, 200, "Times recorded besides the start."),
    "--spacing": (str, "linear", "linear or log spacing of these."),
    "--eta": (float, 0.5, "Weak recovery: |v| >= eta."),
    "--first-replica": (int, 0, "Number of the first replica, for a run in parts."),
}


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the problem, the initial overlaps and how a run is recorded and kept."""
    text = "Go on with the run in this file, and keep it there."
    command = click.option("--resume", type=str, metavar="FILE", help=text)(json_option(command))
    text = "Keep the run in this file, also while it goes on."
    command = click.option("--save", type=str, metavar="FILE", help=text)(command)
    for name, (kind, default, text) in reversed(_OPTIONS.items()):
        option = click.option(name, type=kind, default=default, show_default=True, help=text)
        command = option(command)
    return problem_options(state_options(command))


def run_and_emit(
    function: str,
    problem: str | None,
    param: tuple[str, ...],
    as_json: bool,
    save: str | None,
    resume: str | None,
    e: tuple[float, ...] | None,
    m: tuple[float, ...] | None,
    records: int,
    spacing: str,
    eta: float,
    first_replica: int,
    further: dict[str, Any] | None = None,
    **flags: Any,
) -> None:
    """Run the replicas by the function of that name, or go on with a file, and print the result.

    `further` are arguments that this function takes and others do not.
    """
    try:
        if resume is not None:
            _refuse_others()
            result = _resumed(function, resume, save)
        else:
            from ssiode import dynamics

            result = getattr(dynamics, function)(
                build_problem(problem, param, flags),
                e=e,
                m=m,
                records=records,
                spacing=spacing,
                threshold=eta,
                first_replica=first_replica,
                save=save,
                progress=sys.stderr.isatty(),
                **(further or {}),
            )
    except InputError as error:
        if error.result is not None:
            emit(error.result.as_dict(), as_json, ensemble_table(error.result))
        raise
    emit(result.as_dict(), as_json, ensemble_table(result))
    if result.status == "interrupted":
        raise KeyboardInterrupt


def _refuse_others() -> None:
    """A file holds the problem and all settings: nothing else may be given with it."""
    context = click.get_current_context()
    for option in context.command.params:
        given = context.get_parameter_source(option.name)
        is_other = option.name not in ("resume", "save", "as_json")
        if is_other and given is click.core.ParameterSource.COMMANDLINE:
            shown = option.opts[0] if option.param_type_name == "option" else option.name.upper()
            raise InputError(f"--resume takes the run of the file as it is; leave {shown} out")


def _resumed(function: str, resume: str, save: str | None) -> Ensemble:
    from ssiode.dynamics import resume_run
    from ssiode.results import Ensemble

    stopped = Ensemble.load(resume)
    command = function.removeprefix("run_")
    if stopped.method != command:
        raise InputError(
            f"{resume!r} holds a run of {stopped.method}; resume it with "
            f"ssiode {stopped.method} --resume"
        )
    if stopped.checkpoint is None:
        if save is not None:
            stopped.save(save)
        return stopped
    return resume_run(stopped, save=save or resume, progress=sys.stderr.isatty())
