"""Two weight vectors and two tokens in five dimensions, with a symbol for every entry.

The span of encoding and teacher has two of them; in the other three the rest of each weight vector
lies in any direction. Steps on these vectors are compared with those of the chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sympy import QQ, ring
from sympy.polys.rings import PolyElement

Vector = list[PolyElement]


@dataclass(frozen=True)
class Row:
    """One weight vector over sqrt(d), with u in two directions and rho along a rotated third.

    The rows of `frame` over `scale` are an orthonormal basis of three directions, the first of
    them that of the rest: the formula of Euler and Rodrigues, which reaches every rotation.
    """

    u: Vector
    rho: PolyElement
    frame: list[Vector]
    scale: PolyElement


@dataclass(frozen=True)
class Token:
    """The five entries of sqrt(d) X_l, the coordinates p_l, and the slope g_l."""

    x: Vector
    p: Vector
    slope: PolyElement


@dataclass(frozen=True)
class Explicit:
    """Two weight vectors and two tokens in five dimensions, with a symbol for everything."""

    rows: list[Row]
    tokens: list[Token]
    teacher: Vector
    move: PolyElement

    @classmethod
    def symbols(cls) -> Explicit:
        """Make the symbols; `move` stands for gamma / d."""
        names = ["move", "b1", "b2"]
        for number in (1, 2):
            names += [f"k{number}{entry}" for entry in range(4)]
            names += [f"u{number}1", f"u{number}2", f"rho{number}", f"g{number}"]
            names += [f"p{number}1", f"p{number}2"]
            names += [f"x{number}{entry}" for entry in range(5)]
        _, *generators = ring(names, QQ)
        symbol = dict(zip(names, generators, strict=True))
        rows, tokens = [], []
        for number in (1, 2):
            quaternion = [symbol[f"k{number}{entry}"] for entry in range(4)]
            rows.append(
                Row(
                    [symbol[f"u{number}1"], symbol[f"u{number}2"]],
                    symbol[f"rho{number}"],
                    rotation(*quaternion),
                    sum(entry**2 for entry in quaternion),
                )
            )
            tokens.append(
                Token(
                    [symbol[f"x{number}{entry}"] for entry in range(5)],
                    [symbol[f"p{number}1"], symbol[f"p{number}2"]],
                    symbol[f"g{number}"],
                )
            )
        return cls(rows, tokens, [symbol["b1"], symbol["b2"]], symbol["move"])


def rotation(a: PolyElement, b: PolyElement, c: PolyElement, d: PolyElement) -> list[Vector]:
    """Rotate by a quaternion; the matrix is orthogonal times the squared length of it."""
    return [
        [a**2 + b**2 - c**2 - d**2, 2 * (b * c - a * d), 2 * (b * d + a * c)],
        [2 * (b * c + a * d), a**2 - b**2 + c**2 - d**2, 2 * (c * d - a * b)],
        [2 * (b * d - a * c), 2 * (c * d + a * b), a**2 - b**2 - c**2 + d**2],
    ]


def dot(left: Sequence[PolyElement], right: Sequence[PolyElement]) -> PolyElement:
    """The scalar product of two vectors."""
    return sum(x * y for x, y in zip(left, right, strict=True))


def entries_of(row: Row) -> Vector:
    """The five entries of w / sqrt(d), times the scale of the frame."""
    return [row.scale * u for u in row.u] + [row.rho * entry for entry in row.frame[0]]


def moved_entries(row: Row, tokens: Sequence[Token], move: PolyElement) -> Vector:
    """The five entries of w / sqrt(d) after the update, times the scale of the frame."""
    entries = entries_of(row)
    for token in tokens:
        shifted = [token.x[0] + token.p[0], token.x[1] + token.p[1], *token.x[2:]]
        change = move * row.scale * token.slope
        entries = [entry - change * x for entry, x in zip(entries, shifted, strict=True)]
    return entries


def chain_step(row: Row, tokens: Sequence[Token], move: PolyElement) -> tuple[Vector, Vector]:
    """The formulas of the chain times the scale: (u~, rho~), and the sums of g_l y_l."""
    coordinates = [
        row.scale * (row.u[axis] - move * sum(t.slope * (t.x[axis] + t.p[axis]) for t in tokens))
        for axis in (0, 1)
    ]
    sums = [sum(t.slope * dot(direction, t.x[2:]) for t in tokens) for direction in row.frame]
    return [*coordinates, row.scale * row.rho - move * sums[0]], sums[1:]


def step_residuals(
    row: Row, tokens: Sequence[Token], move: PolyElement, rest: int = 1
) -> list[PolyElement]:
    """Compare the chain with the step on vectors: coordinates, rest, and squared norm."""
    moved = moved_entries(row, tokens, move)
    coordinates, unseen = chain_step(row, tokens, move)
    along = dot(row.frame[0], moved[2:])
    norm = dot(coordinates[:2], coordinates[:2]) + rest * coordinates[2] ** 2
    norm += move**2 * dot(unseen, unseen)
    return [
        moved[0] - coordinates[0],
        moved[1] - coordinates[1],
        along - row.scale * coordinates[2],
        dot(moved, moved) - norm,
    ]
