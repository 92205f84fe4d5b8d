"""At which order, and in which direction, the risk falls from the origin of the overlaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ssiode.hermite.coefficient import Verdict
from ssiode.risk_landscape.at_origin.forms import HomogeneousForm
from ssiode.risk_landscape.at_origin.reduced_potential import ReducedPotential
from ssiode.risk_landscape.at_origin.sphere_minimum import SphereMinimum, sphere_minimum

if TYPE_CHECKING:
    from ssiode.risk_landscape.at_origin.taylor import TaylorExpansion


@dataclass(frozen=True, eq=False)
class Descent:
    """How the risk leaves the origin.

    Attributes
    ----------
    status : str
        `descends`; `minimum`: the origin is proved to be a local minimum; `flat`: R is constant;
        `undetermined`: neither is proved up to the orders looked at.
    order : int or None
        The escape order: the smallest order at which some direction goes down.
    direction : array of shape (L + 1,) or None
        The steepest direction (e, m) of that order, of length 1 in the metric of the encoding.
    slope, slope_error : float or None
        The risk falls from the origin by `slope` times the length to the power `order`.
    form : HomogeneousForm or None
        The form that decides.
    is_curved : bool
        Whether the way down is along a curve, on which stiff overlaps follow at higher order.
    reason : str
        The proof, or what is missing for one, in words.
    """

    status: str
    order: int | None
    direction: np.ndarray | None
    slope: float | None
    slope_error: float | None
    form: HomogeneousForm | None
    is_curved: bool
    reason: str


def descent(expansion: TaylorExpansion, last_order: int) -> Descent:
    """Find the escape order up to a last order.

    A leading form with negative values decides. A positive one proves a minimum. Where it is
    positive in some overlaps and does not depend on the others, these are followed: at order 2
    along the curve on which the risk is lowest, at higher orders along straight lines.

    Examples
    --------
    >>> from ssiode import Attention, Problem, Target
    >>> from ssiode.risk_landscape.at_origin.taylor import TaylorExpansion
    >>> problem = Problem(Target("He4(z1) + He4(z2)"), Attention("trace"))
    >>> descent(TaylorExpansion(problem), 8).status
    'minimum'
    """
    return _Search(expansion, last_order).run()


class _Search:
    """The overlaps that are still free to go down, as orders go up."""

    def __init__(self, expansion: TaylorExpansion, last_order: int) -> None:
        self.expansion = expansion
        self.last_order = last_order
        self.potential = ReducedPotential(expansion, [])
        self.free = list(range(expansion.seen.dimension))
        self.doubts: list[str] = []
        self.is_ray = False

    def run(self) -> Descent:
        for order in range(1, self.last_order + 1):
            form = self.potential.form(order).without(self._fixed_names())
            if form.verdict is Verdict.ZERO:
                continue
            if form.verdict is Verdict.UNDECIDED:
                self.doubts.append(f"order {order} is proved neither zero nor non-zero")
                continue
            found = self._judged(form)
            if found is not None:
                return found
        is_only_m = self.free == [self.expansion.seen.dimension - 1] and not self.doubts
        if is_only_m and self.potential.stiff and self.expansion.is_independent_of_m:
            reason = "the form of order 2 is positive in e and the target is constant, so m is free"
            return self._without_order("minimum", reason)
        if self._is_constant() and not self.doubts:
            return self._without_order("flat", "every order vanishes: the risk is constant there")
        self.doubts.append(f"no order up to {self.last_order} decides")
        return self._without_order("undetermined", "; ".join(self.doubts))

    def _judged(self, form: HomogeneousForm) -> Descent | None:
        """What a form that does not vanish says; None if higher orders decide."""
        lowest = sphere_minimum(form, self._frame(self.free))
        if lowest.value + lowest.error < 0:
            return self._falling(form, lowest)
        present = [i for i in self.free if any(powers[i] for powers in form.terms)]
        within = sphere_minimum(form, self._frame(present))
        if not within.lower_bound - within.error > 0:
            self.doubts.append(f"the form of order {form.order} is not proved positive")
            return self._without_order("undetermined", "; ".join(self.doubts))
        self.free = [i for i in self.free if i not in present]
        if not self.free:
            return self._minimum(form)
        if form.order == 2:
            self.potential = ReducedPotential(self.expansion, present)
        else:
            self.is_ray = True
        return None

    def _minimum(self, form: HomogeneousForm) -> Descent:
        if self.doubts or self.is_ray:
            lines = ["only straight lines were followed"] if self.is_ray else []
            return self._without_order("undetermined", "; ".join(self.doubts + lines))
        reason = f"the form of order {form.order} is positive in all directions that are left"
        return Descent("minimum", None, None, None, None, form, self._is_curved(form), reason)

    def _falling(self, form: HomogeneousForm, lowest: SphereMinimum) -> Descent:
        w = self._embedded(self.free, lowest.direction)
        reason = f"the form of order {form.order} has negative values"
        if self.doubts:
            reason += f", if what is not proved vanishes: {'; '.join(self.doubts)}"
        return Descent(
            "undetermined" if self.doubts else "descends",
            form.order,
            self.expansion.seen.states(w[None])[0],
            -lowest.value,
            lowest.error,
            form,
            self._is_curved(form),
            reason,
        )

    def _is_curved(self, form: HomogeneousForm) -> bool:
        """Whether minimising the stiff overlaps out changes the form."""
        straight = self.expansion.form(form.order).without(self._fixed_names())
        return bool(self.potential.stiff) and str(straight) != str(form)

    def _without_order(self, status: str, reason: str) -> Descent:
        return Descent(status, None, None, None, None, None, False, reason)

    def _is_constant(self) -> bool:
        """Whether no orders beyond the last one exist."""
        highest = self.expansion.highest_order
        return highest is not None and highest <= self.last_order

    def _fixed_names(self) -> list[str]:
        names = self.expansion.seen.names
        return [name for i, name in enumerate(names) if i not in self.free]

    def _basis(self, kept: list[int]) -> np.ndarray:
        """Orthonormal w for which only the kept overlaps move, shape (r, q)."""
        # Of overlaps x = F w those of other indices vanish on the null space of their rows.
        others = np.delete(self.expansion.seen.frame, kept, axis=0)
        if not len(others):
            return np.eye(self.expansion.seen.dimension)
        _, _, rows = np.linalg.svd(others)
        return _with_fixed_signs(rows[len(others) :].T)

    def _frame(self, kept: list[int]) -> np.ndarray:
        return self.expansion.seen.frame @ self._basis(kept)

    def _embedded(self, kept: list[int], direction: np.ndarray) -> np.ndarray:
        return self._basis(kept) @ direction


def _with_fixed_signs(basis: np.ndarray) -> np.ndarray:
    """Columns with a positive last entry, so that directions do not depend on a solver's signs."""
    last = [column[np.flatnonzero(np.abs(column) > 1e-12)[-1]] for column in basis.T]
    return basis * np.sign(last)
