"""Networks that see the sum of the fields, with one weight vector or one for each token."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ssiode.errors import choose, finite_number
from ssiode.kernels.linker import piece
from ssiode.student.base import Student, SymbolicForm

if TYPE_CHECKING:
    import sympy

    from ssiode.geometry import Geometry
    from ssiode.row_geometry import RowGeometry


class _SummedFields(Student):
    """Students f = scale sigma(sum_l z_l / sqrt(L))."""

    scale: float

    def kernel_parameters(self, length: int) -> np.ndarray:
        """The scale."""
        return np.array([self.scale])

    def axes(self, length: int) -> np.ndarray:
        """The sum of the fields."""
        return np.full((1, length), 1 / np.sqrt(length))

    def is_even(self, length: int) -> bool:
        """Whether sigma(-s) = sigma(s) as it is written."""
        sigma, s = self.activation_expression
        return sigma.subs(s, -s) == sigma

    def is_symmetric(self, length: int) -> bool:
        """True: only the sum of the fields counts."""
        return True

    def symbolic_form(self, length: int) -> SymbolicForm:
        """See :meth:`Student.symbolic_form`."""
        import sympy

        sigma, s = self.activation_expression
        direction = sympy.ones(1, length) / sympy.sqrt(length)
        return SymbolicForm((sympy.Rational(repr(self.scale)) * sigma,), (s,), direction)

    @property
    @abstractmethod
    def activation_expression(self) -> tuple[sympy.Expr, sympy.Symbol]:
        """The activation sigma(s), without the scale, and its variable s."""

    def kernel_pieces(self, length: int) -> tuple[str, ...]:
        """The activation and its derivative, generated from SymPy, and the sum."""
        from ssiode.expression.code import kernel_function

        sigma, s = self.activation_expression
        return (
            piece("scalar_functions"),
            kernel_function("activation", [sigma], [s]),
            kernel_function("activation_derivative", [sigma.diff(s)], [s]),
            piece("summed_fields"),
        )


@dataclass(frozen=True)
class LinearAttention(_SummedFields):
    r"""Attention without softmax, reduced by all-ones vectors: :math:`f = (\sum_l z_l)^2 / L`.

    >>> LinearAttention(scale=2.0).to_table()
    {'kind': 'linear-attention', 'scale': 2.0}
    """

    kind: ClassVar[str] = "linear-attention"
    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", finite_number("student scale", self.scale))

    @property
    def activation_expression(self) -> tuple[sympy.Expr, sympy.Symbol]:
        """See :attr:`Student.activation_expression`."""
        from ssiode.expression.activation import parse_activation

        return parse_activation("square")


@dataclass(frozen=True)
class _Network(_SummedFields):
    """Networks with an activation that the user names."""

    activation: str = "relu"
    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", finite_number("student scale", self.scale))
        _ = self.activation_expression

    @cached_property
    def activation_expression(self) -> tuple[sympy.Expr, sympy.Symbol]:
        """See :attr:`Student.activation_expression`."""
        from ssiode.expression.activation import parse_activation

        return parse_activation(self.activation)

    def break_points(self) -> tuple[float, ...]:
        """Kinks of the activation, and steps too steep for a grid."""
        from ssiode.hermite.numeric.factor_averages import Factor

        sigma, s = self.activation_expression
        if not sigma.has(s):
            return ()
        (rule,) = Factor(sigma, (s,)).axis_rules(0)
        return rule.breaks

    def is_smooth(self, length: int) -> bool:
        """Whether the activation has no kink or jump."""
        from ssiode.expression.smoothness import is_smooth

        return is_smooth(self.activation_expression[0])


@dataclass(frozen=True)
class TiedNetwork(_Network):
    r"""One neuron shared by all tokens: :math:`f = \sigma(\sum_l z_l/\sqrt L)` times `scale`.

    Parameters
    ----------
    activation : str
        `identity`, `relu`, `tanh`, `sigmoid`, `erf`, `square`, `He<n>`, or any expression in
        the one variable `s`.
    scale : float
        Multiplies the output.

    Examples
    --------
    >>> TiedNetwork("relu").is_smooth(2), TiedNetwork("s^2 - tanh(s)").is_smooth(2)
    (False, True)
    """

    kind: ClassVar[str] = "tied"


@dataclass(frozen=True)
class UntiedNetwork(_Network):
    r"""One neuron that sees every token through weights of its own.

    :math:`f = \sigma(\sum_l z_l/\sqrt L)` times `scale`, with
    :math:`z_l = (X_l + P_l/\sqrt d)\cdot w_l` and the statistics
    :math:`e_l = P_l\cdot w_l/\sqrt d`, :math:`m_l = w_l\cdot w_\star/d`. With one token it is the
    tied network.

    Parameters
    ----------
    activation, scale : str, float
        See :class:`TiedNetwork`.
    constraint : str
        `row` keeps every :math:`|w_l|^2 = d` (Arnaboldi et al., arXiv 2506.02651); `joint` only
        their mean, so that :math:`q_l = |w_l|^2/d` moves too.

    Examples
    --------
    >>> UntiedNetwork("tanh", constraint="joint").n_weight_vectors(3)
    3
    """

    kind: ClassVar[str] = "untied"
    constraint: str = "row"

    def __post_init__(self) -> None:
        super().__post_init__()
        choose("constraint", self.constraint, ("row", "joint"))

    def n_weight_vectors(self, length: int) -> int:
        """One for each token."""
        return length

    def geometry(self, shared: Geometry) -> Geometry | RowGeometry:
        """Overlaps of each weight vector with the teacher and its own row of the encoding."""
        from ssiode.row_geometry import RowGeometry

        return shared if shared.length == 1 else RowGeometry(shared, self.constraint == "joint")
