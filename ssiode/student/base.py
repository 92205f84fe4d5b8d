"""What every student is: a local function f(z) of the fields z = X w + e, with its kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from ssiode.registry import Configurable

if TYPE_CHECKING:
    import sympy

    from ssiode.geometry import Geometry
    from ssiode.row_geometry import RowGeometry


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

    def n_weight_vectors(self, length: int) -> int:
        """Number of weight vectors: one for all tokens."""
        return 1

    def workspace_size(self, length: int) -> int:
        """Number of floats that the forward pass leaves for the backward pass."""
        return 1

    @abstractmethod
    def kernel_parameters(self, length: int) -> np.ndarray:
        """Numbers that the kernel reads, for L tokens."""

    @abstractmethod
    def kernel_pieces(self, length: int) -> tuple[str, ...]:
        """Sources that define `student_forward` and `student_backward`."""

    def geometry(self, shared: Geometry) -> Geometry | RowGeometry:
        """Geometry of the weights, from that of one weight vector for all tokens."""
        return shared

    @property
    def activation_expression(self) -> tuple[sympy.Expr, sympy.Symbol] | None:
        """The sigma and s of students f = sigma(s) of the sum of the fields, None for others."""
        return None

    def symbolic_form(self, length: int) -> SymbolicForm | None:
        """The outputs as SymPy, or None for a student that has no formula."""
        return None

    def is_smooth(self, length: int) -> bool:
        """Whether f has all derivatives, so that Gauss-Hermite quadrature converges fast."""
        return True

    def axes(self, length: int) -> np.ndarray:
        """Orthonormal directions of the fields that f depends on, shape (r, L)."""
        return np.eye(length)

    def break_points(self) -> tuple[float, ...]:
        """Kinks of f along the direction that it depends on, if that is a single one."""
        return ()

    def constant_outputs(self, length: int) -> tuple[float, ...] | None:
        """The outputs of a student that ignores its fields, None for all others."""
        return None

    def is_even(self, length: int) -> bool:
        """Whether f(-z) = f(z) is proved."""
        return False

    def is_symmetric(self, length: int) -> bool:
        """Whether it is proved that f stays the same when the fields are permuted."""
        return False
