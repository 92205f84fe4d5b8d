r"""Tied against untied networks: drifts, hitting times, learning rates, and the gain.

Run ``python -m derivations.tied_and_untied`` in the root of a clone, or
``python -m ssiode.derivations.tied_and_untied`` anywhere.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import factorial

import numpy as np
import sympy
from numpy.typing import NDArray

from .report import Control, Derivation, Measurement, Proof, Step, publish

Array = NDArray[np.float64]
GROWTH, NOISE, SLOWNESS, GAMMA = sympy.symbols("A V s gamma", positive=True)
START, END = sympy.symbols("m_0 eta", positive=True)
STEPS = 4000


def derive() -> Derivation:
    """Derive what sharing weights gains.

    Returns
    -------
    Derivation
        The drifts of both networks, hitting times, largest and best learning rates, the gain under
        three policies beside Theorem 2 of the paper, and targets that tied networks do not see.
    """
    return Derivation(
        "Tied against untied networks",
        r"""
        A tied network $f = \sigma(\sum_l z_l/\sqrt L)$ shares one weight vector, an untied one
        has $L$. Without encoding both see $s = a\cdot z^* + \sqrt{1 - |a|^2}\,\xi$ with $a =
        m\,\hat 1$, $\hat 1 = (1, \dots, 1)/\sqrt L$, and $a = (m_1, \dots, m_L)/\sqrt L$. Let $n$
        be the lowest order at which $c_n = \mathbb{E}\,\sigma\,\mathrm{He}_n$ and $C = C_n(g)$
        are not zero, $K = 2c_n/(n-1)!$, $V = \mathbb{E}\,\ell'(s)^2$ at $a = 0$, and $\bar r =
        \langle C, \hat 1^{\otimes n}\rangle/|C|_{op}$. The gain is the steps of the untied
        network over those of the tied one (Arnaboldi et al., arXiv 2506.02651, Theorem 2).
        """,
        (
            _drifts(),
            _equal_rows(),
            _hitting_times(),
            _rates(),
            _gains(),
            _theorem(),
            _invisible(),
        ),
    )


def _form(order: int, length: int, a: tuple[sympy.Symbol, ...]) -> sympy.Expr:
    """A general symmetric tensor contracted with a."""
    total = sympy.Integer(0)
    for indices in combinations_with_replacement(range(length), order):
        count = factorial(order)
        for token in set(indices):
            count //= factorial(indices.count(token))
        entry = sympy.Symbol("C" + "".join(map(str, indices)))
        total += count * entry * sympy.prod([a[i] for i in indices])
    return total


def _drifts() -> Step:
    """Prove both drifts from the leading term of the risk."""
    residuals, wrong = [], []
    m, c = sympy.symbols("m c")
    for length in (2, 3):
        a = sympy.symbols(f"a1:{length + 1}")
        rows = sympy.symbols(f"m1:{length + 1}")
        root = sympy.sqrt(length)
        for order in (1, 2, 3, 4):
            form = _form(order, length, a)
            risk = -2 * c * form / factorial(order)
            strength = 2 * c / factorial(order - 1)
            tied = -sympy.diff(risk.subs(dict.fromkeys(a, m / root)), m)
            along = form.subs(dict.fromkeys(a, 1 / root))
            residuals.append(tied - strength * along * m ** (order - 1))
            of_rows = risk.subs({x: row / root for x, row in zip(a, rows, strict=True)})
            for x, row in zip(a, rows, strict=True):
                drift = -sympy.diff(of_rows, row) / root  # of a_l = m_l / sqrt(L)
                pull = sympy.diff(form, x) / order
                pull = pull.subs({y: other / root for y, other in zip(a, rows, strict=True)})
                residuals.append(drift - strength * pull / length)
                wrong.append(drift - strength * pull)
    return Step(
        "Both drifts at small overlaps",
        r"""
        The leading term of the risk is $-2 c_n \langle C, a^{\otimes n}\rangle/n!$. The gradient
        of the loss by each field is $\ell'(s)/\sqrt L$: a tied network has $V$ for the second
        moment of the sum over tokens, an untied one $V/L$ for each row. Drift and noise of the
        untied network are both smaller by the factor $L$.
        """,
        r"""
        \dot m = K \langle C, \hat 1^{\otimes n}\rangle\,m^{n-1} - \frac\gamma2 V m, \qquad
        \dot a = \frac1L \Big[ K\,C a^{n-1} - \frac\gamma2 V a \Big]
        """,
        (
            Proof("general tensors of order 1 to 4 for two and three tokens", tuple(residuals)),
            Control("without the factor L", Proof("", tuple(wrong))),
        ),
    )


def _equal_rows() -> Step:
    """Prove that equal rows of a symmetric problem stay equal, L times slower."""
    residuals, wrong = [], []
    m = sympy.Symbol("m")
    risk = sympy.Function("R")
    second = sympy.Function("V")(m)
    for length in (1, 2, 3, 4):
        a = sympy.symbols(f"a1:{length + 1}")
        root = sympy.sqrt(length)
        # A general function of the power sums of a, which is every symmetric one.
        sums = [sum(x**k for x in a) for k in range(1, 4)]
        p = sympy.symbols("p1:4")
        function = risk(*p)
        at_line = {p[k]: sums[k].subs(dict.fromkeys(a, m / root)) for k in range(3)}
        slopes = [sympy.diff(function, p[k]).subs(at_line, simultaneous=True) for k in range(3)]
        tied_slope = sum(slopes[k] * sympy.diff(at_line[p[k]], m) for k in range(3))
        tied = -(1 - m**2) * tied_slope - GAMMA / 2 * second * m
        for x in a:
            of_row = sum(
                slopes[k] * sympy.diff(sums[k], x).subs(dict.fromkeys(a, m / root))
                for k in range(3)
            )
            row = -(1 - m**2) * of_row / root - GAMMA / 2 * second / length * m
            residuals.append(sympy.expand(row - tied / length))
            wrong.append(sympy.expand(row - tied))
    return Step(
        "A symmetric target from equal overlaps",
        r"""
        If $g$ does not change when tokens are permuted, the full ODE of the untied network keeps
        equal rows equal, and moves along them exactly $L$ times slower than the tied network, at
        every learning rate and every order $n$. So the gain in ODE time is $L$ at equal rates, and
        both networks have the same largest and the same best learning rate. The same holds for the
        joint constraint, whose radial part is then that of every row.
        """,
        r"\dot m_l\big|_{m_1 = \dots = m_L = m} = \frac1L\,\dot m_{\mathrm{tied}}(m)",
        (
            Proof("one to four tokens, any symmetric risk", tuple(residuals)),
            Control("at the same speed", Proof("", tuple(wrong[1:]))),
        ),
    )


def _time(order: int, end: sympy.Symbol = END) -> sympy.Expr:
    """The hitting time with noise, of slowness s."""
    noise = GAMMA * NOISE / 2
    if order == 2:
        return SLOWNESS * sympy.log(end / START) / (GROWTH - noise)
    first, last = (noise * m ** (2 - order) / GROWTH for m in (START, end))
    ratio = sympy.log((1 - last) / (1 - first))
    return SLOWNESS * ratio / ((order - 2) * noise)


def _hitting_times() -> Step:
    """Prove hitting times by differentiating them by their end."""
    residuals, wrong = [], []
    for order in (1, 2, 3, 4, 5):
        drift = (GROWTH * END ** (order - 1) - GAMMA * NOISE / 2 * END) / SLOWNESS
        time = _time(order)
        residuals.append(sympy.simplify(sympy.diff(time, END) * drift - 1))
        residuals.append(sympy.simplify(time.subs(END, START)))
        wrong.append(sympy.simplify(sympy.diff(time, END) * drift * SLOWNESS - 1))
    return Step(
        "Hitting times with noise",
        r"""
        Along a line $s\,\dot m = A m^{n-1} - \frac\gamma2 V m$: for a tied network $s = 1$ and
        $A = K\langle C, \hat 1^{\otimes n}\rangle$; for an untied one $s = L$ along an eigenvector
        $C u^{n-1} = \lambda u$, with $A = K\lambda$. At $n = 2$ the time is $s\,\log(\eta/m_0)/(A -
        \gamma V/2)$.
        """,
        r"""
        T = \frac{s}{(n-2)\,\gamma V/2}\,\log\frac{1 - x\,(m_0/\eta)^{n-2}}{1 - x}, \qquad
        x = \frac{\gamma V}{2 A m_0^{n-2}}
        """,
        (
            Proof("orders 1 to 5: T' times the drift is 1, and T(m_0) = 0", tuple(residuals)),
            Control("without the slowness", Proof("", tuple(wrong))),
        ),
    )


def _rates() -> Step:
    """Prove the largest and the best learning rate."""
    steps = _time(2) / GAMMA
    best = GROWTH / NOISE
    at_best = 2 * SLOWNESS * NOISE * sympy.log(END / START) / GROWTH**2
    proofs = (
        sympy.simplify(sympy.diff(steps, GAMMA).subs(GAMMA, best)),
        sympy.simplify(steps.subs(GAMMA, best) - at_best),
    )
    x = _root_of_best_share()
    shares = np.linspace(0.01, 0.99, 9801)
    lowest = shares[np.argmin(-np.log(1 - shares) / shares**2)]
    return Step(
        "The largest and the best learning rate",
        r"""
        An overlap grows at $m_0$ only if $x < 1$. The largest rate does not depend on the slowness,
        so the two networks differ in it only through $A$: by the ratio of
        $\langle C, \hat 1^{\otimes n}\rangle$ to $\lambda$, and not by $L$. The steps $T d/\gamma$
        are fewest at half of it for $n = 2$; for $n \geq 3$ and $m_0 \ll \eta$ where
        $-\log(1 - x)/x^2$ is smallest, at $x = 0.7153$.
        """,
        r"""
        \gamma_{\max} = \frac{2 A m_0^{n-2}}{V}, \qquad
        \tau_{\mathrm{best}} = \frac{2\,s\,d\,V}{A^2} \log\frac{\eta}{m_0} \ (n = 2), \qquad
        \frac{x}{1 - x} = -2 \log(1 - x) \ (n \geq 3)
        """,
        (
            Proof("order 2: the slope vanishes, and the steps there", proofs),
            Measurement("x - 0.7153", abs(x - 0.7153), 5e-5, "four digits are stated"),
            Measurement("root against the smallest value", abs(x - lowest), 2e-4, "grid of 1e-4"),
            Control("half of the largest rate at n >= 3", Measurement("", abs(x - 0.5), 0.1, "")),
        ),
    )


def _root_of_best_share() -> float:
    low, high = 0.5, 0.9
    for _ in range(60):
        middle = (low + high) / 2
        if middle / (1 - middle) < -2 * np.log(1 - middle):
            low = middle
        else:
            high = middle
    return low


def _gains() -> Step:
    """Prove the gain under the three policies, at order 2 and beyond."""
    tied, untied, length = sympy.symbols("Lambda lambda L", positive=True)
    x = sympy.Symbol("x", positive=True)
    order_two = _time(2) / GAMMA
    # At given shares of their own largest rates both networks have T A m_0^(n-2) in common.
    residuals = []
    for order in (2, 3, 4):
        share = 2 * GROWTH * START ** (order - 2) / NOISE * x
        steps = (_time(order) / GAMMA).subs(GAMMA, share)
        of_untied = steps.subs({GROWTH: untied, SLOWNESS: length})
        of_tied = steps.subs({GROWTH: tied, SLOWNESS: 1})
        residuals.append(sympy.simplify(of_untied / of_tied - length * (tied / untied) ** 2))
    flow = sympy.limit(GAMMA * order_two, GAMMA, 0)
    equal = flow.subs({GROWTH: untied, SLOWNESS: length}) / flow.subs({GROWTH: tied, SLOWNESS: 1})
    ratio = length * tied / untied
    residuals.append(sympy.simplify(equal - ratio))
    return Step(
        "The gain depends on the learning rates",
        r"""
        At equal small rates the gain is the ratio of the times. With the ratio $L\bar r$ of the
        rates that Theorem 2 allows it is $(L\bar r)^2$ where the untied network escapes along the
        direction of the operator norm. With each network at its own best rate, the ratio of the
        rates is that of the two growths, and the gain
        $L\,(\langle C, \hat 1^{\otimes n}\rangle/\lambda)^2$, which is $L\bar r^2$ along the
        direction of the operator norm: $L$ and not $L^2$ for $\sum_l \mathrm{He}_2(z_l)$. At
        $n \geq 3$ this is for equal $m_0$, the part of the start along $u$ for the untied network.
        """,
        r"""
        \mathrm{equal:}\ L\,\frac{\langle C, \hat 1^{\otimes n}\rangle}{\lambda}, \qquad
        \mathrm{paper:}\ \Big(L\,\frac{\langle C, \hat 1^{\otimes n}\rangle}{\lambda}\Big)
        L \bar r, \qquad
        \mathrm{best:}\ L \Big(\frac{\langle C, \hat 1^{\otimes n}\rangle}{\lambda}\Big)^2
        """,
        (
            Proof("equal rates, and equal shares of the largest ones", tuple(residuals)),
            Control(
                "a square at best rates", Proof("", (ratio**2 - length * (tied / untied) ** 2,))
            ),
        ),
    )


def _theorem() -> Step:
    """Compare with Theorem 2 on separable targets and on a product, by integrating the flow."""
    powers = {n: _power_of_theorem(n) for n in (1, 2, 3, 4)}
    proved = tuple(powers[n] - wanted for n, wanted in ((1, 1), (2, 2), (3, 1), (4, 0)))
    equal = max(abs(_separable_gain(n, 4) / 4 - 1) for n in (1, 2, 3, 4))
    product = _product_gain(8)
    return Step(
        "Beside Theorem 2",
        r"""
        For $\sum_l \mathrm{He}_n(z_l)$ the ratio is $\bar r = 1$ at $n = 1$, where $C$ is the
        vector of ones, and $L^{1 - n/2}$ beyond, where its norm is that of a single token.
        Theorem 2 says $L\bar r = L$ at $n = 1$ and $(L\bar r)^2 = L^{4-n}$ beyond. The flow at
        equal rates from equal overlaps gives $L$ at every order: with $\hat 1$ for $u$ the untied
        network has $\lambda = \langle C, \hat 1^{\otimes n}\rangle$. It agrees with the factor
        $L\bar r$ of the flow in the theorem at $n = 1$ and 2 and exceeds it at $n \geq 3$, where
        the theorem lets the untied network escape along a single row. The second factor $L\bar r$
        at $n \geq 2$ is the ratio of the rates that the theorem allows; the noise of the ODE
        allows the ratio $\langle C, \hat 1^{\otimes n}\rangle/\lambda$. For $z_1 z_2$ among $L$
        tokens $\bar r = 2/L$: the flow gives $L\bar r = 2$ at equal rates, and best rates $L\bar
        r^2 = 4/L$.
        """,
        r"""
        \bar r = L^{1 - n/2}\ (n \geq 2), \qquad (L\bar r)^2 = L^{4-n}, \qquad \mathrm{flow:}\ L
        """,
        (
            Proof("powers of Theorem 2 at orders 1 to 4", proved),
            Measurement("orders 1 to 4, L = 4: gain / L - 1", equal, 1e-6, "Runge-Kutta steps"),
            Measurement("z1 z2 of 8 tokens: gain - 2", abs(product - 2), 0.02, "a finite start"),
            Control(
                "L rbar at order 3", Measurement("", abs(_separable_gain(3, 4) - 2), 0.1, "gain")
            ),
        ),
    )


def _power_of_theorem(order: int) -> sympy.Expr:
    """The power of L in the gain of Theorem 2 for a separable target."""
    ratio = 0 if order == 1 else 1 - sympy.Rational(order, 2)
    return 1 + ratio if order == 1 else 2 * (1 + ratio)


def _flow_time(pull: object, start: Array, threshold: float, slowness: float) -> float:
    """Time of da/dt = pull(a) / s up to |a|, by Runge-Kutta steps in log |a|."""
    a, time = start.astype(float), 0.0
    step = np.log(threshold / np.linalg.norm(a)) / STEPS

    def rates(state: Array) -> tuple[Array, float]:
        velocity = pull(state) / slowness
        growth = (velocity @ state) / (state @ state)
        return velocity / growth, 1 / growth

    for _ in range(STEPS):
        k1, t1 = rates(a)
        k2, t2 = rates(a + step / 2 * k1)
        k3, t3 = rates(a + step / 2 * k2)
        k4, t4 = rates(a + step * k3)
        a = a + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        time += step / 6 * (t1 + 2 * t2 + 2 * t3 + t4)
    return time


def _separable_gain(order: int, length: int) -> float:
    """Gain of sum_l He_n(z_l) from equal overlaps at a vanishing rate."""
    ones = np.full(length, 1 / np.sqrt(length))
    untied = _flow_time(lambda a: a ** (order - 1), 0.01 * ones, 0.3, length)
    along = np.sum(ones**order)
    tied = _flow_time(lambda a: along * a ** (order - 1), np.array([0.01]), 0.3, 1)
    return untied / tied


def _product_gain(length: int) -> float:
    """Gain of z1 z2: the untied network is there when the two rows have the threshold."""

    def pull(a: Array) -> Array:
        found = np.zeros(length)
        found[[0, 1]] = a[[1, 0]]
        return found

    start = np.full(length, 1e-9 / np.sqrt(length))
    untied = _flow_time(pull, start, 0.3 * np.sqrt(2 / length), length)
    tied = _flow_time(lambda a: 2 / length * a, np.array([1e-9]), 0.3, 1)
    return untied / tied


def _invisible() -> Step:
    """Targets whose tensor is orthogonal to all ones, and what weights of the tokens restore."""
    b1, b2 = sympy.symbols("b1 b2")
    linear, square = b1 - b2, 2 * (b1**2 - b2**2) / sympy.sqrt(2)
    ones = {b1: 1 / sympy.sqrt(2), b2: 1 / sympy.sqrt(2)}
    opposite = {b1: 1 / sympy.sqrt(2), b2: -1 / sympy.sqrt(2)}
    norm = sympy.sqrt(2)
    tilted = {b1: sympy.Rational(4, 5), b2: sympy.Rational(3, 5)}
    restored = (linear.subs(opposite) - norm, square.subs(tilted) - norm * sympy.Rational(7, 25))
    return Step(
        "Targets that the sum does not see",
        r"""
        Where $\langle C, \hat 1^{\otimes n}\rangle = 0$ the tied network has no drift at order $n$;
        for $z_1 - z_2$ and $(z_1^2 - z_2^2)/\sqrt 2$ it has none at any order, as the target is odd
        under the exchange of the two tokens and the sum is even. With weights,
        $s = \sum_l b_l z_l$ and $|b| = 1$, the contraction with $b$ takes its place. At even order
        its sign decides: $(z_1^2 - z_2^2)/\sqrt 2$ is learned where $b_1^2 > b_2^2$ and repelled
        where $b_1^2 < b_2^2$, with $c_2 > 0$.
        """,
        r"""
        \langle C, b\rangle = b_1 - b_2, \qquad \langle C, b^{\otimes 2}\rangle =
        \sqrt 2\,(b_1^2 - b_2^2)
        """,
        (
            Proof("both contractions with all ones vanish", (linear.subs(ones), square.subs(ones))),
            Proof("weights (1, -1) and (4, 3) restore them", restored),
            Control("opposite weights at order 2", Proof("", (square.subs(opposite) - norm,))),
        ),
    )


def main() -> int:
    """Print the derivation; 1 is returned when a check fails, else 0."""
    return 1 if publish([derive()]) else 0


if __name__ == "__main__":
    raise SystemExit(main())
