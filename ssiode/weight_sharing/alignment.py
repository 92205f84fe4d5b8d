r"""How the leading tensor of a target lies to the directions that networks can take.

A network :math:`f = \sigma(\sum_l z_l/\sqrt L)` learns a target at small overlaps through the
lowest order n at which both have coefficients,

.. math:: c_n = E[\sigma\,He_n] \ne 0, \qquad C = C_n(g) \ne 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ssiode.errors import InputError
from ssiode.hermite.coefficient import Verdict
from ssiode.hermite.tensor.leading import LeadingTensor

if TYPE_CHECKING:
    from ssiode.hermite.coefficient import Coefficient
    from ssiode.hermite.sources import CoefficientSource
    from ssiode.hermite.tensor.symmetric import Estimate
    from ssiode.problem import Problem

_HIGHEST_ORDER = 12


@dataclass(frozen=True, eq=False)
class Alignment:
    """The leading tensor that a network of the sum of its fields sees.

    Attributes
    ----------
    leading : LeadingTensor
        C_n(g), its contraction with all ones, its operator norm and their ratio.
    activation_coefficient : float
        c_n, with the scale of the network.
    loss_scale : float
        Factor of the squared loss.
    along : Estimate
        The contraction of C with the direction in which the shared weights see the tokens.
    blind_orders : tuple of int
        Orders of the target below n that the activation does not see.
    rescued_at : int or None
        The lowest order at which the shared weights see the target; None if there is none up to
        12.
    sees_nothing : bool
        Whether it is proved that there is none at all.
    """

    leading: LeadingTensor
    activation_coefficient: float
    loss_scale: float
    along: Estimate
    blind_orders: tuple[int, ...]
    rescued_at: int | None
    sees_nothing: bool

    @property
    def order(self) -> int:
        """The order n."""
        return self.leading.order

    @property
    def strength(self) -> float:
        """K = 2 c_n / (n - 1)! for the loss of scale 1, so that the drift is K C a^(n - 1)."""
        return 2 * self.loss_scale * self.activation_coefficient / math.factorial(self.order - 1)

    @property
    def paper_ratio(self) -> float:
        """L times rbar, the ratio of the learning rates that Theorem 2 allows."""
        return self.leading.tensor.length * self.leading.ones_ratio.value

    @property
    def theorem_gain(self) -> float:
        """The gain of Theorem 2: L rbar at order 1, its square beyond, 0 where rbar vanishes."""
        ratio = abs(self.paper_ratio)
        return ratio if self.order == 1 else ratio**2

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "order": self.order,
            "activation_coefficient": self.activation_coefficient,
            "along": self.along.value,
            "blind_orders": self.blind_orders,
            "rescued_at": self.rescued_at,
            "theorem_gain": self.theorem_gain,
        } | self.leading.as_dict()


def alignment(problem: Problem) -> Alignment:
    """Return the alignment of a target with a network of the sum of its fields.

    Parameters
    ----------
    problem : Problem
        Of a tied or an untied network; the target has one output.

    Raises
    ------
    InputError
        If the target has no coefficients that are known, or none that the activation sees.

    Examples
    --------
    >>> from ssiode import Problem, Target, TiedNetwork
    >>> found = alignment(Problem(Target("sum(He2(z))", length=4), TiedNetwork("relu")))
    >>> found.order, found.along.exact, found.paper_ratio, found.theorem_gain
    (2, 2, 4.0, 16.0)
    """
    from ssiode.expression import token_symbols
    from ssiode.hermite.sources import coefficient_source
    from ssiode.hermite.tensor.symmetric import SymmetricTensor

    target, student = problem.target, problem.student
    if target.expressions is None:
        raise InputError("the target is a Python function, which has no leading tensor")
    sigma, s = student.activation_expression
    of_target = coefficient_source(target.expressions[0], token_symbols(target.length))
    of_student = coefficient_source(sigma, [s])
    direction = list(student.symbolic_form(target.length).axes)
    seen: list[tuple[SymmetricTensor, float, Estimate]] = []
    blind: list[int] = []
    for order in range(1, _last_order(of_target, of_student) + 1):
        entries = of_target.coefficients(order)
        if not any(c.verdict is Verdict.NONZERO for c in entries):
            continue
        value = _activation_coefficient(of_student.coefficients(order)) * student.scale
        if value != 0:
            tensor = SymmetricTensor.of(entries)
            seen.append((tensor, value, tensor.contract(direction)))
            if seen[-1][2].verdict is Verdict.NONZERO:
                break
        elif not seen:
            blind.append(order)
    if not seen:
        raise InputError(
            f"the activation sees no order of the target up to {_HIGHEST_ORDER}; choose another "
            "activation, such as --activation tanh"
        )
    rescue = seen[-1][0].order if seen[-1][2].verdict is Verdict.NONZERO else None
    is_whole = of_target.highest_order is not None and of_target.highest_order <= _HIGHEST_ORDER
    tensor, value, along = seen[0]
    return Alignment(
        leading=LeadingTensor.of(0, tensor),
        activation_coefficient=value,
        loss_scale=problem.loss.scale,
        along=along,
        blind_orders=tuple(blind),
        rescued_at=rescue,
        sees_nothing=is_whole and all(found.verdict is Verdict.ZERO for *_, found in seen),
    )


def _last_order(*sources: CoefficientSource) -> int:
    known = [s.highest_order for s in sources if s.highest_order is not None]
    return min([_HIGHEST_ORDER, *known, *(s.last_order for s in sources)])


def _activation_coefficient(found: tuple[Coefficient, ...]) -> float:
    """The one coefficient of an order; 0 where it is proved zero or cannot be told from it."""
    return sum(c.value for c in found if c.verdict is Verdict.NONZERO)
