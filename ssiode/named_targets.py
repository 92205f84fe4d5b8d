"""The targets of the literature by name, as text in the grammar of expressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ssiode.errors import InputError, choose, finite_number, unknown_name

if TYPE_CHECKING:
    from ssiode.expression import ParsedExpression


@dataclass(frozen=True)
class NamedTarget:
    """An expression with a fixed length and parameters that have ranges and defaults.

    Attributes
    ----------
    expression : str
        The outputs, in the grammar of :func:`ssiode.expression.parse_expression`.
    length : int
        Number of tokens L.
    description : str
        One line with the source.
    ranges : mapping
        For each parameter the smallest and largest value and whether the smallest is allowed.
    """

    expression: str
    length: int
    description: str
    ranges: Mapping[str, tuple[float, float, bool]] = field(default_factory=dict)

    def check(self, name: str, parameters: Mapping[str, float]) -> dict[str, float]:
        """Return the parameters as floats, refusing missing, unknown and out-of-range ones."""
        for given in parameters:
            if given not in self.ranges:
                raise unknown_name(f"parameter of target {name!r}", given, self.ranges or ["none"])
        values = {}
        for parameter, (low, high, closed) in self.ranges.items():
            if parameter not in parameters:
                raise InputError(f"target {name!r} needs {parameter}")
            value = finite_number(parameter, parameters[parameter])
            if not low <= value <= high or (value == low and not closed):
                bracket = "[" if closed else "("
                raise InputError(
                    f"{parameter} is {value:g}; target {name!r} allows {bracket}{low:g}, {high:g}]"
                )
            values[parameter] = value
        return values


NAMED_TARGETS: Mapping[str, NamedTarget] = {
    "positional-semantic": NamedTarget(
        expression=(
            "[(1 - omega)*sigmoid(z1^2 - z1*z2) + omega*sigmoid(2*a^2),"
            " (1 - omega)*sigmoid(z1*z2 - z1^2) + omega*sigmoid(-2*a^2),"
            " (1 - omega)*sigmoid(z1*z2 - z2^2) + omega*sigmoid(-2*a^2),"
            " (1 - omega)*sigmoid(z2^2 - z1*z2) + omega*sigmoid(2*a^2)]"
        ),
        length=2,
        description=(
            "(1 - omega) softmax(z z^T) + omega softmax(a^2 [[1, -1], [-1, 1]]), row by row "
            "(Arnaboldi et al., arXiv 2506.02651, section 4)"
        ),
        ranges={"omega": (0.0, 1.0, True), "a": (0.0, 1.0, False)},
    ),
    "positional-semantic-shift": NamedTarget(
        expression=(
            "[sigmoid(S1^2 - S1*S2), sigmoid(S1*S2 - S1^2),"
            " sigmoid(S1*S2 - S2^2), sigmoid(S2^2 - S1*S2)]"
        )
        .replace("S1", "((1 - omega)*z1 + omega*a)")
        .replace("S2", "((1 - omega)*z2 - omega*a)"),
        length=2,
        description=(
            "softmax(s s^T) of s = (1 - omega) z + omega a (1, -1), row by row: no transition "
            "(Arnaboldi et al., arXiv 2506.02651, appendix F.3)"
        ),
        ranges={"omega": (0.0, 1.0, True), "a": (0.0, 1.0, False)},
    ),
}


def named_target(name: str) -> NamedTarget:
    """Look a target up by name.

    >>> named_target("positional-semantic").length
    2
    """
    return NAMED_TARGETS[choose("target", name, NAMED_TARGETS)]


def read_named_target(
    name: str, length: int | None = None, parameters: Mapping[str, Any] | None = None
) -> ParsedExpression:
    """Read a target of the literature with exact parameters, such as ``"1/2"``.

    Raises
    ------
    InputError
        If a parameter is missing, unknown or out of range, or the length is another one.

    Examples
    --------
    >>> found = read_named_target("positional-semantic", parameters={"omega": "1/2", "a": 1})
    >>> len(found.outputs), found.parameters
    (4, ())
    """
    from ssiode.expression import parse_expression
    from ssiode.expression.parser import parameter_value

    known, given = named_target(name), dict(parameters or {})
    if missing := [parameter for parameter in known.ranges if parameter not in given]:
        flags = " ".join(f"--param {parameter}=1/2" for parameter in missing)
        raise InputError(f"target {name!r} needs {' and '.join(missing)}; give them, as in {flags}")
    if length not in (None, known.length):
        raise InputError(f"length is {length!r}; target {name!r} has {known.length}")
    exact = {parameter: parameter_value(parameter, value) for parameter, value in given.items()}
    known.check(name, {parameter: float(v.expression) for parameter, v in exact.items()})
    return parse_expression(known.expression, known.length, given)
