"""Monte Carlo for networks with one weight vector for each token."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ssiode.errors import InputError
from ssiode.population_risk.averages import Averager
from ssiode.population_risk.montecarlo import MonteCarloEngine
from ssiode.population_risk.untied.row_averages import RowAverager

if TYPE_CHECKING:
    from ssiode.problem import Problem


class RowMonteCarloEngine(MonteCarloEngine):
    """Averages over one fixed set of samples of the L fields of the teacher and one beside them.

    It serves every loss, target and length, under either constraint; see
    :class:`MonteCarloEngine` for its errors.

    Parameters
    ----------
    problem : Problem
    samples, seed, sampling, blocks
        See :class:`MonteCarloEngine`.

    Raises
    ------
    InputError
        As there.
    """

    name: ClassVar[str] = "montecarlo"
    serves_rows: ClassVar[bool] = True
    averager: ClassVar[type[Averager]] = RowAverager

    def __init__(
        self,
        problem: Problem,
        samples: int = 2**15,
        seed: int = 0,
        sampling: str = "sobol",
        blocks: int = 16,
        control_variates: bool | None = None,
    ) -> None:
        if control_variates:
            raise InputError("an untied network has no control variates; leave them out")
        super().__init__(problem, samples, seed, sampling, blocks, control_variates=False)

    @property
    def _n_orthogonal(self) -> int:
        return 1
