"""Compute the population risk, its gradient and the gradient's second moment."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from ssiode.cli.output import emit, json_option
from ssiode.cli.problem_options import (
    build_problem,
    engine_options,
    given_engine_options,
    problem_options,
    state_options,
)

if TYPE_CHECKING:
    import numpy as np

    from ssiode.population_risk.symbolic import SymbolicRisk
    from ssiode.problem import Problem


@click.command()
@problem_options
@state_options
@engine_options
@click.option("--project", is_flag=True, help="Project an infeasible (e, m) on the feasible set.")
@click.option("--symbolic", is_flag=True, help="Also print R, its gradient and V as polynomials.")
@json_option
def command(
    problem: str | None,
    param: tuple[str, ...],
    e: tuple[float, ...] | None,
    m: tuple[float, ...] | None,
    project: bool,
    symbolic: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Compute R(e, m), its gradient and V at --e and --m (0 if not given), with errors."""
    options = given_engine_options(flags)
    built = build_problem(problem, param, flags)
    from ssiode.population_risk import risk

    result = risk(built, e, 0.0 if m is None else m, project=project, **options)
    gradient, error = result.gradient, result.gradient_error
    rows = [("R", result.value, result.value_error)]
    names = [f"dR/d{name}" for name in built.geometry.overlap_names]
    rows += zip(names, gradient, error, strict=True)
    rows += [("V", result.second_moment, result.second_moment_error)]
    text = "\n".join(f"{name:8s} {value: .10g}  +- {_bound(bound)}" for name, value, bound in rows)
    data = {
        "value": result.value,
        "error": result.value_error,
        "gradient": _by_kind(built, gradient),
        "gradient_error": _by_kind(built, error),
        "second_moment": _of_rows(built, result.second_moment),
        "second_moment_error": _of_rows(built, result.second_moment_error),
        "engine": result.engine,
        "reason": result.reason,
    }
    text += f"\nengine: {result.engine} ({result.reason})"
    if symbolic:
        polynomials = built.symbolic_risk()
        data["symbolic"] = polynomials.as_dict()
        text += "\n" + _polynomials(polynomials)
    emit(data, as_json, text)


def _by_kind(problem: Problem, numbers: np.ndarray) -> dict[str, Any]:
    """Numbers of e and of m, the latter a list for an untied network."""
    semantic = numbers[problem.length :]
    return {
        "e": numbers[: problem.length],
        "m": semantic if problem.geometry.n_rows > 1 else semantic[0],
    }


def _of_rows(problem: Problem, number: float) -> float | list[float]:
    """V, or for an untied network the V of every row, which are equal."""
    n_rows = problem.geometry.n_rows
    return [number] * n_rows if n_rows > 1 else number


def _polynomials(risk: SymbolicRisk) -> str:
    lines = [f"R = {risk.value}"]
    lines += [f"dR/d{e} = {slope}" for e, slope in zip(risk.e, risk.gradient_e, strict=True)]
    lines += [f"dR/dm = {risk.gradient_m}", f"V = {risk.second_moment}"]
    if risk.errors is None:
        return "\n".join([*lines, "exact"])
    of_value, of_slope, of_second = risk.errors
    errors = f"errors at most {of_value:.1e} in R, {of_slope:.1e} in dR/dm, {of_second:.1e} in V"
    return "\n".join([*lines, errors])


def _bound(error: float) -> str:
    return f"{error:.1e}" if math.isfinite(error) else "unknown"
