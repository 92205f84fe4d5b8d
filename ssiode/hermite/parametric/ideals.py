r"""Common zeros of polynomials in a few parameters, by Groebner bases with a budget.

Bases are reduced and lexicographic. Every step is charged for the terms and digits it handles, so
that a hard system ends with :class:`TooHardError` and not after hours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import sympy
from sympy.polys.fields import FracElement
from sympy.polys.monomials import monomial_deg, monomial_div, monomial_divides, monomial_lcm
from sympy.polys.orderings import lex
from sympy.polys.polyclasses import ANP
from sympy.polys.rings import PolyElement, PolyRing

MAX_STEPS = 400_000
_FACTOR_DEGREE = {1: 40, 2: 16, 3: 12, 4: 10}
_FACTOR_TERMS = 60
_FACTOR_DIGITS = 4000
_SQUARE_TERMS = 200
_MAX_DIGITS = 4000
_EXTENSION_DEGREE = 6


class TooHardError(Exception):
    """A system of equations takes more steps than are allowed."""


class Budget:
    """Elementary steps that are left.

    Examples
    --------
    >>> Budget(2).spend(3)
    Traceback (most recent call last):
    ...
    ssiode.hermite.parametric.ideals.TooHardError
    """

    def __init__(self, steps: int = MAX_STEPS) -> None:
        self.left = steps

    def spend(self, steps: int) -> None:
        """Take steps away.

        Raises
        ------
        TooHardError
            If there are not so many.
        """
        self.left -= steps
        if self.left < 0:
            raise TooHardError


class Ideals:
    """Ideals of one polynomial ring over a field.

    Parameters
    ----------
    ring : PolyRing
        The parameters over the field of the constants.
    budget : Budget
        Shared by all that is computed.

    Examples
    --------
    >>> from sympy import QQ, ring
    >>> plane, b, c = ring("b, c", QQ)
    >>> Ideals(plane).components([b * c, b**2 - b])
    [[b], [b - 1, c]]
    """

    def __init__(self, ring: PolyRing, budget: Budget | None = None) -> None:
        self.ring = ring.clone(order=lex)
        self.budget = budget or Budget()
        self.is_split = True

    def basis(self, polynomials: Iterable[PolyElement]) -> list[PolyElement]:
        """Return the reduced Groebner basis, [1] if there are no common zeros.

        Raises
        ------
        TooHardError
            If the budget is spent.
        """
        found: list[PolyElement] = []
        pairs: list[tuple[int, int]] = []
        pending = sorted(
            (p.set_ring(self.ring) for p in polynomials if p),
            key=lambda p: (len(p), sorted(p)),
            reverse=True,
        )
        while pending or pairs:
            if pending:
                candidate = pending.pop()
            else:
                i, j = pairs.pop()
                candidate = self._s_polynomial(found[i], found[j])
            rest = self.remainder(candidate, found)
            if not rest:
                continue
            if rest.is_ground:
                return [self.ring.one]
            found.append(rest.monic())
            new = len(found) - 1
            pairs += [(i, new) for i in range(new) if not self._is_coprime(found[i], found[new])]
            # The pair of lowest degree is taken first, from the end.
            pairs.sort(key=lambda pair: -self._pair_degree(found, pair))
        return self._reduced(found)

    def remainder(self, polynomial: PolyElement, divisors: Sequence[PolyElement]) -> PolyElement:
        """Return what division by `divisors` leaves; 0 for members of the ideal of a basis."""
        left, kept = polynomial.copy(), self.ring.zero
        leads = [(divisor, divisor.leading_expv(), divisor.LC) for divisor in divisors]
        while left:
            power, value = left.leading_term().popitem()
            for divisor, lead, factor in leads:
                if monomial_divides(lead, power):
                    quotient = value / factor
                    self._spend(len(left) + len(divisor), quotient)
                    left = left - divisor.mul_term((monomial_div(power, lead), quotient))
                    break
            else:
                kept[power] = value
                del left[power]
        return kept

    def vanishes(self, polynomial: PolyElement, basis: Sequence[PolyElement]) -> bool:
        """Whether a polynomial is 0 at all common zeros, by the trick of Rabinowitsch.

        >>> from sympy import QQ, ring
        >>> line, b = ring("b", QQ)
        >>> Ideals(line).vanishes(b, [b**2]), Ideals(line).vanishes(b - 1, [b**2])
        (True, False)
        """
        rest = self.remainder(polynomial.set_ring(self.ring), basis)
        if not rest or rest.is_ground or not basis:
            return not rest
        longer = self.ring.clone(symbols=(*self.ring.symbols, sympy.Dummy("inverse")))
        lifted = [p.set_ring(longer) for p in basis]
        wide = Ideals(longer, self.budget)
        product = longer.gens[-1] * rest.set_ring(longer)
        return is_unit(wide.basis([*lifted, longer.one - product]))

    def components(self, polynomials: Iterable[PolyElement]) -> list[list[PolyElement]]:
        """Return bases of ideals whose zeros together are the common zeros, split by factors."""
        found: list[list[PolyElement]] = []
        pending = [self.basis(polynomials)]
        while pending:
            basis = pending.pop()
            self.budget.spend(200)
            if is_unit(basis):
                continue
            for place, element in enumerate(basis):
                factors = self.factors(element)
                if len(factors) > 1 or factors[0] != element:
                    rest = basis[:place] + basis[place + 1 :]
                    pending += [self.basis([*rest, factor]) for factor in reversed(factors)]
                    break
            else:
                found.append(basis)
        return self._largest(found)

    def factors(self, polynomial: PolyElement) -> list[PolyElement]:
        """Return the distinct factors, monic; the polynomial itself if it is too large for that."""
        degrees = [monomial_deg(power) for power in polynomial]
        variables = sum(map(bool, polynomial.degrees()))
        most = _FACTOR_DEGREE.get(variables, 8)
        if not self.ring.domain.is_QQ:
            most = _EXTENSION_DEGREE
        if max(degrees) == 1:
            return [polynomial.monic()]
        digits = max(map(_digits, polynomial.values()))
        is_long = digits * max(degrees) > _FACTOR_DIGITS * (10 if variables == 1 else 1)
        if max(degrees) > most or len(polynomial) > _FACTOR_TERMS or is_long:
            return self._unsplit(polynomial)
        self._spend(20 * len(polynomial) * max(degrees), polynomial.LC)
        return [factor.monic() for factor, _ in polynomial.factor_list()[1]]

    def _unsplit(self, polynomial: PolyElement) -> list[PolyElement]:
        """Return factors without squares at least, if that is cheap."""
        parts = [polynomial]
        if self.ring.domain.is_QQ and len(polynomial) <= _SQUARE_TERMS:
            self._spend(10 * len(polynomial) * max(polynomial.degrees()), polynomial.LC)
            parts = [factor for factor, _ in polynomial.sqf_list()[1]]
        self.is_split = self.is_split and all(max(map(monomial_deg, p)) == 1 for p in parts)
        return [part.monic() for part in parts]

    def _largest(self, found: list[list[PolyElement]]) -> list[list[PolyElement]]:
        """Leave out components inside others."""
        kept: list[list[PolyElement]] = []
        for basis in sorted(found, key=lambda basis: (len(basis), [sorted(p) for p in basis])):
            if not any(self.contains(larger, basis) for larger in kept):
                kept.append(basis)
        return kept

    def contains(self, larger: Sequence[PolyElement], basis: Sequence[PolyElement]) -> bool:
        """Whether all elements of `larger` are in the ideal of `basis`."""
        return all(not self.remainder(element, basis) for element in larger)

    def graph(
        self, equations: Sequence[PolyElement]
    ) -> tuple[dict[int, PolyElement], list[PolyElement]]:
        """Solve equations for parameters that occur linearly.

        Returns
        -------
        tuple
            Polynomials by the number of the parameter they give, free of all such parameters, and
            the equations left for the other parameters.

        Examples
        --------
        >>> from sympy import QQ, ring
        >>> plane, b, c = ring("b, c", QQ)
        >>> Ideals(plane).graph([b**2 - 3 * c, b - 1])
        ({0: 1, 1: 1/3}, [])
        """
        solved: dict[int, PolyElement] = {}
        left = [element.set_ring(self.ring) for element in equations if element]
        while (found := _linear(left)) is not None:
            element, place = found
            generator = self.ring.gens[place]
            value = generator - element.quo_ground(element.coeff(generator))
            left = [self._composed(p, place, value) for p in left if p is not element]
            left = [p for p in left if p]
            solved = {key: self._composed(p, place, value) for key, p in solved.items()}
            solved[place] = value
        return dict(sorted(solved.items())), left

    def _composed(self, polynomial: PolyElement, place: int, value: PolyElement) -> PolyElement:
        power = max((p[place] for p in polynomial), default=0)
        if not power:
            return polynomial
        self.budget.spend(len(polynomial) * math.comb(len(value) + power, power))
        return polynomial.compose(self.ring.gens[place], value)

    def _s_polynomial(self, left: PolyElement, right: PolyElement) -> PolyElement:
        a, b = left.leading_expv(), right.leading_expv()
        both = monomial_lcm(a, b)
        self._spend(len(left) + len(right), left.LC)
        one = self.ring.domain.one
        return left.mul_term((monomial_div(both, a), one)) - right.mul_term(
            (monomial_div(both, b), one)
        )

    def _reduced(self, found: list[PolyElement]) -> list[PolyElement]:
        minimal: list[PolyElement] = []
        for element in sorted(found, key=lambda p: lex(p.leading_expv())):
            lead = element.leading_expv()
            if not any(monomial_divides(other.leading_expv(), lead) for other in minimal):
                minimal.append(element)
        reduced = [
            self.remainder(element, [other for other in minimal if other is not element])
            for element in minimal
        ]
        return sorted(reduced, key=lambda p: lex(p.leading_expv()), reverse=True)

    def _is_coprime(self, left: PolyElement, right: PolyElement) -> bool:
        pairs = zip(left.leading_expv(), right.leading_expv(), strict=True)
        return not any(a and b for a, b in pairs)

    def _pair_degree(self, found: Sequence[PolyElement], pair: tuple[int, int]) -> int:
        i, j = pair
        return monomial_deg(monomial_lcm(found[i].leading_expv(), found[j].leading_expv()))

    def _spend(self, terms: int, coefficient: Any) -> None:
        digits = _digits(coefficient)
        is_rational = self.ring.domain.is_QQ
        if digits > (_MAX_DIGITS if is_rational else _MAX_DIGITS // 8):
            raise TooHardError
        # Measured: fractions of polynomials in pi cost most, by their greatest common divisors.
        price = 1 + digits // 128 if is_rational else 80 + 2 * digits
        self.budget.spend(terms * price)


def _digits(number: Any) -> int:
    """Return the binary digits of an element of a field, its parts added up."""
    if isinstance(number, FracElement):
        return sum(_digits(c) for part in (number.numer, number.denom) for c in part.values())
    if isinstance(number, ANP):
        return sum(map(_digits, number.to_list()))
    return int(number.numerator).bit_length() + int(number.denominator).bit_length()


def is_unit(basis: Sequence[PolyElement]) -> bool:
    """Whether a reduced basis is [1]: there are no common zeros."""
    return len(basis) == 1 and basis[0].is_ground


def _linear(elements: Sequence[PolyElement]) -> tuple[PolyElement, int] | None:
    """Return an equation a x + rest = 0 with a constant a and no x in the rest, and x's number."""
    for element in elements:
        for place in range(element.ring.ngens):
            powers = [power for power in element if power[place]]
            if len(powers) == 1 and monomial_deg(powers[0]) == 1:
                return element, place
    return None
