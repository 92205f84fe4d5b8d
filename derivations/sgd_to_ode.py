r"""From one step of SGD to the ODE on the sufficient statistics.

The result is dv/dt = -(Gamma - v v^T) grad R(v) - (gamma / 2) V(v) v with t = gamma tau / d. Run
``python -m derivations.sgd_to_ode`` in the root of a clone, or
``python -m ssiode.derivations.sgd_to_ode`` anywhere.
"""

from __future__ import annotations

import numpy as np
import sympy
from sympy import QQ, ring
from sympy.polys.rings import PolyElement

from .gaussian import derivative_over_density, expectation, log_density, reduce_square
from .one_step_measurement import Geometry, Landscape, largest_deviation, measure_increments
from .polynomial_loss import PolynomialLoss
from .report import Control, Derivation, Measurement, Proof, Step, publish

EPSILON, GAMMA, M = sympy.symbols("epsilon gamma m", real=True)
U, MOVE, FIELD, NORM = sympy.symbols("u U Z N", real=True)
DEGREE = 4

DIMENSION = 400
SAMPLES = 80_000
DEVIATION = 4.5
CORRELATED = Geometry(
    encoding=((1.0, 0.0, 0.2), (-0.4, 0.8, 0.5)),
    teacher=(0.0, 0.0, 1.0),
    student=(0.45, 0.35, 0.55),
)
OPPOSITE = Geometry(encoding=((1.0, 0.0), (-1.0, 0.0)), teacher=(0.0, 1.0), student=(0.5, 0.6))


def derive() -> Derivation:
    """Derive the ODE from one step of SGD, for any loss and any encoding.

    Returns
    -------
    Derivation
        From the normalised step to the ODE, with a measurement of real steps at the end.
    """
    return Derivation(
        "From one step of SGD to the ODE",
        r"""
        One step with a fresh sample is $w \leftarrow \sqrt d\,(w + \delta w)/|w + \delta w|$ with
        $\delta w = -\gamma \sum_l g_l\,(X_l + P_l/\sqrt d)$ and $g_l = \partial\ell/\partial z_l$.
        Let $u$, $p_l$ and $b^*$ be the coordinates of $w/\sqrt d$, $P_l$ and $w^*/\sqrt d$ in an
        orthonormal basis of $\mathrm{span}(P_1, \ldots, P_L, w^*/\sqrt d)$, and $A_l$ those of
        $\sqrt d\,X_l$, which are independent standard normals. The statistics are
        $e_l = p_l \cdot u$ and $m = b^* \cdot u$, the time is $t = \gamma\tau/d$. Result: Arnaboldi
        et al., arXiv 2506.02651, here for every Gram matrix of the encoding.
        """,
        (
            _normalisation(),
            _projected_gradient(),
            _squared_length(),
            _conditional_mean(),
            _metric_for_any_loss(),
            _metric_for_polynomials(),
            _ode(),
            _real_steps(),
        ),
    )


def _first_order(moved: sympy.Expr, squared_norm: sympy.Expr) -> sympy.Expr:
    """Differentiate a normalised step by epsilon = 1 / d at 0."""
    step = moved / sympy.sqrt(squared_norm)
    return sympy.diff(step, EPSILON).subs(EPSILON, 0)


def _normalisation() -> Step:
    """Expand the normalised step to first order in 1 / d."""
    squared_norm = 1 - 2 * GAMMA * EPSILON * FIELD + GAMMA**2 * EPSILON * NORM
    increment = _first_order(U - GAMMA * EPSILON * MOVE, squared_norm)
    wanted = -GAMMA * (MOVE - U * FIELD) - GAMMA**2 / 2 * U * NORM
    return Step(
        "The normalised step to first order in 1/d",
        r"""
        In coordinates the step adds $-\frac{\gamma}{d}\,U$ to $u$, with
        $U = \sum_l g_l (A_l + p_l)$. Since $w \cdot \delta w = -\gamma Z$ with
        $Z = \sum_l g_l z_l$ (the encoding is part of $z_l$), the squared norm of $w + \delta w$
        is $d\,(1 - 2\gamma Z/d + \gamma^2 N/d)$ with $N = |\sum_l g_l (X_l + P_l/\sqrt d)|^2$.
        The derivative by $\varepsilon = 1/d$ at $0$ is taken with $U$, $Z$ and $N$ as symbols.
        """,
        r"""
        \delta u = -\frac{\gamma}{d}\left[U - u\,Z\right] - \frac{\gamma^2}{2d}\,u\,N + O(d^{-2})
        """,
        (
            Proof("every coordinate of u", (increment - wanted,)),
            Control(
                "without the growth of the norm by N",
                Proof("", (increment + GAMMA * (MOVE - U * FIELD),)),
            ),
        ),
    )


