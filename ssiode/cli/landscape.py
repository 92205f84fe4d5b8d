"""Tell how the risk leaves the origin, in which direction and time, and where its minima are."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from ssiode.cli.landscape_text import comparison_text, landscape_text
from ssiode.cli.output import emit, json_option
from ssiode.cli.problem_options import (
    NameList,
    WholeNumberList,
    build_problem,
    engine_options,
    given_engine_options,
    problem_options,
)
from ssiode.errors import InputError

if TYPE_CHECKING:
    from ssiode.problem import Problem
    from ssiode.risk_landscape import Landscape
    from ssiode.risk_landscape.escape.basins import Basins
    from ssiode.risk_landscape.escape.chain_comparison import ChainComparison
    from ssiode.risk_landscape.escape.escape_times import EscapeTimes


@click.command()
@problem_options
@click.option("--max-order", type=int, help="Highest order at the origin; 8 by default.")
@click.option("--minima/--no-minima", default=True, help="Find all local minima of R.")
@click.option("--escape", is_flag=True, help="Predict time and steps of escape at --d, --gamma.")
@click.option("--chain", is_flag=True, help="Run the exact chain beside the prediction.")
@click.option("--eta", type=float, default=0.5, show_default=True, help="Escape is |v| >= eta.")
@click.option("--starts", type=int, default=1000, show_default=True, help="Random initial weights.")
@click.option(
    "--basins", type=WholeNumberList(), help="Where random weights of these d end, as 100,10000."
)
@click.option(
    "--compare", type=NameList(), help="Encodings side by side: none,opposite,random,injected."
)
@click.option("--figure", type=click.Path(), help="Draw R, its flow and its minima to a file.")
@engine_options
@json_option
def command(
    problem: str | None,
    param: tuple[str, ...],
    max_order: int | None,
    minima: bool,
    escape: bool,
    chain: bool,
    eta: float,
    starts: int,
    basins: list[int] | None,
    compare: list[str] | None,
    figure: str | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Tell how SGD leaves the origin of (e, m), in what time, and all minima of the risk."""
    options = given_engine_options(flags)
    built = build_problem(problem, param, flags)
    if max_order is not None:
        options["max_order"] = max_order
    questions = _Questions(minima, escape or chain, chain, eta, starts, basins, options)
    if compare is not None:
        _compare(built, compare, questions, figure, as_json)
        return
    if figure is not None:
        from ssiode.plots import check_figure_path

        check_figure_path(figure)
    answers = questions.asked_of(built)
    if figure is not None:
        _draw(answers.landscape, figure)
    emit(answers.as_dict() | {"figure": figure}, as_json, answers.text)
    if answers.was_interrupted:
        raise KeyboardInterrupt


def _compare(
    problem: Problem,
    names: list[str],
    questions: _Questions,
    figure: str | None,
    as_json: bool,
) -> None:
    from ssiode.risk_landscape.comparison import encoded_problems

    if figure is not None:
        raise InputError("--compare draws no figure; give one --encoding with --figure")
    problems = encoded_problems(problem, names)
    answers = {name: questions.asked_of(one) for name, one in problems.items()}
    data = {"compare": {name: answer.as_dict() for name, answer in answers.items()}}
    rows = {name: (one.landscape, one.escape) for name, one in answers.items()}
    emit(data, as_json, lambda: comparison_text(rows))
    if any(answer.was_interrupted for answer in answers.values()):
        raise KeyboardInterrupt


def _draw(found: Landscape, figure: str) -> None:
    from ssiode.plots import save_figure

    save_figure(found.figure(), figure)


@dataclass(frozen=True)
class _Answers:
    """What was asked about one problem."""

    landscape: Landscape
    escape: EscapeTimes | None
    chain: ChainComparison | None
    basins: Basins | None

    def as_dict(self) -> dict[str, Any]:
        parts = {"escape": self.escape, "basins": self.basins}
        data = self.landscape.as_dict()
        data |= {name: part.as_dict() for name, part in parts.items() if part is not None}
        if self.chain is not None:
            compared = self.chain.as_dict()
            data["chain"] = compared["chain"] | {
                name: compared[name] for name in ("ratio", "ratio_error", "ratio_of_ode")
            }
        return data

    def text(self) -> str:
        return landscape_text(self.landscape, self.escape, self.chain, self.basins)

    @property
    def was_interrupted(self) -> bool:
        parts = (self.landscape, self.escape, self.chain and self.chain.chain, self.basins)
        return any(part is not None and part.status == "interrupted" for part in parts)


@dataclass(frozen=True)
class _Questions:
    """What to ask about each problem, and with which settings."""

    minima: bool
    escape: bool
    chain: bool
    eta: float
    starts: int
    basins: list[int] | None
    options: dict[str, Any]

    def asked_of(self, problem: Problem) -> _Answers:
        from ssiode.risk_landscape import landscape

        if self.basins is not None and not self.minima:
            raise InputError("--basins needs the minima; leave --no-minima out")
        found = landscape(problem, minima=self.minima, **self.options)
        if found.status == "interrupted":
            return _Answers(found, None, None, None)
        escape = self._escape(found) if self.escape else None
        chain = None
        if self.chain:
            from ssiode.risk_landscape.escape.chain_comparison import compare_with_chain

            chain = compare_with_chain(
                escape, replicas=problem.sgd.replicas, progress=sys.stderr.isatty()
            )
        return _Answers(found, escape, chain, self._basins(found))

    def _escape(self, found: Landscape) -> EscapeTimes:
        from ssiode.risk_landscape.escape.escape_times import escape_times

        return escape_times(
            found.problem,
            starts=self.starts,
            threshold=self.eta,
            engine=found.engine,
            order=found.escape_order,
        )

    def _basins(self, found: Landscape) -> Basins | None:
        if self.basins is None:
            return None
        from ssiode.risk_landscape.escape.basins import basins

        return basins(
            found.problem,
            found.minima.minima,
            self.basins,
            starts=self.starts,
            engine=found.engine,
        )
