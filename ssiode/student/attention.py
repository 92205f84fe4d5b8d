"""Attention with tied weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ssiode.errors import InputError, choose, finite_number, number_list
from ssiode.kernels.linker import piece
from ssiode.student.base import Student


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
    >>> Attention("trace", scale=0.5).kernel_parameters(2).tolist()
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

    def constant_outputs(self, length: int) -> tuple[float, ...] | None:
        """Those of a single token, whose softmax is 1, and of a reduction that is 0.

        >>> Attention("trace", scale=2.0).constant_outputs(1), Attention().constant_outputs(2)
        ((2.0,), None)
        """
        matrix = self.kernel_parameters(length)
        if length == 1 or not matrix.any():
            return tuple(float(matrix[0]) for _ in range(self.n_outputs(length)))
        return None

    def is_even(self, length: int) -> bool:
        """True: the scores are products of two fields."""
        return True

    def is_symmetric(self, length: int) -> bool:
        """Whether the reduction is: the trace, or a projection on equal entries."""
        if self.reduction == "projection":
            return len(set(self.left)) == len(set(self.right)) == 1
        return self.reduction == "trace"

    def n_outputs(self, length: int) -> int:
        """L*L for `identity`, else 1."""
        return length * length if self.reduction == "identity" else 1

    def workspace_size(self, length: int) -> int:
        """The attention matrix."""
        return length * length

    def kernel_parameters(self, length: int) -> np.ndarray:
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

    def kernel_pieces(self, length: int) -> tuple[str, ...]:
        """The attention matrix, and the reduction as identity or weighted sum."""
        form = "identity" if self.reduction == "identity" else "weighted"
        return piece("attention"), piece(f"attention_{form}")
