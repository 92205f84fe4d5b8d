"""Networks that see the sum of the fields, with one weight vector or one for each token."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ssiode.errors import choose, finite_number, whole_number
from ssiode.kernels.linker import piece
from ssiode.student.base import Student, SymbolicForm
from ssiode.student.token_weights import checked_token_weights, token_weights

if TYPE_CHECKING:
    import sympy

    from ssiode.geometry import Geometry
    from ssiode.row_geometry import RowGeometry


class _SummedFields(Student):
    """Students f = scale sigma(sum_l z_l / sqrt(L))."""

    scale: float
    _sum_piece: ClassVar[str] = "summed_fields"

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
            piece(self._sum_piece),
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
    token_weights : sequence of L numbers or str, optional
        Weights :math:`a_l` of the tokens in :math:`\sum_l a_l z_l/\sqrt L`: numbers, or
        `alternating` (1, -1, 1, ...), `signs` (random signs) or `random` (independent normals).
        They are scaled to :math:`\sum_l a_l^2 = L`, so that the sum has unit variance; all are 1
        if not given. Weights that differ let the network see targets that are orthogonal to the
        sum over all tokens, such as z1 - z2.
    token_seed : int, optional
        Seed of `signs` and `random`, >= 0; 0 if not given.

    Examples
    --------
    >>> TiedNetwork("relu").is_smooth(2), TiedNetwork("s^2 - tanh(s)").is_smooth(2)
    (False, True)
    >>> TiedNetwork("relu", token_weights=(3, -4)).axes(2).round(12).tolist()
    [[0.6, -0.8]]
    """

    kind: ClassVar[str] = "tied"
    token_weights: tuple[float, ...] | str | None = None
    token_seed: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.token_seed is not None:
            seed = whole_number("token_seed", self.token_seed, minimum=0)
            object.__setattr__(self, "token_seed", seed)
        weights = checked_token_weights(self.token_weights, self.token_seed)
        object.__setattr__(self, "token_weights", weights)

    @property
    def _sum_piece(self) -> str:
        return "summed_fields" if self.token_weights is None else "weighted_fields"

    def _weights(self, length: int) -> tuple[float, ...]:
        return token_weights(self.token_weights, self.token_seed, length)

    def kernel_parameters(self, length: int) -> np.ndarray:
        """The scale, and the direction of the weights of the tokens where they are given."""
        if self.token_weights is None:
            return super().kernel_parameters(length)
        return np.array([self.scale, *self.axes(length)[0]])

    def axes(self, length: int) -> np.ndarray:
        """The weighted sum of the fields."""
        if self.token_weights is None:
            return super().axes(length)
        weights = np.array([self._weights(length)], dtype=float)
        largest = np.abs(weights).max()  # squares of tiny or huge weights would be lost
        return weights / largest / np.linalg.norm(weights / largest)

    def is_symmetric(self, length: int) -> bool:
        """Whether all tokens have the same weight."""
        return len(set(self._weights(length))) == 1

    def symbolic_form(self, length: int) -> SymbolicForm:
        """See :meth:`Student.symbolic_form`."""
        form = super().symbolic_form(length)
        if self.token_weights is None:
            return form
        import sympy

        weights = sympy.Matrix([[sympy.Rational(repr(w)) for w in self._weights(length)]])
        return form._replace(axes=weights / weights.norm())


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
