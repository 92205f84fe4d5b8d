r"""SGD with Gaussian tokens is exactly a Markov chain of few numbers, at every dimension.

The coordinates u of the weights in the span of encoding and teacher, and the length rho of the
rest, are all that a step needs. Run ``python -m derivations.exact_chain`` in the root of a clone,
or ``python -m ssiode.derivations.exact_chain`` anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb, prod

import numpy as np
import sympy
from sympy import QQ, ring
from sympy.polys.rings import PolyElement

from .attention_example import Array
from .chain_measurement import (
    Start,
    chi_squares,
    largest_difference,
    moments,
    run_chain,
    run_on_vectors,
)
from .explicit_frame import (
    Explicit,
    chain_step,
    dot,
    entries_of,
    moved_entries,
    step_residuals,
)
from .gaussian import expectation, standard_moment
from .report import Control, Derivation, Measurement, Proof, Step, publish

DIMENSION = 8
LEARNING_RATE = 3.0
STEPS = 3
RUNS = 80_000
DEVIATION = 5.0
REASON = "67 comparisons in the four measurements: false alarm below 5e-5"
CORRELATED = ((1.0, 0.0, 0.2), (-0.4, 0.8, 0.5))
OPPOSITE = ((1.0, 0.0), (-1.0, 0.0))


def derive() -> Derivation:
    """Derive the chain and compare it with SGD on vectors in a small dimension.

    Returns
    -------
    Derivation
        From the coordinates of a token to batches and untied weights, and a measurement.
    """
    return Derivation(
        "The exact chain of the overlaps",
        r"""
        Model of Arnaboldi et al., arXiv 2506.02651, with Gaussian tokens; they take $d$ to
        infinity, here $d$ is finite and nothing is expanded. Take an orthonormal basis of
        $\mathrm{span}(P_1, \ldots, P_L, w^*)$, of dimension $r$. Let $u$, $p_l$ and $b^*$ be the
        coordinates of $w/\sqrt d$, $P_l$ and $w^*/\sqrt d$ in it, and $\rho$ the length of the
        part of $w/\sqrt d$ outside of that span. The step is
        $w \leftarrow \sqrt d\,\tilde w/|\tilde w|$ with
        $\tilde w = w - \gamma\sum_l g_l\,(X_l + P_l/\sqrt d)$ and
        $g_l = \partial\ell/\partial z_l$. Result: $(u, \rho)$ is a Markov chain, and a step
        of it draws $r + 1$ normals a token and one chi-square number instead of $d$ normals a
        token.
        """,
        (_token(), _step(), _unseen_length(), _batches(), _untied(), _real_steps()),
    )


def _token() -> Step:
    """Show that the coordinates of a token are independent normals, and write the fields."""
    explicit = Explicit.symbols()
    row, token = explicit.rows[0], explicit.tokens[0]
    normals = token.x
    coordinates = [row.scale * token.x[0], row.scale * token.x[1]]
    coordinates += [dot(direction, token.x[2:]) for direction in row.frame]
    covariances = []
    for i, left in enumerate(coordinates):
        for j, right in enumerate(coordinates[: i + 1]):
            covariances.append(expectation(left * right, normals) - (i == j) * row.scale**2)
    along = coordinates[2]
    overlap = dot(token.p, row.u)
    shifted = [token.x[0] + token.p[0], token.x[1] + token.p[1], *token.x[2:]]
    field = dot(shifted, entries_of(row))
    wanted = row.scale * (dot(token.x[:2], row.u) + overlap) + row.rho * along
    return Step(
        "One token in the frame of the weights",
        r"""
        Turn the basis so that it begins with the $r$ directions of the span, then the direction of
        the rest of $w$, then $d - r - 1$ more. $\sqrt d\,X_l$ has the coordinates $A_l$, $c_l$ and
        $y_l$ in it: independent standard normals, since a rotation keeps the covariance, and the
        frame depends only on $w$, which is independent of the new tokens. $y_l$ is in no field, so
        $y_l$ is independent of $g_l$ too. Proved with $r = 2$ and two further directions for
        every rotation of the rest, by the formula of Euler and Rodrigues; after that nothing
        depends on how the frame lies in space.
        """,
        r"""
        \sqrt d\,X_l \to (A_l, c_l, y_l) \sim N(0, I_d), \qquad z^*_l = A_l \cdot b^*, \qquad
        z_l = A_l \cdot u + \rho\,c_l + p_l \cdot u
        """,
        (
            Proof("the coordinates are independent and standard", tuple(covariances)),
            Proof("the student field sees u, rho and the encoding only", (field - wanted,)),
            Control("a field without rho c_l", Proof("", (field - wanted + row.rho * along,))),
        ),
    )


def _step() -> Step:
    """Write one step on a vector in the coordinates of the chain."""
    explicit = Explicit.symbols()
    row, tokens, move = explicit.rows[0], explicit.tokens, explicit.move
    norm_without_rest = step_residuals(row, tokens, move, rest=0)[-1:]
    return Step(
        "One step in the same frame",
        r"""
        Two tokens in five dimensions, with free symbols for $g_l$, so nothing is assumed about
        the loss. Of the sum over $y_l$ only the length enters. The new rest is orthogonal to the
        span and has the length $\sqrt{\tilde\rho^2 + (\gamma/d)^2\,|\sum_l g_l y_l|^2}$; its
        direction is new, and by step 1 the next step does not ask for it. On the sphere $\rho =
        \sqrt{1 - |u|^2}$, so $u$ alone is a chain.
        """,
        r"""
        \begin{aligned}
        \tilde u &= u - \frac\gamma d \sum_l g_l\,(A_l + p_l), \qquad
        \tilde\rho = \rho - \frac\gamma d \sum_l g_l\,c_l, \\
        \frac{|\tilde w|^2}{d} &= |\tilde u|^2 + \tilde\rho^2 + \frac{\gamma^2}{d^2}\,
        \Big|\sum_l g_l\,y_l\Big|^2, \qquad u \leftarrow \frac{\sqrt d}{|\tilde w|}\,\tilde u
        \end{aligned}
        """,
        (
            Proof(
                "two coordinates, the rest, and the squared norm",
                tuple(step_residuals(row, tokens, move)),
            ),
            Control("the squared norm without the rest", Proof("", tuple(norm_without_rest))),
        ),
    )


def _chi_square_moment(degrees: sympy.Expr, power: int) -> sympy.Expr:
    """Moment of a chi-square number: n (n + 2) (n + 4) ..., one factor for each power."""
    return prod((degrees + 2 * j for j in range(power)), start=sympy.Integer(1))


def _unseen_length() -> Step:
    """Show that the length of the sum over hidden vectors is |g| times a chi-square root."""
    _, *generators = ring("g1, g2, y1, y2, first, second", QQ)
    g1, g2, y1, y2 = generators[:4]
    kept, dropped = g1 * y1 + g2 * y2, g1 * y2 - g2 * y1
    length = g1**2 + g2**2
    merging = [length * (y1**2 + y2**2) - kept**2 - dropped**2]
    merging.append(expectation(kept**2, [y1, y2]) - length)
    merging.append(expectation(dropped**2, [y1, y2]) - length)
    merging.append(expectation(kept * dropped, [y1, y2]))
    degrees = sympy.Symbol("n", positive=True)
    one_more = [
        sum(
            comb(power, j) * _chi_square_moment(degrees, j) * standard_moment(2 * (power - j))
            for j in range(power + 1)
        )
        - _chi_square_moment(degrees + 1, power)
        for power in range(1, 7)
    ]
    directions = _direct_moments(tokens=3, directions=2, powers=3)
    by_mean = _direct_moments(tokens=3, directions=2, powers=2, by_mean=True)
    too_many = _direct_moments(tokens=3, directions=2, powers=1, extra=1)
    return Step(
        "What the fields do not see is one chi-square number",
        r"""
        Given the fields the $g_l$ are constants and the $y_l$ still standard normal. Two tokens
        merge into one: with $|g|^2 = g_1^2 + g_2^2$ the pair $(g_1 y_1 + g_2 y_2)/|g|$,
        $(g_1 y_2 - g_2 y_1)/|g|$ is a rotation of $(y_1, y_2)$, hence again standard normal, and
        the first of the two is what is wanted; so on for any number of tokens, in every direction.
        The sum of $n$ squares has the moments $n(n + 2)(n + 4)\cdots$: adding a direction takes
        those of $n$ to those of $n + 1$, proved for symbolic $n$, and they determine the law.
        All of this is also checked at once by exact moments with three tokens in two directions.
        """,
        r"""
        \sum_l g_l\,y_l \;\Big|\; g \sim N\big(0, |g|^2\,I_{d-r-1}\big), \qquad
        \Big|\sum_l g_l\,y_l\Big|^2 = |g|^2\,K, \qquad K \sim \chi^2_{d-r-1} \text{ independent of }
        (A_l, c_l)_l
        """,
        (
            Proof("two tokens merge by a rotation", tuple(merging)),
            Proof("from n to n + 1 directions, moments 1 to 6", tuple(one_more)),
            Proof("three tokens, two directions, moments 1 to 3", directions),
            Control("K replaced by its mean", Proof("", by_mean[1:])),
            Control("d - r degrees of freedom", Proof("", too_many)),
        ),
    )


def _direct_moments(
    *, tokens: int, directions: int, powers: int, by_mean: bool = False, extra: int = 0
) -> tuple[PolyElement, ...]:
    """Subtract moments of |g|^2 K from exact moments of |sum_l g_l y_l|^2."""
    names = [f"g{token}" for token in range(tokens)]
    names += [f"y{token}{axis}" for axis in range(directions) for token in range(tokens)]
    _, *generators = ring(names, QQ)
    slopes, normals = generators[:tokens], generators[tokens:]
    square = sum(
        dot(slopes, normals[axis * tokens : (axis + 1) * tokens]) ** 2 for axis in range(directions)
    )
    degrees = directions + extra
    residuals = []
    for power in range(1, powers + 1):
        moment = degrees**power if by_mean else int(_chi_square_moment(degrees, power))
        average = expectation(square**power, normals)
        residuals.append(average - moment * dot(slopes, slopes) ** power)
    return tuple(residuals)


def _batches() -> Step:
    """Take the mean over a batch: longer sums, a shorter move, and still one chi-square."""
    explicit = Explicit.symbols()
    row, tokens, move = explicit.rows[0], explicit.tokens, explicit.move
    alone = [moved_entries(row, [token], move) for token in tokens]
    mean = [(first + second) / 2 for first, second in zip(*alone, strict=True)]
    together = moved_entries(row, tokens, move / 2)
    whole = moved_entries(row, tokens, move)
    _, *generators = ring("g1, g2, y11, y12, y21, y22", QQ)
    slopes, normals = generators[:2], generators[2:]
    square = dot(slopes, normals[:2]) ** 2 + dot(slopes, normals[2:]) ** 2
    fourth = expectation(square**2, normals)
    one = 8 * dot(slopes, slopes) ** 2
    for_each = 8 * (slopes[0] ** 4 + slopes[1] ** 4) + 8 * slopes[0] ** 2 * slopes[1] ** 2
    return Step(
        "A batch needs one chi-square too",
        r"""
        The mean of $b$ updates from the same weights is one update with $\gamma/b$ and with the
        $b L$ tokens of the batch. Steps 1 to 3 hold for it as they stand, with a sum over all of
        the tokens in $|g|^2$: the hidden vectors add before the norm is taken, and a chi-square
        number of its own for every sample has another variance.
        """,
        r"""
        \sum_l g_l\,(\ldots) \to \frac1b\sum_{\beta=1}^b\sum_l g_{\beta l}\,(\ldots), \qquad
        |g|^2\,K \to \frac{1}{b^2}\sum_{\beta, l} g_{\beta l}^2\;K
        """,
        (
            Proof(
                "the mean of two updates",
                tuple(a - c for a, c in zip(mean, together, strict=True)),
            ),
            Proof("second moment of the length with one K, n = 2, b = 2", (fourth - one,)),
            Control("one K for every sample", Proof("", (fourth - for_each,))),
            Control(
                "gamma instead of gamma / b",
                Proof("", tuple(a - c for a, c in zip(mean, whole, strict=True))),
            ),
        ),
    )


def _untied() -> Step:
    """Give every token its weight vector: a frame and a chi-square for each of them."""
    explicit = Explicit.symbols()
    residuals, total, wanted = [], 0, 0
    common = explicit.rows[0].scale ** 2 * explicit.rows[1].scale ** 2
    for row, token in zip(explicit.rows, explicit.tokens, strict=True):
        residuals += step_residuals(row, [token], explicit.move)
        moved = moved_entries(row, [token], explicit.move)
        coordinates, unseen = chain_step(row, [token], explicit.move)
        square = dot(coordinates, coordinates) + explicit.move**2 * dot(unseen, unseen)
        factor = common.exquo(row.scale**2)
        total += factor * dot(moved, moved)
        wanted += factor * square
    _, *normals = ring("y11, y12, y21, y22", QQ)
    lengths = [normals[0] ** 2 + normals[1] ** 2, normals[2] ** 2 + normals[3] ** 2]
    mixed = expectation(lengths[0] * lengths[1], normals)
    return Step(
        "Untied weights: one chi-square for every row",
        r"""
        When token $l$ has its own weight vector $w_l$, it is read in the frame of that vector,
        $z_l = A_l \cdot u_l + \rho_l\,c_l + p_l \cdot u_l$. The frames of two rows differ in space,
        but different tokens are independent, so $(A_l, c_l, y_l)$ of different rows are too,
        whatever the angle between the rests is. Every row has the step above with one token. The
        constraint by rows divides by the norm of each. The joint constraint divides all of them by
        the mean squared norm; then the length of a row is not fixed, and $\rho_l$ is kept besides
        $u_l$.
        """,
        r"""
        \begin{aligned}
        \tilde n_l^2 &= |\tilde u_l|^2 + \tilde\rho_l^2 + \frac{\gamma^2}{d^2}\,g_l^2\,K_l, \qquad
        K_1, \ldots, K_L \sim \chi^2_{d-r-1} \text{ independent}, \\
        n_l^2 &= \tilde n_l^2 \text{ (row)} \quad\text{or}\quad n_l^2 =
        \frac1L\sum_k \tilde n_k^2 \text{ (joint)}, \\
        u_l &\leftarrow \frac{\tilde u_l}{n_l}, \qquad \rho_l \leftarrow
        \frac1{n_l}\sqrt{\tilde\rho_l^2 + \frac{\gamma^2}{d^2}\,g_l^2\,K_l}
        \end{aligned}
        """,
        (
            Proof("two rows, each in its own frame", tuple(residuals)),
            Proof("the joint squared norm", (total - wanted,)),
            Proof("independent lengths: the mean of K_1 K_2 is n^2, n = 2", (mixed - 4,)),
            Control("one K for both rows, n (n + 2)", Proof("", (mixed - 8,))),
        ),
    )


def _rest(*coordinates: float) -> float:
    """The rest of a unit vector with these coordinates."""
    return float(np.sqrt(1.0 - np.dot(coordinates, coordinates)))


def _starts() -> dict[str, Start]:
    """Four ways to run SGD: tied weights, batches, and untied weights with both constraints."""
    first, second, plane = (0.45, 0.35, 0.55), (0.2, -0.3, 0.4), (0.5, 0.6)
    teacher, rests = (0.0, 0.0, 1.0), (_rest(*first), _rest(*second))
    # With a joint constraint the squared norms of the rows are 1.2675 and 0.7325.
    joint = (0.8, float(np.sqrt(2.0 - 0.8**2 - np.dot(first, first) - np.dot(second, second))))
    return {
        "tied": Start(CORRELATED, teacher, (first,), rests[:1]),
        "tied, opposite encoding, batches of 2": Start(
            OPPOSITE, (0.0, 1.0), (plane,), (_rest(*plane),), batch=2
        ),
        "untied by rows, batches of 2": Start(CORRELATED, teacher, (first, second), rests, batch=2),
        "untied jointly": Start(CORRELATED, teacher, (first, second), joint, is_joint=True),
    }


def _mean_lengths(generator: np.random.Generator, squares: Array, degrees: int) -> Array:
    """The wrong law with a chi-square number replaced by its mean."""
    return degrees * squares.sum(axis=1)


def _one_more_degree(generator: np.random.Generator, squares: Array, degrees: int) -> Array:
    """The wrong law with d - r degrees of freedom."""
    return chi_squares(generator, squares, degrees + 1)


def _shared_lengths(generator: np.random.Generator, squares: Array, degrees: int) -> Array:
    """The wrong law with one chi-square number for all rows."""
    return squares.sum(axis=1) * generator.chisquare(degrees, (len(squares), 1))


def _readings(run: Callable[..., Array], start: Start, seed: int, **wrong: object) -> Array:
    """Moments of what is compared, after the steps of every run."""
    rows = len(start.students)
    kept = len(start.encoding) + (2 * rows - 1 if start.is_joint else rows)
    settings = {"dimension": DIMENSION, "gamma": LEARNING_RATE, "steps": STEPS, "runs": RUNS}
    return moments(run(start, seed=seed, **settings, **wrong), kept)


def _compared(name: str, start: Start) -> list[Measurement | Control]:
    """Compare runs on vectors with the chain, and with chains that are wrong."""
    direct = _readings(run_on_vectors, start, 1)

    def measurement(**wrong: object) -> Measurement:
        difference = largest_difference(direct, _readings(run_chain, start, 2, **wrong))
        what = f"{name}: largest difference in standard errors"
        return Measurement(what, difference, DEVIATION, REASON)

    mistakes: dict[str, dict[str, object]] = {
        "K by its mean": {"draw_lengths": _mean_lengths},
        "d - r degrees of freedom": {"draw_lengths": _one_more_degree},
        "norm without the rest": {"length_of_rest": 0.0},
    }
    if start.is_joint:
        mistakes["one K for both rows"] = {"draw_lengths": _shared_lengths}
    controls = [
        Control(f"{name}, {mistake}", measurement(**wrong)) for mistake, wrong in mistakes.items()
    ]
    return [measurement(), *controls]


def _real_steps() -> Step:
    """Compare moments after some steps of SGD on vectors with those of the chain."""
    checks = [check for name, start in _starts().items() for check in _compared(name, start)]
    return Step(
        "Real steps of SGD on vectors",
        rf"""
        Attention with two tokens reduced by the trace, squared loss,
        $\gamma = {LEARNING_RATE:g}$, $d = {DIMENSION}$, where $1/d$ is not small: {RUNS} runs of
        {STEPS} steps of SGD on vectors and as many runs of the chain. All overlaps are compared,
        for the joint constraint also the squared norm of the first row: their means, those of
        all products of two of them, and those of their fourth powers. The untied student is
        attention on the fields of two weight vectors.
        """,
        rf"\big\langle \phi(v_{STEPS}) \big\rangle_{{\text{{vectors}}}} = "
        rf"\big\langle \phi(v_{STEPS}) \big\rangle_{{\text{{chain}}}}",
        tuple(checks),
    )


def main() -> int:
    """Print the derivation; 1 is returned when a check fails, else 0."""
    return 1 if publish([derive()]) else 0


if __name__ == "__main__":
    raise SystemExit(main())
