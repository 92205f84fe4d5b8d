"""Randomised quasi-Monte Carlo over the 2L fields, for every length and loss."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ssiode.errors import InputError, choose, shown, whole_number
from ssiode.loss import SquaredLoss
from ssiode.memory import require_memory
from ssiode.population_risk.averages import Averager, NodeSet, finite_labels
from ssiode.population_risk.control_variates import (
    ControlVariates,
    control_count,
    control_degree,
    control_values,
)
from ssiode.population_risk.finite_moments import check_finite_moments
from ssiode.population_risk.label_moments import label_square
from ssiode.population_risk.protocol import RiskEngine, RiskEvaluation
from ssiode.population_risk.tails import tail_gap, tail_length
from ssiode.threads import map_in_threads

if TYPE_CHECKING:
    from ssiode.problem import Problem

_MOST_NAMES = 4
_SIGNS = np.array([1.0, -1.0])
_LONGEST = 1000
# Samples for each sample of the pilot: an eighth more time to evaluate.
_SAMPLES_PER_PILOT = 8
_SAMPLES_PER_ROUGH = 16
# Standard errors of 16 blocks that E |g|^2 is off by chance once in 6000 samples.
_MISMATCH = 5.0
# An event of ten expected samples is not missed by chance.
_SEEN = 10.0


class MonteCarloEngine(RiskEngine):
    """Averages over one fixed set of samples, so that the result is a fixed function of v.

    The base samples fall into independent blocks, from which the standard error follows. Each is
    used with both signs of z* and both of xi, so whatever vanishes by the parity of target and
    student vanishes here to rounding.

    The standard error of a quantity is widened, or infinite with the reason, where its largest
    samples have a heavy tail. Events too rare to be sampled show for the squared loss in E |g|^2,
    which is compared with its closed form where the target has one.

    Control variates, Hermite polynomials of the fields with coefficients from a pilot of other
    samples, leave no bias and cost an eighth more time. They divide the errors of plain samples of
    smooth problems by 1.1 to 20 at L = 2, where Sobol sequences integrate these polynomials
    themselves and errors change by factors from 0.6 to 2: by default plain samples alone have
    them.

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
    control_variates : bool, optional
        Whether to use control variates, of the degree 6, 4 or 2 that the samples allow, or none.

    Raises
    ------
    InputError
        On a number out of range, an unknown sampling, L > 1000, or where R or V is known to be
        infinite.
    """

    name: ClassVar[str] = "montecarlo"
    rank: ClassVar[int] = 2
    averager: ClassVar[type[Averager]] = Averager

    def __init__(
        self,
        problem: Problem,
        samples: int = 2**15,
        seed: int = 0,
        sampling: str = "sobol",
        blocks: int = 16,
        control_variates: bool | None = None,
    ) -> None:
        self.check(problem)
        check_finite_moments(problem)
        self.problem = problem
        self.seed = whole_number("seed", seed, minimum=0)
        self.sampling = choose("sampling", sampling, ("sobol", "plain"))
        self.blocks = whole_number("blocks", blocks, minimum=2)
        samples = whole_number("samples", samples, minimum=32)
        self._log2_block = max(0, int(np.ceil(np.log2(samples / self.blocks))))
        self.samples = self.blocks * 2**self._log2_block
        self.control_variates = self._chosen(control_variates)
        degree = control_degree(problem.length, self._pilot) if self.control_variates else 0
        n_controls = 2 * control_count(problem.length, degree) if degree else 0
        floats_per_sample = 8 * problem.length + 8 * problem.target.n_outputs + 8 + n_controls
        require_memory({"samples": float(self.samples) * floats_per_sample})
        self._average = self.averager(problem)
        self._nodes = self._node_set(range(self.blocks), self._log2_block, self._has_noise)
        self._controls: ControlVariates | None = None
        if degree:
            self._pilot_nodes = self._node_set(
                range(self.blocks, self.blocks + 1), int(np.log2(self._pilot)), self._has_noise
            )
            values = [
                control_values(nodes.z_star[:, 0], nodes.noise[:, 0], degree)
                for nodes in (self._nodes, self._pilot_nodes)
            ]
            self._controls = ControlVariates(degree, *values)

    def _chosen(self, control_variates: bool | None) -> bool:
        if control_variates is None:
            return self.sampling == "plain"
        if not isinstance(control_variates, bool):
            raise InputError(
                f"control_variates is {shown(control_variates)}; give True, False or None"
            )
        return control_variates

    @property
    def _pilot(self) -> int:
        """Number of pilot samples, a power of 2."""
        return 2 ** int(np.log2(max(1, self.samples // _SAMPLES_PER_PILOT)))

    @classmethod
    def objection(cls, problem: Problem) -> str | None:
        """Serves every problem up to the dimension of the Sobol tables."""
        if problem.length > _LONGEST:
            return f"length is {problem.length} and the sampler allows {_LONGEST}"
        return None

    @classmethod
    def suited(
        cls, problem: Problem, v: np.ndarray | None, tolerance: float, **options: Any
    ) -> Self:
        """See :meth:`RiskEngine.suited`; the seed is by default that of the problem."""
        return cls(problem, **{"seed": problem.sgd.seed, **options})

    @property
    def settings(self) -> str:
        """The samples, and the control variates where they are on."""
        samples = f"{self.samples} {self.sampling} samples of 4 signs, seed {self.seed}"
        if not self.control_variates:
            return samples
        if self._controls is None:
            return f"{samples}, too few for control variates"
        count, degree = self._controls.samples.shape[1], self._controls.degree
        return f"{samples}, {count} control variates of degree up to {degree}"

    def evaluate(self, v: np.ndarray) -> RiskEvaluation:
        """See :meth:`RiskEngine.evaluate`; the errors are standard errors over the blocks."""
        moments = self._by_block(v)
        mean = moments.mean(axis=0)
        error = moments.std(axis=0, ddof=1) / np.sqrt(self.blocks)
        error += self._average.rounding(mean, v)
        if (neighbour := self._average.neighbour_of_pole(v)) is not None:
            semantic = slice(1 + self.problem.length, -1)
            inside = self._by_block(neighbour)[:, semantic].mean(axis=0)
            error[semantic] += np.abs(mean[semantic] - inside)
        gaps, heavy = self._tails(v)
        missed, rare = self._missed(v)
        reason = "; ".join(filter(None, (self.description, heavy, rare)))
        return RiskEvaluation.of(
            mean, error + gaps + missed, self._average.units, self.name, reason
        )

    def _tails(self, v: np.ndarray) -> tuple[np.ndarray, str]:
        """What the tails of (R, dR/de, dR/dm, V) may hide, and a remark if that is not known."""
        kept = tail_length(self.samples) + 1

        def largest(block: tuple[int, int]) -> np.ndarray:
            return _largest(np.abs(self._by_sample(self._nodes, v, block)), kept)

        contributions = map_in_threads(largest, self._nodes.blocks)
        columns = _largest(np.concatenate(contributions), kept).T
        gaps, shapes = np.array([tail_gap(column) for column in columns]).T
        heavy = np.isinf(gaps)
        if not heavy.any():
            return gaps / self.blocks, ""
        names = ["R", *(f"dR/d{name}" for name in self.problem.geometry.overlap_names), "V"]
        named = [name for name, is_heavy in zip(names, heavy, strict=True) if is_heavy]
        if len(named) > _MOST_NAMES:
            named = [*named[:_MOST_NAMES], "..."]
        remark = f"heavy tail of {', '.join(named)} (Pareto shape {shapes.max():.1f})"
        return gaps / self.blocks, f"{remark}: the error is not known"

    def _missed(self, v: np.ndarray) -> tuple[np.ndarray, str]:
        """Errors of (R, dR/de, dR/dm, V) from events of the target that were not sampled."""
        errors = np.zeros(self.problem.geometry.n_overlaps + 2)
        mismatch = self._label_mismatch
        if mismatch == 0:
            return errors, ""
        # On an event A: E y^2 1_A is the mismatch, and |E y f' 1_A|^2 <= E y^2 1_A E f'^2 1_A.
        slope_square = self._average.slope_square(self._nodes, v)
        probability = min(1.0, _SEEN / (2 * self.samples))
        errors[0] = mismatch
        errors[1:-1] = 2 * np.sqrt(mismatch * slope_square * probability)
        errors[-1] = 4 * mismatch * slope_square
        return errors, f"rare values of the target: the samples miss {mismatch:.2g} of E|g|^2"

    def _by_block(self, v: np.ndarray) -> np.ndarray:
        """Averages by block, with the exact E |g|^2 in the place of the sampled one.

        |g|^2 does not depend on v and has a heavier tail than g f: a control variate for R.
        """
        moments = self._average(self._nodes, v)
        if self._exact_square is not None:
            moments[:, 0] -= self._label_squares.sum(axis=1) - self._exact_square
        if (coefficients := self._coefficients(v)) is not None:
            moments -= np.einsum("bp,pq->bq", self._control_means, coefficients)
        return moments

    def _by_sample(self, nodes: NodeSet, v: np.ndarray, block: tuple[int, int]) -> np.ndarray:
        """Contributions of the samples of one block to its averages, without |g|^2 if it is exact.

        Shape (samples of the block, number of overlaps + 2).
        """
        rows = self._average.by_group(nodes, v, block)
        if self._exact_square is not None:
            rows[:, 0] -= _weighted_squares(nodes, block)
        return rows

    def _coefficients(self, v: np.ndarray) -> np.ndarray | None:
        """Coefficients of the control variates for (R, dR/de, dR/dm, V) at one state."""
        if self._controls is None:
            return None
        (block,) = self._pilot_nodes.blocks
        rows = self._by_sample(self._pilot_nodes, v, block)
        return self._controls.coefficients(rows * len(rows))

    @cached_property
    def _control_means(self) -> np.ndarray:
        return self._controls.means(self.blocks)

    @cached_property
    def _exact_square(self) -> float | None:
        """E |g|^2 where the loss contains it and it has a closed form."""
        squared = isinstance(self.problem.loss, SquaredLoss)
        return label_square(self.problem.target) if squared else None

    @cached_property
    def _label_squares(self) -> np.ndarray:
        """Weighted |g|^2 of the samples, shape (blocks, samples of a block)."""
        return _weighted_squares(self._nodes, (0, self.samples)).reshape(self.blocks, -1)

    @cached_property
    def _label_mismatch(self) -> float:
        """Error of the sampled E |g|^2 if it is known and not by chance, else 0."""
        if self._exact_square is None:
            return 0.0
        by_block = self._label_squares.sum(axis=1)
        mismatch = abs(by_block.mean() - self._exact_square)
        chance = _MISMATCH * by_block.std(ddof=1) / np.sqrt(self.blocks)
        return float(mismatch) if mismatch > chance + 1e-12 * self._exact_square else 0.0

    def moments(self, v: np.ndarray) -> np.ndarray:
        """See :meth:`RiskEngine.moments`."""
        means = [self._by_block(state).mean(axis=0) for state in v]
        return np.array(means) * self._average.units

    def companion(self) -> MonteCarloEngine:
        """Return the same engine with other samples."""
        return type(self)(
            self.problem,
            self.samples,
            self.seed + 1,
            self.sampling,
            self.blocks,
            self.control_variates,
        )

    def rough(self) -> MonteCarloEngine:
        """Return an engine of fewer samples, for a search."""
        samples = max(32, self.samples // _SAMPLES_PER_ROUGH)
        return type(self)(
            self.problem, samples, self.seed, self.sampling, self.blocks, self.control_variates
        )

    def noisy_nodes(self) -> NodeSet:
        """The samples as nodes whose labels hold their noise; each block has the weight 1."""
        is_noisy = self.problem.label_noise > 0
        return self._node_set(range(self.blocks), self._log2_block, is_noisy)

    @property
    def _n_orthogonal(self) -> int:
        """Number of orthogonal fields xi."""
        return self.problem.length

    @property
    def _has_noise(self) -> bool:
        """Whether labels need noise, because it does not separate in the loss."""
        return self.problem.label_noise > 0 and not self.problem.loss.noise_is_additive

    def _node_set(self, streams: range, log2_block: int, noisy: bool) -> NodeSet:
        """One block of 2^log2_block samples from each of the streams."""
        problem, length = self.problem, self.problem.length
        n_noise = problem.target.n_outputs if noisy else 0
        end = length + self._n_orthogonal
        normals = self._normals(end + n_noise, streams, log2_block)
        z_star = normals[:, None, :length] * _SIGNS[:, None]
        labels = finite_labels(problem, z_star)
        if noisy:
            label_noise = normals[:, None, end:] * _SIGNS[:, None]
            labels = labels + np.sqrt(problem.label_noise) * label_noise
        per_block = 2**log2_block
        return NodeSet(
            z_star=z_star,
            labels=labels,
            star_weights=np.full(z_star.shape[:2], 0.5 / per_block),
            noise=normals[:, None, length:end] * _SIGNS[:, None],
            noise_weights=np.full((len(normals), 2), 0.5),
            noise_counts=np.full(len(normals), 2),
            blocks=tuple((i * per_block, (i + 1) * per_block) for i in range(len(streams))),
        )

    def _normals(self, dimension: int, streams: range, log2_block: int) -> np.ndarray:
        """Standard normal base samples, shape (samples, dimension), block after block."""
        from scipy.special import ndtri
        from scipy.stats import qmc

        parts = []
        for stream in streams:
            sequence = np.random.SeedSequence(self.seed, spawn_key=(stream,))
            generator = np.random.default_rng(sequence)
            if self.sampling == "plain":
                parts.append(generator.standard_normal((2**log2_block, dimension)))
                continue
            sampler = qmc.Sobol(dimension, scramble=True, rng=generator)
            uniform = sampler.random_base2(log2_block)
            parts.append(ndtri(np.clip(uniform, 2.0**-53, 1.0 - 2.0**-53)))
        return np.concatenate(parts)


def _weighted_squares(nodes: NodeSet, block: tuple[int, int]) -> np.ndarray:
    """Weighted |g|^2 of each group of nodes of one block."""
    weights, labels = nodes.star_weights[slice(*block)], nodes.labels[slice(*block)]
    return (weights * np.square(labels).sum(axis=-1)).sum(axis=-1)


def _largest(rows: np.ndarray, count: int) -> np.ndarray:
    """The `count` largest numbers of each column, fewer if there are no more."""
    return rows if len(rows) <= count else np.partition(rows, -count, axis=0)[-count:]
