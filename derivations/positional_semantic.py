r"""Positional against semantic learning: the bilinear risk, its boundaries, and who leads.

Run ``python -m derivations.positional_semantic`` in the root of a clone, or
``python -m ssiode.derivations.positional_semantic`` anywhere.
"""

from __future__ import annotations

import numpy as np
import sympy
from numpy.typing import NDArray

from .report import Control, Derivation, Measurement, Proof, Step, publish

Array = NDArray[np.float64]
Z1, Z2, U, S = sympy.symbols("z1 z2 u s", real=True)
FIELDS = {Z1: (U + S) / sympy.sqrt(2), Z2: (S - U) / sympy.sqrt(2)}
A, B, ALPHA, OMEGA = sympy.symbols("A B alpha omega")
X, Y, E, M = sympy.symbols("x y e m")
# A task and overlaps for measurements.
MIXTURE, STRENGTH, POSITIONAL, SEMANTIC = 0.7, 0.9, 0.4, 0.5


def derive() -> Derivation:
    """Derive the phases of the positional-semantic model.

    Returns
    -------
    Derivation
        The risk as a bilinear form of the task, the conditions at which its phases change, and the
        noise that decides between both overlaps at the origin.
    """
    return Derivation(
        "Positional against semantic learning",
        r"""
        The target is $T = (1-\omega)\,\mathrm{softmax}(z^* z^{*T}) +
        \omega\,\mathrm{softmax}(a^2 v v^T)$ with $v = (1, -1)$, the student $S =
        \mathrm{softmax}(z z^T)$ with opposite rows $(p, -p)$ of norm 1, both row by row (Arnaboldi
        et al., arXiv 2506.02651, section 4). $u = (z_1 - z_2)/\sqrt 2$ and $s = (z_1 +
        z_2)/\sqrt 2$ are two standard Gaussian fields, and the encoding adds $\sqrt 2\,e$ to $u$.
        """,
        (
            _entries(),
            _bilinear(),
            _even(),
            _corners(),
            _straight_lines(),
            _curves(),
            _noise(),
            _leading(),
            _separatrix(),
        ),
    )


def _entries() -> Step:
    """Prove the two diagonal entries in u and s."""
    first = Z1**2 - Z1 * Z2
    second = Z2**2 - Z1 * Z2
    entries = (first.subs(FIELDS) - U**2 - U * S, second.subs(FIELDS) - U**2 + U * S)
    t1, t2, s1, s2 = sympy.symbols("T_11 T_22 S_11 S_22")
    square = (t1 - s1) ** 2 + (1 - t1 - 1 + s1) ** 2 + (t2 - s2) ** 2 + (1 - t2 - 1 + s2) ** 2
    return Step(
        "Two functions of two fields",
        r"""
        With two tokens a row of a softmax is $(\sigma(x), 1 - \sigma(x))$, $x$ the difference of
        its two exponents, so a matrix is given by its diagonal. The second entry is the first one
        with $s \to -s$.
        """,
        r"""
        S_{11} = p(u, s) = \sigma(u^2 + u s), \quad S_{22} = p(u, -s), \qquad
        \tfrac12 |T - S|_F^2 = (T_{11} - S_{11})^2 + (T_{22} - S_{22})^2
        """,
        (
            Proof("exponents of both rows", tuple(map(sympy.expand, entries))),
            Proof("half of the square", (square / 2 - (t1 - s1) ** 2 - (t2 - s2) ** 2,)),
            Control("the second entry equal to the first", Proof("", (entries[1] + 2 * U * S,))),
        ),
    )


def _averages(expression: sympy.Expr, p_star: sympy.Symbol, p: sympy.Symbol) -> sympy.Expr:
    """Replace the products of p* and p by the names of their averages."""
    names = {
        p_star**2: sympy.Symbol("K_tt"),
        p**2: sympy.Symbol("S_2"),
        p_star * p: sympy.Symbol("C"),
        p_star: sympy.Symbol("K_t"),
        p: sympy.Symbol("S_1"),
        sympy.Integer(1): sympy.Integer(1),
    }
    terms = sympy.Poly(expression, p_star, p).terms()
    return sum(c * names[p_star ** powers[0] * p ** powers[1]] for powers, c in terms)


