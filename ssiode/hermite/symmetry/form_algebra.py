r"""Sums of products of atoms with rational coefficients: the arithmetic of canonical forms."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from fractions import Fraction

Number = int | Fraction
Monomial = tuple[tuple[int, Number], ...]
Form = dict[Monomial, Number]

_MAX_TERMS = 600
_MAX_POWER_TERMS = 120
_MAX_BITS = 20_000
_HALF = Fraction(1, 2)
_PARITIES = {"sin": -1, "tan": -1, "tanh": -1, "erf": -1, "cos": 1}


class TooLargeError(Exception):
    """The budget is spent; nothing is known about the expression."""


class FormAlgebra:
    """A table of atoms and the arithmetic of forms in them.

    A form maps monomials, sorted pairs (atom, exponent), to their coefficients.

    Parameters
    ----------
    length : int
        Number of tokens L; they are the atoms 0, ..., L - 1.
    budget : int
        How many elementary steps may be taken before :class:`TooLargeError`.
    """

    def __init__(self, length: int, budget: int) -> None:
        self.budget = budget
        self._ids: dict[Hashable, int] = {}
        self._keys: list[tuple] = []
        self._atom_tokens: list[frozenset[int]] = []
        for index in range(length):
            self._atom(("token", index), frozenset({index}))

    def tokens_of(self, monomial: Monomial) -> frozenset[int]:
        """Return the tokens that a monomial depends on."""
        return frozenset().union(*[self._atom_tokens[atom] for atom, _ in monomial])

    def powers_of(self, monomial: Monomial) -> tuple[dict[int, int], Monomial]:
        """Split a monomial into whole powers of tokens and the rest."""
        powers, rest = {}, []
        for atom, exponent in monomial:
            kind, *arguments = self._keys[atom]
            if kind == "token" and exponent > 0:
                powers[arguments[0]] = int(exponent)
            else:
                rest.append((atom, exponent))
        return powers, tuple(rest)

    def _spend(self, amount: int) -> None:
        self.budget -= amount
        if self.budget < 0:
            raise TooLargeError

    def _atom(self, key: tuple, tokens: frozenset[int]) -> int:
        if key not in self._ids:
            self._ids[key] = len(self._keys)
            self._keys.append(key)
            self._atom_tokens.append(tokens)
        return self._ids[key]

    def _single(self, key: tuple, *arguments: Form) -> Form:
        tokens = frozenset().union(*[self.tokens_of(m) for form in arguments for m in form])
        return {((self._atom(key, tokens), 1),): 1}

    def add(self, *forms: Form) -> Form:
        """Return a sum."""
        total: Form = {}
        for form in forms:
            self._spend(len(form))
            for monomial, value in form.items():
                total[monomial] = total.get(monomial, 0) + value
        return {monomial: value for monomial, value in total.items() if value}

    def multiply(self, *forms: Form) -> Form:
        """Return a product, multiplied out while it is short."""
        product = constant(1)
        for form in forms:
            if len(product) * len(form) > _MAX_TERMS:
                product, form = self._wrapped(product), self._wrapped(form)
            self._spend(len(product) * len(form) * (1 + len(min(product, default=()))))
            total: Form = {}
            for a, p in product.items():
                for b, q in form.items():
                    monomial = self._joined(a, b)
                    total[monomial] = total.get(monomial, 0) + p * q
            product = {monomial: value for monomial, value in total.items() if value}
        return product

    def _joined(self, left: Monomial, right: Monomial) -> Monomial:
        if not left or not right:
            return left or right
        exponents = dict(left)
        for atom, exponent in right:
            exponents[atom] = exponents.get(atom, 0) + exponent
        return self._monomial(exponents)

    def _monomial(self, exponents: Mapping[int, Number]) -> Monomial:
        reduced = {}
        for atom, exponent in exponents.items():
            if self._keys[atom][0] == "sign":
                exponent = self._sign_power(atom, exponent)
            if exponent:
                reduced[atom] = _plain(exponent)
        return tuple(sorted(reduced.items()))

    def _sign_power(self, atom: int, exponent: Number) -> Number:
        if self._is_nonzero(atom):
            return exponent % 2
        # s^3 = s even where the argument vanishes, s^2 = 1 need not hold there.
        return exponent if exponent < 3 else 2 - exponent % 2

    def _is_nonzero(self, atom: int) -> bool:
        """Whether a sign is that of a polynomial: then it is 0 on a null set only."""
        argument = self._keys[atom][1]
        return all(
            self._keys[a][0] == "token" and e > 0 for monomial, _ in argument for a, e in monomial
        )

    def _wrapped(self, form: Form) -> Form:
        """Return a long sum as one atom times its leading coefficient."""
        if len(form) <= 1:
            return form
        centre, form = self._centred(form)
        scale, monic = _monic(form)
        atom = scaled(self._single(("sum", frozen(monic)), monic), scale)
        return self.multiply({centre: 1}, atom)

    def _centred(self, form: Form) -> tuple[Monomial, Form]:
        """Take exponentials out of a sum so that their exponents lie evenly around 0.

        1 + exp(x) = exp(x/2) (exp(-x/2) + exp(x/2)).
        """
        ranges: dict[int, list[Number]] = {}
        for monomial in form:
            for atom, exponent in monomial:
                if self._keys[atom][0] == "exp":
                    ranges.setdefault(atom, []).append(exponent)
        centre = {}
        for atom, exponents in ranges.items():
            if len(exponents) < len(form):
                exponents.append(0)
            centre[atom] = Fraction(min(exponents) + max(exponents)) / 2
        inverse = self._monomial({atom: -exponent for atom, exponent in centre.items()})
        return self._monomial(centre), self.multiply({inverse: 1}, form)

    def logarithm(self, argument: Form) -> Form:
        """Return the logarithm, with exponentials taken out of it."""
        centre, rest = self._centred(argument)
        terms = [{self._keys[atom][1]: exponent} for atom, exponent in centre]
        if rest != constant(1):
            terms.append(self._single(("log", frozen(rest)), rest))
        return self.add(*terms)

    def _two_exponentials(self, form: Form) -> Form | None:
        """Return 1/(c e^a + c e^b) = e^(-a) (1 + tanh((a - b)/2))/(2 c), None for other sums."""
        if len(form) != 2 or len(set(form.values())) != 1:
            return None
        if any(self._keys[atom][0] != "exp" for monomial in form for atom, _ in monomial):
            return None
        first, second = ({self._keys[a][1]: e for a, e in monomial} for monomial in form)
        rising = self.logistic(self.add(first, negative(second)))
        (value, _) = form.values()
        return scaled(self.multiply(self.exponential(negative(first)), rising), Fraction(1) / value)

    def power(self, base: Form, exponent: int) -> Form:
        """Return a whole power, multiplied out while it is short."""
        if exponent == 0:
            return constant(1)
        if exponent < 0 and (inverse := self._two_exponentials(base)) is not None:
            return self.power(inverse, -exponent)
        terms = math.comb(min(len(base), 10**4) + abs(exponent) - 1, abs(exponent))
        if len(base) > 1 and (exponent < 0 or terms > _MAX_POWER_TERMS):
            base = self._wrapped(base)
        if len(base) == 1:
            ((monomial, value),) = base.items()
            bits = (value.numerator.bit_length() + value.denominator.bit_length()) * abs(exponent)
            if bits > _MAX_BITS:
                raise TooLargeError
            exponents = {atom: e * exponent for atom, e in monomial}
            return {self._monomial(exponents): _plain(Fraction(value) ** exponent)}
        if not base and exponent < 0:
            raise TooLargeError
        result = constant(1)
        for _ in range(exponent):
            result = self.multiply(result, base)
        return result

    def exponential(self, exponent: Form) -> Form:
        """Return e to the power of a form, one factor for each of its terms."""
        exponents = {}
        for monomial, value in exponent.items():
            exponents[self._atom(("exp", monomial), self.tokens_of(monomial))] = value
        return {self._monomial(exponents): 1}

    def sign(self, argument: Form) -> Form:
        """Return the sign of a form, of each factor if it is a product."""
        if not argument:
            return {}
        scale, monic = _monic(argument)
        outer = constant(1 if scale > 0 else -1)
        if len(monic) > 1:
            return self.multiply(outer, self._single(("sign", frozen(monic)), monic))
        ((monomial, _),) = monic.items()
        exponents = {}
        for atom, exponent in monomial:
            key = self._keys[atom]
            if key[0] == "exp" or (key[0] == "constant" and key[1].is_positive):
                continue
            if key[0] == "root" and not self._atom_tokens[atom]:
                continue
            if key[0] == "sign":
                exponents[atom] = exponent
                continue
            one: Form = {((atom, 1),): 1}
            sign = self._atom(("sign", frozen(one)), self._atom_tokens[atom])
            exponents[sign] = 2 - exponent % 2
        return self.multiply(outer, {self._monomial(exponents): 1})

    def absolute(self, argument: Form) -> Form:
        """Return x s(x)."""
        return self.multiply(argument, self.sign(argument))

    def logistic(self, argument: Form) -> Form:
        """Return (1 + tanh(x/2))/2."""
        tangent = self.with_parity("tanh", scaled(argument, _HALF))
        return scaled(self.add(constant(1), tangent), _HALF)

    def with_parity(self, name: str, argument: Form) -> Form:
        """Return an odd or even function of a form, with the sign of its argument taken out."""
        parity = _PARITIES[name]
        if not argument:
            return {} if parity < 0 else constant(1)
        if argument[min(argument)] < 0:
            return scaled(self.with_parity(name, negative(argument)), parity)
        return self._single((name, frozen(argument)), argument)


def constant(value: Number) -> Form:
    """Return the form of a rational."""
    return {(): _plain(value)} if value else {}


def scaled(form: Form, factor: Number) -> Form:
    """Return a form times a rational."""
    return {m: _plain(v * factor) for m, v in form.items()} if factor else {}


def negative(form: Form) -> Form:
    """Return minus a form."""
    return {monomial: -value for monomial, value in form.items()}


def frozen(form: Form) -> tuple:
    """Return a form as a key of dictionaries."""
    return tuple(sorted(form.items()))


def _plain(value: Number) -> Number:
    # Whole numbers as int: arithmetic on Fraction is many times slower.
    return value.numerator if value.denominator == 1 else value


def _monic(form: Form) -> tuple[Number, Form]:
    scale = form[min(form)]
    return scale, {monomial: _plain(Fraction(value) / scale) for monomial, value in form.items()}
