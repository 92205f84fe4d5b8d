r"""Symmetric tensors of Hermite coefficients, kept as their distinct entries.

.. math:: (C_n)_{i_1 \dots i_n} = c_\alpha, \qquad \alpha_l = \#\{j : i_j = l\}, \qquad
          \langle C_n, u^{\otimes n} \rangle = \sum_{|\alpha| = n} \frac{n!}{\alpha!}
          c_\alpha u^\alpha

(Arnaboldi et al., arXiv 2506.02651, sections 3 and 5).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import sympy

from ssiode.errors import InputError, whole_number
from ssiode.hermite.coefficient import Coefficient, Verdict

Alpha = tuple[int, ...]

MAX_ARRAY = 4_000_000
_ROUNDING = 2.0**-52
_EXPANDED = 2_000


class Estimate(NamedTuple):
    """A number, a bound of its error, and its exact value if that is known.

    Attributes
    ----------
    value, error : float
        The exact value lies within `error` of `value`.
    exact : sympy.Expr or None
        The exact value.
    """

    value: float
    error: float
    exact: sympy.Expr | None = None

    @property
    def verdict(self) -> Verdict:
        """Whether the number is zero: proved, disproved, or neither."""
        if self.exact is not None and self.exact.is_zero:
            return Verdict.ZERO
        if self.exact is None and self.value == self.error == 0.0:
            return Verdict.ZERO
        return Verdict.NONZERO if abs(self.value) > self.error else Verdict.UNDECIDED


@dataclass(frozen=True)
class SymmetricTensor:
    r"""A symmetric tensor of order n on :math:`R^L`, sparse.

    Parameters
    ----------
    order, length : int
        n >= 1 and L >= 1.
    entries : mapping
        The values :math:`c_\alpha` that are not zero by multi-index of L orders with sum n, all
        exact (SymPy expressions, whole numbers) or all or partly floats.
    errors : mapping
        Bounds of the errors of floats, by multi-index; 0 where none is given.

    Raises
    ------
    InputError
        If a multi-index or a value does not fit.

    Examples
    --------
    The tensor of z1*z2, whose matrix has 1 off the diagonal.

    >>> tensor = SymmetricTensor(2, 2, {(1, 1): 1})
    >>> tensor.array().tolist(), tensor.along_ones().exact, tensor.frobenius_norm().exact
    ([[0.0, 1.0], [1.0, 0.0]], 1, sqrt(2))
    """

    order: int
    length: int
    entries: Mapping[Alpha, sympy.Expr | float]
    errors: Mapping[Alpha, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        whole_number("order of the tensor", self.order, minimum=1)
        whole_number("length of the tensor", self.length, minimum=1)
        entries = {}
        for alpha, given in self.entries.items():
            if len(alpha) != self.length or sum(alpha) != self.order or min(alpha) < 0:
                raise InputError(
                    f"{alpha} is no multi-index of order {self.order} for {self.length} tokens"
                )
            value = _entry(given)
            error = self.errors.get(alpha, 0.0)
            if not error >= 0:
                raise InputError(f"the error of entry {alpha} is {error}; it must be >= 0")
            if error or value != 0:
                entries[tuple(alpha)] = value
        object.__setattr__(self, "entries", entries)
        kept = {tuple(alpha): float(e) for alpha, e in self.errors.items() if alpha in entries}
        object.__setattr__(self, "errors", kept)

    @classmethod
    def of(cls, coefficients: Iterable[Coefficient]) -> SymmetricTensor:
        """Return the tensor of the coefficients of one order, those left out being zero.

        Raises
        ------
        InputError
            If there is no coefficient, or they are of several orders.
        """
        listed = list(coefficients)
        if not listed:
            raise InputError("a tensor needs one coefficient at least, which may be zero")
        kept = [c for c in listed if c.verdict is not Verdict.ZERO]
        entries = {c.alpha: c.value if c.exact is None else c.exact for c in kept}
        errors = {c.alpha: c.error for c in kept if c.exact is None}
        return cls(sum(listed[0].alpha), len(listed[0].alpha), entries, errors)

    @cached_property
    def is_exact(self) -> bool:
        """Whether all entries are exact."""
        return all(isinstance(value, sympy.Expr) for value in self.entries.values())

    @cached_property
    def values(self) -> dict[Alpha, float]:
        """The entries as floats."""
        return {alpha: float(value) for alpha, value in self.entries.items()}

    @cached_property
    def bounds(self) -> dict[Alpha, float]:
        """Bounds of the errors of :attr:`values`, the rounding of exact entries included."""
        return {
            alpha: self.errors.get(alpha, 0.0) + self._rounding(alpha) for alpha in self.entries
        }

    def _rounding(self, alpha: Alpha) -> float:
        value = self.entries[alpha]
        is_float = isinstance(value, float) or value == self.values[alpha]
        return 0.0 if is_float else _ROUNDING * abs(self.values[alpha])

    @cached_property
    def multiplicities(self) -> dict[Alpha, int]:
        """The numbers n!/alpha! of equal entries of the dense tensor."""
        return {alpha: multiplicity(alpha) for alpha in self.entries}

    def contract(self, vector: Sequence[Any]) -> Estimate:
        r"""Return :math:`\langle C, u^{\otimes n}\rangle`, the form at a vector.

        Parameters
        ----------
        vector : sequence of L numbers
            u; the result is exact if these are whole numbers or exact SymPy numbers and the
            entries are exact too.

        Examples
        --------
        >>> SymmetricTensor(2, 2, {(2, 0): 3, (1, 1): sympy.sqrt(2)}).contract([1, -1]).exact
        3 - 2*sqrt(2)
        """
        numbers = [_entry(number) for number in vector]
        if len(numbers) != self.length:
            raise InputError(f"the vector has {len(numbers)} entries; give {self.length}")
        exact = self.is_exact and all(isinstance(number, sympy.Expr) for number in numbers)
        floats = [float(number) for number in numbers]
        terms, error = [], 0.0
        for alpha, count in self.multiplicities.items():
            power = math.prod(x**n for x, n in zip(floats, alpha, strict=True) if n)
            terms.append(count * self.values[alpha] * power)
            rounding = (2 * self.order + 4) * _ROUNDING * abs(terms[-1])
            error += count * self.bounds[alpha] * abs(power) + rounding
        estimate = Estimate(math.fsum(terms), error)
        if not exact:
            return estimate
        symbols = [
            count * value * sympy.Mul(*[x**n for x, n in zip(numbers, alpha, strict=True) if n])
            for (alpha, value), count in zip(
                self.entries.items(), self.multiplicities.values(), strict=True
            )
        ]
        return _with_exact(estimate, sympy.Add(*symbols))

    def along_ones(self) -> Estimate:
        r"""Return :math:`\langle C, \hat 1^{\otimes n}\rangle` with :math:`\hat 1 = 1/\sqrt L`.

        It decides whether a network with tied weights sees the target at this order; 0 for
        pathological targets such as z1 - z2 (Arnaboldi et al., arXiv 2506.02651, Theorem 2).

        Examples
        --------
        >>> SymmetricTensor(3, 2, {(3, 0): 6, (0, 3): 6}).along_ones().exact
        3*sqrt(2)
        """
        total = self.contract([1] * self.length)
        scale = self.length ** (self.order / 2)
        rounding = 4 * _ROUNDING * abs(total.value) / scale
        estimate = Estimate(total.value / scale, total.error / scale + rounding)
        if total.exact is None:
            return estimate
        size = sympy.Integer(self.length) ** sympy.Rational(self.order, 2)
        return _with_exact(estimate, total.exact / size)

    def inner(self, other: SymmetricTensor) -> Estimate:
        r"""Return :math:`\langle C, C' \rangle / n! = \sum_\alpha c_\alpha c'_\alpha / \alpha!`.

        Raises
        ------
        InputError
            If the other tensor has another order or length.

        Examples
        --------
        >>> tensor = SymmetricTensor(2, 2, {(2, 0): 3, (1, 1): 5})
        >>> tensor.inner(SymmetricTensor(2, 2, {(2, 0): 2, (0, 2): 7})).exact
        3
        """
        if (self.order, self.length) != (other.order, other.length):
            raise InputError(
                f"the tensors are of orders {self.order}, {other.order} for {self.length} and "
                f"{other.length} tokens; these must be equal"
            )
        terms, error = [], 0.0
        shared = [alpha for alpha in self.entries if alpha in other.entries]
        for alpha in shared:
            weight = 1 / math.prod(map(math.factorial, alpha))
            a, b = self.values[alpha], other.values[alpha]
            terms.append(weight * a * b)
            spread = (
                abs(a) * other.bounds[alpha] + (abs(b) + other.bounds[alpha]) * self.bounds[alpha]
            )
            error += weight * spread + 4 * _ROUNDING * abs(terms[-1])
        estimate = Estimate(math.fsum(terms), error)
        if not (self.is_exact and other.is_exact):
            return estimate
        exact = [
            self.entries[alpha] * other.entries[alpha] / math.prod(map(math.factorial, alpha))
            for alpha in shared
        ]
        return _with_exact(estimate, sympy.Add(*exact))

    def frobenius_norm(self) -> Estimate:
        """Return the square root of the sum of the squares of all L^n entries."""
        weights = self.multiplicities
        value = math.hypot(*[math.sqrt(weights[a]) * c for a, c in self.values.items()])
        error = math.hypot(*[math.sqrt(weights[a]) * e for a, e in self.bounds.items()])
        rounding = 8 * _ROUNDING * value
        squares = None
        if self.is_exact:
            squares = sympy.Add(*[weights[a] * c**2 for a, c in self.entries.items()])
            squares = sympy.sqrt(_expanded(squares))
        return Estimate(value, error + rounding, squares)

    def parts(self) -> list[tuple[tuple[int, ...], SymmetricTensor]]:
        """Return the tensors on separate groups of tokens that this is the direct sum of.

        Returns
        -------
        list of pairs
            The tokens of a group, from 0, and the tensor on these. Tokens without an entry are
            in none.

        Examples
        --------
        >>> tensor = SymmetricTensor(2, 4, {(1, 1, 0, 0): 1, (0, 0, 0, 2): 3})
        >>> [(tokens, dict(part.entries)) for tokens, part in tensor.parts()]
        [((0, 1), {(1, 1): 1}), ((3,), {(2,): 3})]
        """
        groups: list[tuple[set[int], list[Alpha]]] = []
        for alpha in self.entries:
            joined, members, apart = set(indices(alpha)), [alpha], []
            for tokens, others in groups:
                if tokens & joined:
                    joined, members = joined | tokens, others + members
                else:
                    apart.append((tokens, others))
            groups = [*apart, (joined, members)]
        return sorted((self._part(tuple(sorted(t)), m) for t, m in groups), key=lambda p: p[0])

    def _part(
        self, tokens: tuple[int, ...], alphas: list[Alpha]
    ) -> tuple[tuple[int, ...], SymmetricTensor]:
        short = {alpha: tuple(alpha[token] for token in tokens) for alpha in alphas}
        entries = {short[alpha]: self.entries[alpha] for alpha in alphas}
        errors = {short[alpha]: e for alpha, e in self.errors.items() if alpha in short}
        return tokens, SymmetricTensor(self.order, len(tokens), entries, errors)

    def array(self) -> np.ndarray:
        """Return all entries as floats, an array with n axes of size L.

        Raises
        ------
        InputError
            If there are too many entries.
        """
        if self.length**self.order > MAX_ARRAY:
            raise InputError(
                f"the dense tensor has {self.length}^{self.order} entries; at most {MAX_ARRAY}"
            )
        dense = np.zeros((self.length,) * self.order)
        for alpha, value in self.values.items():
            for index in set(itertools.permutations(indices(alpha))):
                dense[index] = value
        return dense

    def matrix(self) -> sympy.Matrix | np.ndarray:
        """Return the L x L matrix of a tensor of order 2, exact if its entries are.

        Raises
        ------
        InputError
            If the order is not 2.

        Examples
        --------
        >>> SymmetricTensor(2, 2, {(1, 1): sympy.pi}).matrix()
        Matrix([
        [ 0, pi],
        [pi,  0]])
        """
        if self.order != 2:
            raise InputError(f"a tensor of order {self.order} is no matrix; the order must be 2")
        if not self.is_exact:
            return self.array()
        matrix = sympy.zeros(self.length, self.length)
        for alpha, value in self.entries.items():
            i, j = indices(alpha)
            matrix[i, j] = matrix[j, i] = value
        return matrix


def indices(alpha: Alpha) -> tuple[int, ...]:
    """Return the sorted indices of the entries that a multi-index stands for.

    Examples
    --------
    >>> indices((2, 0, 1))
    (0, 0, 2)
    """
    return tuple(token for token, count in enumerate(alpha) for _ in range(count))


def multiplicity(alpha: Alpha) -> int:
    """Return n!/alpha!, the number of entries that a multi-index stands for.

    Examples
    --------
    >>> multiplicity((2, 0, 1))
    3
    """
    return math.factorial(sum(alpha)) // math.prod(map(math.factorial, alpha))


def _entry(given: Any) -> sympy.Expr | float:
    """Return whole numbers and exact SymPy numbers as SymPy, everything else as a float."""
    if isinstance(given, int | np.integer):
        return sympy.Integer(int(given))
    if isinstance(given, sympy.Expr) and not given.has(sympy.Float):
        if given.free_symbols or given.is_real is False:
            raise InputError("an entry of a tensor is not a real number")
        return given
    value = float(given)
    if not math.isfinite(value):
        raise InputError(f"an entry of a tensor is {value}; it must be finite")
    return value


def _with_exact(estimate: Estimate, exact: sympy.Expr) -> Estimate:
    expanded = _expanded(exact)
    if expanded.is_zero:
        return Estimate(0.0, 0.0, sympy.S.Zero)
    return estimate._replace(exact=expanded)


def _expanded(exact: sympy.Expr) -> sympy.Expr:
    """Multiply out, so that equal terms cancel, unless that is long."""
    return sympy.expand(exact) if exact.count_ops() <= _EXPANDED else exact
