r"""The Sequence Information Exponent of polynomial targets with free parameters.

With the coefficients :math:`c_\alpha(b)` as polynomials in the parameters and the ideals

.. math:: J_n = (c_\alpha : 1 \le |\alpha| \le n)

the exponent exceeds n exactly on the common zeros of :math:`J_n`: it has one value for almost all
parameters, and larger ones on a chain of special sets (for the exponent: Arnaboldi et al.,
arXiv 2506.02651, section 3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from sympy.polys.rings import PolyElement

from ssiode.errors import InputError
from ssiode.expression import ParsedExpression
from ssiode.hermite.parametric.expansion import ParametricExpansion, parametric_expansion
from ssiode.hermite.parametric.field import is_constant, made_monic, parameter_ring
from ssiode.hermite.parametric.ideals import Budget, Ideals, TooHardError
from ssiode.hermite.parametric.real_points import RealPoint, RealSet, RealSolver, is_zero

_MAX_SETS = 200
_MAX_SHOWN = 40
_MAX_TEXT = 2000


@dataclass(frozen=True)
class SpecialParameters:
    """Parameters at which the exponent is larger than for almost all.

    Attributes
    ----------
    condition : str
        Equations, as in "b = -6" or "b**2 - c = 0 and a = 0".
    solutions : tuple of dict or None
        All real solutions by name as exact text, null where there is no simple formula; None if
        they are not finitely many or not known.
    values : tuple of dict or None
        The same as floats.
    sie : int or None
        The exponent there, outside the sets listed with larger ones; None for a constant target
        or if it is not determined.
    status : str
        `proved`, `constant`, or `undetermined` if it is not known whether the equations have real
        solutions outside the other sets, or what the exponent is there.
    at_least : int or None
        A proved lower bound of the exponent; None for a constant target.
    """

    condition: str
    solutions: tuple[dict[str, str | None], ...] | None
    values: tuple[dict[str, float], ...] | None
    sie: int | None
    status: str
    at_least: int | None


@dataclass(frozen=True)
class ParametricExponent:
    """The exponent for almost all parameters, and where it differs.

    Attributes
    ----------
    sie : int or None
        The exponent for almost all parameters; None if the target is constant.
    status : str
        `proved` or `constant`.
    leading_terms : tuple
        Output, alpha and coefficient, as SymPy in the parameters, of the order `sie`.
    special_parameters : tuple of SpecialParameters
        Where the exponent is larger, smallest first.
    without_real_points : tuple of str
        Conditions of the same kind that no real parameters meet.
    message : str
        The result in one line.
    """

    sie: int | None
    status: str
    leading_terms: tuple[tuple[int, tuple[int, ...], sympy.Expr], ...]
    special_parameters: tuple[SpecialParameters, ...]
    without_real_points: tuple[str, ...]
    message: str


def parametric_exponent(parsed: ParsedExpression) -> ParametricExponent:
    """Return the exponent of a polynomial target whose parameters stay free.

    Parameters
    ----------
    parsed : ParsedExpression
        The outputs, tokens and parameters.

    Raises
    ------
    InputError
        If the target is not a polynomial in tokens and parameters, or is too large.

    Examples
    --------
    >>> from ssiode.expression import parse_expression
    >>> found = parametric_exponent(parse_expression("z1^4 + b*z1^2"))
    >>> found.sie, [(s.condition, s.sie) for s in found.special_parameters]
    (2, [('b = -6', 4)])
    """
    expansion = parametric_expansion(parsed)
    orders = [n for n in expansion.by_order if n]
    if not orders:
        message = "the target is constant for all parameters: it has no exponent"
        return ParametricExponent(None, "constant", (), (), (), message)
    generic = orders[0]
    search = _Search(expansion)
    special = search.run()
    names = ", ".join(map(str, expansion.parameters))
    message = f"the Sequence Information Exponent is {generic}, proved by exact coefficients"
    if names:
        message = f"for almost all {names} {message}"
    terms = tuple(expansion.at_order(generic))
    return ParametricExponent(
        generic, "proved", terms, special, tuple(dict.fromkeys(search.unreal)), message
    )


class _Search:
    """Follows the chain of special sets of one target."""

    def __init__(self, expansion: ParametricExpansion) -> None:
        self.expansion = expansion
        self.orders = [n for n in expansion.by_order if n]
        self.unreal: list[str] = []
        self.found: list[tuple[list[PolyElement], SpecialParameters]] = []
        self.seen: set[tuple[PolyElement, ...]] = set()
        self.prepared = {n: self._distinct(n) for n in self.orders}

    def run(self) -> tuple[SpecialParameters, ...]:
        """Return the special sets, smallest exponent first."""
        generic = self.orders[0]
        if any(is_constant(p) for p in self.prepared[generic]):
            return ()
        try:
            self._enter()
        except InputError as error:
            self._give_up([], generic, f" ({error})")
        else:
            self._below([], generic)
        return self._sorted()

    def _enter(self) -> None:
        """Set up the ring, from the polynomials that are looked at only."""
        everything = [p for n in self._orders_needed() for p in self.prepared[n]]
        field = parameter_ring(everything, self.expansion.basis, self.expansion.parameters)
        self.ideals = Ideals(field.ring, Budget())
        self.solver = RealSolver(self.ideals, field.constants)
        ring = self.ideals.ring
        self.elements = {
            n: [field.element(p).set_ring(ring) for p in self.prepared[n]]
            for n in self._orders_needed()
        }

    def _orders_needed(self) -> Iterator[int]:
        for n in self.orders:
            yield n
            if any(is_constant(p) for p in self.prepared[n]):
                return

    def _distinct(self, n: int) -> list[dict[tuple[int, ...], Any]]:
        """Return the coefficients of an order, equal ones once."""
        known = {}
        for polynomial in self.expansion.by_order[n].values():
            monic = made_monic(polynomial, self.expansion.basis)
            key = frozenset((p, frozenset(value.items())) for p, value in monic.items())
            known.setdefault(key, monic)
        return list(known.values())

    def _below(self, basis: list[PolyElement], n: int) -> None:
        """Add the sets inside the zeros of `basis` where the coefficients of order n vanish too."""
        try:
            for component in self.ideals.components([*basis, *self.elements[n]]):
                for real in self._real_components(component):
                    self._add(real, n)
        except TooHardError:
            self._give_up(basis, n)

    def _real_components(self, component: list[PolyElement]) -> list[list[PolyElement]]:
        """Replace sums of squares until nothing changes."""
        pending, settled = [component], []
        while pending:
            basis = pending.pop()
            following = self.ideals.components(self.solver.real_equations(basis))
            if following == [basis]:
                settled.append(basis)
            else:
                pending += following
        if not settled:
            self.unreal.append(self._condition(component))
        return settled

    def _add(self, basis: list[PolyElement], n: int) -> None:
        key = tuple(basis)
        if key in self.seen:
            return
        self.seen.add(key)
        if len(self.seen) > _MAX_SETS:
            raise TooHardError
        try:
            real = self.solver.solve(basis)
            if real.exists is False:
                self.unreal.append(self._condition(basis))
            elif real.points is not None and not real.is_prime:
                self._add_points(basis, real.points)
            else:
                self._add_set(basis, real, n)
        except TooHardError:
            condition = self._condition(basis)
            self.found.append((basis, _undetermined(condition, self._after(n))))

    def _add_set(self, basis: list[PolyElement], real: RealSet, n: int) -> None:
        higher = self._exponent_on(basis, real, n)
        is_sure = real.exists is True and real.is_prime
        status = "proved" if higher else "constant"
        condition = self._condition(basis)
        special = SpecialParameters(
            condition, *self._listed(real.points), higher, status, higher or None
        )
        if not is_sure:
            special = _undetermined(condition, higher or self._after(n))
        self.found.append((basis, special))
        if higher in self.elements:
            self._below(basis, higher)

    def _exponent_on(self, basis: list[PolyElement], real: RealSet, n: int) -> int | None:
        """Return the first order with a coefficient that does not vanish on a set."""
        for higher in self.orders[self.orders.index(n) + 1 :]:
            if higher not in self.elements:
                break
            for element in self.elements[higher]:
                rest = self.ideals.remainder(element, basis)
                if rest and (real.is_prime or not self.ideals.vanishes(rest, basis)):
                    return higher
        return None

    def _add_points(self, basis: list[PolyElement], points: Sequence[RealPoint]) -> None:
        """Add single points, grouped by their exponents."""
        groups: dict[int | None, list[RealPoint]] = {}
        for point in points:
            groups.setdefault(self._exponent_at(point), []).append(point)
        for exponent, members in groups.items():
            status = "proved" if exponent else "constant"
            solutions, values = self._listed(members)
            condition = self._condition(basis)
            if len(groups) > 1:
                condition = " or ".join(map(_point_text, solutions))
            special = SpecialParameters(condition, solutions, values, exponent, status, exponent)
            self.found.append((basis, special))

    def _exponent_at(self, point: RealPoint) -> int | None:
        if None in point.exact:
            raise TooHardError
        values = dict(zip(self.expansion.parameters, point.exact, strict=True))
        for n, elements in self.elements.items():
            for element in elements:
                verdict = is_zero(self.solver.expression(element).xreplace(values))
                if verdict is None:
                    raise TooHardError
                if not verdict:
                    return n
        return None

    def _listed(self, points: Sequence[RealPoint] | None) -> tuple[Any, Any]:
        if points is None:
            return None, None
        names = [str(parameter) for parameter in self.expansion.parameters]
        exact = tuple(
            {
                name: None if root is None else _short_text(root)
                for name, root in zip(names, point.exact, strict=True)
            }
            for point in points
        )
        return exact, tuple(dict(zip(names, point.values, strict=True)) for point in points)

    def _condition(self, basis: Sequence[PolyElement]) -> str:
        texts = []
        for element in basis:
            power = element.leading_expv()
            if sum(power) == 1:
                lead = element.ring.gens[power.index(1)]
                value = sympy.expand(self.solver.expression(lead - element.monic()))
                if (text := _short_text(value)) is not None:
                    texts.append(f"{lead} = {text}")
                    continue
            texts.append(f"{self._text(element)} = 0")
        return " and ".join(texts)

    def _text(self, element: PolyElement) -> str:
        whole = element.clear_denoms()[1] if element.ring.domain.is_QQ else element
        if len(whole) <= _MAX_SHOWN:
            text = _short_text(self.solver.expression(whole))
            if text is not None:
                return text
        return f"a polynomial of degree {max(map(sum, whole))} with {len(whole)} terms"

    def _after(self, n: int) -> int:
        later = [m for m in self.orders if m > n]
        return later[0] if later else n + 1

    def _give_up(self, basis: list[PolyElement], n: int, reason: str = "") -> None:
        count = len(self.prepared[n])
        subject = "the coefficient" if count == 1 else f"the {count} different coefficients"
        verb = "is" if count == 1 else "are"
        before = f"{self._condition(basis)} and " if basis else ""
        condition = f"{before}{subject} of order {n} {verb} 0{reason}"
        self.found.append(([], _undetermined(condition, self._after(n))))

    def _sorted(self) -> tuple[SpecialParameters, ...]:
        kept = [special for basis, special in self.found if not self._is_covered(basis, special)]
        last = max(self.orders) + 1
        return tuple(sorted(kept, key=lambda s: (s.sie or s.at_least or last, s.condition)))

    def _is_covered(self, basis: list[PolyElement], special: SpecialParameters) -> bool:
        """Whether another set with the same exponent contains this one."""
        for other, larger in self.found:
            if other is basis or not other or not basis or larger.sie != special.sie:
                continue
            if larger.status == special.status and self._contains(other, basis):
                return True
        return False

    def _contains(self, larger: Sequence[PolyElement], basis: Sequence[PolyElement]) -> bool:
        try:
            return self.ideals.contains(larger, basis)
        except TooHardError:
            return False


def _short_text(expression: sympy.Expr) -> str | None:
    """Return an expression as text, None if its numbers are very long."""
    try:
        text = str(expression)
    except ValueError:  # Python does not print integers of thousands of digits
        return None
    return text if len(text) <= _MAX_TEXT else None


def _point_text(solution: dict[str, str | None]) -> str:
    text = " and ".join(f"{name} = {value}" for name, value in solution.items())
    return f"({text})" if len(solution) > 1 else text


def _undetermined(condition: str, at_least: int) -> SpecialParameters:
    return SpecialParameters(condition, None, None, None, "undetermined", at_least)
