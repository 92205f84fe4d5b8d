"""Any local function that the user writes down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ssiode.errors import InputError, finite_number, shown
from ssiode.kernels.linker import piece
from ssiode.registry import plain
from ssiode.student.base import Student, SymbolicForm

if TYPE_CHECKING:
    import sympy


@dataclass(frozen=True)
class ExpressionStudent(Student):
    r"""A student :math:`f(z)` given by expressions in the fields z1, ..., zL, times `scale`.

    Parameters
    ----------
    expression : str, SymPy expression, or list of these
        One entry for each output, in the language of targets: ``"tanh(z1*z2) + sum(z)/L"``.
    scale : float
        Multiplies the outputs.
    parameters : mapping, optional
        Values of the free names, as numbers or exact text such as ``"1/3"``.

    Raises
    ------
    InputError
        If an expression cannot be read, or a parameter has no value.

    Examples
    --------
    >>> ExpressionStudent("[z1*z2, b*z1]", parameters={"b": 2}).n_outputs(2)
    2
    """

    kind: ClassVar[str] = "expression"
    expression: str = "z1"
    scale: float = 1.0
    parameters: Mapping[str, Any] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", finite_number("student scale", self.scale))
        object.__setattr__(self, "expression", _text(self.expression))
        given = {} if self.parameters is None else self.parameters
        if not isinstance(given, Mapping):
            raise InputError("the parameters of the student must be a table, such as b = 2")
        object.__setattr__(self, "parameters", {name: plain(v) for name, v in given.items()})

    def outputs(self, length: int) -> tuple[sympy.Expr, ...]:
        """The functions f_a of z1, ..., zL, without the scale."""
        return _outputs(self.expression, length, tuple(self.parameters.items()))

    def to_table(self) -> dict[str, Any]:
        """See :meth:`Student.to_table`."""
        table = {"kind": self.kind, "expression": self.expression, "scale": self.scale}
        return table | ({"parameters": dict(self.parameters)} if self.parameters else {})

    def n_outputs(self, length: int) -> int:
        """See :meth:`Student.n_outputs`."""
        return len(self.outputs(length))

    def workspace_size(self, length: int) -> int:
        """The Jacobian, k L numbers."""
        return self.n_outputs(length) * length

    def kernel_parameters(self, length: int) -> np.ndarray:
        """The scale."""
        self.outputs(length)
        return np.array([self.scale])

    def kernel_pieces(self, length: int) -> tuple[str, ...]:
        """The outputs and their Jacobian, generated from SymPy."""
        import sympy

        from ssiode.expression import token_symbols
        from ssiode.expression.code import kernel_function

        outputs, symbols = self.outputs(length), token_symbols(length)
        jacobian = [output.diff(symbol) for output in outputs for symbol in symbols]
        if any(derivative.has(sympy.DiracDelta) for derivative in jacobian):
            raise InputError(
                f"the student {shown(self.expression)} has a jump, where its derivative is "
                "infinite; take a smooth step such as sigmoid(5*z1), or a kink such as relu or abs"
            )
        return (
            piece("scalar_functions"),
            kernel_function("local_outputs", outputs, symbols),
            kernel_function("local_jacobian", jacobian, symbols),
            piece("local_function"),
        )

    def is_smooth(self, length: int) -> bool:
        """See :meth:`Student.is_smooth`."""
        from ssiode.expression.smoothness import is_smooth

        return all(map(is_smooth, self.outputs(length)))

    def is_even(self, length: int) -> bool:
        """Whether f(-z) = f(z) as it is written."""
        from ssiode.expression import token_symbols

        mirror = {field: -field for field in token_symbols(length)}
        outputs = self.outputs(length)
        return all(output.subs(mirror, simultaneous=True) == output for output in outputs)

    def is_symmetric(self, length: int) -> bool:
        """Whether every f_a is symmetric as it is written: a swap and a turn give all others."""
        from ssiode.expression import token_symbols

        fields = token_symbols(length)
        swap = dict(zip(fields[:2], fields[1::-1], strict=True))
        turn = dict(zip(fields, [*fields[1:], fields[0]], strict=True))
        outputs = self.outputs(length)
        return all(
            output.subs(change, simultaneous=True) == output
            for output in outputs
            for change in (swap, turn)
        )

    def symbolic_form(self, length: int) -> SymbolicForm:
        """See :meth:`Student.symbolic_form`."""
        import sympy

        from ssiode.expression import token_symbols

        scale = sympy.Rational(repr(self.scale))
        outputs = tuple(scale * output for output in self.outputs(length))
        return SymbolicForm(outputs, tuple(token_symbols(length)), sympy.eye(length))


def _text(definition: Any) -> str:
    """The text of one expression or of a list of outputs."""
    if isinstance(definition, str):
        return definition
    import sympy

    from ssiode.expression.text import expression_text

    items = definition if isinstance(definition, list | tuple) else [definition]
    if not items or not all(isinstance(item, str | sympy.Expr) for item in items):
        raise InputError(
            f"the expression of the student is {shown(definition)}; it must be text or SymPy, or a "
            "list of these, one for each output"
        )
    return expression_text(definition)


@cache
def _outputs(
    text: str, length: int, parameters: tuple[tuple[str, Any], ...]
) -> tuple[sympy.Expr, ...]:
    from ssiode.expression import parse_expression

    parsed = parse_expression(text, length, dict(parameters))
    if parsed.parameters:
        name = parsed.parameters[0]
        raise InputError(f"parameter {name} of the student has no value; give it in `parameters`")
    return parsed.outputs
