"""Gaussian calculus that the derivations share: densities divided by themselves, exact moments.

An identity between integrals against a Gaussian density is proved on the integrands. Divided by the
density they are rational functions, in which an undefined loss and its derivatives are symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import sympy
from sympy.polys.rings import PolyElement


def log_density(
    z_star: sympy.Symbol, z: sympy.Symbol, e: sympy.Symbol, m: sympy.Symbol
) -> sympy.Expr:
    """Logarithm of the density of one pair of fields.

    The pair has means (0, e), unit variances and covariance m.

    Parameters
    ----------
    z_star, z : Symbol
        The target field and the student field of one token.
    e, m : Symbol
        The positional overlap of that token and the semantic overlap.

    Returns
    -------
    Expr
        The logarithm, constants included.
    """
    quadratic = (z_star**2 + (z - e) ** 2 - 2 * m * z_star * (z - e)) / (2 * (1 - m**2))
    return -quadratic - sympy.log(1 - m**2) / 2 - sympy.log(2 * sympy.pi)


def derivative_over_density(
    factor: sympy.Expr, log_phi: sympy.Expr, *variables: sympy.Symbol
) -> sympy.Expr:
    r"""Differentiate :math:`h \varphi` and divide by :math:`\varphi = e^{\texttt{log\_phi}}`.

    Parameters
    ----------
    factor : Expr
        The factor h in front of the density.
    log_phi : Expr
        The logarithm of the density.
    *variables : Symbol
        Differentiate by these, one after the other.

    Returns
    -------
    Expr
        The derivative over the density, a rational function when h is one.

    Examples
    --------
    >>> x = sympy.Symbol("x")
    >>> sympy.expand(derivative_over_density(sympy.Integer(1), -x**2 / 2, x, x))
    x**2 - 1
    """
    for variable in variables:
        factor = sympy.diff(factor, variable) + factor * sympy.diff(log_phi, variable)
    return factor


def standard_moment(power: int) -> int:
    """Moment of a standard normal variable: 0 for odd powers, (n - 1)!! for even ones.

    >>> [standard_moment(power) for power in range(7)]
    [1, 0, 1, 0, 3, 0, 15]
    """
    return 0 if power % 2 else prod(range(1, power, 2))


def expectation(polynomial: PolyElement, normals: Sequence[PolyElement]) -> PolyElement:
    """Average a polynomial over independent standard normal generators, exactly.

    The theorem of Isserlis for independent variables: every power is replaced by its moment.

    Parameters
    ----------
    polynomial : PolyElement
        What is averaged.
    normals : sequence of PolyElement
        The generators of the ring that are standard normal.

    Returns
    -------
    PolyElement
        The average, a polynomial in the other generators.

    Examples
    --------
    >>> from sympy import QQ, ring
    >>> _, x, y, a = ring("x, y, a", QQ)
    >>> expectation((a + x * y) ** 2 + x**4, [x, y])
    a**2 + 4
    """
    ring = polynomial.ring
    places = [ring.gens.index(normal) for normal in normals]
    averaged: dict[tuple[int, ...], object] = {}
    for powers, coefficient in polynomial.terms():
        moment = prod(standard_moment(powers[place]) for place in places)
        if moment:
            rest = list(powers)
            for place in places:
                rest[place] = 0
            key = tuple(rest)
            averaged[key] = averaged.get(key, ring.domain.zero) + coefficient * moment
    return ring.from_dict({key: value for key, value in averaged.items() if value})


def reduce_square(
    polynomial: PolyElement, generator: PolyElement, square: PolyElement
) -> PolyElement:
    """Replace the even powers of a generator by powers of its square.

    Parameters
    ----------
    polynomial : PolyElement
        What is reduced.
    generator : PolyElement
        A generator of the ring, such as s with s^2 = 1 - m^2.
    square : PolyElement
        What its square equals, free of the generator.

    Returns
    -------
    PolyElement
        An equal polynomial of degree at most 1 in the generator.

    Examples
    --------
    >>> from sympy import QQ, ring
    >>> _, s, m = ring("s, m", QQ)
    >>> reduce_square(s**3 + s**2, s, 1 - m**2)
    -s*m**2 + s - m**2 + 1
    """
    ring = polynomial.ring
    place = ring.gens.index(generator)
    by_power: dict[int, dict[tuple[int, ...], object]] = {}
    for powers, coefficient in polynomial.terms():
        rest = list(powers)
        rest[place] = powers[place] % 2
        by_power.setdefault(powers[place] // 2, {})[tuple(rest)] = coefficient
    result = ring.zero
    for power, terms in by_power.items():
        result += ring.from_dict(terms) * square**power
    return result
