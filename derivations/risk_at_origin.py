"""The population risk at initialisation: its expansion, its Hessian, and attention as an example.

Run ``python -m derivations.risk_at_origin`` in the root of a clone, or
``python -m ssiode.derivations.risk_at_origin`` anywhere.
"""

from __future__ import annotations

from itertools import product
from math import factorial, prod

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import QQ, ring
from sympy.polys.rings import PolyElement

from .attention_example import prediction
from .gaussian import expectation, reduce_square
from .report import Control, Derivation, Measurement, Proof, Step, publish

Array = NDArray[np.float64]
Alpha = tuple[int, ...]
NODES = 80


def derive() -> Derivation:
    """Derive the risk near the origin of the overlaps.

    Returns
    -------
    Derivation
        The Taylor series from Hermite coefficients, the Hessian, the valley of a stiff overlap,
        and the numbers of attention with two tokens.
    """
    return Derivation(
        "The risk at initialisation",
        r"""
        Random weights start at overlaps $v = (e, m)$ of order $d^{-1/2}$, so the lowest orders of
        $R$ at the origin decide whether and where SGD leaves. The loss is
        $\ell = |g(z^*) - f(z)|^2$, and the coefficients are $c_\alpha(h) =
        \mathbb{E}\,\partial^\alpha h$. Model: Arnaboldi et al., arXiv 2506.02651.
        """,
        (_taylor(), _hessian(), _valley(), _attention()),
    )


class _Polynomials:
    """General polynomials f and g of a few tokens, with a symbol for every coefficient."""

    def __init__(self, length: int, degree: int) -> None:
        shapes = [p for p in product(range(degree + 1), repeat=length) if sum(p) <= degree]
        tokens = range(length)
        names = ["m", "s"]
        for letter in ("e", "zstar", "xi", "z"):
            names += [f"{letter}{token}" for token in tokens]
        names += [f"{letter}{number}" for letter in "fg" for number in range(len(shapes))]
        _, *generators = ring(names, QQ)
        symbol = dict(zip(names, generators, strict=True))
        self.m, self.s = symbol["m"], symbol["s"]
        self.e, self.z_star, self.xi, self.z = (
            [symbol[f"{letter}{token}"] for token in tokens] for letter in ("e", "zstar", "xi", "z")
        )
        self.f, self.g = (
            sum(
                symbol[f"{letter}{number}"] * prod(z**p for z, p in zip(self.z, shape, strict=True))
                for number, shape in enumerate(shapes)
            )
            for letter in "fg"
        )
        box = product(range(2 * degree + 1), repeat=length)
        self.indices = [p for p in box if sum(p) <= 2 * degree]

    def risk(self) -> PolyElement:
        """R(e, m) by exact moments of the fields."""
        rows = zip(self.z, self.e, self.z_star, self.xi, strict=True)
        student = self.f.compose([(z, e + self.m * y + self.s * x) for z, e, y, x in rows])
        teacher = self.g.compose(list(zip(self.z, self.z_star, strict=True)))
        average = expectation((teacher - student) ** 2, self.z_star + self.xi)
        return reduce_square(average, self.s, 1 - self.m**2)

    def coefficient(self, function: PolyElement, alpha: Alpha) -> PolyElement:
        """The average of a derivative over standard normal fields."""
        for z, power in zip(self.z, alpha, strict=True):
            for _ in range(power):
                function = function.diff(z)
        return expectation(function, self.z)

    def series(self) -> PolyElement:
        """R(e, m) as its Taylor series in Hermite coefficients."""
        total = self.coefficient(self.g**2, (0,) * len(self.z))
        for beta in self.indices:
            bracket = self.coefficient(self.f**2, beta)
            for alpha in self.indices:
                both = tuple(a + b for a, b in zip(alpha, beta, strict=True))
                teacher = self.coefficient(self.g, alpha)
                if teacher == 0 or sum(both) > max(map(sum, self.indices)):
                    continue
                student = self.coefficient(self.f, both)
                bracket -= 2 * self.m ** sum(alpha) * teacher * student / _factorial(alpha)
            monomial = prod(e**p for e, p in zip(self.e, beta, strict=True))
            total += monomial * bracket / _factorial(beta)
        return total


def _factorial(alpha: Alpha) -> int:
    return prod(map(factorial, alpha))


