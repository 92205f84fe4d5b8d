r"""One weight vector for each token: what such a network sees, and its ODE under two constraints.

Run ``python -m derivations.untied_network`` in the root of a clone, or
``python -m ssiode.derivations.untied_network`` anywhere.
"""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import QQ, ring
from sympy.polys.rings import PolyElement

from .gaussian import expectation, reduce_square
from .report import Control, Derivation, Measurement, Proof, Step, publish

Array = NDArray[np.float64]
LENGTH, DEGREE = 2, 3

DIMENSION, SAMPLES, CHUNK = 400, 60_000, 4_000
DEVIATION = 4.5
RATE = 0.02


def derive() -> Derivation:
    """Derive the sum that an untied network sees, and its ODE with row and joint constraint.

    Returns
    -------
    Derivation
        With a measurement of real steps at the end.
    """
    return Derivation(
        "One weight vector for each token",
        r"""
        An untied network has a weight vector $w_l$ for each token, $z_l = (X_l + P_l/\sqrt d)\cdot
        w_l$, and sees the sum of its fields. Let $u_l$ be the coordinates of $w_l/\sqrt d$ in the
        span of $w^*/\sqrt d$ and $P_l$, $\rho_l$ the norm of the rest, and $q_l = |w_l|^2/d =
        |u_l|^2 + \rho_l^2$. The constraint `row` fixes every $q_l = 1$ and `joint` only
        $\sum_l q_l = L$. Model: Arnaboldi et al., arXiv 2506.02651.
        """,
        (_sum_of_fields(), _row(), _joint(), _norms(), _real_steps()),
    )


def _sum_of_fields() -> Step:
    """The law of the sum, for one to three tokens."""
    residuals, wrong = [], []
    for length in (1, 2, 3):
        q, m = (sympy.symbols(f"{letter}1:{length + 1}") for letter in "qm")
        root = sympy.sqrt(length)
        variance = sum(m[i] ** 2 / length + (q[i] - m[i] ** 2) / length for i in range(length))
        residuals.append((variance - 1).subs(q[-1], length - sum(q[:-1])))
        residuals += [m[i] / root - (m[i] / root) for i in range(length)]
        wrong.append(variance - 1)
    return Step(
        "The sum of the fields is all that the network sees",
        r"""
        Given $z^*$ the fields are Gaussian with mean $e_l + m_l z^*_l$ and variance $q_l - m_l^2$.
        Their sum $s = \sum_l z_l/\sqrt L$ has the overlaps $a_l = m_l/\sqrt L$ with $z^*_l$ and
        unit variance under both constraints. Hence $R$ is a function of $\bar e = \sum_l e_l/
        \sqrt L$ and of $a$, and by Mehler's formula a sum of homogeneous polynomials in $a$. The
        gradients
        $g_l = \partial\ell/\partial z_l = \ell'(s)/\sqrt L$ are the same for all tokens, and so are
        $V_l = \mathbb{E} g_l^2 = \mathbb{E}\,\ell'(s)^2/L$.
        """,
        r"""
        s = \bar e + a\cdot z^* + \sqrt{1 - |a|^2}\;\xi, \qquad
        \mathbb{E}[G(z^*)\,H(s)] = \sum_n \frac{c_n(H(\cdot + \bar e))}{n!}
        \langle C_n(G), a^{\otimes n}\rangle
        """,
        (
            Proof(
                "unit variance for one to three tokens with the sum of q_l fixed", tuple(residuals)
            ),
            Control("with the norms free", Proof("", tuple(wrong))),
        ),
    )


