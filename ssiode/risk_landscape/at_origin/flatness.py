"""The flatness index: the order of the first derivative of the risk that does not vanish."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ssiode.hermite.coefficient import Verdict
from ssiode.risk_landscape.at_origin.forms import HomogeneousForm

if TYPE_CHECKING:
    from ssiode.risk_landscape.at_origin.taylor import TaylorExpansion


@dataclass(frozen=True, eq=False)
class Flatness:
    """What is known about the flatness index kappa.

    Attributes
    ----------
    index : int or None
        kappa, if it is proved.
    status : str
        `proved`; `constant`: all orders vanish; or `undetermined`.
    at_least : int or None
        kappa is proved to be at least this; None if the risk is constant.
    leading_form : HomogeneousForm or None
        The part of R of order kappa.
    """

    index: int | None
    status: str
    at_least: int | None
    leading_form: HomogeneousForm | None

    @classmethod
    def of(cls, expansion: TaylorExpansion, last_order: int) -> Flatness:
        """Go up the orders until one is not proved to vanish.

        Derivatives count in the directions that an encoding can reach and the student sees.

        >>> from ssiode import Attention, Problem, Target
        >>> from ssiode.risk_landscape.at_origin.taylor import TaylorExpansion
        >>> problem = Problem(Target("He4(z1) + He4(z2)"), Attention("trace"))
        >>> Flatness.of(TaylorExpansion(problem), 8).index
        4
        """
        for order in range(1, last_order + 1):
            form = expansion.form(order)
            if form.verdict is Verdict.NONZERO:
                return cls(order, "proved", order, form)
            if form.verdict is Verdict.UNDECIDED:
                return cls(None, "undetermined", order, None)
        if expansion.highest_order is not None and expansion.highest_order <= last_order:
            return cls(None, "constant", None, None)
        return cls(None, "undetermined", last_order + 1, None)
