"""Compute the Sequence Information Exponent of a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ssiode.cli.expression_command import ExpressionCommand
from ssiode.cli.output import emit, json_option

if TYPE_CHECKING:
    from ssiode.exponent import HermiteTerm, SequenceExponent

_SHOWN_TERMS = 10


@click.command(cls=ExpressionCommand)
@click.argument("expression", metavar="EXPR")
@click.option("--length", type=int, help="Number of tokens L; the highest token by default.")
@click.option("--max-order", type=int, help="Highest order to look at.")
@click.option(
    "--param", multiple=True, metavar="NAME=VALUE", help="Value of a free name; repeatable."
)
@json_option
def command(
    expression: str,
    length: int | None,
    max_order: int | None,
    param: tuple[str, ...],
    as_json: bool,
) -> None:
    """Compute the Sequence Information Exponent of the target EXPR, proved by exact numbers.

    EXPR is a polynomial in z1, z2, ..., such as "He1(z1)*He4(z2) + He2(z3)*He2(z4)", or a list of
    outputs "[z1, z1*z2]"; sum, mean and prod run over all tokens z, as in "sum(z)/sqrt(L)".
    """
    from ssiode.cli.problem_options import parse_parameters
    from ssiode.exponent import sie

    result = sie(expression, length, max_order, parse_parameters(param))
    emit(result.as_dict(), as_json, lambda: _text(result))


def _text(result: SequenceExponent) -> str:
    shown = "none" if result.sie is None else str(result.sie)
    tokens = "1 token" if result.length == 1 else f"{result.length} tokens"
    outputs = "1 output" if result.outputs == 1 else f"{result.outputs} outputs"
    lines = [f"Sequence Information Exponent: {shown} ({result.status}; {tokens}, {outputs})"]
    if result.sie is None:
        lines.append(result.message)
    if result.leading_terms:
        lines.append(f"leading coefficients c_alpha = E[g He_alpha], order {result.sie}:")
        lines += [_line(term, result) for term in result.leading_terms[:_SHOWN_TERMS]]
        if (hidden := len(result.leading_terms) - _SHOWN_TERMS) > 0:
            lines.append(f"  and {hidden} more (--json shows all)")
    if result.sample_complexity:
        lines.append(f"samples for weak recovery: O({result.sample_complexity})")
    return "\n".join(lines)


def _line(term: HermiteTerm, result: SequenceExponent) -> str:
    pairs = [(n, token) for token, n in enumerate(term.alpha, 1) if n]
    where = " ".join(f"He{n}(z{token})" for n, token in pairs)
    output = f"output {term.output + 1}: " if result.outputs > 1 else ""
    exact = "" if term.coefficient == f"{term.value:g}" else f" = {term.coefficient}"
    return f"  {output}{where}: {term.value:.10g}{exact}"
