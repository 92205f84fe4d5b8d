"""Steps of SGD by kernels, for all replicas of a run, in threads."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ssiode.dynamics.methods import Method, Purpose, Run, RunState
from ssiode.dynamics.target_kernel import target_kernel
from ssiode.kernels.chi_square import chi_square_width
from ssiode.kernels.linker import link, piece
from ssiode.kernels.streams import stream_states
from ssiode.threads import map_in_threads, thread_count

if TYPE_CHECKING:
    from ssiode.problem import Problem

# Beyond so many tokens unrolled loops gain nothing, and one kernel serves all lengths.
_LONGEST_UNROLLED = 4
_FRESH = (Purpose.FRESH_TOKENS, Purpose.FRESH_NOISE)


class KernelMethod(Method):
    """Steps of SGD by a kernel.

    Attributes
    ----------
    kernel : str
        Piece that advances one replica.
    purposes : tuple of Purpose
        Streams that the kernel reads.
    sums_beside : int
        Sums that the kernel keeps beside the update of each entry.
    is_unrolled : bool
        Whether the kernel is linked with the sizes of short sequences.
    """

    kernel: ClassVar[str]
    purposes: ClassVar[tuple[Purpose, ...]]
    sums_beside: ClassVar[int] = 0
    is_unrolled: ClassVar[bool] = False

    @abstractmethod
    def directions(self, problem: Problem) -> np.ndarray:
        """Orthonormal vectors that span the encoding and the teacher, shape (r, entries)."""

    @abstractmethod
    def weights(self, problem: Problem, directions: np.ndarray, replica: int) -> np.ndarray:
        """Initial weights of one replica, shape (rows, entries)."""

    def start(
        self, problem: Problem, threshold: float, first_replica: int, options: Mapping[str, Any]
    ) -> Replicas:
        """See :meth:`Method.start`."""
        sgd, directions = problem.sgd, self.directions(problem)
        shapes = self.state_shapes(problem)
        weights = np.empty(shapes["weights"])
        for i in range(sgd.replicas):
            weights[i] = self.weights(problem, directions, first_replica + i)

        def streams(purposes: tuple[Purpose, ...]) -> np.ndarray:
            states = [stream_states(sgd.seed, sgd.replicas, p, first_replica) for p in purposes]
            return np.stack(states, axis=1)

        state = RunState(
            problem,
            weights,
            np.zeros(shapes["updates"]),
            streams(self.purposes),
            streams(_FRESH),
            np.full((sgd.replicas, 2), -1),
            np.ones(sgd.replicas, dtype=bool),
            threshold,
        )
        run = Replicas(state, *_linked(problem, self, directions))
        e, m, _ = run.overlaps()
        state.note_start(e, m)
        return run

    def state_shapes(self, problem: Problem) -> dict[str, tuple[int, ...]]:
        """See :meth:`Method.state_shapes`."""
        replicas, n_rows = problem.sgd.replicas, problem.geometry.n_rows
        entries = self.entries(problem)
        return {
            "weights": (replicas, n_rows, entries),
            "updates": (replicas, n_rows, entries + self.sums_beside),
            "streams": (replicas, len(self.purposes), 4),
            "fresh_streams": (replicas, len(_FRESH), 4),
        }

    def resumed(self, state: RunState) -> Replicas:
        """See :meth:`Method.resumed`."""
        directions = self.directions(state.problem)
        return Replicas(state, *_linked(state.problem, self, directions))


class Replicas(Run):
    """Replicas that kernels advance, in threads."""

    def __init__(self, state: RunState, kernels: ModuleType, model: Any) -> None:
        self.state = state
        self._kernels, self._model = kernels, model

    def overlaps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See :meth:`Run.overlaps`."""
        weights, length = self.state.weights, self.state.problem.length
        rows = weights.shape[1]
        states = np.empty((len(weights), length + 2 * rows))
        self._kernels.write_states(weights, self._model, states)
        states[~self.state.alive] = np.nan
        return states[:, :length], states[:, length:-rows], states[:, -rows:]

    def advance(self, n_samples: int) -> float:
        """See :meth:`Run.advance`."""
        state, sgd = self.state, self.state.problem.sgd
        step_size = sgd.gamma * state.problem.loss.scale / sgd.d

        def advance(part: slice) -> float:
            streams = state.streams[part]
            labels = self._labels(streams, n_samples)
            start = time.perf_counter()
            self._kernels.advance_replicas(
                streams,
                state.weights[part],
                state.updates[part],
                self._model,
                labels,
                sgd.batch,
                step_size,
                state.threshold,
                state.samples_done,
                state.recovery_steps[part],
                state.alive[part],
            )
            return time.perf_counter() - start

        seconds = sum(self._in_parts(advance))
        state.samples_done += n_samples
        return seconds

    def add_fresh_losses(self, totals: np.ndarray, n_samples: int) -> None:
        """See :meth:`Run.add_fresh_losses`."""
        state = self.state

        def add(part: slice) -> None:
            streams = state.fresh_streams[part]
            labels = self._labels(streams, n_samples)
            self._kernels.add_fresh_losses(
                streams, state.weights[part], self._model, labels, state.alive[part], totals[part]
            )

        self._in_parts(add)

    def _in_parts(self, function: Callable[[slice], Any]) -> list[Any]:
        """Call the function on one part of the replicas for each thread."""
        replicas = len(self.state.weights)
        bounds = np.linspace(0, replicas, min(thread_count(), replicas) + 1)
        ends = bounds.astype(int).tolist()
        return map_in_threads(function, map(slice, ends[:-1], ends[1:]))

    def _labels(self, streams: np.ndarray, n_samples: int) -> np.ndarray:
        """Labels of the next samples of a target that only Python can evaluate; else no columns."""
        target = self.state.problem.target
        if target.expressions is not None:
            return np.empty((len(streams), n_samples, 0))
        fields = np.empty((len(streams), n_samples, target.length))
        self._kernels.write_teacher_fields(streams[:, 0].copy(), self._model, fields)
        return target(fields)


def _sizes(problem: Problem) -> str:
    """Source of the sizes of short sequences, for which kernels are faster."""
    length, geometry = problem.length, problem.geometry
    sizes = (length, geometry.rank, geometry.n_rows, problem.target.n_outputs)
    if length > _LONGEST_UNROLLED:
        sizes = (0, 0, 0, 0)
    return "LENGTH, RANK, ROWS, OUTPUTS = {}, {}, {}, {}\n".format(*sizes)


def _linked(
    problem: Problem, method: KernelMethod, directions: np.ndarray
) -> tuple[ModuleType, Any]:
    """The kernels of the problem, and its constants in the form that they take."""
    length, geometry = problem.length, problem.geometry
    target, left_out = target_kernel(problem.target), problem.sgd.d - geometry.rank - 1
    kernels = link(
        [
            *([_sizes(problem)] if method.is_unrolled else []),
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
        "left_out": left_out,
        "chi_square_width": chi_square_width.py_func(left_out),
        "injected": geometry.injected,
        "parameters": problem.student.kernel_parameters(length),
        "workspace_size": problem.student.workspace_size(length),
        "degrees": target.degrees,
        "products": target.products,
        "coefficients": target.coefficients,
        "noise_std": float(np.sqrt(problem.label_noise)),
    }
    return kernels, kernels.Model(*(facts[name] for name in kernels.Model._fields))