def _projected_gradient() -> Step:
    """Show that a gradient projected on the tangent space gives the same first order."""
    plain = 1 - 2 * GAMMA * EPSILON * FIELD + GAMMA**2 * EPSILON * NORM
    # |dw - w (w . dw) / d|^2 / d = (gamma^2 N - gamma^2 Z^2 / d) / d, and w . dw is gone.
    projected = 1 + GAMMA**2 * EPSILON * (NORM - EPSILON * FIELD**2)
    moved = U - GAMMA * EPSILON * (MOVE - U * FIELD)
    before = _first_order(U - GAMMA * EPSILON * MOVE, plain)
    after = _first_order(moved, projected)
    unmatched = _first_order(U - GAMMA * EPSILON * MOVE, projected)
    return Step(
        "Projected gradient or not",
        r"""
        The spherical gradient $(I - w w^\top/d)\,\delta w$ moves $u$ by
        $-\frac\gamma d (U - u Z)$, is orthogonal to $w$, and its squared length is smaller by
        $\gamma^2 Z^2/d$, one order below $N$. Normalised, it has the same first order.
        """,
        r"\delta u_{\text{projected}} - \delta u_{\text{plain}} = O(d^{-2})",
        (
            Proof("equal first orders", (before - after,)),
            Control(
                "a plain step with the norm of a projected one", Proof("", (unmatched - after,))
            ),
        ),
    )


def _squared_length() -> Step:
    """Compute mean and variance of the scalar products of tokens for every d."""
    d = sympy.Symbol("d", positive=True)
    _, x, y = ring("x, y", QQ)
    second, fourth = expectation(x**2, [x]), expectation(x**4, [x])
    mixed = expectation(x**2 * y**2, [x, y])
    second, fourth, mixed = (sympy.Rational(int(p.coeff(1))) for p in (second, fourth, mixed))
    # |X_l|^2 = sum_i x_i^2 / d: d equal and d (d - 1) different pairs of coordinates.
    same_mean = d * second / d
    same_variance = (d * fourth + d * (d - 1) * mixed) / d**2 - same_mean**2
    # X_l . X_k = sum_i x_i y_i / d: different coordinates are uncorrelated.
    cross_variance = d * mixed / d**2
    # Sum over i of p_i x_i / sqrt(d) / sqrt(d), with |P_l|^2 = p.
    p = sympy.Symbol("p", positive=True)
    encoding_variance = p * second / d**2
    return Step(
        "The squared length of the gradient",
        r"""
        Conditionally on the fields only boundedly many directions of a token are fixed, so the
        scalar products in $N = \sum_{l,k} g_l g_k\,(X_l + P_l/\sqrt d) \cdot (X_k + P_k/\sqrt d)$
        concentrate: $X_l \cdot X_k$ has mean $\delta_{lk}$ and variance
        $(1 + \delta_{lk})/d$, while $X_l \cdot P_k/\sqrt d$ has variance $|P_k|^2/d^2$ and
        $P_l \cdot P_k/d$ is of order $1/d$. The cross terms vanish.
        """,
        r"N = \sum_l g_l^2 + O(d^{-1/2})",
        (
            Proof(
                "means and variances for every d",
                (
                    same_mean - 1,
                    same_variance - 2 / d,
                    cross_variance - 1 / d,
                    encoding_variance - p / d**2,
                ),
            ),
            Control("variance 1/d of |X_l|^2", Proof("", (same_variance - 1 / d,))),
        ),
    )


