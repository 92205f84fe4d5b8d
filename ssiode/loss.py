"""Losses l(y, f) between labels and predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ssiode.errors import InputError, finite_number
from ssiode.kernels.linker import piece
from ssiode.registry import Configurable


@dataclass(frozen=True)
class Loss(Configurable):
    """A loss, multiplied by `scale` > 0; see the subclasses for the formulas.

    Attributes
    ----------
    is_smooth : bool
        Whether the loss has all derivatives, so that Gauss-Hermite quadrature converges fast.
    noise_is_additive : bool
        Whether label noise enters the risk and its second moment as separate closed terms.
    """

    family: ClassVar[str] = "loss"
    is_smooth: ClassVar[bool]
    noise_is_additive: ClassVar[bool]

    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", finite_number("loss scale", self.scale, minimum=0))
        if self.scale == 0:
            raise InputError("loss scale is 0; it must be > 0")

    def kernel_piece(self) -> str:
        """Source of `loss_forward`, without the scale."""
        return piece(f"loss_{self.kind}")


@dataclass(frozen=True)
class SquaredLoss(Loss):
    """l = scale * sum_a (y_a - f_a)^2.

    >>> SquaredLoss(scale=0.5).to_table()
    {'kind': 'squared', 'scale': 0.5}
    """

    kind: ClassVar[str] = "squared"
    is_smooth: ClassVar[bool] = True
    noise_is_additive: ClassVar[bool] = True


@dataclass(frozen=True)
class FrobeniusLoss(Loss):
    """l = scale * |y - f|, not squared.

    >>> Loss.from_table({"kind": "frobenius"}).is_smooth
    False
    """

    kind: ClassVar[str] = "frobenius"
    is_smooth: ClassVar[bool] = False
    noise_is_additive: ClassVar[bool] = False
