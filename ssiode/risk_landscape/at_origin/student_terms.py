"""Hermite coefficients of a student's outputs and of their squared norm.

A student is expanded about the origin of the overlaps, with its injected constant, in the fields
y = U x along the directions that it sees: c_beta(f_a) = E[f_a He_beta(y)] and the same for |f|^2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ssiode.risk_landscape.at_origin.numbers import Number, total, zero
from ssiode.risk_landscape.at_origin.student_symmetry import Beta, StudentSymmetry

if TYPE_CHECKING:
    import sympy

    from ssiode.problem import Problem

# A function (an output, or -1 for the squared norm) and a multi-index.
Key = tuple[int, Beta]
SQUARE = -1


class StudentTerms(ABC):
    """The coefficients of a student, by function and multi-index.

    Attributes
    ----------
    n_outputs : int
        k.
    axes : sympy.Matrix
        The directions U, shape (r, L).
    last_order : int
        Highest order that can be computed.
    highest_order : int or None
        Highest order of a coefficient of f that is not zero; None if there is no such.
    symmetry : StudentSymmetry
        Which coefficients it makes equal, up to sign, or zero.
    how : str
        Where the coefficients come from, in words.
    """

    n_outputs: int
    axes: sympy.Matrix
    last_order: int
    highest_order: int | None = None
    symmetry: StudentSymmetry
    how: str

    def key(self, function: int, beta: Sequence[int]) -> tuple[Key, int]:
        """The name of a coefficient and its sign relative to that: 1, -1, or 0 if it vanishes.

        Multi-indices that a symmetry maps to each other share one name.
        """
        representative, sign = self.symmetry.representative(beta)
        return (function, representative), sign

    @abstractmethod
    def number(self, key: Key) -> Number:
        """The coefficient of a name."""


class SymbolicTerms(StudentTerms):
    """Coefficients of a student with a formula: in closed form, or by quadrature."""

    def __init__(
        self,
        outputs: Sequence[sympy.Expr],
        fields: Sequence[sympy.Symbol],
        axes: sympy.Matrix,
        symmetry: StudentSymmetry,
    ) -> None:
        import sympy

        from ssiode.hermite.sources import coefficient_source

        self.n_outputs = len(outputs)
        self.axes = axes
        self.symmetry = symmetry
        square = sympy.Add(*(output**2 for output in outputs))
        self._sources = [coefficient_source(function, fields) for function in (*outputs, square)]
        endless = [source for source in self._sources if source.highest_order is None]
        self.last_order = min((source.last_order for source in endless), default=10**6)
        degrees = [source.highest_order for source in self._sources[:-1]]
        self.highest_order = None if None in degrees else max(degrees)
        is_numeric = any(source.is_numeric for source in self._sources)
        self.how = "quadrature of its formula" if is_numeric else "closed forms"
        self._known: dict[tuple[int, int], dict[Beta, Number]] = {}

    def number(self, key: Key) -> Number:
        """See :meth:`StudentTerms.number`."""
        function, beta = key
        place = (function, sum(beta))
        if place not in self._known:
            source, order = self._sources[function], sum(beta)
            is_beyond = source.highest_order is not None and order > source.highest_order
            found = () if is_beyond else source.coefficients(order)
            self._known[place] = {c.alpha: Number.of_coefficient(c) for c in found}
        return self._known[place].get(beta, zero())


def student_terms(problem: Problem) -> StudentTerms:
    """Return the coefficients of a problem's student: by its formula if it has one.

    Examples
    --------
    >>> from ssiode import LinearAttention, Problem, Target
    >>> terms = student_terms(Problem(Target("He2(z1) + He2(z2)"), LinearAttention()))
    >>> terms.number((0, (2,))).exact, terms.how
    (2, 'closed forms')
    """
    constants = problem.student.constant_outputs(problem.length)
    if constants is not None:
        return _constant_terms(problem, constants)
    form = problem.student.symbolic_form(problem.length)
    if form is None:
        from ssiode.risk_landscape.at_origin.tabulated_terms import TabulatedTerms

        return TabulatedTerms(problem)
    from ssiode.population_risk.symbolic import exact

    injected = [exact(x) for x in problem.geometry.injected.tolist()]
    shifts = [
        total(Number.of_exact(entry * x) for entry, x in zip(row, injected, strict=True)).exact
        for row in form.axes.tolist()
    ]
    moved = {y: y + shift for y, shift in zip(form.fields, shifts, strict=True)}
    outputs = [output.subs(moved, simultaneous=True) for output in form.outputs]
    # Along a single direction there is nothing to permute.
    is_along_tokens = form.axes.rows == problem.length
    symmetry = StudentSymmetry.of(problem) if is_along_tokens else StudentSymmetry(((0,),), None)
    return SymbolicTerms(outputs, form.fields, form.axes, symmetry)


def _constant_terms(problem: Problem, outputs: Sequence[float]) -> StudentTerms:
    """Of a student that ignores its fields."""
    import sympy

    from ssiode.expression import token_symbols
    from ssiode.population_risk.symbolic import exact

    axes = sympy.eye(problem.length)
    symmetry = StudentSymmetry.of(problem)
    fields = token_symbols(problem.length)
    return SymbolicTerms([exact(x) for x in outputs], fields, axes, symmetry)
