r"""Exact constants: rationals times roots, powers of pi, exponentials and error functions.

A constant is a sum of rationals times monomials

.. math:: r^{1/n}\,\pi^{k/2}\,i^{b}\,e^{E}\,\mathrm{erf}(x_1)\cdots\mathrm{erf}(x_m).

Roots whose ratio is rational are one root, exponents are added exactly, and the error function is
odd, so each monomial has one name. Real roots whose ratios are irrational are independent over
the rationals (Besicovitch 1940), and exponentials of different algebraic exponents are
independent over the algebraic numbers (Lindemann and Weierstrass): without error functions and
with algebraic exponents, a constant is zero if and only if its sum is empty.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import sympy
from sympy import QQ

from ssiode.errors import InputError
from ssiode.hermite.closed_form.enclosure import magnitude
from ssiode.hermite.closed_form.radicals import rational_root, without_powers

MAX_ROOT_ORDER = 24
MAX_ROOTS = 64
MAX_CONSTANT_TERMS = 2000
MAX_CONSTANT_BITS = 30_000
MAX_GROWTH_EXPONENT = 100_000
MAX_PHASE = 10**9
_MAX_INVERTED = 32

# Numbers of the root, of half powers of pi, of i, of the exponential and of the error functions.
Key = tuple[int, int, int, int, int]
Constant = dict[Key, Any]
Frozen = tuple[tuple[Key, Any], ...]
ONE: Key = (0, 0, 0, 0, 0)
_PI: Key = (0, 2, 0, 0, 0)
_PHASE: Key = (0, 2, 1, 0, 0)


class NoClosedForm(InputError):
    """A target has no closed form among the known families; the message names the part."""


def freeze(constant: Constant) -> Frozen:
    """Return a constant as something that can be compared and hashed."""
    return tuple(sorted(constant.items()))


def rational(numerator: int, denominator: int = 1) -> Constant:
    """Return a rational as a constant.

    Examples
    --------
    >>> rational(0)
    {}
    """
    return {ONE: QQ(numerator, denominator)} if numerator else {}


def add(left: Constant, right: Constant) -> Constant:
    """Return the sum of two constants."""
    if not left:
        return right
    total = dict(left)
    for key, value in right.items():
        now = total.get(key, 0) + value
        if now:
            total[key] = now
        else:
            total.pop(key, None)
    return total


def scale(constant: Constant, factor: Any) -> Constant:
    """Return a rational or whole multiple of a constant."""
    if factor == 1:
        return constant
    return {key: value * factor for key, value in constant.items()} if factor else {}


def is_real(constant: Constant) -> bool:
    """Tell whether no i occurs outside exponents."""
    return not any(key[2] for key in constant)


class Field:
    """The constants of one target, with the roots, exponents and error functions they use.

    Examples
    --------
    >>> field = Field()
    >>> root = field.root(QQ(2), 2)
    >>> field.multiply(root, root) == rational(2)
    True
    >>> half = field.exp(rational(1, 2))
    >>> field.multiply(half, field.exp(rational(-1, 2))) == rational(1)
    True
    """

    def __init__(self) -> None:
        self.roots: list[tuple[int, int]] = [(1, 1)]
        self.exponents: list[Constant] = [{}]
        self.arguments: list[Constant] = []
        self.products: list[tuple[int, ...]] = [()]
        self._exponent_numbers: dict[Frozen, int] = {(): 0}
        self._argument_numbers: dict[Frozen, int] = {}
        self._product_numbers: dict[tuple[int, ...], int] = {(): 0}
        self._root_products: dict[tuple[int, int], tuple[Any, int]] = {}
        self._products: dict[tuple[Key, Key], Frozen] = {}

    def multiply(self, left: Constant, right: Constant) -> Constant:
        """Return the product of two constants.

        Raises
        ------
        InputError
            If it has too many terms.
        """
        if len(left) > len(right):
            left, right = right, left
        if len(left) * len(right) > 20 * MAX_CONSTANT_TERMS:
            raise InputError("the exact constants of the target have too many terms")
        if len(left) == 1 and ONE in left:
            return scale(right, left[ONE])
        total: Constant = {}
        for a, p in left.items():
            for b, q in right.items():
                for key, factor in self._product(a, b):
                    total[key] = total.get(key, 0) + p * q * factor
        return self._checked({key: value for key, value in total.items() if value})

    def product(self, constants: Iterable[Constant]) -> Constant:
        """Return the product of several constants."""
        total = rational(1)
        for constant in constants:
            total = self.multiply(total, constant)
        return total

    def power(self, constant: Constant, exponent: int) -> Constant:
        """Return a power with a whole exponent, also a negative one."""
        if exponent < 0:
            return self.power(self.inverse(constant), -exponent)
        result = rational(1)
        while exponent:
            if exponent & 1:
                result = self.multiply(result, constant)
            exponent >>= 1
            if exponent:
                constant = self.multiply(constant, constant)
        return result

    def root(self, value: Any, order: int) -> Constant:
        """Return the positive root of a positive rational.

        Raises
        ------
        NoClosedForm
            If its order is too high or there are too many independent roots.
        """
        factor, number = self._find_root(value, order)
        return {(number, 0, 0, 0, 0): factor}

    def pi_power(self, halves: int) -> Constant:
        """Return pi to the power `halves`/2."""
        return {(0, halves, 0, 0, 0): QQ(1)}

    def imaginary(self, constant: Constant) -> Constant:
        """Return i times a constant."""
        return self.multiply({(0, 0, 1, 0, 0): QQ(1)}, constant)

    def exp(self, exponent: Constant) -> Constant:
        r"""Return :math:`e^E`, with :math:`e^{i\pi/2} = i` and the like taken out.

        Raises
        ------
        InputError
            If the exponent is too large.
        """
        if not exponent:
            return rational(1)
        frozen = freeze(exponent)
        if frozen in self._exponent_numbers:
            return {(0, 0, 0, self._exponent_numbers[frozen], 0): QQ(1)}
        factor, rest = self._take_turns(exponent)
        if not rest:
            return factor
        frozen = freeze(rest)
        if frozen not in self._exponent_numbers:
            growth, phase = magnitude(self, rest)
            if growth > MAX_GROWTH_EXPONENT or phase > MAX_PHASE:
                raise InputError("an exponential of the target is too large or too small")
            self._exponent_numbers[frozen] = len(self.exponents)
            self.exponents.append(rest)
        return self.multiply(factor, {(0, 0, 0, self._exponent_numbers[frozen], 0): QQ(1)})

    def erf(self, argument: Constant) -> Constant:
        """Return the error function of a real constant."""
        if not argument:
            return {}
        frozen = freeze(argument)
        sign = 1 if frozen[0][1] > 0 else -1
        if sign < 0:
            argument = scale(argument, -1)
            frozen = freeze(argument)
        if frozen not in self._argument_numbers:
            self._argument_numbers[frozen] = len(self.arguments)
            self.arguments.append(argument)
        number = self._product_number((self._argument_numbers[frozen],))
        return {(0, 0, 0, 0, number): QQ(sign)}

    def inverse(self, constant: Constant) -> Constant:
        """Return 1/constant.

        Raises
        ------
        InputError
            If the constant is zero.
        NoClosedForm
            If the inverse is not a sum of such monomials, or may not be.
        """
        if not constant:
            raise InputError("division by zero in the target")
        if len(constant) > 1:
            return self._inverse_of_sum(constant)
        (((root, halves, imaginary, exponential, erf), value),) = constant.items()
        if erf:
            raise NoClosedForm("the inverse of an error function is not exact here")
        radicand, order = self.roots[root]
        inverse = self.product(
            [
                {(0, -halves, 0, 0, 0): 1 / value},
                self.root(QQ(1, radicand), order),
                self.exp(scale(self.exponents[exponential], -1)),
            ]
        )
        return scale(self.imaginary(inverse), -1) if imaginary else inverse

    def square_root(self, constant: Constant) -> Constant:
        """Return the positive square root of a positive constant of one term.

        Raises
        ------
        NoClosedForm
            If it is not such a monomial.
        """
        return self.fractional_power(constant, sympy.S.Half)

    def fractional_power(self, constant: Constant, exponent: sympy.Rational) -> Constant:
        """Return a fractional power of a positive constant of one term.

        Raises
        ------
        NoClosedForm
            If it is not such a monomial.
        """
        if not constant:
            return {}
        (key, value), *others = constant.items()
        steps = key[1] * int(exponent.p)
        if others or value < 0 or key[2] or key[4] or steps % int(exponent.q):
            raise NoClosedForm("a root of a sum of roots or of a power of pi is not exact here")
        radicand, order = self.roots[key[0]]
        power, degree = int(exponent.p), int(exponent.q)
        return self.product(
            [
                {(0, steps // degree, 0, 0, 0): QQ(1)},
                self.power(self.root(value, degree), power),
                self.power(self.root(QQ(radicand), order * degree), power),
                self.exp(scale(self.exponents[key[3]], QQ(power, degree))),
            ]
        )

    def _product(self, left: Key, right: Key) -> Frozen:
        found = self._products.get((left, right))
        if found is None:
            found = self._products[left, right] = self._new_product(left, right)
        return found

    def _new_product(self, left: Key, right: Key) -> Frozen:
        factor, root = self._root_product(left[0], right[0])
        imaginary = left[2] + right[2]
        if imaginary == 2:
            factor, imaginary = -factor, 0
        erf = self._product_number(
            tuple(sorted(self.products[left[4]] + self.products[right[4]]))
            if left[4] and right[4]
            else self.products[left[4] or right[4]]
        )
        halves = left[1] + right[1]
        if not (left[3] and right[3]):
            return (((root, halves, imaginary, left[3] or right[3], erf), factor),)
        together = self.exp(add(self.exponents[left[3]], self.exponents[right[3]]))
        rest = {(root, halves, imaginary, 0, erf): factor}
        return tuple(self.multiply(rest, together).items())

    def _product_number(self, product: tuple[int, ...]) -> int:
        number = self._product_numbers.get(product)
        if number is None:
            number = self._product_numbers[product] = len(self.products)
            self.products.append(product)
        return number

    def _root_product(self, left: int, right: int) -> tuple[Any, int]:
        if not left or not right:
            return QQ(1), left or right
        found = self._root_products.get((left, right))
        if found is None:
            (a, n), (b, m) = self.roots[left], self.roots[right]
            order = math.lcm(n, m)
            _check_order(order)
            found = self._find_root(QQ(a ** (order // n) * b ** (order // m)), order)
            self._root_products[left, right] = found
        return found

    def _find_root(self, value: Any, order: int) -> tuple[Any, int]:
        """Return the rational and the number of the root whose product the root is."""
        _check_order(order)
        denominator = int(value.denominator)
        radicand = int(value.numerator) * denominator ** (order - 1)
        radicand, order = without_powers(radicand, order)
        if order == 1:
            return QQ(radicand, denominator), 0
        for number, (known, known_order) in enumerate(self.roots):
            ratio = rational_root(radicand, known, order) if order == known_order else None
            if ratio is not None:
                return ratio / denominator, number
        if len(self.roots) > MAX_ROOTS:
            raise NoClosedForm(f"the target has more than {MAX_ROOTS} independent roots")
        if radicand.bit_length() > MAX_CONSTANT_BITS:
            raise InputError("the numbers under a root of the target are too long")
        self.roots.append((radicand, order))
        return QQ(1, denominator), len(self.roots) - 1

    def _take_turns(self, exponent: Constant) -> tuple[Constant, Constant]:
        """Split e^(i pi q) into a power of i, a root of unity with square roots, and the rest."""
        turns = exponent.get(_PHASE)
        if turns is None:
            return rational(1), exponent
        quarters = math.floor(2 * turns)
        left = turns - QQ(quarters, 2)
        rest = {key: value for key, value in exponent.items() if key != _PHASE}
        factor = self.power({(0, 0, 1, 0, 0): QQ(1)}, quarters % 4)
        if left and left not in (QQ(1, 3), QQ(1, 4), QQ(1, 6)):
            rest[_PHASE] = left
        elif left:
            # cos^2 of pi/3, pi/4 and pi/6 is 1/4, 1/2 and 3/4.
            square = {3: QQ(1, 4), 4: QQ(1, 2), 6: QQ(3, 4)}[int(left.denominator)]
            cosine, sine = self.root(square, 2), self.root(1 - square, 2)
            factor = self.multiply(factor, add(cosine, self.imaginary(sine)))
        return factor, rest

    def _inverse_of_sum(self, constant: Constant) -> Constant:
        """Solve x y = 1 in the vector space that the products of the roots span."""
        keys = _closure(self, constant)
        columns = [self.multiply(constant, {key: QQ(1)}) for key in keys]
        rows = [[column.get(key, QQ(0)) for column in columns] for key in keys]
        ones = [[QQ(int(key == ONE))] for key in keys]
        matrix = sympy.polys.matrices.DomainMatrix(rows, (len(keys), len(keys)), QQ)
        right = sympy.polys.matrices.DomainMatrix(ones, (len(keys), 1), QQ)
        solution = matrix.lu_solve(right).to_list_flat()
        return {key: value for key, value in zip(keys, solution, strict=True) if value}

    def _checked(self, constant: Constant) -> Constant:
        if len(constant) > MAX_CONSTANT_TERMS:
            raise InputError("the exact constants of the target have too many terms")
        for value in constant.values():
            bits = int(value.numerator).bit_length() + int(value.denominator).bit_length()
            if bits > MAX_CONSTANT_BITS:
                raise InputError("the exact constants of the target have too many digits")
        return constant


def _closure(field: Field, constant: Constant) -> list[Key]:
    """Return the monomials of all products of the roots of a constant."""
    if any(key[1:] != (0, 0, 0, 0) for key in constant):
        raise NoClosedForm("1/(a sum with pi, exp or erf) is not exact here")
    keys, pending = [ONE], [ONE]
    while pending:
        last = pending.pop()
        for key in constant:
            for (root, *_), _ in field._product(last, key):
                found = (root, 0, 0, 0, 0)
                if found not in keys:
                    keys.append(found)
                    pending.append(found)
        if len(keys) > _MAX_INVERTED:
            raise NoClosedForm("1/(a long sum of roots) is not exact here")
    return keys


def _check_order(order: int) -> None:
    if order > MAX_ROOT_ORDER:
        raise NoClosedForm(f"a root of order {order} is not exact here; at most {MAX_ROOT_ORDER}")
