"""Expand a target in Hermite polynomials."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ssiode.cli.expression_command import ExpressionCommand
from ssiode.cli.output import emit, json_option
from ssiode.cli.quick_import import import_sympy

if TYPE_CHECKING:
    from ssiode.hermite.expansion import Expansion


@click.command(cls=ExpressionCommand)
@click.argument("expression", metavar="EXPR")
@click.option("--order", type=int, required=True, help="Highest order |alpha|.")
@click.option("--length", type=int, help="Number of tokens L; the highest token by default.")
@click.option(
    "--param", multiple=True, metavar="NAME=VALUE", help="Value of a free name; repeatable."
)
@click.option("--latex", "as_latex", is_flag=True, help="Write the expansion in LaTeX.")
@json_option
def command(
    expression: str,
    order: int,
    length: int | None,
    param: tuple[str, ...],
    as_latex: bool,
    as_json: bool,
) -> None:
    """Expand the target EXPR in probabilists' Hermite polynomials up to --order.

    EXPR is an expression as for `ssiode sie`, or a name that `ssiode targets` lists.
    The table holds c_alpha = E[g He_alpha], so that g = sum_alpha c_alpha / alpha! He_alpha, and
    the L2 norm of what the expansion leaves out. Free names of a polynomial may stay without a
    value: then coefficients are polynomials in them.
    """
    import_sympy()
    from ssiode.cli.problem_options import parse_parameters
    from ssiode.hermite.expansion import hermite_coefficients

    result = hermite_coefficients(expression, order, length, parse_parameters(param))
    emit(result.as_dict(), as_json, lambda: _latex(result) if as_latex else _table(result))


def _latex(result: Expansion) -> str:
    return "\n".join(result.latex(output) for output in range(result.outputs))


def _table(result: Expansion) -> str:
    lines = []
    for output in range(result.outputs):
        if result.outputs > 1:
            lines.append(f"output {output + 1}:")
        for term in result.terms:
            if term.output == output:
                if term.value is None:
                    lines.append(f"{_name(term.alpha)}  {term.coefficient}")
                    continue
                exact = "" if term.coefficient is None else f"  {term.coefficient}"
                note = "  (may be zero)" if term.verdict == "undecided" else ""
                error = f" +- {term.error:.1e}"
                lines.append(f"{_name(term.alpha)}  {term.value: .12g}{error}{exact}{note}")
        left_out, error = result.left_out_norm[output], result.left_out_error[output]
        if left_out is None:
            lines.append(f"left out: squared L2 norm {result.left_out_squared[output]}")
            continue
        lines.append(f"left out: L2 norm {left_out:.6g} +- {error:.1e}")
    return "\n".join(lines)


def _name(alpha: tuple[int, ...]) -> str:
    parts = [f"He{power}(z{token})" for token, power in enumerate(alpha, 1) if power]
    return " ".join(parts) or "1"