def _conditional_mean() -> Step:
    """Project p_k . A_l on the fields, in three dimensions and one outside of the span."""
    names = [f"{letter}{axis}" for letter in ("p", "b", "u", "a") for axis in range(3)]
    _, *generators = ring([*names, "rho", "outside"], QQ)
    p, b, u, a = (generators[start : start + 3] for start in range(0, 12, 3))
    rho, outside = generators[12:]

    def dot(left: list[PolyElement], right: list[PolyElement]) -> PolyElement:
        return sum(x * y for x, y in zip(left, right, strict=True))

    normals = [*a, outside]
    z_star, x = dot(a, b), dot(a, u) + rho * outside
    m, c, e = dot(b, u), dot(p, b), dot(p, u)
    # Everything is multiplied by s^2; s xi = x - m z*, and |b| = 1, |u|^2 + rho^2 = 1.
    square = 1 - m**2
    rest = square * dot(a, p) - square * c * z_star - (e - m * c) * (x - m * z_star)
    residuals = []
    for field in (z_star, x - m * z_star):
        covariance = reduce_square(expectation(rest * field, normals), rho, 1 - dot(u, u))
        residuals.append(reduce_square(covariance, b[0], 1 - b[1] ** 2 - b[2] ** 2))
    without = expectation((dot(a, p) - c * z_star) * (x - m * z_star), normals)
    return Step(
        "The increment given the fields",
        r"""
        Multiply $\delta u$ by $p_k$ or by $b^*$. The field $b^* \cdot A_l$ is $z^*_l$ itself, and
        $p_k \cdot A_l$ is replaced by its mean given the fields, linear because everything is
        Gaussian. The remainder is uncorrelated with $z^*_l$ and $\xi_l$, hence independent of
        them and of $g_l$. With $c_k = p_k \cdot b^*$ and $G_{kl} = p_k \cdot p_l$ the increments
        of $e_k$ and $m$ have the means below, where $V = \mathbb{E}\sum_l g_l^2$.
        """,
        r"""
        \mathbb{E}\,[p_k \cdot A_l \mid z^*_l, \xi_l] = c_k z^*_l + \frac{e_k - m c_k}{s}\,\xi_l,
        \qquad \begin{aligned}
        \frac{d}{\gamma}\,\mathbb{E}\,\delta e_k &= -\mathbb{E}\sum_l g_l\Big[c_k z^*_l +
        \frac{e_k - m c_k}{s}\,\xi_l + G_{kl} - e_k z_l\Big] - \frac\gamma2 V e_k \\
        \frac{d}{\gamma}\,\mathbb{E}\,\delta m &= -\mathbb{E}\sum_l g_l\,[z^*_l + c_l - m z_l]
        - \frac\gamma2 V m \end{aligned}
        """,
        (
            Proof("the remainder is uncorrelated with both fields", tuple(residuals)),
            Control("without the term in xi", Proof("", (without,))),
        ),
    )