def _taylor() -> Step:
    """Prove the expansion for all polynomials of low degree."""
    cases = [_Polynomials(1, 3), _Polynomials(2, 2)]
    residuals = tuple(case.risk() - case.series() for case in cases)
    no_shift = [case.risk() - case.series().compose([(e, 0) for e in case.e]) for case in cases]
    return Step(
        "All orders from Hermite coefficients",
        r"""
        The cross term is a power series in $m$ whose coefficients are those of $f(\cdot + e)$, and
        $c_\alpha(f(\cdot + e)) = \sum_\beta c_{\alpha+\beta}(f)\,e^\beta/\beta!$; the term
        $\mathbb{E}|f|^2$ is expanded in the same way. An encoding restricts $e$ to the range of
        its Gram matrix and changes no coefficient.
        """,
        r"""
        R(e, m) = \mathbb{E}|g|^2 + \sum_\beta \frac{e^\beta}{\beta!} \Big[ c_\beta(|f|^2) -
        2 \sum_\alpha \frac{m^{|\alpha|}}{\alpha!}\, c_\alpha(g) \cdot c_{\alpha+\beta}(f) \Big]
        """,
        (
            Proof("cubics of one token and quadrics of two, all coefficients", residuals),
            Control("without the shift by e", Proof("", tuple(no_shift))),
        ),
    )


def _hessian() -> Step:
    """Prove the closed form of the second derivatives."""
    case = _Polynomials(2, 2)
    origin = [(variable, 0) for variable in (*case.e, case.m)]
    risk = case.risk()

    def second(x: PolyElement, y: PolyElement) -> PolyElement:
        return risk.diff(x).diff(y).compose(origin)

    units = [(1, 0), (0, 1)]
    mean = case.coefficient(case.g, (0, 0))
    of_m = sum(
        case.coefficient(case.f, alpha) * case.coefficient(case.g, alpha) / _factorial(alpha)
        for alpha in ((2, 0), (1, 1), (0, 2))
    )
    residuals, wrong = [second(case.m, case.m) + 4 * of_m], [second(case.m, case.m) + 2 * of_m]
    for i, j in product(range(2), repeat=2):
        both = tuple(a + b for a, b in zip(units[i], units[j], strict=True))
        value = case.coefficient(case.f**2, both) - 2 * mean * case.coefficient(case.f, both)
        residuals.append(second(case.e[i], case.e[j]) - value)
    for j in range(2):
        value = sum(
            case.coefficient(case.g, unit)
            * case.coefficient(case.f, tuple(a + b for a, b in zip(unit, units[j], strict=True)))
            for unit in units
        )
        residuals.append(second(case.e[j], case.m) + 2 * value)
    return Step(
        "The Hessian",
        r"""
        The second order of the series. Near the origin $\dot v = -\Gamma H v$: what grows are the
        directions of negative eigenvalues of $\Gamma^{1/2} H\,\Gamma^{1/2}$. An odd target enters
        an even student only through the mixed derivative, which needs an encoding.
        """,
        r"""
        \partial_m^2 R = -4 \sum_{|\alpha| = 2} \frac{c_\alpha(f)\,c_\alpha(g)}{\alpha!}, \quad
        \partial_{e_i} \partial_{e_j} R = c_{ij}(|f|^2) - 2\,\mathbb{E}[g]\,c_{ij}(f), \quad
        \partial_{e_j} \partial_m R = -2 \sum_l c_l(g)\,c_{lj}(f)
        """,
        (
            Proof("all entries, general quadrics of two tokens", tuple(residuals)),
            Control("2 instead of 4", Proof("", tuple(wrong))),
        ),
    )


def _valley() -> Step:
    """A stiff overlap follows the others and lowers their fourth order."""
    e, m, a, b, c = sympy.symbols("e m a b c", positive=True)
    risk = a * e**2 / 2 + b * e * m**2 + c * m**4
    bottom = -b * m**2 / a
    reduced = risk.subs(e, bottom)
    wanted = (c - b**2 / (2 * a)) * m**4
    return Step(
        "A stiff overlap that follows",
        r"""
        Where the Hessian is positive in $e$ and zero in $m$, the risk is lowest on the curve
        $\partial_e R = 0$, and its values there decide. The straight line $e = 0$ can rise at the
        order at which the curve falls.
        """,
        r"""
        R = \tfrac a2 e^2 + b\,e\,m^2 + c\,m^4 + \dots \quad\Rightarrow\quad \min_e R =
        \Big(c - \frac{b^2}{2a}\Big) m^4 + \dots
        """,
        (
            Proof("the curve is where the slope vanishes", (risk.diff(e).subs(e, bottom),)),
            Proof("the risk on it", (reduced - wanted,)),
            Control("the straight line", Proof("", (risk.subs(e, 0) - wanted,))),
        ),
    )