class _Case:
    """A general polynomial loss of the sum of two fields and of the teacher's two."""

    def __init__(self) -> None:
        tokens = range(LENGTH)
        shapes = [p for p in product(range(DEGREE + 1), repeat=LENGTH + 1) if sum(p) <= DEGREE]
        names = ["gamma", "S", *(f"y{i}" for i in tokens)]
        for letter in ("m", "eps", "P", "rho", "q", "a", "b", "c"):
            names += [f"{letter}{i}" for i in tokens]
        names += [f"k{i}" for i in range(len(shapes))]
        _, *generators = ring(names, QQ)
        symbol = dict(zip(names, generators, strict=True))

        def several(letter: str) -> list[PolyElement]:
            return [symbol[f"{letter}{i}"] for i in tokens]

        self.gamma, self.total = symbol["gamma"], symbol["S"]
        self.labels = several("y")
        self.m, self.eps, self.P, self.rho, self.q = map(several, ("m", "eps", "P", "rho", "q"))
        self.a, self.b, self.c = map(several, "abc")
        loss = sum(
            symbol[f"k{i}"]
            * prod(z**p for z, p in zip([self.total, *self.labels], shape, strict=True))
            for i, shape in enumerate(shapes)
        )
        # z_l = m_l a_l + eps_l b_l + rho_l c_l + P_l eps_l with z*_l = a_l.
        self.fields = [
            self.m[i] * self.a[i]
            + self.eps[i] * self.b[i]
            + self.rho[i] * self.c[i]
            + self.P[i] * self.eps[i]
            for i in tokens
        ]
        self._values = [(self.total, sum(self.fields)), *zip(self.labels, self.a, strict=True)]
        self.risk = self.average(loss)
        self.g = loss.diff(self.total)
        self.V = self.average(self.g**2)

    def average(self, function: PolyElement) -> PolyElement:
        """Average over the fields, with rho_l^2 = q_l - |u_l|^2."""
        average = expectation(function.compose(self._values), self.a + self.b + self.c)
        for i in range(LENGTH):
            square = self.q[i] - self.m[i] ** 2 - self.eps[i] ** 2
            average = reduce_square(average, self.rho[i], square)
        return average

    def with_g(self, factor: PolyElement) -> PolyElement:
        """E[g times a function of the fields]."""
        composed = self.g.compose(self._values) * factor
        average = expectation(composed, self.a + self.b + self.c)
        for i in range(LENGTH):
            square = self.q[i] - self.m[i] ** 2 - self.eps[i] ** 2
            average = reduce_square(average, self.rho[i], square)
        return average

    def pull(self, i: int) -> list[PolyElement]:
        """E[g (A_i + p_i)]: minus what one step adds to u_i before it is normalised."""
        return [self.with_g(self.a[i]), self.with_g(self.b[i] + self.P[i])]

    def slope(self, i: int) -> list[PolyElement]:
        """The derivative of R by u_i."""
        return [self.risk.diff(self.m[i]), self.risk.diff(self.eps[i])]

    def radial(self, i: int) -> PolyElement:
        """u_i times the derivative of R by u_i."""
        return self.m[i] * self.slope(i)[0] + self.eps[i] * self.slope(i)[1]

    def with_norms(self, function: PolyElement, joint: bool) -> PolyElement:
        """The function with the norms that a constraint allows."""
        if joint:
            return function.compose([(self.q[1], 2 - self.q[0])])
        return function.compose([(self.q[i], 1) for i in range(LENGTH)])


_CASE: list[_Case] = []


def _case() -> _Case:
    if not _CASE:
        _CASE.append(_Case())
    return _CASE[0]


def _row() -> Step:
    """Prove the ODE with rows of fixed norm."""
    case = _case()
    residuals, wrong = [], []
    for i in range(LENGTH):
        along = case.with_g(case.fields[i])
        for u, pull, slope in zip(
            (case.m[i], case.eps[i]), case.pull(i), case.slope(i), strict=True
        ):
            noise = case.gamma * case.V * u
            step = 2 * (-pull + u * along) - noise
            wanted = 2 * (-slope + u * case.radial(i)) - noise
            residuals.append(case.with_norms(step - wanted, joint=False))
            wrong.append(case.with_norms(step + 2 * slope + noise, joint=False))
    return Step(
        "Rows of fixed norm",
        r"""
        One step moves $u_l$ by $-(\gamma/d)\,g\,(A_l + p_l)$ and $q_l$ by $-(2\gamma/d)\,g z_l +
        (\gamma^2/d)\,g^2$ before it is normalised. With $t = \gamma\tau/d$ this is the ODE of a
        single weight vector for every row, with its own metric $\Gamma_l$ of $P_l$ and $w^*$.
        """,
        r"""
        \dot v_l = -(\Gamma_l - v_l v_l^T)\,\nabla_l R - \frac{\gamma}{2} V_l\,v_l, \qquad
        v_l = (e_l, m_l)
        """,
        (
            Proof("general loss of degree 3, two tokens, both coordinates", tuple(residuals)),
            Control("without the radial part", Proof("", tuple(wrong))),
        ),
    )


