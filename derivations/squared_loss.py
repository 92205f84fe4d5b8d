"""The squared loss: its risk in parts, the power series in m, and Gaussian label noise.

Run ``python -m derivations.squared_loss`` in the root of a clone, or
``python -m ssiode.derivations.squared_loss`` anywhere.
"""

from __future__ import annotations

from math import factorial

import sympy
from sympy import QQ, ring
from sympy.polys.rings import PolyElement

from .gaussian import derivative_over_density, expectation, log_density, reduce_square
from .report import Control, Derivation, Proof, Step, publish

E, M, Z_STAR, Z = sympy.symbols("e m z_star z", real=True)


def derive() -> Derivation:
    """Derive what is special about the squared loss.

    Returns
    -------
    Derivation
        The three parts of the risk, Mehler's series for the cross term, and label noise.
    """
    return Derivation(
        "The squared loss",
        r"""
        The loss is $\ell = |g(z^*) - f(z)|^2$, summed over $k$ outputs. The fields of one token
        have means $(0, e_l)$, unit variances and covariance $m$, and tokens are independent; the
        density of the pair of one token is $\varphi(z^*, z)$. Model: Arnaboldi et al., arXiv
        2506.02651.
        """,
        (_parts(), _mehler(), _label_noise()),
    )


def _parts() -> Step:
    """Split the risk of the squared loss into parts with fewer variables."""
    log_phi = log_density(Z_STAR, Z, E, M)
    one_field, star_field = sympy.Function("q")(Z), sympy.Function("h")(Z_STAR)
    both_fields = sympy.Function("b")(Z_STAR, Z)
    g, f = sympy.symbols("g:2"), sympy.symbols("f:2")
    split = sum((a - b) ** 2 for a, b in zip(g, f, strict=True))
    split -= sum(a**2 - 2 * a * b + b**2 for a, b in zip(g, f, strict=True))
    by_star = derivative_over_density(sympy.Integer(1), log_phi, Z_STAR)
    by_z = derivative_over_density(sympy.Integer(1), log_phi, Z)

    def m_derivative(factor: sympy.Expr) -> sympy.Expr:
        moved = derivative_over_density(factor * by_z, log_phi, Z_STAR)
        return factor * derivative_over_density(sympy.Integer(1), log_phi, M) - moved

    e_derivative = star_field * derivative_over_density(sympy.Integer(1), log_phi, E)
    e_derivative += derivative_over_density(star_field, log_phi, Z)
    star_m_derivative = star_field * derivative_over_density(sympy.Integer(1), log_phi, M)
    star_m_derivative -= derivative_over_density(star_field * by_star, log_phi, Z)
    return Step(
        "The squared loss splits",
        r"""
        For $\ell = |g(z^*) - f(z)|^2$ the risk has three parts. $\mathbb{E}|g|^2$ is a constant
        and $Q$ depends on $e$ alone: for a function $q$ of $z$ only, $q\,\partial_m\varphi =
        \partial_{z^*}(q\,\partial_z\varphi)$ is a divergence and integrates to 0; so are
        $h\,\partial_m\varphi$ and $h\,\partial_e\varphi$ for a function $h$ of $z^*$ only. The
        functions are undefined symbols in the proofs.
        """,
        r"""
        R(e, m) = \mathbb{E}|g(z^*)|^2 - 2\,C(e, m) + Q(e), \quad C = \mathbb{E}\,g(z^*) \cdot
        f(z), \quad Q = \mathbb{E}|f(z)|^2
        """,
        (
            Proof("the square, with two outputs", (split,)),
            Proof("Q does not depend on m", (m_derivative(one_field),)),
            Proof("E|g|^2 depends neither on e nor on m", (e_derivative, star_m_derivative)),
            Control(
                "a function of both fields does not depend on m",
                Proof("", (m_derivative(both_fields),)),
            ),
        ),
    )


