r"""The risk along the directions in which its Hessian vanishes, the others minimised out.

Where the Hessian is :math:`A > 0` in the stiff overlaps y and zero in the flat ones x, the minimum
over y near the origin is at :math:`y(x) = -A^{-1} \partial_y (R - \tfrac12 y^T A y)`, a power
series, and :math:`R(x, y(x))` decides whether the origin is a minimum (the splitting lemma). A
series of y that is right to degree k gives R right to degree 2k + 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ssiode.hermite.coefficient import Verdict
from ssiode.risk_landscape.at_origin.forms import HomogeneousForm
from ssiode.risk_landscape.at_origin.numbers import Number
from ssiode.risk_landscape.at_origin.polynomials import (
    Polynomial,
    Powers,
    collected,
    derivative,
    product,
    substituted,
)

if TYPE_CHECKING:
    from ssiode.risk_landscape.at_origin.taylor import TaylorExpansion


class ReducedPotential:
    """The forms of R(x, y(x)) in the flat overlaps x, by order.

    Parameters
    ----------
    expansion : TaylorExpansion
    stiff : sequence of int
        Which independent overlaps are stiff; none leaves R as it is.

    Examples
    --------
    The valley of 0.18 e^2 + 0.13 e m^2 falls like -0.024 m^4:

    >>> from ssiode import Encoding, Problem, Target, TiedNetwork
    >>> from ssiode.risk_landscape.at_origin.taylor import TaylorExpansion
    >>> tied = TiedNetwork("tanh")
    >>> problem = Problem(Target("tanh(z1)*tanh(z2)"), tied, Encoding("orthonormal"))
    >>> print(ReducedPotential(TaylorExpansion(problem), [0]).form(4))
    -0.02447 m^4
    """

    def __init__(self, expansion: TaylorExpansion, stiff: Sequence[int]) -> None:
        self._expansion = expansion
        self.stiff = tuple(stiff)
        self._valleys: dict[int, dict[int, Polynomial]] = {}

    def form(self, order: int) -> HomogeneousForm:
        """The part of one order, in the names of all overlaps."""
        plain = self._expansion.form(order)
        if not self.stiff:
            return plain
        valley = self._valley(order // 2)
        terms = collected(self._terms(valley, order))
        kept = {powers: terms[powers] for powers in sorted(terms, reverse=True)}
        return HomogeneousForm(order, plain.names, kept)

    def _terms(self, valley: dict[int, Polynomial], order: int) -> Iterable[tuple[Powers, Number]]:
        for n in range(2, order + 1):
            moved = substituted(self._expansion.form(n).terms, valley, order)
            yield from ((p, number) for p, number in moved.items() if sum(p) == order)

    def _valley(self, degree: int) -> dict[int, Polynomial]:
        """The stiff overlaps as polynomials in the flat ones, up to a degree."""
        if degree not in self._valleys:
            if degree < 2:
                self._valleys[degree] = {i: {} for i in self.stiff}
            else:
                self._valleys[degree] = self._next(self._valley(degree - 1), degree)
        return self._valleys[degree]

    def _next(self, valley: dict[int, Polynomial], degree: int) -> dict[int, Polynomial]:
        slopes = [
            collected(
                term
                for n in range(3, degree + 2)
                for term in substituted(
                    derivative(self._expansion.form(n).terms, i), valley, degree
                ).items()
            )
            for i in self.stiff
        ]
        return {
            i: collected(
                term
                for weight, slope in zip(row, slopes, strict=True)
                for term in product({(0,) * len(self._expansion.seen.names): weight}, slope).items()
            )
            for i, row in zip(self.stiff, self._minus_inverse(), strict=True)
        }

    def _minus_inverse(self) -> list[list[Number]]:
        """The matrix -A^(-1), with errors to first order."""
        from ssiode.risk_landscape.at_origin.hessian import Hessian

        hessian = Hessian(self._expansion.form(2), self._expansion.seen)
        block = np.ix_(self.stiff, self.stiff)
        inverse = np.linalg.inv(hessian.matrix[block])
        rounding = 2.0**-48 * np.abs(hessian.matrix[block])
        error = np.abs(inverse) @ (hessian.error[block] + rounding) @ np.abs(inverse)
        return [
            [
                Number(-x, 2 * dx, None, Verdict.NONZERO if abs(x) > 2 * dx else Verdict.UNDECIDED)
                for x, dx in zip(*rows, strict=True)
            ]
            for rows in zip(inverse.tolist(), error.tolist(), strict=True)
        ]