def _bilinear() -> Step:
    """Prove the risk in the task, and measure it by a plain quadrature of four fields."""
    p_star, p = sympy.symbols("p_star p")
    k_tt, k_t, s_2, s_1, c = sympy.symbols("K_tt K_t S_2 S_1 C")
    averaged = 2 * _averages((A * p_star + B - p) ** 2, p_star, p)
    risk = 2 * (A**2 * k_tt + 2 * A * B * k_t + B**2 + s_2 - 2 * A * c - 2 * B * s_1)
    off = abs(_risk_from_averages() / _plain_risk() - 1)
    without = abs(_risk_from_averages(semantic=0.0) / _plain_risk() - 1)
    return Step(
        "The risk is bilinear in the task",
        r"""
        $T_{11} = A\,p(u^*, s^*) + B$ with $A = 1 - \omega$, $\alpha = \sigma(2a^2)$ and $B =
        \omega\alpha$. Both entries have the same average. Averages of $p$ alone depend on $e$, and
        $C = \mathbb{E}\,p^* p$ on $m$ too, by Mehler's formula: the pairs $(u^*, u)$ and $(s^*, s)$
        have the correlation $m$. So a table of $S_1$, $S_2$ and $C$ serves all tasks.
        """,
        r"""
        R = 2\,[A^2 K_{tt} + 2AB\,K_t + B^2 + S_2(e) - 2A\,C(e, m) - 2B\,S_1(e)]
        """,
        (
            Proof("the average of the square", (sympy.expand(averaged - risk),)),
            Measurement(
                "relative distance from a quadrature of four fields", off, 1e-9, "both converge"
            ),
            Control("C at m = 0", Measurement("", without, 1e-9, "")),
        ),
    )


def _nodes(step: float, reach: float) -> tuple[Array, Array]:
    """The trapezoidal rule of a Gaussian field."""
    nodes = np.arange(-reach, reach + step / 2, step)
    weights = step / np.sqrt(2 * np.pi) * np.exp(-(nodes**2) / 2)
    return nodes, weights


def _entry(u: Array, s: Array) -> Array:
    return 1 / (1 + np.exp(-(u * u) - u * s))


def _plain_risk() -> float:
    """E |T - S|^2 / 2, with z = m z* + sqrt(1 - m^2) xi."""
    nodes, weights = _nodes(0.25, 7.0)
    alpha = 1 / (1 + np.exp(-2 * STRENGTH**2))
    rest = np.sqrt(1 - SEMANTIC**2)
    shift = np.sqrt(2) * POSITIONAL
    total = 0.0
    for u_star, weight in zip(nodes, weights, strict=True):
        for s_star, other in zip(nodes, weights, strict=True):
            u = SEMANTIC * u_star + rest * nodes[:, None] + shift
            s = SEMANTIC * s_star + rest * nodes
            square = np.zeros((len(nodes), len(nodes)))
            for sign in (1, -1):
                label = (1 - MIXTURE) * _entry(u_star, sign * s_star) + MIXTURE * alpha
                square += (label - _entry(u, sign * s)) ** 2
            total += weight * other * (weights @ square @ weights)
    return float(total)


def _risk_from_averages(semantic: float = SEMANTIC) -> float:
    """The bilinear form, with C by Hermite coefficients."""
    nodes, weights = _nodes(0.1, 9.0)
    u, s = nodes[:, None], nodes
    polynomials = [np.ones_like(nodes), nodes]
    for n in range(1, 60):
        last, before = polynomials[-1], polynomials[-2]
        polynomials.append((nodes * last - np.sqrt(n) * before) / np.sqrt(n + 1))
    table = np.array(polynomials) * weights
    star, student = _entry(u, s), _entry(u + np.sqrt(2) * POSITIONAL, s)
    orders = np.add.outer(*(np.arange(len(table)),) * 2)
    c = np.sum(semantic**orders * (table @ star @ table.T) * (table @ student @ table.T))
    k_tt, k_t = weights @ star**2 @ weights, weights @ star @ weights
    s_2, s_1 = weights @ student**2 @ weights, weights @ student @ weights
    a, b = 1 - MIXTURE, MIXTURE / (1 + np.exp(-2 * STRENGTH**2))
    return float(2 * (a**2 * k_tt + 2 * a * b * k_t + b**2 + s_2 - 2 * a * c - 2 * b * s_1))


