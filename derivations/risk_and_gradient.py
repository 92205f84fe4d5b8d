"""The sufficient statistics, the population risk as a function of them, and its gradient.

Run ``python -m derivations.risk_and_gradient`` in the root of a clone, or
``python -m ssiode.derivations.risk_and_gradient`` anywhere.
"""

from __future__ import annotations

import numpy as np
import sympy

from . import attention_example
from .gaussian import derivative_over_density, log_density
from .polynomial_loss import PolynomialLoss
from .report import Control, Derivation, Measurement, Proof, Step, publish

E, M, Z_STAR, Z = sympy.symbols("e m z_star z", real=True)
DEGREE = 4


def derive() -> Derivation:
    """Derive the risk and its gradient.

    Returns
    -------
    Derivation
        From the law of the fields to the gradient at every feasible (e, m).
    """
    return Derivation(
        "Sufficient statistics, population risk and its gradient",
        r"""
        Tokens $X_l \in \mathbb{R}^d$, $l = 1..L$, have entries $N(0, 1/d)$; the teacher $w^*$
        and the student $w$ have norm $\sqrt d$; row $l$ of the encoding $P$ enters as
        $P_l/\sqrt d$. The loss $\ell(z^*, z)$ compares the fields of teacher and student and
        grows at most polynomially. Model: Arnaboldi et al., arXiv 2506.02651.
        """,
        (
            _law_of_the_fields(),
            _density(),
            _gradient(),
            _gradient_of_polynomials(),
            _unit_overlap(),
            _gradient_of_attention(),
        ),
    )


def _law_of_the_fields() -> Step:
    """Compute the characteristic function of the fields of one token."""
    alpha, beta, w_star, w, d = sympy.symbols("alpha beta w_star w d")
    exponent = (alpha * w_star + beta * w) ** 2 / (2 * d)
    parts = alpha**2 * w_star**2 / (2 * d) + beta**2 * w**2 / (2 * d)
    covariance = alpha * beta * w_star * w / d
    return Step(
        "The fields see only e and m",
        r"""
        The fields $z^*_l = X_l \cdot w^*$ and $z_l = X_l \cdot w + e_l$, $e_l = P_l \cdot
        w/\sqrt d$, are linear in a Gaussian vector. Every coordinate $i$ of the token adds
        $(\alpha w^*_i + \beta w_i)^2/2d$ to minus the exponent of their characteristic
        function; summed over $i$, with $|w^*|^2 = |w|^2 = d$ and $w \cdot w^* = d m$, this is
        the Gaussian law with means $(0, e_l)$, unit variances and covariance $m$. Different
        tokens share no coordinate, so their pairs are independent. Nothing else about $w$
        enters: $v = (e, m)$ is sufficient and the risk is $R(e, m)$.
        """,
        r"""
        \mathbb{E}\,e^{i(\alpha z^*_l + \beta (z_l - e_l))} = e^{-(\alpha^2 + \beta^2 +
        2\alpha\beta m)/2}
        """,
        (
            Proof("the exponent per coordinate splits", (exponent - parts - covariance,)),
            Control("no covariance between the fields", Proof("", (exponent - parts,))),
        ),
    )


def _density() -> Step:
    """Prove the differential identities of the density of one pair of fields."""
    log_phi = log_density(Z_STAR, Z, E, M)
    one = sympy.Integer(1)
    by_star = derivative_over_density(one, log_phi, Z_STAR)
    by_z = derivative_over_density(one, log_phi, Z)
    both = derivative_over_density(one, log_phi, Z_STAR, Z)
    xi_times_s = Z - E - M * Z_STAR
    return Step(
        "Derivatives of the density",
        r"""
        Let $\varphi(z^*, z)$ be the density of the pair of one token, $z = e + m z^* + s\,\xi$
        with $s = \sqrt{1 - m^2}$ and $\xi \sim N(0, 1)$ independent of $z^*$. Derivatives by
        the statistics are derivatives by the fields, and multiplying by a field is
        differentiating: Stein's lemma, written on the density.
        """,
        r"""
        \partial_e\varphi = -\partial_z\varphi, \quad \partial_m\varphi =
        \partial_{z^*}\partial_z\varphi, \quad \xi\varphi = -s\,\partial_z\varphi, \quad
        z^*\varphi = -\partial_{z^*}\varphi - m\,\partial_z\varphi
        """,
        (
            Proof(
                "the four identities",
                (
                    derivative_over_density(one, log_phi, E) + by_z,
                    derivative_over_density(one, log_phi, M) - both,
                    # xi = (z - e - m z*) / s, and both sides are multiplied by s.
                    xi_times_s + (1 - M**2) * by_z,
                    Z_STAR + by_star + M * by_z,
                ),
            ),
            Control("z* without the term in m", Proof("", (Z_STAR + by_star,))),
        ),
    )


