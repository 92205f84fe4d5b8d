"""Randomised quasi-Monte Carlo over the 2L fields, for every length and loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ssiode.errors import choose, whole_number
from ssiode.population_risk.averages import Averager, NodeSet, finite_labels
from ssiode.population_risk.protocol import RiskEngine, RiskEvaluation

if TYPE_CHECKING:
    from ssiode.problem import Problem

_SIGNS = np.array([1.0, -1.0])
_LONGEST = 1000


class MonteCarloEngine(RiskEngine):
    """Averages over one fixed set of samples, so that the result is a fixed function of v.

    The base samples fall into independent blocks, from which the standard error follows. Each is
    used with both signs of z* and both of xi, so whatever vanishes by the parity of target and
    student vanishes here to rounding.

    Parameters
    ----------
    problem : Problem
    samples : int
        Base samples, >= 32; rounded up to a power of 2 in each block. A point costs four
        evaluations of the loss per base sample.
    seed : int
        Seed of the samples.
    sampling : str
        `sobol` (independently scrambled Sobol sequences, one a block) or `plain`.
    blocks : int
        Number of independent blocks, >= 2.

    Raises
    ------
    InputError
        On a number out of range, an unknown sampling, or L > 1000.
    """

    name: ClassVar[str] = "montecarlo"

    def __init__(
        self,
        problem: Problem,
        samples: int = 2**15,
        seed: int = 0,
        sampling: str = "sobol",
        blocks: int = 16,
    ) -> None:
        self.check(problem)
        self.problem = problem
        self.seed = whole_number("seed", seed, minimum=0)
        self.sampling = choose("sampling", sampling, ("sobol", "plain"))
        self.blocks = whole_number("blocks", blocks, minimum=2)
        samples = whole_number("samples", samples, minimum=32)
        self._log2_block = max(0, int(np.ceil(np.log2(samples / self.blocks))))
        self.samples = self.blocks * 2**self._log2_block
        self._average = Averager(problem)
        self._nodes = self._node_set()

    @classmethod
    def objection(cls, problem: Problem) -> str | None:
        """Serves every problem up to the dimension of the Sobol tables."""
        if problem.length > _LONGEST:
            return f"length is {problem.length} and the sampler allows {_LONGEST}"
        return None

    @property
    def settings(self) -> str:
        """The samples."""
        return f"{self.samples} {self.sampling} samples of 4 signs, seed {self.seed}"

    def evaluate(self, v: np.ndarray) -> RiskEvaluation:
        """See :meth:`RiskEngine.evaluate`; the errors are standard errors over the blocks."""
        moments = self._average(self._nodes, v)
        mean = moments.mean(axis=0)
        error = moments.std(axis=0, ddof=1) / np.sqrt(self.blocks)
        error += self._average.rounding(mean, v)
        if (neighbour := self._average.neighbour_of_pole(v)) is not None:
            error[-2] += abs(mean[-2] - self._average(self._nodes, neighbour)[:, -2].mean())
        return RiskEvaluation.of(mean, error, self._average.units, self.name, self.description)

    def gradient_and_second_moment(self, v: np.ndarray) -> tuple[np.ndarray, float]:
        """See :meth:`RiskEngine.gradient_and_second_moment`."""
        mean = self._mean(v)
        return mean[1:-1], float(mean[-1])

    def risk(self, v: np.ndarray) -> float:
        """See :meth:`RiskEngine.risk`."""
        return float(self._mean(v)[0])

    def companion(self) -> MonteCarloEngine:
        """Return the same engine with other samples."""
        return MonteCarloEngine(
            self.problem, self.samples, self.seed + 1, self.sampling, self.blocks
        )

    def _mean(self, v: np.ndarray) -> np.ndarray:
        return self._average(self._nodes, v).mean(axis=0) * self._average.units

    def _node_set(self) -> NodeSet:
        problem, length = self.problem, self.problem.length
        noisy = problem.label_noise > 0 and not problem.loss.noise_is_additive
        n_noise = problem.target.n_outputs if noisy else 0
        normals = self._normals(2 * length + n_noise)
        z_star = normals[:, None, :length] * _SIGNS[:, None]
        labels = finite_labels(problem, z_star)
        if noisy:
            label_noise = normals[:, None, 2 * length :] * _SIGNS[:, None]
            labels = labels + np.sqrt(problem.label_noise) * label_noise
        per_block = 2**self._log2_block
        return NodeSet(
            z_star=z_star,
            labels=labels,
            star_weights=np.full(z_star.shape[:2], 0.5 / per_block),
            noise=normals[:, None, length : 2 * length] * _SIGNS[:, None],
            noise_weights=np.full((len(normals), 2), 0.5),
            noise_counts=np.full(len(normals), 2),
            blocks=tuple((i * per_block, (i + 1) * per_block) for i in range(self.blocks)),
        )

    def _normals(self, dimension: int) -> np.ndarray:
        """Standard normal base samples, shape (samples, dimension), block after block."""
        from scipy.special import ndtri
        from scipy.stats import qmc

        parts = []
        for block in range(self.blocks):
            sequence = np.random.SeedSequence(self.seed, spawn_key=(block,))
            generator = np.random.default_rng(sequence)
            if self.sampling == "plain":
                parts.append(generator.standard_normal((2**self._log2_block, dimension)))
                continue
            sampler = qmc.Sobol(dimension, scramble=True, rng=generator)
            uniform = sampler.random_base2(self._log2_block)
            parts.append(ndtri(np.clip(uniform, 2.0**-53, 1.0 - 2.0**-53)))
        return np.concatenate(parts)