def _even() -> Step:
    """Prove that the risk is even in both overlaps."""
    exponent = U**2 + U * S
    mirrored = exponent.subs({U: -U, S: -S}, simultaneous=True)
    risk = sympy.Function("f")(X, Y).subs({X: E**2, Y: M**2})
    first, second = (sympy.diff(risk, v).subs(v, 0).doit() for v in (E, M))
    return Step(
        "Even in both overlaps",
        r"""
        As $p(-u, -s) = p(u, s)$, averages are even in $e$, Hermite coefficients of odd order vanish
        at $e = 0$ and $C$ is even in $m$ at every $e$: those of the teacher have even order. So $R
        = f(e^2, m^2)$, the gradient and $R_{em}$ vanish at the origin, and the axes are invariant.
        """,
        r"R(e, m) = f(x, y), \qquad x = e^2, \quad y = m^2",
        (
            Proof("p is even", (sympy.expand(mirrored - exponent),)),
            Proof("no gradient at e = 0 and at m = 0", (first, second)),
            Control(
                "p is even in u alone", Proof("", (sympy.expand(exponent.subs(U, -U) - exponent),))
            ),
        ),
    )


def _corners() -> Step:
    """Prove the conditions for minima at both ends of the arc."""
    f = sympy.Function("f")
    slope = sympy.diff(f(X, Y), X) - sympy.diff(f(X, Y), Y)
    along = sympy.diff(f(X, 1 - X), X).doit()
    at_half = sympy.Rational(1, 2)
    chain = along.subs(X, at_half).doit() - slope.subs({X: at_half, Y: at_half}).doit()
    polynomial = sum(sympy.Symbol(f"f{i}{j}") * X**i * Y**j for i in range(4) for j in range(4 - i))
    risk = polynomial.subs({X: E**2, Y: M**2}, simultaneous=True)
    place = {E: 0, M: 1}
    curvature = (sympy.diff(risk, E, 2) - sympy.diff(risk, M)).subs(place)
    expected = 2 * (sympy.diff(polynomial, X) - sympy.diff(polynomial, Y)).subs({X: 0, Y: 1})
    wrong = sympy.diff(risk, E, 2).subs(place) - expected
    return Step(
        "Minima at the corners",
        r"""
        $\partial C/\partial y > 0$ on the disc (the table proves it by cells), so for $\omega < 1$
        the risk falls in $|m|$ and all minima lie on the arc $y = 1 - x$, where they are those of
        $F(x) = f(x, 1 - x)$. The corner $(0, 1)$ is one if $F'(0) \ge 0$, which is $R_{ee} - R_m
        \ge 0$ there, and $(1, 0)$ if $F'(1) \le 0$.
        """,
        r"F'(x) = f_x - f_y, \qquad R_{ee} - R_m = 2 F'(0) \ \text{at}\ (0, 1)",
        (
            Proof("the slope along the arc", (sympy.simplify(chain),)),
            Proof(
                "the curvature at the corner, f of degree 3", (sympy.expand(curvature - expected),)
            ),
            Control("R_ee alone", Proof("", (sympy.expand(wrong),))),
        ),
    )


