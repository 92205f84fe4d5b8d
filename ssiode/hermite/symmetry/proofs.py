r"""Proofs that Hermite coefficients vanish or agree, from symmetries of the target.

If :math:`g(Tz) = \chi\,g(z)` for a signed permutation :math:`(Tz)_l = s_l z_{\pi(l)}`, then

.. math:: c_\alpha = E[g(Tz) He_\alpha(Tz)] = \chi \prod_l s_l^{\alpha_l}\; c_{\alpha'},
          \qquad \alpha'_{\pi(l)} = \alpha_l,

because Tz has the law of z. A cycle of such equations with sign -1 proves a zero. A symmetry is
accepted only if both sides have one canonical form; numbers merely choose what is tried.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import sympy

from ssiode.hermite.symmetry.canonical import MAX_WORK, CanonicalForms
from ssiode.hermite.symmetry.form_algebra import Form, Monomial, TooLargeError
from ssiode.hermite.symmetry.signed_permutations import SignedPermutation, find_symmetries

Alpha = tuple[int, ...]

_MAX_ORBIT = 3000
_MAX_LISTED = 8


@dataclass(frozen=True)
class Symmetry:
    r"""What is known of a target by symmetry.

    Attributes
    ----------
    tokens : tuple of sympy.Symbol
        z1, ..., zL.
    terms : tuple of frozenset
        The sets of tokens that occur together in a term; empty if nothing is known.
    generators : tuple of SignedPermutation
        Proved symmetries, flips of single tokens first.
    is_known : bool
        False if the target is too large to look at: then nothing is proved.

    Examples
    --------
    >>> from ssiode.expression import token_symbols
    >>> z = token_symbols(3)
    >>> symmetry = Symmetry.of(sympy.tanh(z[0]) + sympy.cos(z[1]), z)
    >>> symmetry.zero_reason((2, 0, 0)), symmetry.zero_reason((0, 1, 0))
    ('every term is even or odd and so vanishes', 'even in z2')
    >>> symmetry.zero_reason((1, 1, 0)), symmetry.zero_reason((0, 0, 1))
    ('no term couples z1 and z2', 'does not depend on z3')
    >>> symmetry.zero_reason((1, 0, 0)) is None
    True
    """

    tokens: tuple[sympy.Symbol, ...]
    terms: tuple[frozenset[int], ...]
    generators: tuple[SignedPermutation, ...]
    is_known: bool = True
    _forms: CanonicalForms | None = field(default=None, repr=False, compare=False)
    _form: Form = field(default_factory=dict, repr=False, compare=False)
    _characters: dict = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(
        cls, expression: sympy.Expr, tokens: Sequence[sympy.Symbol], budget: int = MAX_WORK
    ) -> Symmetry:
        """Find the symmetries of an expression.

        Parameters
        ----------
        expression : sympy.Expr
            The target g.
        tokens : sequence of sympy.Symbol
            z1, ..., zL.
        budget : int
            Elementary steps of algebra that may be spent; what takes more is not proved.
        """
        forms = CanonicalForms(tokens, budget)
        try:
            form = forms.of(expression)
        except TooLargeError:
            return cls(tuple(tokens), (), (), is_known=False)
        terms = tuple({forms.tokens_of(monomial): None for monomial in form})
        used = sorted(frozenset().union(*terms))
        generators = tuple(find_symmetries(expression, tokens, used, forms, form))
        # Proofs on single terms get a share of their own, whatever the search has spent.
        forms.budget = budget
        return cls(tuple(tokens), terms, generators, True, forms, form)

    def zero_reason(self, alpha: Alpha) -> str | None:
        """Return why c_alpha is zero, or None if no proof is found.

        Parameters
        ----------
        alpha : tuple of int
            The multi-index, one order per token.

        Examples
        --------
        >>> from ssiode.expression import token_symbols
        >>> z = token_symbols(2)
        >>> Symmetry.of(sympy.tanh(z[0] - z[1]), z).zero_reason((1, 1))
        'odd in all tokens together'
        >>> Symmetry.of(sympy.exp(z[0]) - sympy.exp(z[1]), z).zero_reason((0, 0))
        'antisymmetric under z1 <-> z2'
        """
        if not self.is_known:
            return None
        return (
            self._missing_reason(alpha)
            or self._generator_reason(alpha)
            or self._term_reason(alpha)
            or self._cycle_reason(alpha)
        )

    def equivalent_alphas(self, alpha: Alpha) -> dict[Alpha, int]:
        """Return the multi-indices whose coefficient is that of `alpha`, up to the sign given.

        Examples
        --------
        >>> from ssiode.expression import token_symbols
        >>> z = token_symbols(2)
        >>> Symmetry.of(sympy.exp(z[0]) - sympy.exp(z[1]), z).equivalent_alphas((1, 0))
        {(1, 0): 1, (0, 1): -1}
        """
        return self._orbit(alpha)[0]

    def representative(self, alpha: Alpha) -> tuple[Alpha, int]:
        """Return one multi-index of the orbit, the same for all of it, and the sign to it.

        c_alpha = sign * c_representative.
        """
        orbit = self.equivalent_alphas(alpha)
        if len(orbit) >= _MAX_ORBIT:
            return alpha, 1
        first = max(orbit)
        return first, orbit[first]

    def _orbit(self, alpha: Alpha) -> tuple[dict[Alpha, int], bool]:
        """Signs by multi-index, and whether a cycle has the sign -1."""
        signs, pending = {alpha: 1}, [alpha]
        while pending and len(signs) < _MAX_ORBIT:
            here = pending.pop()
            for generator in self.generators:
                there, sign = generator.act(here)
                sign *= signs[here]
                if there not in signs:
                    signs[there] = sign
                    pending.append(there)
                elif signs[there] != sign:
                    return signs, True
        return signs, False

    def _missing_reason(self, alpha: Alpha) -> str | None:
        if not self._form:
            return "the target is the constant 0"
        support = {index for index, order in enumerate(alpha) if order}
        for index in sorted(support - frozenset().union(*self.terms)):
            return f"does not depend on {self.tokens[index]}"
        if not any(support <= term for term in self.terms):
            return f"no term couples {self._listed(sorted(support))}"
        return None

    def _generator_reason(self, alpha: Alpha) -> str | None:
        for generator in self.generators:
            there, sign = generator.act(alpha)
            if there == alpha and sign < 0:
                return generator.describe(self.tokens, self._used())
        return None

    def _cycle_reason(self, alpha: Alpha) -> str | None:
        if self._orbit(alpha)[1]:
            return "antisymmetric under exchanges and sign flips of tokens"
        return None

    def _term_reason(self, alpha: Alpha) -> str | None:
        """Integrate polynomial factors of their own tokens exactly, term by term."""
        try:
            left = self._contracted(alpha)
            if not left:
                return f"no term contains {self._hermite_text(alpha)}"
            if all(self._vanishes(monomial, alpha) for monomial in left):
                return "every term is even or odd and so vanishes"
        except TooLargeError:
            return None
        return None

    def _contracted(self, alpha: Alpha) -> Mapping[Monomial, Fraction]:
        forms = self._known_forms()
        left: dict[Monomial, Fraction] = {}
        for monomial, value in self._form.items():
            powers, rest = forms.powers_of(monomial)
            bound = forms.tokens_of(rest)
            free = {i: powers.get(i, 0) for i in range(len(alpha)) if i not in bound}
            if not all(powers.get(i) or not order for i, order in enumerate(alpha) if i in free):
                continue
            factor = math.prod(_moment(p, alpha[i]) for i, p in free.items() if p or alpha[i])
            kept = tuple(sorted((*rest, *((i, p) for i, p in powers.items() if i in bound))))
            left[kept] = left.get(kept, 0) + value * factor
        return {monomial: value for monomial, value in left.items() if value}

    def _vanishes(self, monomial: Monomial, alpha: Alpha) -> bool:
        """Whether flipping one of its tokens, or all, maps a term times He_alpha to minus it."""
        bound = self._known_forms().tokens_of(monomial)
        for flipped in (*(frozenset({i}) for i in sorted(bound)), bound):
            character = self._flip_character(monomial, flipped)
            if character is not None and character * (-1) ** sum(alpha[i] for i in flipped) < 0:
                return True
        return False

    def _flip_character(self, monomial: Monomial, flipped: frozenset[int]) -> int | None:
        key = (monomial, flipped)
        if key not in self._characters:
            images = tuple((i, -1 if i in flipped else 1) for i in range(len(self.tokens)))
            form = {monomial: 1}
            self._characters[key] = self._known_forms().character(form, images)
        return self._characters[key]

    def _known_forms(self) -> CanonicalForms:
        if self._forms is None:
            raise TooLargeError
        return self._forms

    def _used(self) -> frozenset[int]:
        return frozenset().union(*self.terms)

    def _listed(self, indices: Sequence[int]) -> str:
        names = [str(self.tokens[index]) for index in indices]
        if len(names) > _MAX_LISTED:
            return f"these {len(names)} tokens"
        return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"

    def _hermite_text(self, alpha: Alpha) -> str:
        factors: Iterator[str] = (
            f"He{order}({token})" for token, order in zip(self.tokens, alpha, strict=True) if order
        )
        return "*".join(factors) or "the constant 1"


def _moment(power: int, order: int) -> int:
    """E[x^p He_n(x)] = p! / (2^m m!), m = (p - n)/2."""
    if power < order or (power - order) % 2:
        return 0
    half = (power - order) // 2
    return math.factorial(power) // (2**half * math.factorial(half))
