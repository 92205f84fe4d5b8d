r"""Real solutions of polynomial equations in a few parameters.

Points are exact where quadratic formulas and roots give them, and are counted by Sturm's theorem
otherwise. Sums of squares are replaced by the equations that they say on the reals; beyond these
and graphs over other parameters, a change of sign shows that a hypersurface has real points.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import sympy
from sympy import QQ
from sympy.core.evalf import PrecisionExhausted
from sympy.polys.monomials import monomial_deg
from sympy.polys.rings import PolyElement

from ssiode.hermite.parametric.ideals import Ideals, TooHardError

MAX_POINTS = 256
_STURM_DEGREE = 12
_ISOLATED_DEGREE = 60
_SQUARE_TERMS = 60
_GRID = ((0, 1), (1, 1), (-1, 1), (2, 1), (-2, 1), (1, 2), (-1, 2), (7, 1), (-7, 1), (40, 1))
_GRID_SIZES = {2: 10, 3: 7, 4: 5}


@dataclass(frozen=True)
class RealPoint:
    """A real value of all parameters; `exact` is None where there is no simple formula."""

    exact: tuple[sympy.Expr | None, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class RealSet:
    """What is known about the real solutions of some equations.

    Attributes
    ----------
    exists : bool or None
        Whether there are any; None if that is not known.
    points : tuple of RealPoint or None
        All of them if they are finitely many and known.
    is_prime : bool
        Whether a polynomial is 0 at all of them, or at none of finitely many, just when it is in
        the ideal.
    """

    exists: bool | None
    points: tuple[RealPoint, ...] | None = None
    is_prime: bool = False


class RealSolver:
    """Finds real solutions in one ring.

    Parameters
    ----------
    ideals : Ideals
        The ring and its budget.
    constants : mapping
        Exact values of the symbols in the field of the constants, such as powers of pi.
    """

    def __init__(self, ideals: Ideals, constants: Mapping[sympy.Symbol, sympy.Expr]) -> None:
        self.ideals = ideals
        self.ring = ideals.ring
        self.constants = dict(constants)

    def expression(self, polynomial: PolyElement) -> sympy.Expr:
        """Return a polynomial as SymPy, its constants written out."""
        return polynomial.as_expr().xreplace(self.constants)

    def number(self, value: Any) -> sympy.Expr:
        """Return an element of the field as SymPy."""
        return self.ring.domain.to_sympy(value).xreplace(self.constants)

    def sign(self, value: Any) -> int:
        """Return the sign of an element of the field, proved.

        Raises
        ------
        TooHardError
            If it takes too many digits.
        """
        if not value:
            return 0
        if self.ring.domain.is_QQ:
            return 1 if value > 0 else -1
        return _sign(self.number(value))

    def real_equations(self, equations: Sequence[PolyElement]) -> list[PolyElement]:
        """Return equations with the same real solutions, sums of squares taken apart."""
        found: list[PolyElement] = []
        for equation in equations:
            squares = self._squares(equation)
            found += [equation] if squares is None else squares[1]
        return found

    def solve(self, basis: Sequence[PolyElement]) -> RealSet:
        """Return what is known about the real solutions of a basis that is not [1].

        Raises
        ------
        TooHardError
            If the budget is spent.
        """
        solved, left = self.ideals.graph(basis)
        free = [place for place in range(self.ring.ngens) if place not in solved]
        used = {place for p in left for place in free if p.degree(place) > 0}
        if not left:
            points = (self._point(solved, {}),) if not free else None
            return RealSet(True, points, is_prime=True)
        if len(left) > 1:
            return self._few_points(solved, left) if used == set(free) else RealSet(None)
        if len(used) == 1:
            (place,) = used
            roots = self._roots(left[0], place)
            points = None
            if len(free) == 1:
                points = tuple(self._point(solved, {place: root}) for root in roots)
            return RealSet(bool(roots), points, self.ideals.is_split)
        if self._changes_sign(left[0], sorted(used)):
            return RealSet(True, None, self.ideals.is_split)
        return RealSet(None)

    def _squares(self, polynomial: PolyElement) -> tuple[int, list[PolyElement]] | None:
        """Return the sign of a semidefinite polynomial and equations for its real zeros.

        None if it is not seen to be a sum of squares of one sign.
        """
        even = not any(power % 2 for powers in polynomial for power in powers)
        signs = {self.sign(value) for value in polynomial.values()} if even else set()
        if len(signs) == 1:
            return signs.pop(), [self._radical(powers) for powers in polynomial]
        for place, generator in enumerate(self.ring.gens):
            square = self._coefficient_of_square(polynomial, place)
            if not square:
                continue
            form = polynomial.diff(generator)
            rest = polynomial - (form**2).quo_ground(4 * square)
            self.ideals.budget.spend(len(form) ** 2)
            found = self._squares(rest) if rest else (self.sign(square), [])
            if found is not None and found[0] == self.sign(square):
                return found[0], [form, *found[1]]
        return self._even_power(polynomial)

    def _radical(self, powers: tuple[int, ...]) -> PolyElement:
        """Return the product of the parameters in a monomial."""
        return self.ring.from_dict({tuple(min(p, 1) for p in powers): self.ring.domain.one})

    def _coefficient_of_square(self, polynomial: PolyElement, place: int) -> Any:
        """Return s of s x^2 + ... of degree 2 in x if it is a constant, else None."""
        squares = [powers for powers in polynomial if powers[place] >= 2]
        if len(squares) != 1 or monomial_deg(squares[0]) != 2:
            return None
        return polynomial[squares[0]]

    def _even_power(self, polynomial: PolyElement) -> tuple[int, list[PolyElement]] | None:
        is_small = len(polynomial) <= _SQUARE_TERMS
        if not self.ring.domain.is_QQ or not is_small:
            return None
        self.ideals.budget.spend(20 * len(polynomial))
        lead, factors = polynomial.sqf_list()
        if any(power % 2 for _, power in factors):
            return None
        return self.sign(lead), [factor for factor, _ in factors]

    def _roots(self, polynomial: PolyElement, place: int) -> list[tuple[sympy.Expr | None, float]]:
        """Return the real roots of an equation in one parameter."""
        symbol = sympy.Dummy("x", real=True)
        coefficients = [
            self.number(polynomial.coeff(self.ring.gens[place] ** k if k else 1))
            for k in range(polynomial.degree(place), -1, -1)
        ]
        degree = len(coefficients) - 1
        exact = _formula(coefficients)
        if exact is not None:
            return sorted(((root, float(root)) for root in exact), key=lambda pair: pair[1])
        if self.ring.domain.is_QQ and degree <= _ISOLATED_DEGREE:
            return _isolated(sympy.Poly(coefficients, symbol, domain="QQ"))
        if degree > _STURM_DEGREE:
            raise TooHardError
        count = self._sturm_count(polynomial, place)
        with mpmath.workdps(40):
            numbers = [mpmath.mpmathify(c.evalf(40)) for c in coefficients]
            roots = mpmath.polyroots(numbers, maxsteps=500, extraprec=200)
            nearest = sorted(roots, key=lambda root: abs(mpmath.im(root)))[:count]
            return sorted([(None, float(mpmath.re(root))) for root in nearest], key=lambda r: r[1])

    def _sturm_count(self, polynomial: PolyElement, place: int) -> int:
        sequence = [polynomial, polynomial.diff(place)]
        while rest := self.ideals.remainder(sequence[-2], [sequence[-1]]):
            sequence.append(-rest)
        ends = []
        for side in (-1, 1):
            signs = [self.sign(p.LC) * side ** p.degree(place) for p in sequence]
            ends.append(sum(a != b for a, b in itertools.pairwise(signs)))
        return ends[0] - ends[1]

    def _few_points(self, solved: dict[int, PolyElement], left: list[PolyElement]) -> RealSet:
        """Try all combinations of the roots of the equations for single parameters."""
        used = [p for p in range(self.ring.ngens) if p not in solved]
        choices = []
        for place in used:
            alone = self._eliminated(left, place)
            if alone is None:
                return RealSet(None)
            choices.append(
                [(place, r) for f in self.ideals.factors(alone) for r in self._roots(f, place)]
            )
        if any(not choice for choice in choices):
            return RealSet(False, ())
        if math.prod(map(len, choices)) > MAX_POINTS:
            return RealSet(None)
        points = []
        for choice in itertools.product(*choices):
            known = dict(choice)
            if any(root is None for root, _ in known.values()):
                return RealSet(None)
            zeros = [self._is_zero(equation, known) for equation in left]
            if None in zeros and False not in zeros:
                return RealSet(None)
            if all(zeros):
                points.append(self._point(solved, known))
        return RealSet(bool(points), tuple(points))

    def _eliminated(self, equations: Sequence[PolyElement], place: int) -> PolyElement | None:
        """Return the equation for one parameter alone, None if it is free."""
        symbols = list(self.ring.symbols)
        symbols.append(symbols.pop(place))
        turned = Ideals(self.ring.clone(symbols=tuple(symbols)), self.ideals.budget)
        basis = turned.basis([equation.set_ring(turned.ring) for equation in equations])
        last = basis[-1]
        return last.set_ring(self.ring) if not any(map(any, (p[:-1] for p in last))) else None

    def _is_zero(
        self, equation: PolyElement, known: Mapping[int, tuple[Any, float]]
    ) -> bool | None:
        values = {self.ring.symbols[place]: root for place, (root, _) in known.items()}
        return is_zero(self.expression(equation).xreplace(values))

    def _point(
        self, solved: Mapping[int, PolyElement], known: Mapping[int, tuple[Any, float]]
    ) -> RealPoint:
        exact = {self.ring.symbols[place]: root for place, (root, _) in known.items()}
        floats = {self.ring.symbols[place]: value for place, (_, value) in known.items()}
        is_exact = None not in exact.values()
        coordinates, values = [], []
        for place in range(self.ring.ngens):
            if place in known:
                root, value = known[place]
            else:
                formula = self.expression(solved[place])
                root = sympy.expand(formula.xreplace(exact)) if is_exact else None
                if not formula.free_symbols:
                    root = formula
                value = float(root if root is not None else formula.subs(floats))
            coordinates.append(root)
            values.append(value)
        return RealPoint(tuple(coordinates), tuple(values))

    def _changes_sign(self, polynomial: PolyElement, places: Sequence[int]) -> bool:
        """Whether a polynomial has both signs on a grid of rational points."""
        seen = set()
        domain = self.ring.domain
        grid = [domain.convert_from(QQ(p, q), QQ) for p, q in _GRID[: _GRID_SIZES[len(places)]]]
        for point in itertools.product(grid, repeat=len(places)):
            self.ideals.budget.spend(10 * len(polynomial))
            total = domain.zero
            for powers, value in polynomial.items():
                factors = [x ** powers[p] for p, x in zip(places, point, strict=True) if powers[p]]
                total += math.prod(factors, start=value)
            seen.add(self.sign(total))
            if {1, -1} <= seen:
                return True
        return False


def is_zero(constant: sympy.Expr) -> bool | None:
    """Whether a constant is 0, proved; None if it is not known.

    >>> root = sympy.sqrt(2)
    >>> is_zero(root**2 - 2), is_zero(root - 1), is_zero(root * (1 + root) - 2 - root)
    (True, False, True)
    """
    from ssiode.errors import InputError
    from ssiode.hermite.polynomial.exact import hermite_expansion

    try:
        return not hermite_expansion(constant, []).coefficients
    except InputError:
        pass
    try:
        return not _sign(constant)
    except TooHardError:
        return None


def _sign(constant: sympy.Expr) -> int:
    if constant.is_Rational:
        return int(sympy.sign(constant))
    try:
        return 1 if constant.evalf(20, strict=True) > 0 else -1
    except PrecisionExhausted as error:
        raise TooHardError from error


def _formula(coefficients: Sequence[sympy.Expr]) -> list[sympy.Expr] | None:
    """Return the real roots of linear, quadratic and two-term polynomials, None for others."""
    degree, lead = len(coefficients) - 1, coefficients[0]
    if degree == 1:
        return [sympy.radsimp(-coefficients[1] / lead)]
    if degree == 2:
        half = sympy.radsimp(-coefficients[1] / (2 * lead))
        square = sympy.radsimp(sympy.expand(half**2 - coefficients[2] / lead))
        sign = _sign(square) if square != 0 else 0
        if sign < 0:
            return []
        return [half - sympy.sqrt(square), half + sympy.sqrt(square)][1 - sign :]
    if any(coefficients[1:-1]):
        return None
    value = sympy.radsimp(-coefficients[-1] / lead)
    sign = _sign(value)
    if sign < 0 and degree % 2 == 0:
        return []
    root = sign * sympy.Abs(value) ** sympy.Rational(1, degree)
    return [-root, root] if degree % 2 == 0 else [root]


def _isolated(polynomial: sympy.Poly) -> list[tuple[None, float]]:
    roots = polynomial.intervals(eps=sympy.Rational(1, 10**17))
    return [(None, float((low + high) / 2)) for (low, high), _ in roots]
