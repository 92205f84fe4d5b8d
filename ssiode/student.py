"""Students: local functions f(z) of the fields z = X w + e, with their kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from ssiode.errors import InputError, choose, finite_number, number_list
from ssiode.kernels.linker import piece
from ssiode.registry import Configurable

if TYPE_CHECKING:
    import sympy


class SymbolicForm(NamedTuple):
    """A student as expressions in its fields y = U z.

    Attributes
    ----------
    outputs : tuple of sympy.Expr
        f_a(y).
    fields : tuple of sympy.Symbol
        y_1, ..., y_r.
    axes : sympy.Matrix
        U with r orthonormal rows.
    """

    outputs: tuple[sympy.Expr, ...]
    fields: tuple[sympy.Symbol, ...]
    axes: sympy.Matrix


class Student(Configurable, ABC):
    """A local function f: R^L -> R^k and its derivative, as kernel pieces and data.

    A subclass is a frozen dataclass with a `kind` and the methods below; it is found by its kind
    and needs no entry elsewhere.
    """

    family: ClassVar[str] = "student"

    def n_outputs(self, length: int) -> int:
        """Number of outputs k for L tokens."""
        return 1

    def workspace_size(self, length: int) -> int:
        """Number of floats that the forward pass leaves for the backward pass."""
        return 1

    @abstractmethod
    def parameters(self, length: int) -> np.ndarray:
        """Numbers that the kernel reads, for L tokens."""

    @abstractmethod
    def kernel_pieces(self) -> tuple[str, ...]:
        """Sources that define `student_forward` and `student_backward`."""

    @property
    def activation_expression(self) -> tuple[sympy.Expr, sympy.Symbol] | None:
        """The sigma and s of students f = sigma(s) of the sum of the fields, None for others."""
        return None

    def symbolic_form(self, length: int) -> SymbolicForm | None:
        """The outputs as SymPy, or None for a student that has no formula."""
        return None

    @property
    def is_smooth(self) -> bool:
        """Whether f has all derivatives, so that Gauss-Hermite quadrature converges fast."""
        return True

    def axes(self, length: int) -> np.ndarray:
        """Orthonormal directions of the fields that f depends on, shape (r, L)."""
        return np.eye(length)

    def break_points(self) -> tuple[float, ...]:
        """Kinks of f along the direction that it depends on, if that is a single one."""
        return ()

    @property
    def is_even(self) -> bool:
        """Whether f(-z) = f(z) is proved."""
        return False


@dataclass(frozen=True)
class Attention(Student):
    r"""One-layer attention with tied weights, A = softmax over rows of :math:`z z^T`.

    Reductions (Arnaboldi et al., arXiv 2506.02651, section 2): `identity` outputs A row by row
    (:math:`k = L^2`), `trace` outputs :math:`\sum_i A_{ii}`, `projection` outputs
    :math:`a_\mathrm{left}^T A\, a_\mathrm{right}`; all are multiplied by `scale`.

    Parameters
    ----------
    reduction : str
        `identity`, `trace` or `projection`.
    scale : float
        Multiplies the output, for example :math:`1/\sqrt L` for the trace.
    left, right : sequences of L numbers
        Vectors of `projection` only.

    Raises
    ------
    InputError
        On an unknown reduction, or vectors that are missing, superfluous or of the wrong length.

    Examples
    --------
    >>> Attention("trace", scale=0.5).parameters(2).tolist()
    [0.5, 0.0, 0.0, 0.5]
    """

    kind: ClassVar[str] = "attention"
    reduction: str = "trace"
    scale: float = 1.0
    left: tuple[float, ...] | None = None
    right: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        choose("reduction", self.reduction, ("identity", "trace", "projection"))
        object.__setattr__(self, "scale", finite_number("student scale", self.scale))
        for name in ("left", "right"):
            vector = getattr(self, name)
            if (self.reduction == "projection") != (vector is not None):
                needs = "needs" if vector is None else "takes no"
                raise InputError(f"reduction {self.reduction!r} {needs} '{name}'")
            if vector is not None:
                object.__setattr__(self, name, number_list(name, vector))

    @property
    def is_even(self) -> bool:
        """True: the scores are products of two fields."""
        return True

    def n_outputs(self, length: int) -> int:
        """L*L for `identity`, else 1."""
        return length * length if self.reduction == "identity" else 1

    def workspace_size(self, length: int) -> int:
        """The attention matrix."""
        return length * length

    def parameters(self, length: int) -> np.ndarray:
        """The scale, or the matrix of weights of the reduction."""
        if self.reduction == "identity":
            return np.array([self.scale])
        if self.reduction == "trace":
            return (self.scale * np.eye(length)).ravel()
        for name in ("left", "right"):
            if len(getattr(self, name)) != length:
                raise InputError(
                    f"{name} has {len(getattr(self, name))} entries; give one per token ({length})"
                )
        return (self.scale * np.outer(self.left, self.right)).ravel()

    def kernel_pieces(self) -> tuple[str, ...]:
        """The attention matrix, and the reduction as identity or weighted sum."""
        form = "identity" if self.reduction == "identity" else "weighted"
        return piece("attention"), piece(f"attention_{form}")


class _SummedFields(Student):
    """Students f = scale sigma(sum_l z_l / sqrt(L))."""

    scale: float

    def parameters(self, length: int) -> np.ndarray:
        """The scale."""
        return np.array([self.scale])

    def axes(self, length: int) -> np.ndarray:
        """The sum of the fields."""
        return np.full((1, length), 1 / np.sqrt(length))

    @property
    def is_even(self) -> bool:
        """Whether sigma(-s) = sigma(s) as it is written."""
        sigma, s = self.activation_expression
        return sigma.subs(s, -s) == sigma

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

    def kernel_pieces(self) -> tuple[str, ...]:
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
class TiedNetwork(_SummedFields):
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
    >>> TiedNetwork("relu").is_smooth, TiedNetwork("s^2 - tanh(s)").is_smooth
    (False, True)
    """

    kind: ClassVar[str] = "tied"
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
        (rule,) = Factor(sigma, (s,)).axis_rules(0)
        return rule.breaks

    @property
    def is_smooth(self) -> bool:
        """Whether the activation has no kink or jump."""
        from ssiode.expression.smoothness import is_smooth

        return is_smooth(self.activation_expression[0])
