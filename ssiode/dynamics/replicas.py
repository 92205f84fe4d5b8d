"""The replicas of one run, advanced by kernels in threads."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ssiode.dynamics.methods import Method, Purpose
from ssiode.dynamics.target_kernel import target_kernel
from ssiode.kernels.linker import link, piece
from ssiode.kernels.streams import stream_states
from ssiode.threads import map_in_threads, thread_count

if TYPE_CHECKING:
    from ssiode.problem import Problem
    from ssiode.results import Ensemble

# Beyond so many tokens unrolled loops gain nothing, and one kernel serves all lengths.
_LONGEST_UNROLLED = 4
_FRESH = (Purpose.FRESH_TOKENS, Purpose.FRESH_NOISE)


@dataclass
class Replicas:
    """The state of all replicas between two chunks of samples.

    Attributes
    ----------
    problem : Problem
    method : Method
    weights, updates : arrays of shape (replicas, rows, ...)
    streams, fresh_streams : uint64 arrays of shape (replicas, n, 4)
    recovery_steps : integer array of shape (replicas, 2)
        First passages of |v| and |m|, -1 for none yet.
    alive : boolean array of shape (replicas,)
    threshold : float
    samples_done : int
    """

    problem: Problem
    method: Method
    weights: np.ndarray
    updates: np.ndarray
    streams: np.ndarray
    fresh_streams: np.ndarray
    recovery_steps: np.ndarray
    alive: np.ndarray
    threshold: float
    samples_done: int
    kernels: ModuleType
    model: Any

    @classmethod
    def start(cls, problem: Problem, method: Method, threshold: float, first_replica: int) -> Self:
        """Put replicas, numbered from `first_replica`, where they start."""
        sgd, geometry = problem.sgd, problem.geometry
        directions = method.directions(problem)
        n_rows, entries = geometry.n_rows, method.entries(problem)
        weights = np.empty((sgd.replicas, n_rows, entries))
        for i in range(sgd.replicas):
            weights[i] = method.weights(problem, directions, first_replica + i)

        def streams(purposes: tuple[Purpose, ...]) -> np.ndarray:
            states = [stream_states(sgd.seed, sgd.replicas, p, first_replica) for p in purposes]
            return np.stack(states, axis=1)

        run = cls(
            problem,
            method,
            weights,
            np.zeros((sgd.replicas, n_rows, entries + method.sums_beside)),
            streams(method.purposes),
            streams(_FRESH),
            np.full((sgd.replicas, 2), -1),
            np.ones(sgd.replicas, dtype=bool),
            threshold,
            0,
            *_linked(problem, method, directions),
        )
        e, m, _ = run.overlaps()
        semantic = np.mean(m**2, axis=-1)
        run.recovery_steps[np.sum(e**2, axis=-1) + semantic >= threshold**2, 0] = 0
        run.recovery_steps[semantic >= threshold**2, 1] = 0
        return run

    @classmethod
    def resumed(cls, ensemble: Ensemble, method: Method) -> Self:
        """Put the replicas of a run that was cut short where it stopped."""
        problem, stopped = ensemble.problem, ensemble.checkpoint
        passages = (ensemble.recovery_steps, ensemble.semantic_recovery_steps)
        return cls(
            problem,
            method,
            stopped.weights.copy(),
            stopped.updates.copy(),
            stopped.streams.copy(),
            stopped.fresh_streams.copy(),
            np.stack(passages, axis=1),
            stopped.alive.copy(),
            ensemble.threshold,
            stopped.samples_done,
            *_linked(problem, method, method.directions(problem)),
        )

    @property
    def steps_done(self) -> int:
        """Number of whole steps."""
        return self.samples_done // self.problem.sgd.batch

    def overlaps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The e, m and |w|^2/d of all rows, shape (replicas, L or rows); NaN where diverged."""
        length, rows = self.problem.length, self.weights.shape[1]
        states = np.empty((len(self.weights), length + 2 * rows))
        self.kernels.write_states(self.weights, self.model, states)
        states[~self.alive] = np.nan
        return states[:, :length], states[:, length:-rows], states[:, -rows:]

    def advance(self, n_samples: int) -> float:
        """Advance all replicas; return the seconds that the kernels took on all threads."""
        sgd = self.problem.sgd
        step_size = sgd.gamma * self.problem.loss.scale / sgd.d

        def advance(part: slice) -> float:
            streams = self.streams[part]
            labels = self._labels(streams, n_samples)
            start = time.perf_counter()
            self.kernels.advance_replicas(
                streams,
                self.weights[part],
                self.updates[part],
                self.model,
                labels,
                sgd.batch,
                step_size,
                self.threshold,
                self.samples_done,
                self.recovery_steps[part],
                self.alive[part],
            )
            return time.perf_counter() - start

        seconds = sum(self._in_parts(advance))
        self.samples_done += n_samples
        return seconds

    def add_fresh_losses(self, totals: np.ndarray, n_samples: int) -> None:
        """Add the losses of fresh samples, before the scale of the loss, to each total."""

        def add(part: slice) -> None:
            streams = self.fresh_streams[part]
            labels = self._labels(streams, n_samples)
            self.kernels.add_fresh_losses(
                streams, self.weights[part], self.model, labels, self.alive[part], totals[part]
            )

        self._in_parts(add)

    def _in_parts(self, function: Callable[[slice], Any]) -> list[Any]:
        """Call the function on one part of the replicas for each thread."""
        bounds = np.linspace(0, len(self.weights), min(thread_count(), len(self.weights)) + 1)
        ends = bounds.astype(int).tolist()
        return map_in_threads(function, map(slice, ends[:-1], ends[1:]))

    def _labels(self, streams: np.ndarray, n_samples: int) -> np.ndarray:
        """Labels of the next samples of a target that only Python can evaluate; else no columns."""
        target = self.problem.target
        if target.expressions is not None:
            return np.empty((len(streams), n_samples, 0))
        fields = np.empty((len(streams), n_samples, target.length))
        self.kernels.write_teacher_fields(streams[:, 0].copy(), self.model, fields)
        return target(fields)


