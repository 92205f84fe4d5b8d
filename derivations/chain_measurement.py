"""SGD on real vectors and the chain of its coordinates, many runs of each, side by side.

Nothing is projected in the runs on vectors: tokens are drawn in dimension d, weights are moved and
put back on the sphere. The chain never sees a vector in dimension d, so d may be a million. The
loss is that of :mod:`.attention_example`, on the fields of one weight vector or of one for each
token.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from .attention_example import Array, loss_gradient

DrawLengths = Callable[[np.random.Generator, Array, int], Array]


@dataclass(frozen=True)
class Start:
    """Weights in orthonormal coordinates of the span of encoding and teacher, and how SGD runs.

    Parameters
    ----------
    encoding : tuple of tuple of float
        Coordinates p_l of the rows of the encoding.
    teacher : tuple of float
        Coordinates of w* / sqrt(d), a unit vector.
    students : tuple of tuple of float
        Coordinates u of each weight vector over sqrt(d): one vector, or one for each token.
    rests : tuple of float
        Length rho of the rest of each weight vector over sqrt(d).
    batch : int
        Samples of one step.
    is_joint : bool
        Whether the mean squared norm of all weight vectors is kept at d, not that of each.

    Examples
    --------
    >>> start = Start(((1.0, 0.0), (-1.0, 0.0)), (0.0, 1.0), ((0.48, 0.64),), (0.6,))
    >>> start.rank, start.row_of_token
    (2, [0, 0])
    """

    encoding: tuple[tuple[float, ...], ...]
    teacher: tuple[float, ...]
    students: tuple[tuple[float, ...], ...]
    rests: tuple[float, ...]
    batch: int = 1
    is_joint: bool = False

    @property
    def rank(self: Self) -> int:
        """The number r of coordinates."""
        return len(self.teacher)

    @property
    def row_of_token(self: Self) -> list[int]:
        """Which weight vector sees a token."""
        return [min(token, len(self.students) - 1) for token in range(len(self.encoding))]

    def by_row(self: Self, by_token: Array) -> Array:
        """Sum over the samples of a batch, axis 1, and over the tokens of each weight vector."""
        summed = by_token.sum(axis=1)
        return summed if len(self.students) > 1 else summed.sum(axis=1, keepdims=True)

    def factor(self: Self, squares: Array) -> Array:
        """One over the norm that a step divides by, from the squared norm of each row over d."""
        if self.is_joint:
            squares = squares.mean(axis=1, keepdims=True)
        return 1.0 / np.sqrt(squares)

    def overlaps(self: Self, coordinates: Array) -> Array:
        """The overlaps e_1, ..., e_L, then m of each weight vector; runs along the first axis."""
        seen = coordinates[:, self.row_of_token]
        positional = np.einsum("lk,nlk->nl", np.array(self.encoding), seen)
        return np.hstack([positional, coordinates @ np.array(self.teacher)])


def chi_squares(generator: np.random.Generator, squares: Array, degrees: int) -> Array:
    """Draw squared lengths of normal vectors of variance sum g^2: one chi-square for each row.

    Parameters
    ----------
    generator : Generator
        Where random numbers come from.
    squares : ndarray, shape (runs, batch, rows)
        The sums of g_l^2 over the tokens of a row, for every sample of a batch.
    degrees : int
        The number d - r - 1 of directions that the fields do not see.

    Returns
    -------
    ndarray, shape (runs, rows)
        The squared lengths.
    """
    total = squares.sum(axis=1)
    return total * generator.chisquare(degrees, total.shape)


def run_on_vectors(
    start: Start, *, dimension: int, gamma: float, steps: int, runs: int, seed: int
) -> Array:
    """Make steps of SGD on vectors in a random frame, and read off the overlaps.

    Parameters
    ----------
    start : Start
        Encoding, teacher and weights.
    dimension : int
        Dimension d of a token.
    gamma : float
        Learning rate.
    steps, runs : int
        Steps of every run, and independent runs.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    ndarray, shape (runs, L + 2 rows)
        Overlaps, then the squared norm of each weight vector over d.
    """
    generator = np.random.Generator(np.random.SFC64(seed))
    rank, rows, root = start.rank, len(start.students), np.sqrt(dimension)
    frame = np.linalg.qr(generator.standard_normal((dimension, rank + rows)))[0].T
    encoding, teacher = start.encoding @ frame[:rank], root * (start.teacher @ frame[:rank])
    one_run = start.students @ frame[:rank] + np.array(start.rests)[:, None] * frame[rank:]
    weights = np.tile(root * one_run, (runs, 1, 1))
    for _ in range(steps):
        tokens = generator.standard_normal((runs, start.batch, len(encoding), dimension)) / root
        z_star = tokens @ teacher
        tokens += encoding / root
        z = np.einsum("nbld,nld->nbl", tokens, weights[:, start.row_of_token])
        slopes = loss_gradient(z_star, z)
        weights -= gamma / start.batch * start.by_row(slopes[..., None] * tokens)
        weights *= start.factor((weights**2).sum(axis=2) / dimension)[..., None]
    overlaps = start.overlaps(weights @ frame[:rank].T / root)
    return np.hstack([overlaps, (weights**2).sum(axis=2) / dimension])


def run_chain(
    start: Start,
    *,
    dimension: int,
    gamma: float,
    steps: int,
    runs: int,
    seed: int,
    draw_lengths: DrawLengths = chi_squares,
    length_of_rest: float = 1.0,
) -> Array:
    """Make steps of the chain, which keeps coordinates and the length of the rest.

    Parameters
    ----------
    start, dimension, gamma, steps, runs, seed
        See :func:`run_on_vectors`.
    draw_lengths : callable
        Draws what the unseen directions add to the squared norms; others are wrong laws.
    length_of_rest : float
        Factor of the moved rest in the norm, 1 in the right formula.

    Returns
    -------
    ndarray, shape (runs, L + 2 rows)
        As :func:`run_on_vectors`.
    """
    generator = np.random.Generator(np.random.SFC64(seed))
    encoding, teacher = np.array(start.encoding), np.array(start.teacher)
    coordinates = np.tile(np.array(start.students), (runs, 1, 1))
    rests = np.tile(np.array(start.rests), (runs, 1))
    move = gamma / (start.batch * dimension)
    for _ in range(steps):
        shape = (runs, start.batch, *encoding.shape)
        inside, along = generator.standard_normal(shape), generator.standard_normal(shape[:-1])
        z_star = inside @ teacher
        inside += encoding
        z = np.einsum("nblk,nlk->nbl", inside, coordinates[:, start.row_of_token])
        z += along * rests[:, None, start.row_of_token]
        slopes = loss_gradient(z_star, z)
        coordinates = coordinates - move * start.by_row(slopes[..., None] * inside)
        rests = rests - move * start.by_row(slopes * along)
        squares = slopes**2
        if len(start.students) == 1:
            squares = squares.sum(axis=2, keepdims=True)
        unseen = move**2 * draw_lengths(generator, squares, dimension - start.rank - 1)
        norms = (coordinates**2).sum(axis=2) + length_of_rest * rests**2 + unseen
        factor = start.factor(norms)
        coordinates = coordinates * factor[..., None]
        rests = np.sqrt(rests**2 + unseen) * factor
    squared_norms = (coordinates**2).sum(axis=2) + rests**2
    return np.hstack([start.overlaps(coordinates), squared_norms])


def moments(readings: Array, kept: int) -> Array:
    """Products of up to two of the first `kept` readings and their fourth powers, one row a run.

    >>> moments(np.array([[2.0, 3.0, 9.0]]), 2).tolist()
    [[2.0, 3.0, 4.0, 6.0, 9.0, 16.0, 81.0]]
    """
    chosen = readings[:, :kept]
    first, second = np.triu_indices(kept)
    return np.hstack([chosen, chosen[:, first] * chosen[:, second], chosen**4])


def largest_difference(left: Array, right: Array) -> float:
    """Compare the means of two independent samples: the largest difference in standard errors.

    >>> largest_difference(np.array([[0.0], [2.0]]), np.array([[3.0], [5.0]]))
    3.0
    """
    error = np.sqrt(left.var(axis=0) / len(left) + right.var(axis=0) / len(right))
    return float(np.max(np.abs(left.mean(axis=0) - right.mean(axis=0)) / error))