def _common(case: _Case) -> PolyElement:
    """Twice the growth of the common norm, times L: the sum over rows of dq / 2."""
    return sum(-case.with_g(case.fields[i]) for i in range(LENGTH))


def _joint() -> Step:
    """Prove the ODE with one common norm, in which no q appears."""
    case = _case()
    residuals, wrong = [], []
    mean = sum(case.radial(i) for i in range(LENGTH))
    for i in range(LENGTH):
        for u, pull, slope in zip(
            (case.m[i], case.eps[i]), case.pull(i), case.slope(i), strict=True
        ):
            # Both sides times 2 L / L = 2, so that no fraction appears.
            step = -2 * pull - _common(case) * u - case.gamma * case.V * u
            wanted = -2 * slope + mean * u - case.gamma * case.V * u
            residuals.append(case.with_norms(step - wanted, joint=True))
            own = -2 * slope + 2 * case.radial(i) * u - case.gamma * case.V * u
            wrong.append(case.with_norms(step - own, joint=True))
    return Step(
        "One norm for all rows",
        r"""
        All rows are divided by the same number, the growth of the mean of the $q_l$. By Stein's
        lemma $\mathbb{E}[g z_l]$ and $\mathbb{E}[g(A_l + p_l)]$ both contain $H = \mathbb{E}\,
        \partial_s^2\ell$, once with $q_l$ and once with $u_l$; with $\sum_l q_l = L$ these terms
        cancel in $\dot v_l$, so that $v$ moves by itself.
        """,
        r"""
        \dot v_l = -\Gamma_l \nabla_l R + v_l\,\frac1L \sum_k v_k^T \nabla_k R -
        \frac{\gamma}{2} V_l\,v_l
        """,
        (
            Proof("general loss of degree 3, two tokens, any norms of sum 2", tuple(residuals)),
            Control("with the radial part of the row alone", Proof("", tuple(wrong))),
        ),
    )


def _norms() -> Step:
    """Prove how the norms move."""
    case = _case()
    residuals, wrong = [], []
    mean = sum(case.radial(i) for i in range(LENGTH))
    for i in range(LENGTH):
        own = -2 * case.with_g(case.fields[i]) + case.gamma * case.V
        step = own - case.q[i] * (_common(case) + case.gamma * case.V)
        wanted = case.q[i] * mean - 2 * case.radial(i) + case.gamma * case.V * (1 - case.q[i])
        residuals.append(case.with_norms(step - wanted, joint=True))
        wrong.append(case.with_norms(own - wanted, joint=True))
    return Step(
        "The norms follow",
        r"""
        The same cancellation leaves an equation for $q_l$ that keeps their sum. Rows that learn
        take weight from those that do not; noise makes the norms equal again.
        """,
        r"""
        \dot q_l = 2\,q_l\,\frac1L \sum_k v_k^T \nabla_k R - 2\,v_l^T \nabla_l R +
        \gamma\,V_l\,(1 - q_l)
        """,
        (
            Proof("general loss of degree 3, two tokens", tuple(residuals)),
            Control("without dividing by the common norm", Proof("", tuple(wrong))),
        ),
    )


