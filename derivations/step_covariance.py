r"""The covariance of what one step of SGD adds to the overlaps.

The result is S(v) = B Cov(h) B^T + V C, with a term from the norm of the update that vanishes only
with the learning rate. Run ``python -m derivations.step_covariance`` in the root of a clone, or
``python -m ssiode.derivations.step_covariance`` anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import sympy
from sympy import QQ, ring
from sympy.polys.rings import PolyElement

from .attention_example import Array, fields, loss_gradient
from .chain_measurement import Start, run_chain
from .gaussian import expectation, reduce_square
from .report import Control, Derivation, Measurement, Proof, Step, publish

DIMENSION = 1_000_000
LEARNING_RATE = 1.0
RUNS = 200_000
DEVIATION = 5.0
REASON = "18 comparisons in the three measurements: false alarm below 2e-5 for normal errors"
CORRELATED = Start(
    encoding=((1.0, 0.0, 0.2), (-0.4, 0.8, 0.5)),
    teacher=(0.0, 0.0, 1.0),
    students=((0.45, 0.35, 0.55),),
    rests=(float(np.sqrt(1.0 - 0.45**2 - 0.35**2 - 0.55**2)),),
)
OPPOSITE = Start(
    encoding=((1.0, 0.0), (-1.0, 0.0)),
    teacher=(0.0, 1.0),
    students=((0.5, 0.6),),
    rests=(float(np.sqrt(1.0 - 0.5**2 - 0.6**2)),),
)


def derive() -> Derivation:
    """Derive S for any loss and any encoding, and measure it on steps of the exact chain.

    Returns
    -------
    Derivation
        From the normalised step to S, with a measurement at a learning rate of 1.
    """
    return Derivation(
        "The covariance of one step",
        r"""
        One step adds to $v = (e, m)$ a mean $\frac\gamma d\,\dot v$ and a covariance
        $\frac{\gamma^2}{d^2 b}\,S(v)$, to leading order in $1/d$, for batches of $b$ samples.
        Model: Arnaboldi et al., arXiv 2506.02651; notation of `sgd_to_ode`. For small learning
        rates $S$ is the covariance of the spherical gradient. At finite ones the norm of the
        update counts as well: it fluctuates with $\sum_l g_l^2$, at the same order in $1/d$.
        """,
        (_increment(), _given_the_fields(), _regression(), _covariance(), _real_steps()),
    )


def _increment() -> Step:
    """Expand the normalised step of a batch and show that it is a mean over its samples."""
    epsilon, gamma, v = sympy.symbols("epsilon gamma v", real=True)
    residuals, growing = [], []
    for batch in (1, 2, 3):
        moves = sympy.symbols(f"W1:{batch + 1}", real=True)
        products = sympy.symbols(f"Z1:{batch + 1}", real=True)
        lengths = sympy.symbols(f"N1:{batch + 1}", real=True)
        square = 1 - 2 * gamma * epsilon * sum(products) / batch
        square += gamma**2 * epsilon * sum(lengths) / batch**2
        step = (v - gamma * epsilon * sum(moves) / batch) / sympy.sqrt(square)
        first_order = sympy.diff(step, epsilon).subs(epsilon, 0)
        samples = [
            (w - v * z, gamma * v * n / 2) for w, z, n in zip(moves, products, lengths, strict=True)
        ]
        mean = -gamma * sum(gradient + norm / batch for gradient, norm in samples) / batch
        residuals.append(first_order - mean)
        growing.append(first_order + gamma * sum(gradient for gradient, _ in samples) / batch)
    return Step(
        "The increment of the overlaps, with batches",
        r"""
        Let $a_l$ be the products of $A_l$ with the rows $p_1, \ldots, p_L, b^*$, and
        $\Gamma_{\cdot l}$ those of $p_l$. The update of $\beta$ moves $v$ by
        $-\frac{\gamma}{d b}\,W_\beta$ with $W = \sum_l g_l\,(a_l + \Gamma_{\cdot l})$. Its squared
        length is $\frac{\gamma^2}{b^2}\sum_\beta N_\beta$ with $N = \sum_l g_l^2$; the
        cross terms of different tokens are smaller by $d^{-1/2}$ (step 3 of `sgd_to_ode`). To
        first order in $1/d$ a step is a mean of $b$ independent terms, so its covariance is
        that of one divided by $b$. One power of $b$ stays, in the weight of $N$.
        """,
        r"""
        \delta v = -\frac\gamma d\,\frac1b\sum_{\beta=1}^b \Delta_\beta, \qquad
        \Delta = \sum_l g_l\,[a_l + \Gamma_{\cdot l} - v\,z_l] + \frac{\gamma}{2b}\,v\sum_l g_l^2,
        \qquad S = \mathrm{Cov}(\Delta)
        """,
        (
            Proof("the first order for batches of 1, 2 and 3", tuple(residuals)),
            Control("without the norm of the update", Proof("", tuple(growing))),
        ),
    )


def _dot(left: Sequence[PolyElement], right: Sequence[PolyElement]) -> PolyElement:
    return sum(x * y for x, y in zip(left, right, strict=True))


def _given_the_fields() -> Step:
    """Prove conditional mean and covariance of two products of a token, in three dimensions."""
    names = [f"{letter}{axis}" for letter in ("p", "r", "b", "u", "a") for axis in range(3)]
    _, *generators = ring([*names, "rho", "outside"], QQ)
    first, second, b, u, a = (generators[start : start + 3] for start in range(0, 15, 3))
    rho, outside = generators[15:]
    normals = [*a, outside]
    z_star = _dot(a, b)
    m = _dot(b, u)
    # Everything is multiplied by s^2; s xi = x - m z*, and |b| = 1, |u|^2 + rho^2 = 1.
    s_xi, square = _dot(a, u) + rho * outside - m * z_star, 1 - m**2

    def reduced(polynomial: PolyElement) -> PolyElement:
        polynomial = reduce_square(polynomial, rho, 1 - _dot(u, u))
        return reduce_square(polynomial, b[0], 1 - b[1] ** 2 - b[2] ** 2)

    # q times s, and the remainder of a product times s^2.
    slopes = [_dot(row, u) - m * _dot(row, b) for row in (first, second)]
    rests = [
        square * (_dot(a, row) - _dot(row, b) * z_star) - slope * s_xi
        for row, slope in zip((first, second), slopes, strict=True)
    ]
    means = [
        reduced(expectation(rest * field, normals)) for rest in rests for field in (z_star, s_xi)
    ]
    covariances, without = [], []
    for i, j in ((0, 0), (0, 1), (1, 1)):
        rows = (first, second)
        gram = _dot(rows[i], rows[j]) - _dot(rows[i], b) * _dot(rows[j], b)
        found = expectation(rests[i] * _dot(a, rows[j]), normals)
        covariances.append(reduced(found - square * gram + slopes[i] * slopes[j]))
        without.append(reduced(found - square * gram))
    return Step(
        "The products of a token given its fields",
        r"""
        $a_l$, $z^*_l$ and $\xi_l$ are jointly Gaussian, with $\mathrm{Cov}\,a_l = \Gamma$ and
        $z_l = e_l + m z^*_l + s\,\xi_l$, $s^2 = 1 - m^2$. The remainder $\eta_l$ of $a_l$ is
        uncorrelated with both fields, hence independent of them and of all $g$; its covariance is
        the same for all tokens. Two arbitrary rows of the encoding are taken in the proof; in
        the row of $m$ the product is $z^*_l$ itself, and $q$ and $C$ vanish.
        """,
        r"""
        a_l = \Gamma_{\cdot m}\,z^*_l + q\,\xi_l + \eta_l, \qquad
        q = \frac{v - m\,\Gamma_{\cdot m}}{s}, \qquad
        \mathrm{Cov}\,\eta_l = C = \Gamma - \Gamma_{\cdot m}\Gamma_{\cdot m}^\top - q\,q^\top
        """,
        (
            Proof("the remainder is uncorrelated with both fields", tuple(means)),
            Proof("its covariance, for two rows", tuple(covariances)),
            Control("C without q q^T", Proof("", tuple(without))),
        ),
    )


def _regression() -> Step:
    """Collect the increment as a linear function of four kinds of sums."""
    residuals, wrong = [], []
    for length in (1, 2, 3):
        names = ["v", "m", "s", "q", "c", "half"]
        for letter in ("g", "e", "G", "y", "xi", "eta"):
            names += [f"{letter}{token}" for token in range(length)]
        _, *generators = ring(names, QQ)
        v, m, s, q, c, half = generators[:6]
        g, e, gram, y, xi, eta = (
            generators[6 + part * length : 6 + (part + 1) * length] for part in range(6)
        )
        increment = half * v * _dot(g, g)
        for n in range(length):
            product = c * y[n] + q * xi[n] + eta[n]
            increment += g[n] * (product + gram[n] - v * (e[n] + m * y[n] + s * xi[n]))
        columns = [row - v * overlap for row, overlap in zip(gram, e, strict=True)]
        sums = [*g, _dot(g, y), _dot(g, xi), _dot(g, g)]
        fitted = _dot([*columns, c - m * v, q - s * v, half * v], sums) + _dot(g, eta)
        residuals.append(increment - fitted)
        wrong.append(increment - fitted - s * v * _dot(g, xi))
    return Step(
        "A linear function of sums over the tokens, and noise",
        r"""
        With $z_l = e_l + m z^*_l + s\,\xi_l$ the increment is linear in the $L + 3$ numbers
        $h$. One component of $v$ is enough for the proof, since all of them have the same form.
        """,
        r"""
        \begin{aligned}
        \Delta &= B\,h + \sum_l g_l\,\eta_l, \qquad
        h = \Big(g_1, \ldots, g_L,\ \sum_l g_l z^*_l,\ \sum_l g_l \xi_l,\ \sum_l g_l^2\Big), \\
        B &= \Big(\Gamma_{\cdot l} - v\,e_l,\ \ \Gamma_{\cdot m} - m\,v,\ \ q - s\,v,\ \
        \frac{\gamma}{2b}\,v\Big)
        \end{aligned}
        """,
        (
            Proof("one, two and three tokens", tuple(residuals)),
            Control("q instead of q - s v", Proof("", tuple(wrong))),
        ),
    )


def _covariance() -> Step:
    """Average over the remainders, given the fields, for two components of v."""
    _, *generators = ring("g1, g2, h1, h2, alpha, beta, delta, n11, n12, n21, n22", QQ)
    g, h, (alpha, beta, delta), normals = (
        generators[:2],
        generators[2:4],
        generators[4:7],
        generators[7:],
    )
    # Remainders of any covariance, as a triangular matrix times two normals for each token.
    remainders = [
        [alpha * n for n in normals[:2]],
        [beta * n + delta * k for n, k in zip(normals[:2], normals[2:], strict=True)],
    ]
    covariance = {(0, 0): alpha**2, (0, 1): alpha * beta, (1, 1): beta**2 + delta**2}
    totals = [h[k] + _dot(g, remainders[k]) for k in range(2)]
    residuals = [expectation(total, normals) - h[k] for k, total in enumerate(totals)]
    shared = []
    for (i, j), entry in covariance.items():
        product = expectation(totals[i] * totals[j], normals) - h[i] * h[j]
        residuals.append(product - _dot(g, g) * entry)
        shared.append(product - sum(g) ** 2 * entry)
    return Step(
        "The law of total covariance",
        r"""
        Given the fields, $B h$ and the $g_l$ are constants, and the $\eta_l$ are independent of
        each other: $\Delta$ has the mean $B h$ and the covariance $\sum_l g_l^2\;C$. The covariance
        of the mean and the mean of the covariance add up. Proved for two components of $v$, two
        tokens, and $\eta$ with any covariance. For $\gamma \to 0$ the last column of $B$ vanishes.
        """,
        r"""
        S(v) = B\,\mathrm{Cov}(h)\,B^\top + V\,C, \qquad V = \mathbb{E}\sum_l g_l^2
        """,
        (
            Proof("conditional mean and second moments", tuple(residuals)),
            Control("one remainder for all tokens", Proof("", tuple(shared))),
        ),
    )


def step_covariance(
    start: Start,
    *,
    norm_weight: float,
    remainder: float = 1.0,
    along_noise: float = 1.0,
) -> Array:
    """Evaluate S by quadrature.

    Parameters
    ----------
    start : Start
        Encoding, teacher and one weight vector on the sphere.
    norm_weight : float
        gamma / 2 b, the weight of the norm of the update.
    remainder, along_noise : float
        Factors of V C, and of q q^T in C; 1 in the right formula.

    Returns
    -------
    ndarray, shape (L + 1, L + 1)
        S(v).
    """
    directions = np.array([*start.encoding, start.teacher])
    metric, v = directions @ directions.T, directions @ np.array(start.students[0])
    e, m = v[:-1], v[-1]
    s = np.sqrt(1.0 - m**2)
    teacher = metric[:, -1]
    q = (v - m * teacher) / s
    z_star, z, xi, weights = fields(e, m)
    slopes = loss_gradient(z_star, z)
    sums = [(slopes * z_star).sum(axis=1), (slopes * xi).sum(axis=1), (slopes**2).sum(axis=1)]
    h = np.column_stack([slopes, *sums])
    mean = weights @ h
    columns = [metric[:, :-1] - np.outer(v, e), teacher - m * v, q - s * v, norm_weight * v]
    b = np.column_stack(columns)
    second_moments = (h * weights[:, None]).T @ h
    rest = metric - np.outer(teacher, teacher) - along_noise * np.outer(q, q)
    return b @ (second_moments - np.outer(mean, mean)) @ b.T + remainder * mean[-1] * rest


def _measured(start: Start, seed: int) -> tuple[Array, Array]:
    """Mean products of centred increments, times d^2 b / gamma^2, and their standard errors."""
    readings = run_chain(
        start, dimension=DIMENSION, gamma=LEARNING_RATE, steps=1, runs=RUNS, seed=seed
    )
    size = len(start.encoding) + 1
    before = start.overlaps(np.array(start.students)[None])
    increments = (readings[:, :size] - before) * DIMENSION / LEARNING_RATE
    centred = increments - increments.mean(axis=0)
    products = np.einsum("nk,nj->nkj", centred, centred) * start.batch
    return products.mean(axis=0), products.std(axis=0) / np.sqrt(RUNS)


def _compared(name: str, start: Start, seed: int) -> list[Measurement | Control]:
    """Compare S with the covariance of many steps, and with wrong formulas."""
    found, errors = _measured(start, seed)

    def measurement(**settings: float) -> Measurement:
        difference = np.abs(found - step_covariance(start, **settings)) / errors
        what = f"{name}: largest difference in standard errors"
        return Measurement(what, float(difference.max()), DEVIATION, REASON)

    weight = LEARNING_RATE / (2 * start.batch)
    mistakes = {
        "no term from the norm of the update": {"norm_weight": 0.0},
        "no V C": {"norm_weight": weight, "remainder": 0.0},
        "C without q q^T": {"norm_weight": weight, "along_noise": 0.0},
    }
    if start.batch > 1:
        mistakes["gamma / 2 in B"] = {"norm_weight": LEARNING_RATE / 2}
    controls = [
        Control(f"{name}, {mistake}", measurement(**settings))
        for mistake, settings in mistakes.items()
    ]
    return [measurement(norm_weight=weight), *controls]


def _real_steps() -> Step:
    """Measure the covariance of single steps of the exact chain at a very large dimension."""
    cases = {
        "correlated encoding": CORRELATED,
        "opposite encoding": OPPOSITE,
        "correlated encoding, batches of 3": replace(CORRELATED, batch=3),
    }
    checks = [
        check
        for seed, (name, start) in enumerate(cases.items(), start=1)
        for check in _compared(name, start, seed)
    ]
    return Step(
        "Single steps at a learning rate of 1",
        rf"""
        Attention with two tokens reduced by the trace, squared loss,
        $\gamma = {LEARNING_RATE:g}$: the covariance of {RUNS} independent steps from the same
        weights, by the chain of `exact_chain`, whose law is that of SGD on vectors at every $d$;
        at $d = {DIMENSION}$ the higher orders in $1/d$, which are left out, are far below the
        noise. $S$ is a quadrature. All entries are compared, in standard errors that come from
        the sample itself.
        """,
        r"\frac{d^2\,b}{\gamma^2}\,\mathrm{Cov}(\delta v) = S(v) + O(1/d)",
        tuple(checks),
    )


def main() -> int:
    """Print the derivation; 1 is returned when a check fails, else 0."""
    return 1 if publish([derive()]) else 0


if __name__ == "__main__":
    raise SystemExit(main())