def _straight_lines() -> Step:
    """Prove omega of a linear condition."""
    still, semantic, positional = sympy.symbols("l_0 l_C l_1")
    condition = still - 2 * A * semantic - 2 * B * positional
    omega = (2 * semantic - still) / (2 * semantic - 2 * ALPHA * positional)
    task = {A: 1 - OMEGA, B: OMEGA * ALPHA}
    at = condition.subs(task).subs(OMEGA, omega)
    wrong = condition.subs(task).subs(OMEGA, omega.subs(ALPHA, 1))
    return Step(
        "Linear conditions",
        r"""
        A condition that is linear in $R$ and does not see its constant, with values $\ell_0,
        \ell_C, \ell_1$ for $S_2, C, S_1$, is a straight line in $(A, B)$ and an explicit
        $\omega(a)$: the flip of the steepest direction, $f_x = f_y$ at the origin; the birth of the
        positional minimum, $F'(1) = 0$; the death of the semantic one, $F'(0) = 0$; equally deep
        corners, $F(1) = F(0)$.
        """,
        r"\omega = \frac{2\ell_C - \ell_0}{2\ell_C - 2\alpha\,\ell_1}",
        (
            Proof("it solves the condition", (sympy.together(at),)),
            Control("with alpha = 1", Proof("", (sympy.together(wrong),))),
        ),
    )


def _curves() -> Step:
    """Prove the two integrals that equal minima lose no digits by."""
    t = sympy.Symbol("t")
    coefficients = sympy.symbols("c0:6")
    function = sum(c * X**k for k, c in enumerate(coefficients))
    slope, curvature = (sympy.diff(function, X, k) for k in (1, 2))
    chord = (function - function.subs(X, 0)) / X
    first = sympy.integrate(sympy.expand(slope.subs(X, t * X)), (t, 0, 1))
    second = sympy.integrate(sympy.expand(t * curvature.subs(X, t * X)), (t, 0, 1))
    return Step(
        "Mixed minima",
        r"""
        A minimum inside of the arc is born in a fold, $F' = F'' = 0$, and is as deep as the
        semantic one where $F(x) = F(0)$ and $F' = 0$. At each $x$ these are two linear equations
        for $(A, B)$, so each boundary is a curve with the parameter $x$. The second pair has a
        double root at $x = 0$, which averages over the chord take out.
        """,
        r"""
        \frac{F(x) - F(0)}{x} = \int_0^1 F'(tx)\,dt, \qquad
        \frac1x\Big[F'(x) - \frac{F(x) - F(0)}{x}\Big] = \int_0^1 t\,F''(tx)\,dt
        """,
        (
            Proof(
                "both integrals, F of degree 5",
                (sympy.expand(chord - first), sympy.expand((slope - chord) / X - second)),
            ),
            Control("without t", Proof("", (sympy.expand((slope - chord) / X - slope / X),))),
        ),
    )


def _noise() -> Step:
    """Prove the second moments of the gradient at the origin."""
    g1, g2, a1, a2 = sympy.symbols("g1 g2 a1 a2")
    in_u, in_s = sympy.symbols("l_u l_s")
    fields = {g1: (in_u + in_s) / sympy.sqrt(2), g2: (in_s - in_u) / sympy.sqrt(2)}
    square = sympy.Poly((g1 * (a1 + 1) + g2 * (a2 - 1)) ** 2, a1, a2)
    gaussian = {(0, 0): 1, (2, 0): 1, (0, 2): 1}
    along_positions = sum(c * gaussian.get(powers, 0) for powers, c in square.terms())
    residual = along_positions.subs(fields) - 3 * in_u**2 - in_s**2
    along_teacher = (g1 * Z1 + g2 * Z2).subs(fields).subs(FIELDS) - in_u * U - in_s * S
    elsewhere = (g1**2 + g2**2).subs(fields) - in_u**2 - in_s**2
    return Step(
        "Gradient noise at the origin",
        r"""
        A sample moves the weights by $\sum_l g_l x_l$, $g_l = \partial\ell/\partial z_l$. At $e = m
        = 0$ the products $x_l\cdot p = a_l \pm 1$, with $a_l$ standard Gaussian, are independent of
        the fields. Here $\ell_u$ and $\ell_s$ are the derivatives of the loss in $u$ and $s$; along
        all directions but $p$ and the teacher the second moment is $V_0$.
        """,
        r"""
        V_e = \mathbb{E}\,[3\ell_u^2 + \ell_s^2], \qquad
        V_m = \mathbb{E}\,(\ell_u u^* + \ell_s s^*)^2, \qquad
        V_0 = \mathbb{E}\,[\ell_u^2 + \ell_s^2]
        """,
        (
            Proof(
                "along p, the teacher and the rest",
                tuple(map(sympy.expand, (residual, along_teacher, elsewhere))),
            ),
            Control("without the positions", Proof("", (sympy.expand(residual + 2 * in_u**2),))),
        ),
    )