def _gradient() -> Step:
    """Prove the gradient of the risk for a generic loss and one, two and three tokens."""
    proofs = []
    for length in (1, 2, 3):
        e = sympy.symbols(f"e1:{length + 1}")
        y, z = sympy.symbols(f"y1:{length + 1}"), sympy.symbols(f"z1:{length + 1}")
        loss = sympy.Function("ell")(*y, *z)
        log_phi = sum(log_density(*pair, M) for pair in zip(y, z, e, strict=True))
        one = sympy.Integer(1)
        by_e = [
            loss * derivative_over_density(one, log_phi, e[token])
            - sympy.diff(loss, z[token])
            + derivative_over_density(loss, log_phi, z[token])
            for token in range(length)
        ]
        by_m = loss * derivative_over_density(one, log_phi, M)
        for token in range(length):
            slope = derivative_over_density(one, log_phi, y[token])
            by_m += sympy.diff(loss, z[token]) * slope
            by_m -= derivative_over_density(loss * slope, log_phi, z[token])
        proofs.append(Proof(f"L = {length}, undefined loss", (*by_e, by_m)))
    slope = derivative_over_density(sympy.Integer(1), log_density(Z_STAR, Z, E, M), Z_STAR)
    # s xi = z - e - m z*, so the bracket needs no square root.
    bracket = (1 - M**2) * Z_STAR - M * (Z - E - M * Z_STAR)
    return Step(
        "The gradient without a singularity",
        r"""
        Let $g_l = \partial \ell/\partial z_l$. In $R = \int \ell\,\prod_l \varphi_l$ the
        derivative by $e_l$ or $m$ falls on the density; by step 2, $\ell\,\partial_{e_l}\varphi
        = g_l\varphi - \partial_{z_l}(\ell\varphi)$ and $\ell\,\partial_m\varphi = -\sum_l
        g_l\,\partial_{z^*_l}\varphi + \sum_l \partial_{z_l}(\ell\,\partial_{z^*_l}\varphi)$:
        one integration by parts in $z_l$, which needs only one weak derivative of the loss
        (kinks are allowed). The same lines hold token by token for every $L$. Multiplied by $1
        - m^2$, $-\partial_{z^*}\varphi$ is $\varphi$ times a bracket that is regular at $|m| =
        1$.
        """,
        r"""
        \frac{\partial R}{\partial e_l} = \mathbb{E}\,g_l, \qquad (1 - m^2)\frac{\partial
        R}{\partial m} = \mathbb{E}\sum_l g_l\left[(1 - m^2)\,z^*_l - m\,s\,\xi_l\right]
        """,
        (
            *proofs,
            Proof("the bracket is the slope of the density", (bracket + (1 - M**2) * slope,)),
            Control("the opposite sign of m s xi", Proof("", (bracket - (1 - M**2) * slope,))),
        ),
    )


def _gradient_of_polynomials() -> Step:
    """Check the gradient on every polynomial loss of total degree 4, by exact moments."""
    checks: list[Proof] = []
    for length in (1, 2):
        model = PolynomialLoss(length, DEGREE)
        risk = model.average(model.loss)
        residuals = [
            risk.diff(e) - model.average(g) for e, g in zip(model.e, model.gradient, strict=True)
        ]
        flat = 1 - model.m**2
        bracket = sum(
            g * (flat * z_star - model.m * model.s * xi)
            for g, z_star, xi in zip(model.gradient, model.z_star, model.xi, strict=True)
        )
        residuals.append(flat * risk.diff(model.m) - model.average(bracket))
        laplacian = sum(
            model.s * g.diff(z) - g * xi
            for g, z, xi in zip(model.gradient, model.z, model.xi, strict=True)
        )
        checks.append(Proof(f"gradient, L = {length}, degree {DEGREE}", tuple(residuals)))
        checks.append(Proof(f"Stein's lemma in xi, L = {length}", (model.average(laplacian),)))
    return Step(
        "The gradient by exact moments",
        r"""
        An independent route: for a loss that is a polynomial in $(z^*, z)$ of total degree 4
        with a symbol for every coefficient, all averages are polynomials in $e$ and $m$,
        computed from the moments $(n - 1)!!$ of a standard normal (Isserlis).
        """,
        r"""
        R(e, m) = \sum_{a} \text{(coefficient)}_a\; \mathbb{E}\prod_l (z^*_l)^{a_l}\,(e_l + m
        z^*_l + s\,\xi_l)^{a'_l}
        """,
        tuple(checks),
    )


