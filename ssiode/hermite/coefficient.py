"""One Hermite coefficient, and what is known about its being zero."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sympy


class Verdict(Enum):
    """Whether a number is zero: proved, disproved, or neither."""

    ZERO = "zero"
    NONZERO = "nonzero"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Coefficient:
    r"""A coefficient :math:`c_\alpha = E[g(z) He_\alpha(z)]` with its proof.

    Attributes
    ----------
    alpha : tuple of int
        The multi-index, one order per token.
    exact : sympy.Expr or None
        The exact value; None if only numbers are known.
    value, error : float
        A float and a bound of its distance from the exact value. A proved zero has both 0.
    verdict : Verdict
        ZERO and NONZERO are proved; an UNDECIDED one may be zero, with |c| <= |value| + error.
    reason : str
        The proof in a few words, such as "exact value" or "odd in z1".

    Examples
    --------
    >>> Coefficient((2,), None, 1.5, 1e-9, Verdict.NONZERO, "|value| > error").verdict.value
    'nonzero'
    """

    alpha: tuple[int, ...]
    exact: sympy.Expr | None
    value: float
    error: float
    verdict: Verdict
    reason: str