def _attention() -> Step:
    """Measure the coefficients of attention with two tokens and opposite rows."""
    quadratic = _curvature_in_m()
    quartic = _fourth_in_m()
    mixed = {scale: _curvature_in_e(4 / 3, scale) for scale in (1.0, 0.5**0.5)}
    reason = "quadrature, six digits are stated"
    return Step(
        "Attention with two tokens, the trace, and opposite rows",
        r"""
        For $\mathrm{He}_2(z_1) + \mathrm{He}_2(z_2)$ the origin descends along $m$, though $e$
        rises. For $\mathrm{He}_4(z_1) + \mathrm{He}_4(z_2)$ the fourth order in $m$ is positive:
        the exponent is 4, and the origin is a local minimum. For $4/3 + \mathrm{He}_4(z_1) +
        2\,\mathrm{He}_4(z_2)$ the curvature in $e = e_1 = -e_2$ depends on the scale of the trace:
        it is positive for the plain trace, as the caption of figure 2 of the paper says of the
        Hessian (positive semidefinite), and negative with the factor $1/\sqrt 2$ of the published
        code, where SGD leaves along $e$ at order 2. With the plain trace the fourth order in $m$,
        the only direction left, is positive, and SGD does not leave at all.
        """,
        r"""
        \partial_m^2 R = -2 \cdot 0.563914, \quad \partial_e^2 R = 2.076008, \quad
        \tfrac{1}{4!} \partial_m^4 R = 0.961026, \quad \partial_e^2 R = 0.190390
        \ \text{or}\ -0.295329
        """,
        (
            Measurement("d2R/dm2 + 2 * 0.563914", abs(quadratic + 2 * 0.563914), 2e-6, reason),
            Measurement(
                "d2R/de2 - 2.076008", abs(_curvature_in_e(0.0, 1.0) - 2.076008), 2e-6, reason
            ),
            Measurement("fourth order - 0.961026", abs(quartic - 0.961026), 2e-6, reason),
            Measurement("plain trace - 0.190390", abs(mixed[1.0] - 0.190390), 2e-6, reason),
            Measurement(
                "trace over sqrt(2) + 0.295329", abs(mixed[0.5**0.5] + 0.295329), 2e-6, reason
            ),
            Control(
                "both scales of one sign",
                Measurement("", max(0.0, -mixed[1.0] * mixed[0.5**0.5]), 1e-3, "sign"),
            ),
        ),
    )


def _grid() -> tuple[Array, Array]:
    """Nodes of two standard normals and their weights."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    both = np.stack([axis.ravel() for axis in np.meshgrid(nodes, nodes)], axis=-1)
    return both, np.outer(weights, weights).ravel() / weights.sum() ** 2


def _hermite(order: int, x: Array) -> Array:
    return np.polynomial.hermite_e.hermeval(x, [0.0] * order + [1.0])


def _curvature_in_m() -> float:
    """d2R/dm2 of He2(z1) + He2(z2), whose coefficients of order 2 are (2, 0, 2)."""
    nodes, weights = _grid()
    trace = prediction(nodes)
    return -4 * sum(weights @ (trace * _hermite(2, nodes[:, i])) for i in range(2))


def _fourth_in_m() -> float:
    """The coefficient of m^4 for He4(z1) + He4(z2), of coefficients 4! on each axis."""
    nodes, weights = _grid()
    trace = prediction(nodes)
    return -2 * sum(weights @ (trace * _hermite(4, nodes[:, i])) for i in range(2))


def _curvature_in_e(mean: float, scale: float) -> float:
    """d2R/de2 along (1, -1) for a target of the given mean."""
    nodes, weights = _grid()
    trace = scale * prediction(nodes)
    along = (nodes[:, 0] - nodes[:, 1]) ** 2 - 2
    return float(weights @ ((trace**2 - 2 * mean * trace) * along))


def main() -> int:
    """Print the derivation; 1 is returned when a check fails, else 0."""
    return 1 if publish([derive()]) else 0


if __name__ == "__main__":
    raise SystemExit(main())
