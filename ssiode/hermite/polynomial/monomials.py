"""From monomials to the Hermite basis, one variable at a time."""

from __future__ import annotations

from functools import cache

Powers = tuple[int, ...]


@cache
def power_in_hermite(power: int) -> tuple[tuple[int, int], ...]:
    r"""Return the orders below n and their coefficients in :math:`x^n`.

    .. math:: x^n = \sum_k \frac{n!}{2^k\,k!\,(n-2k)!}\,He_{n-2k}(x)

    The coefficient of :math:`He_n` itself is 1 and is left out.

    Examples
    --------
    >>> power_in_hermite(4)
    ((2, 6), (0, 3))
    """
    terms, value = [], 1
    for k in range(1, power // 2 + 1):
        order = power - 2 * k
        value = value * (order + 2) * (order + 1) // (2 * k)
        terms.append((order, value))
    return tuple(terms)


def to_hermite(monomials: dict[Powers, int], variables: int) -> dict[Powers, int]:
    """Return the coefficients in the Hermite basis of the first `variables` variables.

    Parameters
    ----------
    monomials : dict
        Coefficients by exponents; exponents past the first `variables` are left alone.
    variables : int
        How many variables are Gaussian.

    Examples
    --------
    >>> to_hermite({(2, 0): 1}, 1)
    {(2, 0): 1, (0, 0): 1}
    """
    table = dict(monomials)
    for axis in range(variables):
        changes = [(powers, value) for powers, value in table.items() if powers[axis] > 1]
        for powers, value in changes:
            before, after = powers[:axis], powers[axis + 1 :]
            for order, factor in power_in_hermite(powers[axis]):
                key = (*before, order, *after)
                table[key] = table.get(key, 0) + factor * value
    return table


def hermite_terms(monomials: dict[Powers, int], variables: int) -> int:
    """Return a bound on the number of terms of :func:`to_hermite`.

    Examples
    --------
    >>> hermite_terms({(4, 2): 1}, 2)
    6
    """
    total = 0
    for powers in monomials:
        count = 1
        for power in powers[:variables]:
            count *= power // 2 + 1
        total += count
    return total