def _mehler() -> Step:
    """Prove Mehler's formula for the Hermite polynomials up to order 6."""
    _, m, s, y, xi = ring("m, s, y, xi", QQ)
    x = m * y + s * xi

    def hermite(order: int, argument: PolyElement) -> PolyElement:
        before, now = argument.ring.zero, argument.ring.one
        for n in range(order):
            before, now = now, argument * now - n * before
        return now

    residuals, shifted = [], []
    for a in range(7):
        for b in range(7):
            product = expectation(hermite(a, y) * hermite(b, x), [y, xi])
            wanted = factorial(a) * m**a if a == b else 0
            residuals.append(reduce_square(product, s, 1 - m**2) - wanted)
            shifted.append(residuals[-1] + wanted - (factorial(a) if a == b else 0))
    a, b = sympy.symbols("a b")
    # log E exp(a z* + b x) with x = m z* + s xi; each generating function divides by exp(a^2 / 2).
    logarithm = ((a + b * M) ** 2 + b**2 * (1 - M**2) - a**2 - b**2) / 2
    return Step(
        "The cross term is a power series in m",
        r"""
        Let $x = z - e$. The generating function of the Hermite polynomials is
        $e^{a z^* - a^2/2}$; the average of two of them, for $z^*$ and for $x$, is $e^{a b m}$, so
        different orders are orthogonal, token by token (and once more by exact moments up to
        order 6). Expanding $g$ and $f(\cdot + e)$ gives $C$ as a sum over multi-indices of
        $L$-dimensional integrals $c_\alpha(g) = \mathbb{E}\,g\,\mathrm{He}_\alpha$ instead of one
        integral in $2L$ dimensions.
        """,
        r"""
        \mathbb{E}\,\mathrm{He}_a(z^*)\,\mathrm{He}_b(x) = \delta_{ab}\,a!\,m^a, \quad C =
        \sum_\alpha \frac{m^{|\alpha|}}{\alpha!}\, c_\alpha(g) \cdot c_\alpha(f(\cdot + e))
        """,
        (
            Proof("all orders, by generating functions", (logarithm - a * b * M,)),
            Proof("all pairs of orders up to 6, by moments", tuple(residuals)),
            Control("without the powers of m", Proof("", tuple(shifted))),
        ),
    )


def _label_noise() -> Step:
    """Average over Gaussian label noise exactly, with up to three outputs."""
    residuals, wrong = [], []
    for outputs in (1, 2, 3):
        names = ["Delta", "root"]
        for letter in ("noise", "r", "fa", "fb"):
            names += [f"{letter}{output}" for output in range(outputs)]
        _, *generators = ring(names, QQ)
        delta, root, *rest = generators
        groups = [rest[start : start + outputs] for start in range(0, 4 * outputs, outputs)]
        noise, residual, *slopes = groups
        noisy = [r + root * n for r, n in zip(residual, noise, strict=True)]
        added = expectation(sum(n**2 for n in noisy) - sum(r**2 for r in residual), noise)
        residuals.append(reduce_square(added, root, delta) - outputs * delta)

        def squared(values: list[PolyElement], slopes: list[list[PolyElement]]) -> PolyElement:
            return sum(
                (-2 * sum(a * b for a, b in zip(values, row, strict=True))) ** 2 for row in slopes
            )

        difference = expectation(squared(noisy, slopes) - squared(residual, slopes), noise)
        difference = reduce_square(difference, root, delta)
        square = sum(slope**2 for row in slopes for slope in row)
        residuals.append(difference - 4 * delta * square)
        wrong.append(difference - 2 * delta * square)
    return Step(
        "Label noise",
        r"""
        Let $y = g(z^*) + \sqrt\Delta\,\zeta$ with $\zeta \sim N(0, I_k)$ independent of the
        tokens, and the loss squared, so $g_l = -2\sum_a (y_a - f_a)\,\partial_l f_a$. The drift
        keeps its form, since the constant $k\Delta$ has no gradient; the second moment grows.
        """,
        r"""
        R \to R + k\,\Delta, \qquad V = \mathbb{E}\sum_l g_l^2 \to V +
        4\,\Delta\,\mathbb{E}\sum_{a,l} (\partial_l f_a)^2
        """,
        (
            Proof("risk and second moment, k = 1, 2, 3 outputs, two tokens", tuple(residuals)),
            Control("2 Delta instead of 4 Delta", Proof("", tuple(wrong))),
        ),
    )


def main() -> int:
    """Print the derivation; 1 is returned when a check fails, else 0."""
    return 1 if publish([derive()]) else 0


if __name__ == "__main__":
    raise SystemExit(main())
