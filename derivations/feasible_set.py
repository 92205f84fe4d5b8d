r"""The feasible set of the statistics, and why the ODE never leaves it.

Run ``python -m derivations.feasible_set`` in the root of a clone, or
``python -m ssiode.derivations.feasible_set`` anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from sympy import QQ, ring
from sympy.polys.matrices import DomainMatrix
from sympy.polys.rings import PolyElement

from .report import Control, Derivation, Proof, Step, publish

# Tokens, and the rank of the metric; it is singular at (1, 1) and (2, 2).
SHAPES = ((1, 1), (1, 2), (2, 2), (2, 3))


def derive() -> Derivation:
    """Derive the feasible set and the change of the squared length in it.

    Returns
    -------
    Derivation
        For metrics of full and of smaller rank.
    """
    models = [SpannedMetric(*shape) for shape in SHAPES]
    return Derivation(
        "The feasible set",
        r"""
        Let the rows of $W$ be the coordinates $p_1, \ldots, p_L, b^*$ of the encoding and of the
        teacher in an orthonormal basis of their span, and $u$ those of $w/\sqrt d$. Then
        $v = (e, m) = W u$ and $\Gamma = W W^\top$, and $W$ has full column rank even when $\Gamma$
        is singular. The ODE is that of Arnaboldi et al., arXiv 2506.02651, in the metric $\Gamma$.
        The identities are polynomials in the entries of $W$ and $u$, for one and two tokens and
        metrics of rank one to three.
        """,
        (_feasible_set(models), _invariance(models)),
    )


class SpannedMetric:
    """A metric of given rank, with a symbol for every entry of W and of u.

    Parameters
    ----------
    tokens : int
        Number of tokens L; W has L + 1 rows.
    rank : int
        Columns of W, the rank of the metric.

    Attributes
    ----------
    directions, metric : DomainMatrix
        W and Gamma = W W^T.
    u, v, gradient : DomainMatrix
        The coordinates, the statistics v = W u, and a symbol for every entry of grad R.
    noise : PolyElement
        The product gamma V.

    Examples
    --------
    >>> SpannedMetric(1, 1).metric.to_list_flat()
    [W00**2, W00*W10, W00*W10, W10**2]
    """

    def __init__(self: Self, tokens: int, rank: int) -> None:
        rows, columns = range(tokens + 1), range(rank)
        names = [f"W{k}{a}" for k in rows for a in columns]
        names += [f"u{a}" for a in columns] + [f"R{k}" for k in rows] + ["noise"]
        self.ring, *symbols = ring(names, QQ)
        size = len(rows) * rank
        self.directions = self._matrix(symbols[:size], rank)
        self.u = self._matrix(symbols[size : size + rank], 1)
        self.gradient = self._matrix(symbols[size + rank : -1], 1)
        self.noise: PolyElement = symbols[-1]
        self.metric = self.directions * self.directions.transpose()
        self.v = self.directions * self.u

    def _matrix(self: Self, entries: Sequence[PolyElement], width: int) -> DomainMatrix:
        table = [list(entries[start : start + width]) for start in range(0, len(entries), width)]
        return DomainMatrix(table, (len(table), width), self.ring.to_domain())

    def scaled_inverse(self: Self) -> tuple[DomainMatrix, PolyElement]:
        """Compute W adj(W^T W)^2 W^T and det(W^T W), so that Gamma^+ = first / second^2."""
        adjugate, determinant = (self.directions.transpose() * self.directions).adj_det()
        return self.directions * adjugate * adjugate * self.directions.transpose(), determinant

    def velocities(self: Self) -> tuple[DomainMatrix, DomainMatrix]:
        """Compute 2 du/dt and 2 dv/dt; twice, so that all coefficients are whole numbers."""
        two = self.ring(2)
        force = self.directions.transpose() * self.gradient
        of_u = (self.u * self.u.transpose() * force - force) * two - self.u * self.noise
        flow = (self.v * self.v.transpose() - self.metric) * self.gradient
        return of_u, flow * two - self.v * self.noise


def scalar_product(left: DomainMatrix, right: DomainMatrix) -> PolyElement:
    """Multiply two columns.

    >>> model = SpannedMetric(1, 1)
    >>> scalar_product(model.v, model.gradient)
    W00*u0*R0 + W10*u0*R1
    """
    return (left.transpose() * right).to_list_flat()[0]


def _feasible_set(models: Sequence[SpannedMetric]) -> Step:
    """Identify the pseudo-inverse and the squared length of u in it."""
    conditions, lengths, wrong = [], [], []
    for model in models:
        if model.u.shape[0] > 2:
            # 54 polynomials of degree 16 in 9 symbols, for a metric that has an ordinary inverse.
            continue
        pseudo, determinant = model.scaled_inverse()
        product = model.metric * pseudo
        conditions += (product * model.metric - model.metric * determinant**2).to_list_flat()
        conditions += (pseudo * product - pseudo * determinant**2).to_list_flat()
        conditions += (product - product.transpose()).to_list_flat()
        conditions += (pseudo * model.metric - product).to_list_flat()
        length = scalar_product(model.u, model.u)
        lengths.append(scalar_product(model.v, pseudo * model.v) - determinant**2 * length)
        wrong.append(scalar_product(model.v, model.v) - length)
    return Step(
        "What can be reached",
        r"""
        The student has $|w| = \sqrt d$, so $u$ is any vector of the unit ball once $d$ exceeds the
        rank. The matrix below fulfils the four conditions of Moore and Penrose, and
        $v^\top\Gamma^+ v = |u|^2$ (both are proved up to rank two): a vector $v$ can be reached
        if and only if it lies in the range of $\Gamma$ and in the unit ball of $\Gamma^+$.
        """,
        r"""
        \Gamma^+ = W\,(W^\top W)^{-2}\,W^\top, \qquad
        v^\top\,\Gamma^+\,v = |u|^2 \le 1
        """,
        (
            Proof("the pseudo-inverse", tuple(conditions)),
            Proof("the squared length", tuple(lengths)),
            Control("the Euclidean length of v", Proof("", tuple(wrong))),
        ),
    )


def _invariance(models: Sequence[SpannedMetric]) -> Step:
    """Show how the squared length moves along the ODE."""
    same, change, wrong = [], [], []
    for model in models:
        of_u, of_v = model.velocities()
        same += (model.directions * of_u - of_v).to_list_flat()
        length = scalar_product(model.u, model.u)
        # d|u|^2/dt = 2 u . du/dt.
        growth = scalar_product(model.u, of_u)
        flow = 2 * (1 - length) * scalar_product(model.v, model.gradient)
        change.append(growth + flow + model.noise * length)
        wrong.append(growth + flow)
    return Step(
        "The boundary is invariant under gradient flow",
        r"""
        The ODE of $v$ is the image of an ODE of $u$ with the Euclidean metric,
        $\dot u = -(I - u u^\top)\,W^\top\nabla R - \frac\gamma2 V u$, and the squared length moves
        as below. At $\gamma = 0$ the boundary $v^\top\Gamma^+ v = 1$ is invariant; for
        $\gamma > 0$ the noise pulls inside from there. The feasible set is never left.
        """,
        r"""
        \frac{d}{dt}\,v^\top\Gamma^+v = -2\,(1 - v^\top\Gamma^+v)\;v \cdot \nabla R -
        \gamma\,V\,v^\top\Gamma^+v
        """,
        (
            Proof("the ODE of v is the image of the ODE of u", tuple(same)),
            Proof("the rate of change of the squared length", tuple(change)),
            Control("invariant also at gamma > 0", Proof("", tuple(wrong))),
        ),
    )


def main() -> int:
    """Print the derivation; 1 is returned when a check fails, else 0."""
    return 1 if publish([derive()]) else 0


if __name__ == "__main__":
    raise SystemExit(main())
