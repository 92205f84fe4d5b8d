"""A loss that is any polynomial of the fields, with a symbol for every coefficient.

Its Gaussian averages are exact polynomials in the statistics, so an identity between them is proved
for all polynomials up to the degree at once.
"""

from __future__ import annotations

from itertools import product
from typing import Self

from sympy import QQ, ring
from sympy.polys.rings import PolyElement

from .gaussian import expectation, reduce_square


class PolynomialLoss:
    """The loss of a sequence of tokens as a polynomial of total degree `degree` in (z*, z).

    Parameters
    ----------
    length : int
        Number of tokens L.
    degree : int
        Largest total degree in the 2 L fields.

    Attributes
    ----------
    e, teacher : list of PolyElement
        The overlaps e_l and c_l of the student and of the teacher with the encoding.
    gram : list of list of PolyElement
        The symmetric Gram matrix G of the encoding.
    m, s : PolyElement
        The semantic overlap and s = sqrt(1 - m^2).
    z_star, z, xi : list of PolyElement
        The fields, and the normals with z_l = e_l + m z*_l + s xi_l.
    loss : PolyElement
        The loss; g_l is its derivative by z_l.

    Examples
    --------
    >>> model = PolynomialLoss(length=1, degree=2)
    >>> model.average(model.z[0] ** 2), model.average(model.z_star[0] * model.z[0])
    (e1**2 + 1, m)
    """

    def __init__(self: Self, length: int, degree: int) -> None:
        tokens = range(1, length + 1)
        shapes = [p for p in product(range(degree + 1), repeat=2 * length) if sum(p) <= degree]
        names = ["m", "s"]
        for letter in ("e", "c", "zstar", "z", "xi"):
            names += [f"{letter}{token}" for token in tokens]
        names += [f"G{row}{column}" for row in tokens for column in tokens if row <= column]
        names += [f"a{number}" for number in range(len(shapes))]
        self.ring, *generators = ring(names, QQ)
        symbol = dict(zip(names, generators, strict=True))
        self.m, self.s = symbol["m"], symbol["s"]
        self.e = [symbol[f"e{token}"] for token in tokens]
        self.teacher = [symbol[f"c{token}"] for token in tokens]
        self.z_star = [symbol[f"zstar{token}"] for token in tokens]
        self.z = [symbol[f"z{token}"] for token in tokens]
        self.xi = [symbol[f"xi{token}"] for token in tokens]
        self.gram = [[symbol[f"G{min(k, n)}{max(k, n)}"] for n in tokens] for k in tokens]
        self.loss = self.ring.zero
        for number, powers in enumerate(shapes):
            term = symbol[f"a{number}"]
            for field, power in zip(self.z_star + self.z, powers, strict=True):
                term = term * field**power
            self.loss += term
        self.gradient = [self.loss.diff(field) for field in self.z]

    def average(self: Self, polynomial: PolyElement) -> PolyElement:
        """Average over the fields, exactly; s^2 is replaced by 1 - m^2.

        Parameters
        ----------
        polynomial : PolyElement
            A polynomial of the fields z*, z and the normals xi.

        Returns
        -------
        PolyElement
            A polynomial of the statistics and of the coefficients of the loss.
        """
        fields = [
            (z, e + self.m * z_star + self.s * xi)
            for z, e, z_star, xi in zip(self.z, self.e, self.z_star, self.xi, strict=True)
        ]
        average = expectation(polynomial.compose(fields), self.z_star + self.xi)
        return reduce_square(average, self.s, 1 - self.m**2)

    def reduced(self: Self, polynomial: PolyElement) -> PolyElement:
        """Replace s^2 by 1 - m^2 in a polynomial of the statistics."""
        return reduce_square(polynomial, self.s, 1 - self.m**2)