def _sizes(problem: Problem) -> str:
    """Source of the sizes of short sequences, for which kernels are faster."""
    length, geometry = problem.length, problem.geometry
    sizes = (length, geometry.rank, geometry.n_rows, problem.target.n_outputs)
    if length > _LONGEST_UNROLLED:
        sizes = (0, 0, 0, 0)
    return "LENGTH, RANK, ROWS, OUTPUTS = {}, {}, {}, {}\n".format(*sizes)


def _linked(problem: Problem, method: Method, directions: np.ndarray) -> tuple[ModuleType, Any]:
    """The kernels of the problem, and its constants in the form that they take."""
    length, geometry = problem.length, problem.geometry
    target = target_kernel(problem.target)
    kernels = link(
        [
            *([_sizes(problem)] if "LENGTH" in piece(method.kernel) else []),
            piece("scalar_functions"),
            piece("normals"),
            *problem.student.kernel_pieces(length),
            problem.loss.kernel_piece(),
            *target.pieces,
            piece("labels"),
            piece("first_passage"),
            piece("chi_square"),
            piece(method.kernel),
            piece("replica_loops"),
        ]
    )
    facts = {
        "teacher": geometry.basis[-1] @ directions,
        "directions": directions,
        "coordinates": np.ascontiguousarray(geometry.basis),
        "positions": np.ascontiguousarray(geometry.basis[:-1]),
        "n_rows": geometry.n_rows,
        "is_joint": geometry.is_joint,
        "left_out": problem.sgd.d - geometry.rank - 1,
        "injected": geometry.injected,
        "parameters": problem.student.kernel_parameters(length),
        "workspace_size": problem.student.workspace_size(length),
        "degrees": target.degrees,
        "products": target.products,
        "coefficients": target.coefficients,
        "noise_std": float(np.sqrt(problem.label_noise)),
    }
    return kernels, kernels.Model(*(facts[name] for name in kernels.Model._fields))