def _unit_overlap() -> Step:
    """Show that the gradient stays finite at |m| = 1 for smooth losses, and not for kinks."""
    log_phi, slope = log_density(Z_STAR, Z, E, M), sympy.Function("g")(Z_STAR, Z)
    # xi / s = (z - e - m z*) / (1 - m^2).
    xi_over_s = (Z - E - M * Z_STAR) / (1 - M**2)
    stein = sympy.diff(slope, Z) - slope * xi_over_s
    stein -= derivative_over_density(slope, log_phi, Z)
    q = sympy.Symbol("q", positive=True)
    kink_risk = 2 * q / sympy.sqrt(sympy.pi)
    kink_slope = sympy.diff(kink_risk, q) / (-2 * q)
    near = float(abs(kink_slope.subs(q, sympy.Float("1e-6"))))
    return Step(
        "The quotient by s is finite at |m| = 1",
        r"""
        Dividing by $1 - m^2$ leaves the quotient $\frac1s\,\mathbb{E}\sum_l g_l\,\xi_l$.
        By Stein's lemma, $g\,\xi\varphi/s = \partial_z g\,\varphi - \partial_z(g\,\varphi)$ for
        the slope $g$ of any token, which turns it into an average that is regular at $s = 0$
        when the loss has two weak derivatives. A kink on the set $f = g$ breaks this:
        $\ell = |z^* - z|$ at $e = 0$ has $R = 2\sqrt{(1 - m)/\pi}$, whose slope diverges at
        $m = 1$, while $(1 - m^2)\,\partial_m R$ tends to 0 and the ODE stays regular.
        """,
        r"""
        \frac1s\,\mathbb{E}\sum_l g_l\,\xi_l = \mathbb{E}\sum_l \frac{\partial^2 \ell}{\partial
        z_l^2}, \qquad \frac{\partial R}{\partial m} = \mathbb{E}\sum_l \left[g_l\,z^*_l -
        m\,\frac{\partial^2 \ell}{\partial z_l^2}\right]
        """,
        (
            Proof("Stein's lemma for an undefined slope", (stein,)),
            Proof(
                "the kink: (1 - m^2) dR/dm vanishes at m = 1 - q^2, q = 0",
                (sympy.expand((1 - (1 - q**2) ** 2) * kink_slope).subs(q, 0),),
            ),
            Control(
                "a bounded slope of the risk for the kink",
                Measurement("|dR/dm| at 1 - m = 1e-12", near, 1e3, "any bound"),
            ),
        ),
    )


def _gradient_of_attention() -> Step:
    """Compare the gradient formulas with differences of the risk for a softmax."""
    e, step = np.array([0.5, -0.3]), 1e-4
    largest, quotients = 0.0, []
    for m in (-0.8, 0.0, 0.6):
        z_star, z, xi, weights = attention_example.fields(e, m)
        slopes, s = attention_example.loss_gradient(z_star, z), np.sqrt(1 - m**2)
        by_m = weights @ (slopes * ((1 - m**2) * z_star - m * s * xi)).sum(axis=1)
        formula = [*(weights @ slopes), by_m / (1 - m**2)]
        risks = [
            attention_example.risk(e + sign * shift[:2], m + sign * shift[2])
            for shift in step * np.eye(3)
            for sign in (1, -1)
        ]
        differences = (np.array(risks[::2]) - np.array(risks[1::2])) / (2 * step)
        largest = max(largest, float(np.max(np.abs(differences - formula))))
    for m in (1 - 1e-6, 1.0):
        z_star, z, xi, weights = attention_example.fields(e, m)
        slopes, s = attention_example.loss_gradient(z_star, z), np.sqrt(1 - m**2)
        shifts = step * np.eye(2)
        if m < 1:
            quotients.append(float(weights @ (slopes * xi).sum(axis=1)) / s)
            continue
        second = [
            attention_example.loss_gradient(z_star, z + shift)[:, token]
            - attention_example.loss_gradient(z_star, z - shift)[:, token]
            for token, shift in enumerate(shifts)
        ]
        quotients.append(float(weights @ sum(second)) / (2 * step))
    return Step(
        "A softmax, by quadrature",
        r"""
        Attention with two tokens reduced by the trace, with the squared loss, at $e = (0.5,
        -0.3)$: the formulas against central differences of the risk, which is integrated in
        other variables, $z^* \pm x$; and the quotient close to $m = 1$ against the average of
        the second derivatives at $m = 1$.
        """,
        r"""
        f(z) = \mathrm{tr}\,\mathrm{softmax}(z z^\top), \qquad g(z^*) = z^*_1 z^*_2 + \tanh
        z^*_1
        """,
        (
            Measurement(
                "largest error of the gradient at m = -0.8, 0, 0.6",
                largest,
                5e-4,
                "the quadrature converges slowly: its order moves the gradient by 2e-4",
            ),
            Measurement(
                "quotient at m = 1 - 1e-6 minus its limit, relative",
                abs(quotients[0] / quotients[1] - 1),
                1e-3,
                "the same quadrature; the limit itself is approached like 1 - m",
            ),
        ),
    )


def main() -> int:
    """Print the derivation; 1 is returned when a check fails, else 0."""
    return 1 if publish([derive()]) else 0


if __name__ == "__main__":
    raise SystemExit(main())
