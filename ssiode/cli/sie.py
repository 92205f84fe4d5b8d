"""Compute the Sequence Information Exponent of a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ssiode.cli.expression_command import ExpressionCommand
from ssiode.cli.output import emit, json_option
from ssiode.cli.quick_import import import_sympy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ssiode.exponent import HermiteTerm, SequenceExponent
    from ssiode.hermite.tensor.leading import LeadingTensor

_SHOWN_TERMS = 10


@click.command(cls=ExpressionCommand)
@click.argument("expression", metavar="EXPR")
@click.option("--length", type=int, help="Number of tokens L; the highest token by default.")
@click.option("--max-order", type=int, help="Highest order to look at.")
@click.option(
    "--param", multiple=True, metavar="NAME=VALUE", help="Value of a free name; repeatable."
)
@click.option("--tensor", is_flag=True, help="Also analyse the leading tensor.")
@json_option
def command(
    expression: str,
    length: int | None,
    max_order: int | None,
    param: tuple[str, ...],
    tensor: bool,
    as_json: bool,
) -> None:
    """Compute the Sequence Information Exponent of the target EXPR, with its proof.

    EXPR is an expression in z1, z2, ..., such as "He1(z1)*He4(z2) + He2(z3)*He2(z4)", or a list of
    outputs "[z1, z1*z2]"; sum, mean and prod run over all tokens z, as in "sum(z)/sqrt(L)".
    It may also be a name that `ssiode targets` lists, with --param for each of its parameters.
    """
    import_sympy()
    from ssiode.cli.problem_options import parse_parameters
    from ssiode.exponent import sie

    parameters = parse_parameters(param)
    result = sie(expression, length, max_order, parameters)
    if not tensor:
        emit(result.as_dict(), as_json, lambda: _text(result))
        return
    from ssiode.hermite.tensor.leading import leading_tensors

    leading = leading_tensors(expression, length, parameters) if result.sie else ()
    data = result.as_dict() | {"leading_tensors": [item.as_dict() for item in leading]}
    emit(data, as_json, lambda: "\n".join([_text(result), *map(_tensor_text, leading)]))


def _text(result: SequenceExponent) -> str:
    shown = "none" if result.sie is None else str(result.sie)
    tokens = "1 token" if result.length == 1 else f"{result.length} tokens"
    outputs = "1 output" if result.outputs == 1 else f"{result.outputs} outputs"
    lines = [f"Sequence Information Exponent: {shown} ({result.status}; {tokens}, {outputs})"]
    lines.append(result.message)
    if result.outputs > 1:
        own = ("undetermined" if n is None else str(n) for n in result.output_exponents)
        lines.append(f"of each output: {', '.join(own)}")
    if result.leading_terms:
        lines.append(f"leading coefficients c_alpha = E[g He_alpha], order {result.sie}:")
        lines += [_line(term, result) for term in result.leading_terms[:_SHOWN_TERMS]]
        lines += _hidden(len(result.leading_terms))
    for special in result.special_parameters:
        shown = "constant target" if special["status"] == "constant" else special["status"]
        lines.append(f"where {special['condition']}: {special['sie'] or shown}")
    if result.undetermined:
        lines.append("proved neither zero nor non-zero:")
        lines += [
            f"  {_where(doubt['output'], doubt['alpha'], result)}: at most {doubt['bound']:.3g}"
            for doubt in result.undetermined[:_SHOWN_TERMS]
        ]
        lines += _hidden(len(result.undetermined))
    if result.sample_complexity:
        lines.append(
            f"samples for weak recovery: O({result.sample_complexity}), at learning rates of order "
            f"{result.learning_rate}, in ODE time of order {result.time}"
        )
    if result.even_student:
        lines.append(result.even_student)
    return "\n".join(lines)


def _tensor_text(leading: LeadingTensor) -> str:
    norm, ratio = leading.operator_norm, leading.ones_ratio
    along, odeco = leading.along_ones, leading.orthogonally_decomposable
    blind = " (a tied network is blind to it)" if leading.is_pathological else ""
    return "\n".join(
        [
            f"leading tensor of output {leading.output + 1}, order {leading.order}:",
            f"  along all ones: {along.value:.10g} +- {along.error:.1e}{blind}",
            f"  operator norm: {norm.value:.10g}, between {norm.lower:.10g} and {norm.upper:.10g} "
            f"({norm.certificate})",
            f"  their ratio: {ratio.value:.10g}, between {ratio.lower:.10g} and {ratio.upper:.10g}",
            f"  orthogonally decomposable: {odeco.answer} ({odeco.reason})",
        ]
    )


def _hidden(count: int) -> list[str]:
    hidden = count - _SHOWN_TERMS
    return [f"  and {hidden} more (--json shows all)"] if hidden > 0 else []


def _where(output: int, alpha: Sequence[int], result: SequenceExponent) -> str:
    name = " ".join(f"He{n}(z{token})" for token, n in enumerate(alpha, 1) if n)
    return f"output {output + 1}: {name}" if result.outputs > 1 else name


def _line(term: HermiteTerm, result: SequenceExponent) -> str:
    if term.value is None:
        return f"  {_where(term.output, term.alpha, result)}: {term.coefficient}"
    if term.coefficient is None:
        exact = f" +- {term.error:.1e}"
    else:
        exact = "" if term.coefficient == f"{term.value:g}" else f" = {term.coefficient}"
    return f"  {_where(term.output, term.alpha, result)}: {term.value:.10g}{exact}"
