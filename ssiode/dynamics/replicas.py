"""Runs of many replicas of SGD in threads, in chunks that an interruption can end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ssiode.dynamics.start import Start
from ssiode.kernels.linker import link, piece
from ssiode.kernels.streams import stream_states
from ssiode.recovery import check_threshold
from ssiode.results import Ensemble
from ssiode.threads import map_in_threads, thread_count

if TYPE_CHECKING:
    from ssiode.problem import Problem

_SECONDS_PER_CHUNK = 0.5
# Threads hand the interpreter's lock to each other after every call, which can take five
# milliseconds where they share a processor: shorter calls are quicker one after the other.
_WORTH_THREADS = 5e-3
# What Python hands to one call of a kernel stays below some ten megabytes.
_FLOATS_PER_CHUNK = 2**21
# Every use of randomness has streams of its own, so that the records do not change the run.
_TOKENS, _LABEL_NOISE, _FRESH_TOKENS, _FRESH_NOISE = range(4)
_LEFT_OUT = 6
# The kernel of each method, and the purposes of its random numbers besides the tokens and noise.
_METHODS = {"sgd": ("direct_sgd", ()), "chain": ("overlap_chain", (_LEFT_OUT,))}
_NO_TARGET = '@njit(error_model="numpy")\ndef target_outputs(z_star, labels):\n    pass\n'


@dataclass
class _Pace:
    """How many samples of all replicas last half a second, after which Ctrl-C is seen."""

    samples: int = 0
    timed: int = 0
    seconds: float = 0.0

    def chunk(self, wanted: int, floats_per_sample: int) -> int:
        """Return the size of the next chunk, at most `wanted`."""
        if not self.timed:
            return 1
        per_sample = max(self.seconds / self.timed, 1e-12)
        most = min(_SECONDS_PER_CHUNK / per_sample, _FLOATS_PER_CHUNK / floats_per_sample)
        return int(np.clip(min(most, 8 * self.samples), 1, wanted))

    def expected(self, chunk: int) -> float:
        """Seconds that a chunk will take on each thread, 0 if that is not known yet."""
        return self.seconds / self.timed * chunk if self.timed else 0.0

    def over(self, chunk: int, seconds: float) -> None:
        """Count a chunk that took so long on each thread; the first one holds the compilation."""
        if self.samples:
            self.timed += chunk
            self.seconds += seconds
        self.samples += chunk


@dataclass
class Replicas:
    """The state of all replicas between two chunks of steps."""

    problem: Problem
    kernels: ModuleType
    model: Any
    weights: np.ndarray
    directions: np.ndarray
    updates: np.ndarray
    streams: list[Any]
    fresh_streams: list[Any]
    recovery_steps: np.ndarray
    alive: np.ndarray
    threshold: float
    fresh_samples: int
    samples_done: int = 0
    stepping_seconds: float = 0.0
    timed_samples: int = 0
    _stepping: _Pace = field(default_factory=_Pace)
    _measuring: _Pace = field(default_factory=_Pace)
    _latest: np.ndarray | None = None

    method: str = "sgd"

    @classmethod
    def start(
        cls, problem: Problem, start: Start, method: str, fresh_samples: int, threshold: float
    ) -> Self:
        """Link the kernels and put all replicas where they start."""
        threshold = check_threshold(threshold)
        geometry, length, sgd = problem.geometry, problem.length, problem.sgd
        kernel, further = _METHODS[method]
        kernels = _linked_kernels(problem, kernel)
        facts = {
            "teacher": geometry.basis[-1] @ start.directions,
            "directions": start.directions,
            "coordinates": np.ascontiguousarray(geometry.basis),
            "left_out": sgd.d - geometry.rank - 1,
            "injected": geometry.injected,
            "parameters": problem.student.parameters(length),
            "workspace_size": problem.student.workspace_size(length),
            "n_outputs": problem.target.n_outputs,
            "noise_std": float(np.sqrt(problem.label_noise)),
        }
        model = kernels.Model(*(facts[name] for name in kernels.Model._fields))

        def streams(*purposes: int) -> list[Any]:
            states = [stream_states(sgd.seed, sgd.replicas, purpose) for purpose in purposes]
            return [kernels.Streams(*rows) for rows in zip(*states, strict=True)]

        run = cls(
            problem,
            kernels,
            model,
            start.weights,
            start.directions,
            np.zeros((sgd.replicas, start.weights.shape[1] + len(further))),
            streams(_TOKENS, _LABEL_NOISE, *further),
            streams(_FRESH_TOKENS, _FRESH_NOISE, *further),
            np.full((sgd.replicas, 2), -1),
            np.ones(sgd.replicas, dtype=bool),
            threshold,
            fresh_samples,
            method=method,
        )
        v = run.overlaps()
        run.recovery_steps[np.linalg.norm(v, axis=-1) >= threshold, 0] = 0
        run.recovery_steps[np.abs(v[:, -1]) >= threshold, 1] = 0
        return run

    @property
    def steps_done(self) -> int:
        """Number of whole steps."""
        return self.samples_done // self.problem.sgd.batch

    def overlaps(self) -> np.ndarray:
        """States (e, m) of the replicas, shape (replicas, L + 1); NaN where diverged."""
        directions, coordinates = self.directions, self.model.coordinates
        # Row by row and without BLAS: the last digits must not depend on the number of replicas.
        components = np.array([(directions * row).sum(axis=1) for row in self.weights])
        v = (components[:, None, :] * coordinates).sum(axis=2)
        v[~self.alive] = np.nan
        return v

    def record(self, steps: np.ndarray, progress: bool) -> Ensemble:
        """Run to each of the steps in turn and collect overlaps and losses."""
        from tqdm import tqdm

        sgd = self.problem.sgd
        states, losses, status = [], [], "finished"
        with tqdm(total=sgd.steps, unit="step", disable=not progress, leave=False) as bar:
            try:
                for step in steps:
                    self._advance_to(int(step), bar)
                    states.append(self.overlaps())
                    losses.append(self._fresh_losses())
            except KeyboardInterrupt:
                status = "interrupted"
        kept = min(len(states), len(losses))
        states, losses, steps = states[:kept], losses[:kept], steps[:kept]
        if self._latest is not None and (not kept or steps[-1] < self.steps_done):
            # The last chunk before an interruption is kept too, without a loss.
            states.append(self._latest)
            losses.append(np.full(sgd.replicas, np.nan))
            steps, kept = np.append(steps, self.steps_done), kept + 1
        if status == "finished" and not self.alive.all():
            status = "diverged"
        shape = (kept, sgd.replicas, self.problem.length + 1)
        v = np.array(states).reshape(shape).transpose(1, 0, 2)
        return Ensemble(
            problem=self.problem,
            method=self.method,
            seed=sgd.seed,
            steps=steps,
            e=v[..., :-1],
            m=v[..., -1],
            loss=np.array(losses).reshape(kept, sgd.replicas).T,
            recovery_steps=self.recovery_steps[:, 0].copy(),
            semantic_recovery_steps=self.recovery_steps[:, 1].copy(),
            threshold=self.threshold,
            fresh_samples=self.fresh_samples,
            status=status,
            message=self._message(status),
            seconds_per_step=self._seconds_per_step(),
        )

    def _message(self, status: str) -> str:
        if status == "interrupted":
            return f"interrupted after {self.steps_done} of {self.problem.sgd.steps} steps"
        if status == "diverged":
            lost = int((~self.alive).sum())
            return f"the weights of {lost} of {len(self.alive)} replicas became infinite or NaN"
        return f"all {self.problem.sgd.steps} steps were done"

    def _seconds_per_step(self) -> float | None:
        if not self.timed_samples or not self.stepping_seconds:
            return None
        sgd = self.problem.sgd
        return self.stepping_seconds / (self.timed_samples * sgd.replicas) * sgd.batch

    def _in_chunks(
        self, n_samples: int, pace: _Pace, advance: Callable[[int, int], Any]
    ) -> Iterator[tuple[int, list[Any]]]:
        """Call `advance(replica, chunk)` for all replicas until the samples are done."""
        replicas = range(self.problem.sgd.replicas)
        threads = min(thread_count(), len(replicas))
        floats_per_sample = self.problem.length + self.problem.target.n_outputs

        def timed(replica: int) -> tuple[Any, float]:
            # Not the time on the wall: threads that wait for each other at short chunks would keep
            # them short.
            start = time.thread_time()
            value = advance(replica, chunk)
            return value, time.thread_time() - start

        while n_samples > 0:
            chunk = pace.chunk(n_samples, floats_per_sample)
            per_call = pace.expected(chunk) * threads / len(replicas)
            call = map_in_threads if per_call >= _WORTH_THREADS else map
            values, seconds = zip(*call(timed, replicas), strict=True)
            pace.over(chunk, sum(seconds) / threads)
            n_samples -= chunk
            yield chunk, list(values)

    def _advance_to(self, step: int, bar: Any) -> None:
        to_do = step * self.problem.sgd.batch - self.samples_done
        for chunk, seconds in self._in_chunks(to_do, self._stepping, self._advance_replica):
            before = self.steps_done
            if self.samples_done:  # the first chunk compiles
                self.timed_samples += chunk
                self.stepping_seconds += sum(seconds)
            self.samples_done += chunk
            self._latest = self.overlaps()
            bar.update(self.steps_done - before)

    def _advance_replica(self, replica: int, n_samples: int) -> float:
        """Advance one replica unless it has diverged; return the seconds that the kernel took."""
        if not self.alive[replica]:
            return 0.0
        sgd = self.problem.sgd
        streams = self.streams[replica]
        labels = self._labels(streams.tokens, n_samples)
        start = time.perf_counter()
        self.alive[replica] = self.kernels.advance_replica(
            streams,
            self.weights[replica],
            self.updates[replica],
            self.model,
            labels,
            sgd.batch,
            sgd.gamma * self.problem.loss.scale / sgd.d,
            self.threshold,
            self.samples_done,
            self.recovery_steps[replica],
        )
        return time.perf_counter() - start

    def _fresh_losses(self) -> np.ndarray:
        """Mean losses of fresh samples, one a replica; NaN where diverged."""
        totals = np.where(self.alive, 0.0, np.nan)

        def add(replica: int, n_samples: int) -> float:
            if not self.alive[replica]:
                return np.nan
            streams = self.fresh_streams[replica]
            return self.kernels.add_fresh_losses(
                streams,
                self.weights[replica],
                self.model,
                self._labels(streams.tokens, n_samples),
                totals[replica],
            )

        for _, sums in self._in_chunks(self.fresh_samples, self._measuring, add):
            totals[:] = sums
        return self.problem.loss.scale * (totals / self.fresh_samples)

    def _labels(self, tokens: np.ndarray, n_samples: int) -> np.ndarray:
        """Labels of the next samples of a stream for a target that only Python can evaluate."""
        target = self.problem.target
        if target.expressions is not None:
            return np.empty((n_samples, 0))
        fields = np.empty((n_samples, target.length))
        self.kernels.teacher_fields(tokens.copy(), self.model, fields)
        return target(fields)


def _linked_kernels(problem: Problem, kernel: str) -> ModuleType:
    return link(
        [
            piece("scalar_functions"),
            piece("normals"),
            *problem.student.kernel_pieces(),
            problem.loss.kernel_piece(),
            problem.target.kernel_piece() or _NO_TARGET,
            piece("chi_square"),
            piece(kernel),
        ]
    )
