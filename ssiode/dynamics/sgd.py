"""Direct SGD on d-dimensional vectors, replicas in threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.dynamics.records import record_steps
from ssiode.dynamics.start import initial_weights, random_directions
from ssiode.errors import InputError, whole_number
from ssiode.kernels.linker import link, piece
from ssiode.kernels.streams import stream_states
from ssiode.memory import require_memory
from ssiode.population_risk.averages import finite_labels
from ssiode.recovery import DEFAULT_THRESHOLD, check_threshold
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
_TESTED_FIELDS = 1024
# Every use of randomness has streams of its own, so that the records do not change the run.
_TOKENS, _LABEL_NOISE, _FRESH_TOKENS, _FRESH_NOISE, _WEIGHTS, _DIRECTIONS = range(6)
_NO_TARGET = '@njit(error_model="numpy")\ndef target_outputs(z_star, labels):\n    pass\n'


def run_sgd(
    problem: Problem,
    *,
    e: Any = None,
    m: float | None = None,
    records: int = 200,
    spacing: str = "linear",
    threshold: float = DEFAULT_THRESHOLD,
    fresh_samples: int = 32,
    progress: bool = False,
    **settings: Any,
) -> Ensemble:
    r"""Run spherical SGD, one new sample (or batch) a step, for several independent replicas.

    A step is :math:`w \leftarrow \sqrt d\,(w+\delta w)/|w+\delta w|` with
    :math:`\delta w = -\gamma\,\nabla_w \ell`. Encoding and teacher are drawn once a run with the
    problem's overlaps, initial weights for each replica.

    Parameters
    ----------
    problem : Problem
    e, m : optional
        Initial overlaps, the same for all replicas; by default the problem's initial condition.
    records : int
        Number of times, >= 1, at which overlaps and loss are recorded besides the start.
    spacing : str
        `linear` or `log` spacing of the records.
    threshold : float
        eta in (0, 1] of weak recovery.
    fresh_samples : int
        Samples, >= 1, of which each recorded loss is the mean; they are not trained on.
    progress : bool
        Show a progress bar on standard error.
    **settings
        `gamma`, `d`, `batch`, `steps`, `replicas` or `seed` instead of the problem's.

    Returns
    -------
    Ensemble
        After Ctrl-C with status `interrupted` and all records up to there.

    Raises
    ------
    InputError
        On numbers out of range, d < L + 2, an infeasible initial state, a target that is not
        finite, or more memory than there is.

    Examples
    --------
    >>> from ssiode import Problem, Target, TiedNetwork
    >>> linear = Problem(Target("z1"), TiedNetwork("identity"))
    >>> run = run_sgd(linear, m=0.1, gamma=0.2, d=100, steps=2000, replicas=4, records=2)
    >>> run.steps.tolist(), bool(run.m[:, -1].min() > 0.9)
    ([0, 1000, 2000], True)
    """
    if e is not None or m is not None:
        settings["initial"] = problem.initial.with_overlaps(e, m)
    problem = problem.replace(**settings)
    _check_dimension(problem)
    fresh_samples = whole_number("fresh_samples", fresh_samples, minimum=1)
    steps = record_steps(problem.sgd.steps, records, spacing)
    _check_memory(problem, len(steps))
    _check_target(problem)
    return _Run.start(problem, fresh_samples, threshold).record(steps, progress)


def _check_dimension(problem: Problem) -> None:
    d, length = problem.sgd.d, problem.length
    if d < length + 2:
        raise InputError(
            f"d is {d}; direct SGD with {length} tokens needs d >= {length + 2} (length + 2)"
        )


def _check_memory(problem: Problem, n_records: int) -> None:
    d, replicas, length = problem.sgd.d, problem.sgd.replicas, problem.length
    rank, running = problem.geometry.rank, min(thread_count(), replicas)
    weights = "d" if d > replicas else "replicas"
    records = "records" if n_records > replicas else "replicas"
    sizes = [
        (weights, 2.0 * replicas * d + 24 * replicas),
        (weights, float(replicas) * (length + 1) * rank),
        ("d", 4.0 * rank * d + float(running) * length * d),
        (records, 3.0 * n_records * replicas * (length + 2)),
    ]
    floats: dict[str, float] = {}
    for setting, size in sizes:
        floats[setting] = floats.get(setting, 0.0) + size
    require_memory(floats)


def _check_target(problem: Problem) -> None:
    """Refuse a target that is undefined on a noticeable part of the fields, at always the same."""
    fields = np.random.default_rng(0).standard_normal((_TESTED_FIELDS, problem.length))
    finite_labels(problem, fields)


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
class _Run:
    """The state of all replicas between two chunks of steps."""

    problem: Problem
    kernels: ModuleType
    model: Any
    weights: np.ndarray
    updates: np.ndarray
    streams: list[np.ndarray]
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

    @classmethod
    def start(cls, problem: Problem, fresh_samples: int, threshold: float) -> _Run:
        threshold = check_threshold(threshold)
        geometry, length, sgd = problem.geometry, problem.length, problem.sgd
        directions = random_directions(problem, _DIRECTIONS)
        weights = initial_weights(problem, directions, _WEIGHTS)
        kernels = _linked_kernels(problem)
        model = kernels.Model(
            teacher=geometry.basis[-1] @ directions,
            directions=directions,
            coordinates=np.ascontiguousarray(geometry.basis),
            injected=geometry.injected,
            parameters=problem.student.parameters(length),
            workspace_size=problem.student.workspace_size(length),
            n_outputs=problem.target.n_outputs,
            noise_std=float(np.sqrt(problem.label_noise)),
        )
        run = cls(
            problem,
            kernels,
            model,
            weights,
            np.zeros_like(weights),
            [stream_states(sgd.seed, sgd.replicas, purpose) for purpose in range(_WEIGHTS)],
            np.full((sgd.replicas, 2), -1),
            np.ones(sgd.replicas, dtype=bool),
            threshold,
            fresh_samples,
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
        directions, coordinates = self.model.directions, self.model.coordinates
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
        tokens, noise = (self.streams[purpose][replica] for purpose in (_TOKENS, _LABEL_NOISE))
        labels = self._labels(tokens, n_samples)
        start = time.perf_counter()
        self.alive[replica] = self.kernels.advance_replica(
            tokens,
            noise,
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
            tokens, noise = (self.streams[p][replica] for p in (_FRESH_TOKENS, _FRESH_NOISE))
            return self.kernels.add_fresh_losses(
                tokens,
                noise,
                self.weights[replica],
                self.model,
                self._labels(tokens, n_samples),
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


def _linked_kernels(problem: Problem) -> ModuleType:
    return link(
        [
            piece("scalar_functions"),
            piece("normals"),
            *problem.student.kernel_pieces(),
            problem.loss.kernel_piece(),
            problem.target.kernel_piece() or _NO_TARGET,
            piece("direct_sgd"),
        ]
    )
