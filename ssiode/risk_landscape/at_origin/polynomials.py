"""Polynomials whose coefficients are exact or have errors, as mappings from powers."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from ssiode.risk_landscape.at_origin.numbers import Number, total

Powers = tuple[int, ...]
Polynomial = Mapping[Powers, Number]


def collected(parts: Iterable[tuple[Powers, Number]]) -> dict[Powers, Number]:
    """Sum the terms with the same powers; what is proved zero is left out.

    >>> import sympy
    >>> one = Number.of_exact(sympy.S.One)
    >>> collected([((1,), one), ((1,), -one), ((2,), one)])[(2,)].exact
    1
    """
    by_powers: defaultdict[Powers, list[Number]] = defaultdict(list)
    for powers, number in parts:
        by_powers[powers].append(number)
    sums = {powers: total(numbers) for powers, numbers in by_powers.items()}
    return {powers: number for powers, number in sums.items() if not number.is_zero}


def product(
    first: Polynomial, second: Polynomial, highest: int | None = None
) -> dict[Powers, Number]:
    """The product, without the terms above a degree if one is given.

    >>> import sympy
    >>> one = Number.of_exact(sympy.S.One)
    >>> sum_of_both = {(1, 0): one, (0, 1): one}
    >>> {powers: str(n.exact) for powers, n in product(sum_of_both, sum_of_both).items()}
    {(2, 0): '1', (1, 1): '2', (0, 2): '1'}
    """
    return collected(
        (tuple(i + j for i, j in zip(p, q, strict=True)), x * y)
        for (p, x), (q, y) in itertools.product(first.items(), second.items())
        if highest is None or sum(p) + sum(q) <= highest
    )


def derivative(polynomial: Polynomial, variable: int) -> dict[Powers, Number]:
    """The derivative in one variable."""
    import sympy

    return {
        lowered(powers, variable): number * Number.of_exact(sympy.Integer(powers[variable]))
        for powers, number in polynomial.items()
        if powers[variable]
    }


def lowered(powers: Powers, variable: int) -> Powers:
    """The powers with that of one variable lowered by one."""
    return (*powers[:variable], powers[variable] - 1, *powers[variable + 1 :])


def substituted(
    polynomial: Polynomial, values: Mapping[int, Polynomial], highest: int
) -> dict[Powers, Number]:
    """The polynomial with some variables replaced by polynomials, up to a degree."""
    terms: list[tuple[Powers, Number]] = []
    for powers, number in polynomial.items():
        kept = tuple(0 if i in values else power for i, power in enumerate(powers))
        term: Polynomial = {kept: number} if sum(kept) <= highest else {}
        for factor in _factors(powers, values):
            term = product(term, factor, highest)
        terms += term.items()
    return collected(terms)


def _factors(powers: Sequence[int], values: Mapping[int, Polynomial]) -> Iterable[Polynomial]:
    for variable, value in values.items():
        yield from itertools.repeat(value, powers[variable])