def _metric_for_any_loss() -> Step:
    """Turn the mean increment into a gradient, for an undefined loss, on the integrands."""
    checks: list[Proof | Control] = []
    for length in (1, 2, 3):
        names = range(1, length + 1)
        e, c = sympy.symbols(f"e1:{length + 1}"), sympy.symbols(f"c1:{length + 1}")
        y, z = sympy.symbols(f"y1:{length + 1}"), sympy.symbols(f"z1:{length + 1}")
        gram = [[sympy.Symbol(f"G{min(k, n)}{max(k, n)}") for n in names] for k in names]
        loss = sympy.Function("ell")(*y, *z)
        slopes = [sympy.diff(loss, field) for field in z]
        pairs = [log_density(*pair, M) for pair in zip(y, z, e, strict=True)]
        one = sympy.Integer(1)
        by_star = [derivative_over_density(one, pairs[n], y[n]) for n in range(length)]
        by_e = [derivative_over_density(one, pairs[n], e[n]) for n in range(length)]
        by_m = [derivative_over_density(one, pairs[n], M) for n in range(length)]
        residuals, wrong = [], []
        for k in range(length + 1):
            row, v_k, c_k = ([*gram[k], c[k]], e[k], c[k]) if k < length else ([*c, one], M, one)
            residual = identity = sympy.Integer(0)
            for n in range(length):
                xi_over_s = (z[n] - e[n] - M * y[n]) / (1 - M**2)
                bracket = c_k * y[n] + (v_k - M * c_k) * xi_over_s + row[n] - v_k * z[n]
                flow = (row[n] - v_k * e[n]) * by_e[n] + (c_k - v_k * M) * by_m[n]
                divided = loss * ((row[n] - v_k * e[n]) - (c_k - v_k * M) * by_star[n])
                divergence = derivative_over_density(divided, pairs[n], z[n])
                residual += slopes[n] * bracket - loss * flow - divergence
                identity += slopes[n] * bracket - loss * (flow + v_k * e[n] * by_e[n]) - divergence
            residuals.append(residual)
            wrong.append(identity)
        checks.append(Proof(f"L = {length}, all {length + 1} components", tuple(residuals)))
        if length == 1:
            checks.append(Control("v v^T without its part in e", Proof("", tuple(wrong))))
    return Step(
        "Stein's lemma makes it a gradient, for any loss",
        r"""
        The claim is about integrals against $\prod_l \varphi_l$, the Gaussian density of the pairs
        $(z^*_l, z_l)$. The integrands differ by an explicit divergence, which integrates to 0: the
        vector field with components
        $\ell\,[(\Gamma_{kl} - v_k e_l)\varphi - (c_k - v_k m)\,\partial_{z^*_l}\varphi]$, where for
        the component $m$ the row of $\Gamma$ is $(c, 1)$, $v_k = m$ and $c_k = 1$. The loss is an
        undefined function in the proof and one weak derivative of it is enough; tokens enter one by
        one, so that more than three tokens add nothing new.
        """,
        r"""
        \mathbb{E}\sum_l g_l\Big[c_k z^*_l + \frac{v_k - m c_k}{s}\,\xi_l + \Gamma_{kl} - v_k
        z_l\Big] = \big[(\Gamma - v v^\top)\,\nabla R\big]_k, \qquad
        \Gamma = \begin{pmatrix} G & c \\ c^\top & 1 \end{pmatrix}
        """,
        tuple(checks),
    )


def _metric_for_polynomials() -> Step:
    """Prove the same identity by exact moments for every polynomial of total degree 4."""
    checks: list[Proof | Control] = []
    for length in (1, 2):
        model = PolynomialLoss(length, DEGREE)
        risk = model.average(model.loss)
        v = [*model.e, model.m]
        gradient = [risk.diff(statistic) for statistic in v]
        metric = [[*model.gram[k], model.teacher[k]] for k in range(length)]
        metric.append([*model.teacher, model.ring.one])
        residuals, euclidean = [], []
        for k, (row, v_k) in enumerate(zip(metric, v, strict=True)):
            flow = sum((row[n] - v_k * v[n]) * gradient[n] for n in range(length + 1))
            flat = sum(((k == n) - v_k * v[n]) * gradient[n] for n in range(length + 1))
            # Both sides are multiplied by s.
            mean = model.average(
                sum(
                    model.gradient[n]
                    * (
                        model.s * row[-1] * model.z_star[n]
                        + (v_k - model.m * row[-1]) * model.xi[n]
                        + model.s * (row[n] - v_k * model.z[n])
                    )
                    for n in range(length)
                )
            )
            residuals.append(mean - model.reduced(model.s * flow))
            euclidean.append(mean - model.reduced(model.s * flat))
        what = f"L = {length}, degree {DEGREE}, all {length + 1} components"
        checks.append(Proof(what, tuple(residuals)))
        checks.append(Control(f"L = {length}, identity for Gamma", Proof("", tuple(euclidean))))
    return Step(
        "The same by exact moments",
        r"""
        An independent route without integration by parts: for every polynomial loss of total
        degree 4, with symbols for all coefficients, for the Gram matrix $G$ and for the overlap
        $c$, both sides are computed from moments (Isserlis) and subtracted.
        """,
        r"-\mathbb{E}\sum_l g_l\,[\ldots]_{kl} + \big[(\Gamma - v v^\top)\,\nabla R\big]_k = 0",
        tuple(checks),
    )


