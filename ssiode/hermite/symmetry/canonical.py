r"""A canonical form of expressions, in which identities of symmetry can be read off.

A form is a sum of rationals times products of powers of atoms: tokens, constants and functions of
forms. Functions are rewritten so that few atoms remain and each of them is odd, even or neither:

.. math:: |x| = x\,s(x), \quad relu(x) = \frac{x + x\,s(x)}{2}, \quad
          \sigma(x) = \frac{1 + \tanh(x/2)}{2}, \quad \cosh x = \frac{e^x + e^{-x}}{2}

with s the sign. Equal forms are equal functions; different forms may be equal functions too. Every
step counts against a budget, so that nothing takes long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import sympy

from ssiode.expression.functions import He, hermite_powers, relu, sigmoid
from ssiode.hermite.symmetry.form_algebra import (
    Form,
    FormAlgebra,
    TooLargeError,
    constant,
    frozen,
    negative,
    scaled,
)

Images = tuple[tuple[int, int], ...]

MAX_WORK = 100_000
_ODD = {sympy.sin: "sin", sympy.tan: "tan", sympy.tanh: "tanh", sympy.erf: "erf"}
_HALF = Fraction(1, 2)


class CanonicalForms(FormAlgebra):
    """Forms of expressions in the same tokens, with one table of atoms.

    Parameters
    ----------
    tokens : sequence of sympy.Symbol
        z1, ..., zL.
    budget : int
        How many elementary steps may be taken before :class:`TooLargeError`.

    Examples
    --------
    >>> x = sympy.Symbol("x", real=True)
    >>> forms = CanonicalForms([x])
    >>> forms.of(sigmoid(x) + sigmoid(-x)) == forms.of(sympy.S.One)
    True
    """

    def __init__(self, tokens: Sequence[sympy.Symbol], budget: int = MAX_WORK) -> None:
        super().__init__(len(tokens), budget)
        self._positions = {token: index for index, token in enumerate(tokens)}

    def of(self, expression: sympy.Expr) -> Form:
        """Return the form of an expression.

        Raises
        ------
        TooLargeError
            If the budget is spent or the expression is nested too deeply.
        """
        try:
            return self._build(expression, {})
        except RecursionError as error:
            raise TooLargeError from error

    def transformed(self, form: Form, images: Images) -> Form:
        """Return the form of g(Tz), (Tz)_l = sign_l z_(index_l), from that of g(z).

        Parameters
        ----------
        form : dict
            The form of g.
        images : tuple
            (index_l, sign_l) for each token.
        """
        try:
            return self._transformed(form, images, {})
        except RecursionError as error:
            raise TooLargeError from error

    def character(self, form: Form, images: Images) -> int | None:
        """Return 1 if g(Tz) = g(z), -1 if g(Tz) = -g(z), None if neither is seen."""
        moved = self.transformed(form, images)
        if moved == form:
            return 1
        return -1 if moved == negative(form) else None

    def _build(self, node: sympy.Expr, known: dict[sympy.Expr, Form]) -> Form:
        if node not in known:
            self._spend(1)
            known[node] = self._build_new(node, known)
        return known[node]

    def _build_new(self, node: sympy.Expr, known: dict[sympy.Expr, Form]) -> Form:
        if node.is_Rational:
            return constant(Fraction(int(node.p), int(node.q)))
        if node in self._positions:
            return {((self._positions[node], 1),): 1}
        if node.is_Atom and node is not sympy.E:
            return self._single(("constant", node))
        if isinstance(node, He):
            return self._hermite(node.args[0], self._build(node.args[1], known))
        if node.is_Pow and not isinstance(node, sympy.exp):
            return self._raised(node, known)
        arguments = [self._build(argument, known) for argument in node.args]
        rule = _RULES.get(type(node))
        if rule is not None:
            return rule(self, *arguments)
        if type(node) in _ODD or type(node) is sympy.cos:
            return self.with_parity(_ODD.get(type(node), "cos"), arguments[0])
        return self._other(type(node), arguments)

    def _other(self, function: type, arguments: list[Form]) -> Form:
        return self._single(("other", function, *map(frozen, arguments)), *arguments)

    def _raised(self, node: sympy.Pow, known: dict[sympy.Expr, Form]) -> Form:
        base, exponent = node.as_base_exp()
        if exponent.is_Integer:
            return self.power(self._build(base, known), int(exponent))
        if exponent.is_Rational:
            return self._root(self._build(base, known), exponent)
        logarithm = self.logarithm(self._build(base, known))
        if base is sympy.E:
            logarithm = constant(1)
        return self.exponential(self.multiply(self._build(exponent, known), logarithm))

    def _root(self, base: Form, exponent: sympy.Rational) -> Form:
        return self._single(("root", frozen(base), exponent), base)

    def heaviside(self, argument: Form, at_zero: Form) -> Form:
        """Return (1 + s)/2 + (h - 1/2) (1 - s^2) with h the value at 0."""
        sign = self.sign(argument)
        one = constant(1)
        vanishing = self.add(one, negative(self.multiply(sign, sign)))
        jump = self.multiply(self.add(at_zero, constant(-_HALF)), vanishing)
        return self.add(scaled(self.add(one, sign), _HALF), jump)

    def maximum(self, *arguments: Form) -> Form:
        """Return (a + b + |a - b|)/2, or an atom for more than two arguments."""
        if len(arguments) == 1:
            return arguments[0]
        if len(arguments) == 2:
            difference = self.add(arguments[0], negative(arguments[1]))
            return scaled(self.add(*arguments, self.absolute(difference)), _HALF)
        return self._single(("max", frozenset(map(frozen, arguments))), *arguments)

    def minimum(self, *arguments: Form) -> Form:
        """Return -max(-a, -b, ...)."""
        return negative(self.maximum(*map(negative, arguments)))

    def rectified(self, argument: Form) -> Form:
        """Return (x + |x|)/2."""
        return scaled(self.add(argument, self.absolute(argument)), _HALF)

    def hyperbolic(self, argument: Form, sign: int) -> Form:
        """Return cosh (sign 1) or sinh (sign -1)."""
        falling = scaled(self.exponential(negative(argument)), sign)
        return scaled(self.add(self.exponential(argument), falling), _HALF)

    def _hermite(self, order: sympy.Expr, argument: Form) -> Form:
        if not order.is_Integer:
            raise TooLargeError
        n = int(order)
        if len(argument) <= 1:
            powers = hermite_powers(n).items()
            return self.add(*[scaled(self.power(argument, p), c) for p, c in powers])
        if argument[min(argument)] < 0:
            return scaled(self._hermite(order, negative(argument)), (-1) ** n)
        return self._single(("He", frozen(argument), order), argument)

    def _transformed(self, form: Form, images: Images, known: dict[int, Form]) -> Form:
        terms = []
        for monomial, value in form.items():
            factors = []
            for atom, exponent in monomial:
                if atom not in known:
                    self._spend(1)
                    known[atom] = self._moved_atom(atom, images, known)
                factors.append(self._moved_power(atom, known[atom], exponent))
            terms.append(scaled(self.multiply(*factors), value))
        return self.add(*terms)

    def _moved_power(self, atom: int, moved: Form, exponent: Fraction) -> Form:
        if exponent == 1:
            return moved
        if exponent.denominator == 1 and self._keys[atom][0] != "exp":
            return self.power(moved, int(exponent))
        # The image of exp(m) is exp(m') or exp(-m'), one atom with one exponent.
        ((monomial, _),) = moved.items()
        return {tuple((a, e * exponent) for a, e in monomial): 1}

    def _moved_atom(self, atom: int, images: Images, known: dict[int, Form]) -> Form:
        if not self._atom_tokens[atom]:
            return {((atom, 1),): 1}
        kind, *arguments = self._keys[atom]

        def move(frozen_form: tuple) -> Form:
            return self._transformed(dict(frozen_form), images, known)

        if kind == "token":
            index, sign = images[arguments[0]]
            return {((index, 1),): sign}
        if kind == "exp":
            return self.exponential(self._transformed({arguments[0]: 1}, images, known))
        if kind == "sign":
            return self.sign(move(arguments[0]))
        if kind == "sum":
            return self._wrapped(move(arguments[0]))
        if kind == "max":
            return self.maximum(*map(move, arguments[0]))
        if kind == "log":
            return self.logarithm(move(arguments[0]))
        if kind == "root":
            return self._root(move(arguments[0]), arguments[1])
        if kind == "He":
            return self._hermite(arguments[1], move(arguments[0]))
        if kind == "other":
            return self._other(arguments[0], list(map(move, arguments[1:])))
        return self.with_parity(kind, move(arguments[0]))


_RULES: dict[type, Callable[..., Form]] = {
    sympy.Add: CanonicalForms.add,
    sympy.Mul: CanonicalForms.multiply,
    sympy.exp: CanonicalForms.exponential,
    type(sympy.E): lambda forms: forms.exponential(constant(1)),
    sympy.log: CanonicalForms.logarithm,
    sympy.Abs: CanonicalForms.absolute,
    sympy.sign: CanonicalForms.sign,
    sympy.Heaviside: CanonicalForms.heaviside,
    sympy.Max: CanonicalForms.maximum,
    sympy.Min: CanonicalForms.minimum,
    sympy.cosh: lambda forms, x: forms.hyperbolic(x, 1),
    sympy.sinh: lambda forms, x: forms.hyperbolic(x, -1),
    relu: CanonicalForms.rectified,
    sigmoid: CanonicalForms.logistic,
}