def _increments(joint: bool) -> tuple[Array, Array, Array]:
    """Increments of (m_1, m_2, q_1) by one step of f = s^2 for y = z_1 z_2, times d / gamma.

    Means, their standard errors, and what the ODE says.
    """
    generator = np.random.default_rng(7)
    m, q = np.array([0.5, -0.3]), np.array([1.3, 0.7]) if joint else np.ones(2)
    teacher = np.zeros(DIMENSION)
    teacher[0] = np.sqrt(DIMENSION)
    rows = np.zeros((2, DIMENSION))
    rows[:, 0] = m * np.sqrt(DIMENSION)
    rows[[0, 1], [1, 2]] = np.sqrt((q - m**2) * DIMENSION)
    found = []
    for _ in range(SAMPLES // CHUNK):
        x = generator.standard_normal((CHUNK, 2, DIMENSION)) / np.sqrt(DIMENSION)
        labels = np.prod(x @ teacher, axis=1)
        s = np.einsum("nld,ld->n", x, rows) / np.sqrt(2)
        g = -2 * (labels - s**2) * 2 * s / np.sqrt(2)
        moved = rows - RATE * g[:, None, None] * x
        squares = np.sum(moved**2, axis=2) / DIMENSION
        norms = np.sqrt(squares.mean(axis=1, keepdims=True) if joint else squares)
        overlaps = moved[:, :, 0] / np.sqrt(DIMENSION) / norms
        weights = squares[:, :1] / norms[:, :1] ** 2
        found.append(np.column_stack([overlaps - m, weights - q[0]]))
    steps = np.concatenate(found) * DIMENSION / RATE
    means, errors = steps.mean(axis=0), steps.std(axis=0) / np.sqrt(len(steps))
    # R = 4 - 2 E[z1 z2 s^2] = 4 - 2 m_1 m_2, and V_l = E[(y - s^2)^2 16 s^2] / 2 by quadrature.
    slope = -2 * m[::-1]
    second = _second_moment(m)
    radial = np.mean(m * slope) if joint else m * slope
    drift = -slope + m * radial - RATE / 2 * second * m
    norm = 2 * q[0] * radial - 2 * m[0] * slope[0] + RATE * second * (1 - q[0]) if joint else 0.0
    return means, errors, np.append(drift, norm)


def _second_moment(m: Array) -> float:
    nodes, weights = np.polynomial.hermite_e.hermegauss(12)
    weights = weights / weights.sum()
    y1, y2, xi = (axis.ravel() for axis in np.meshgrid(nodes, nodes, nodes, indexing="ij"))
    mass = np.prod(np.meshgrid(weights, weights, weights, indexing="ij"), axis=0).ravel()
    a = m / np.sqrt(2)
    s = a[0] * y1 + a[1] * y2 + np.sqrt(1 - a @ a) * xi
    return float(mass @ ((y1 * y2 - s**2) ** 2 * 16 * s**2)) / 2


def _real_steps() -> Step:
    """Measure single steps of SGD on vectors."""
    checks = []
    for joint in (False, True):
        means, errors, expected = _increments(joint)
        kept = slice(None) if joint else slice(2)
        deviation = float(np.max(np.abs(means - expected)[kept] / errors[kept]))
        name = "joint" if joint else "row"
        reason = f"standard errors of {SAMPLES} steps, and effects of order 1/d below one"
        checks.append(Measurement(f"{name}: largest deviation", deviation, DEVIATION, reason))
    means, errors, expected = _increments(joint=True)
    wrong = float(abs(means[2]) / errors[2])
    checks.append(Control("norms that stay", Measurement("", wrong, DEVIATION, "standard errors")))
    return Step(
        "Real steps",
        r"""
        Single steps of SGD on vectors of dimension 400, for $y = z^*_1 z^*_2$ and $f = s^2$ with
        $R = \mathrm{const} - 2 m_1 m_2$, at $\gamma = 0.02$.
        """,
        r"\frac{d}{\gamma}\,\mathbb{E}\,\delta(m_1, m_2, q_1) = (\dot m_1, \dot m_2, \dot q_1)",
        tuple(checks),
    )


def main() -> int:
    """Print the derivation; 1 is returned when a check fails, else 0."""
    return 1 if publish([derive()]) else 0


if __name__ == "__main__":
    raise SystemExit(main())