def _ode() -> Step:
    """Collect the terms; batches and vanishing learning rate."""
    batch = sympy.Symbol("b", integer=True, positive=True)
    index = sympy.Symbol("beta", integer=True)
    drift, moment, flow = sympy.symbols("D V F")
    mean_drift = sympy.Sum(drift, (index, 1, batch)).doit() / batch
    # Different samples have independent orthogonal parts: no cross terms in the squared length.
    mean_length = sympy.Sum(moment, (index, 1, batch)).doit() / batch**2
    velocity = (GAMMA * flow - GAMMA**2 / 2 * moment * U) / GAMMA
    return Step(
        "The ODE, batches, and gradient flow",
        r"""
        One step advances $t$ by $\gamma/d$, so $dv/dt$ is $\frac d\gamma\,\mathbb{E}\,\delta v$. A
        batch of $b$ samples averages $\delta w$: the drift keeps its mean, and $N$ becomes
        $b^{-2}\sum_{\beta,l} g_{\beta l}^2$, since by step 3 different tokens, of one sample or of
        two, do not contribute cross terms; $V$ is divided by $b$. At $\gamma = 0$ only the
        spherical gradient flow in the metric $\Gamma$ is left.
        """,
        r"""
        \frac{dv}{dt} = -\left(\Gamma - v v^\top\right)\nabla R(v) - \frac{\gamma}{2b}\,V(v)\,v,
        \qquad V = \mathbb{E}\sum_l g_l^2
        """,
        (
            Proof(
                "a batch keeps the drift and divides V by b",
                (mean_drift - drift, mean_length - moment / batch),
            ),
            Proof(
                "gradient flow at learning rate 0", (sympy.expand(velocity).subs(GAMMA, 0) - flow,)
            ),
            Control("V independent of b", Proof("", (mean_length - moment,))),
        ),
    )


def _real_steps() -> Step:
    """Compare means over many real steps with the drift, and with wrong drifts."""
    gamma, batch = 0.5, 500
    reason = "6 comparisons: false alarm below 5e-5; terms of order 1/d are a third of one"
    checks: list[Measurement | Control] = []
    for name, geometry in (("correlated", CORRELATED), ("opposite", OPPOSITE)):
        increments = measure_increments(
            geometry,
            dimension=DIMENSION,
            gamma=gamma,
            batches=SAMPLES // batch,
            batch=batch,
            seed=1,
        )
        v, metric = geometry.statistics, geometry.metric
        landscape = Landscape.at(v)
        uncorrelated = metric.copy()
        uncorrelated[:-1, -1] = uncorrelated[-1, :-1] = 0.0
        wrong = {
            "no second term": landscape.drift(metric, v, 0.0),
            "the identity instead of Gamma": landscape.drift(np.eye(len(v)), v, gamma),
            "no v v^T": landscape.drift(metric, v, gamma, radial=0.0),
        }
        if name == "correlated":
            wrong["no overlap c of encoding and teacher"] = landscape.drift(uncorrelated, v, gamma)
        measured = largest_deviation(increments, landscape.drift(metric, v, gamma))
        what = f"{name} encoding: largest deviation in standard errors"
        checks.append(Measurement(what, measured, DEVIATION, reason))
        for mistake, drift in wrong.items():
            deviation = Measurement("", largest_deviation(increments, drift), DEVIATION, reason)
            checks.append(Control(f"{name} encoding, {mistake}", deviation))
    return Step(
        "Real steps of SGD on vectors",
        rf"""
        Attention with two tokens reduced by the trace, squared loss, $\gamma = 1/2$,
        $d = {DIMENSION}$: the mean of $\frac d\gamma\,\delta v$ over {SAMPLES} independent steps
        from the same weights, against the drift, for an encoding with correlated rows that
        overlap with the teacher and for $P_1 = -P_2$, where $\Gamma$ is singular. The gradient of
        $R$ is a difference of a quadrature of the loss.
        """,
        r"""
        \frac d\gamma\,\langle\delta v\rangle = -\left(\Gamma - v v^\top\right)\nabla R(v) -
        \frac\gamma2\,V(v)\,v + O(1/d)
        """,
        tuple(checks),
    )


def main() -> int:
    """Print the derivation; 1 is returned when a check fails, else 0."""
    return 1 if publish([derive()]) else 0


if __name__ == "__main__":
    raise SystemExit(main())
