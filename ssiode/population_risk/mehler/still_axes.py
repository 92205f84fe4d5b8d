"""Averages of the student's functions over the axes that no positional overlap shifts.

The functions are tabulated block by block along the first axis, and each block is averaged at once:
on four axes all values together would not fit into memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ssiode.population_risk.mehler.grid import Axis, contract, product_points, total_order
from ssiode.threads import map_in_threads

if TYPE_CHECKING:
    from ssiode.population_risk.mehler.student import StudentFunctions
    from ssiode.population_risk.mehler.teacher import Teacher

_BLOCK = 20_000


@dataclass(frozen=True, eq=False)
class StillAverages:
    """Averages over all axes but the first `n_moved`, which keep their nodes.

    Attributes
    ----------
    functions : StudentFunctions
    teacher : Teacher
    axes : array of shape (r, L)
        The directions that the student sees, the moved ones first.
    grid : list of Axis
        One for each direction.
    centre : array of shape (r,)
        About which the averages over still axes are taken.
    n_moved : int
    is_even : bool
        Whether the student is even.
    radius : float, optional
        Of a ball outside which the functions do not matter: on four axes seven tenths of the grid.
    """

    functions: StudentFunctions
    teacher: Teacher
    axes: np.ndarray
    grid: list[Axis]
    centre: np.ndarray
    n_moved: int
    is_even: bool
    radius: float | None = None

    def __call__(self) -> tuple[np.ndarray, np.ndarray]:
        """Averages of the functions that meet 1, and coefficients of those that meet others.

        The first are also, for series that do not end, the averages of the squares of the second.
        """
        nodes = self.grid[0].nodes
        rest = product_points([axis.nodes for axis in self.grid[1:]] or [np.zeros(1)])
        rows = max(1, _BLOCK // len(rest)) if self.radius is None else 1
        # Nodes without breaks are symmetric about 0, and so are averages about 0.
        mirrored = self.is_even and not self.grid[0].breaks and not self.centre[self._inner].any()
        computed = nodes[: len(nodes) // 2] if mirrored else nodes

        def part(first: int) -> tuple[np.ndarray, np.ndarray]:
            return self._averaged(self._values(computed[first : first + rows], rest))

        parts = map_in_threads(part, range(0, len(computed), rows))
        if mirrored:
            parts += [self._mirrored(*block) for block in reversed(parts)]
        alone, met = (np.concatenate(blocks, axis=1) for blocks in zip(*parts, strict=True))
        if self.n_moved:
            return alone, met
        table = self._table(0)
        return contract(table[:1], alone, 1), contract(table, met, 1)

    @property
    def _inner(self) -> slice:
        """Still axes over which each block is averaged."""
        return slice(max(self.n_moved, 1), len(self.grid))

    def _table(self, axis: int) -> np.ndarray:
        return self.grid[axis].table(self.centre[axis], self.teacher.top)

    def _values(self, block: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """All functions at nodes of the first axis times those of the others."""
        if self.radius is not None:
            values = self._values_in_ball(float(block[0]), rest)
        else:
            points = np.column_stack([np.repeat(block, len(rest)), np.tile(rest, (len(block), 1))])
            values = self.functions(points[:, : len(self.grid)] @ self.axes, self.teacher)
        return values.reshape(-1, len(block), *(len(axis.nodes) for axis in self.grid[1:]))

    def _values_in_ball(self, x: float, rest: np.ndarray) -> np.ndarray:
        """All functions at one node of the first axis, 0 outside the ball."""
        inside = np.flatnonzero(np.square(rest).sum(axis=1) <= self.radius**2 - x**2)
        points = np.column_stack([np.full(len(inside), x), rest[inside]])
        found = self.functions(points @ self.axes, self.teacher)
        values = np.zeros((len(found), len(rest)))
        values[:, inside] = found
        return values

    def _averaged(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n_alone = self.functions.n_quantities
        alone, met = values[:n_alone], values[n_alone:]
        if not self.teacher.is_finite:
            alone = np.concatenate([alone, met**2])
        for axis in reversed(range(len(self.grid))[self._inner]):
            table = self._table(axis)
            alone = contract(table[:1], alone, axis + 1)
            met = contract(table, met, axis + 1)
        return alone, met

    def _mirrored(self, alone: np.ndarray, met: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The block at the opposite nodes of an even student: by parities of functions and orders.

        Axes that keep their nodes are turned round.
        """
        dimension = len(self.grid)
        kept = range(1, 1 + max(self.n_moved, 1))
        signs = self.functions.parities(self.teacher).reshape(-1, *[1] * dimension)
        n_alone = self.functions.n_quantities
        signs_alone = np.concatenate([signs[:n_alone], np.ones_like(signs[n_alone:])])[: len(alone)]
        n_inner = dimension - len(kept)
        orders = total_order(self.teacher.top, n_inner) if n_inner else np.zeros(1, dtype=int)
        parity = (-1.0) ** orders.reshape(-1)
        parity = parity.reshape(*[1] * len(kept), *[self.teacher.top + 1] * n_inner)
        return signs_alone * np.flip(alone, kept), signs[n_alone:] * parity * np.flip(met, kept)