def _leading() -> Step:
    """Prove the variances and the probability that m leads."""
    t, rate, gamma, noise, d, start = sympy.symbols("t lambda gamma V d s_0", positive=True)
    grown = sympy.exp(2 * rate * t)
    variance = (start * grown + gamma * noise * (grown - 1) / (2 * rate)) / d
    drift = sympy.diff(variance, t) - 2 * rate * variance - gamma * noise / d
    r, y = sympy.symbols("r y", positive=True)
    # The density of |x| / |y| for two standard Gaussian numbers.
    density = sympy.integrate(
        2 / sympy.pi * y * sympy.exp(-(y**2) * (1 + r**2) / 2), (y, 0, sympy.oo)
    )
    probability = 2 / sympy.pi * sympy.atan(r)
    return Step(
        "Who leads in the linear regime",
        r"""
        Near the origin $e$ has the drift $\lambda_e e$, $\lambda_e = -R_{ee} - \gamma V_0/2$, and
        the noise $\gamma V_e/d$ per ODE time; so has $m$, independently. From $s_0/d$ (1 for random
        weights, 0 from the origin) their variances solve $\dot{(\sigma^2)} = 2\lambda\sigma^2 +
        \gamma V/d$. $|m| > |e|$ where the ratio of two standard Gaussian numbers is below $r =
        \sigma_m/\sigma_e$.
        """,
        r"""
        \sigma^2 = \frac1d\Big[s_0 e^{2\lambda t} + \gamma V\,\frac{e^{2\lambda t} -
        1}{2\lambda}\Big], \qquad P(|m| > |e|) = \frac2\pi\arctan\frac{\sigma_m}{\sigma_e}
        """,
        (
            Proof(
                "variance, its start, and the density of the ratio",
                (
                    sympy.expand(drift),
                    sympy.simplify(variance.subs(t, 0) - start / d),
                    sympy.simplify(sympy.diff(probability, r) - density),
                ),
            ),
            Control("drift lambda in place of 2 lambda", Proof("", (drift + rate * variance,))),
        ),
    )


def _separatrix() -> Step:
    """Prove the line between semantic and positional ends at recovery."""
    in_e, in_m, end, x, y = sympy.symbols("lambda_e lambda_m c x y", positive=True)
    # The time at which e is c, from x at time 0.
    time = sympy.log(end / x) / in_e
    at_end = y * sympy.exp(in_m * time)
    on_line = end * (x / end) ** (in_m / in_e)
    residual = sympy.simplify(sympy.log(at_end.subs(y, on_line)) - sympy.log(end))
    wrong = sympy.log(at_end.subs(y, x)) - sympy.log(end)
    return Step(
        "Who leads at recovery",
        r"""
        Once both are larger than the noise of a step, $e = x e^{\lambda_e t}$ and $m = y
        e^{\lambda_m t}$. A replica whose two overlaps reach $c = \eta/\sqrt2$ at once started on a
        power law, above which $m$ leads at recovery. The exponent is 1 at the flip.
        """,
        r"\frac{y}{c} = \Big(\frac{x}{c}\Big)^{\lambda_m/\lambda_e}",
        (
            Proof("both overlaps end at c", (sympy.expand(sympy.expand_log(residual)),)),
            Control("the diagonal y = x", Proof("", (sympy.expand(sympy.expand_log(wrong)),))),
        ),
    )


def main() -> int:
    """Print the derivation; 1 is returned when a check fails, else 0."""
    return 1 if publish([derive()]) else 0


if __name__ == "__main__":
    raise SystemExit(main())
