r"""Hermite coefficients of functions of one standard normal variable.

.. math:: x^k He_n(x) = \sum_m a^{(k,n)}_m He_m(x), \qquad
          E[x^k f(x) He_n(x)] = \sum_m a^{(k,n)}_m E[f(x) He_m(x)]
"""

from __future__ import annotations

import math
from functools import cache

from sympy import QQ

from ssiode.hermite.closed_form.field import Constant, Field, add, rational, scale


@cache
def hermite_multiplication(power: int, order: int) -> tuple[tuple[int, int], ...]:
    """Return the orders m and the coefficients of He_m in x^k He_n, by x He_n = He_n+1 + n He_n-1.

    Examples
    --------
    >>> hermite_multiplication(2, 1)
    ((1, 3), (3, 1))
    """
    current = {order: 1}
    for _ in range(power):
        following: dict[int, int] = {}
        for n, value in current.items():
            following[n + 1] = following.get(n + 1, 0) + value
            if n:
                following[n - 1] = following.get(n - 1, 0) + n * value
        current = following
    return tuple(sorted(current.items()))


class Edge:
    r"""Coefficients of :math:`\Phi`-like functions of a.z, the factor :math:`a^\alpha` taken out.

    With :math:`c_\alpha = a^\alpha D_{|\alpha|}`, the normal density :math:`\varphi` and
    :math:`q` the place of the edge,

    .. math:: D_0 = s_0 + s\,\mathrm{erf}(q/\sqrt2), \qquad
              D_n = 2 s\,\kappa^n (-1)^{n-1} He_{n-1}(q)\,\varphi(q).

    The step :math:`H(a\cdot z - b)` has :math:`q = -b/|a|`, :math:`\kappa = 1/|a|` and
    :math:`s_0 = s = 1/2`. The function :math:`\mathrm{erf}(a\cdot z + b)` has
    :math:`q = \sqrt2 b/r`, :math:`\kappa = \sqrt2/r`, :math:`r^2 = 1 + 2|a|^2`, :math:`s_0 = 0`
    and :math:`s = 1`. Both are derivatives in b of the average.

    Parameters
    ----------
    field : Field
        Where the constants live.
    place, rate : Constant
        q and kappa.
    is_step : bool
        Whether the function is a step.

    Examples
    --------
    The step H(x) has E[H(x) He_1(x)] = 1/sqrt(2 pi).

    >>> from ssiode.hermite.closed_form.enclosure import as_expression
    >>> field = Field()
    >>> as_expression(field, Edge(field, {}, rational(1), True)(1))
    sqrt(2)/(2*sqrt(pi))
    """

    def __init__(self, field: Field, place: Constant, rate: Constant, is_step: bool) -> None:
        self.field = field
        self.place = place
        self.rate = rate
        half = QQ(1, 2)
        weight = half if is_step else QQ(1)
        inverse_root = field.root(half, 2)
        average = scale(field.erf(field.multiply(place, inverse_root)), weight)
        self._values = [add(average, rational(1, 2)) if is_step else average]
        density = field.product(
            [
                inverse_root,
                field.pi_power(-1),
                field.exp(scale(field.multiply(place, place), -half)),
            ]
        )
        self._factor = scale(density, 2 * weight)
        self._hermite = [rational(1), place]

    def __call__(self, order: int) -> Constant:
        """Return D_n."""
        while len(self._values) <= order:
            n = len(self._values)
            self._factor = self.field.multiply(self._factor, self.rate)
            value = self.field.multiply(self._factor, self._polynomial(n - 1))
            self._values.append(value if n % 2 else scale(value, -1))
        return self._values[order]

    def _polynomial(self, order: int) -> Constant:
        while len(self._hermite) <= order:
            n = len(self._hermite) - 1
            product = self.field.multiply(self.place, self._hermite[n])
            self._hermite.append(add(product, scale(self._hermite[n - 1], -n)))
        return self._hermite[order]


class Ridge:
    r"""Coefficients of :math:`t^j f(t)`, :math:`t = a\cdot z + \delta`, with a^alpha taken out.

    .. math:: t^j = \sum_i \binom ji \delta^{j-i} |a|^i x^i

    Parameters
    ----------
    field : Field
        Where the constants live.
    edge : Edge
        f.
    power : int
        j.
    square : Constant
        |a|^2.
    shift : Constant
        delta.

    Examples
    --------
    E[relu(x)] = 1/sqrt(2 pi), and twice the second coefficient of a rectifier is that of abs.

    >>> from ssiode.hermite.closed_form.enclosure import as_expression
    >>> field = Field()
    >>> step = Edge(field, {}, rational(1), True)
    >>> rectifier = Ridge(field, step, 1, rational(1), {})
    >>> as_expression(field, rectifier(0)), as_expression(field, rectifier(1))
    (sqrt(2)/(2*sqrt(pi)), 1/2)
    """

    def __init__(
        self, field: Field, edge: Edge, power: int, square: Constant, shift: Constant
    ) -> None:
        self.field = field
        self.edge = edge
        self.power = power
        self.square = square
        self.shift = shift
        self._values: dict[int, Constant] = {}

    def __call__(self, order: int) -> Constant:
        """Return D_n."""
        if not self.power:
            return self.edge(order)
        if order not in self._values:
            self._values[order] = self._value(order)
        return self._values[order]

    def _value(self, order: int) -> Constant:
        field, total = self.field, {}
        for i in range(self.power + 1):
            if i < self.power and not self.shift:
                continue
            shifted = field.power(self.shift, self.power - i)
            for m, factor in hermite_multiplication(i, order):
                base = self.edge(m)
                if base:
                    # |a|^m D_m are the coefficients in x; i + m - order is even and >= 0.
                    size = field.power(self.square, (i + m - order) // 2)
                    value = field.multiply(field.multiply(base, size), shifted)
                    total = add(total, scale(value, factor * math.comb(self.power, i)))
        return total
