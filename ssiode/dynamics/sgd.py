"""Direct SGD on d-dimensional vectors, replicas in threads."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.dynamics.records import record_steps
from ssiode.errors import InputError, whole_number
from ssiode.kernels.linker import link, piece
from ssiode.kernels.streams import stream_states
from ssiode.recovery import DEFAULT_THRESHOLD, check_threshold
from ssiode.results import Ensemble
from ssiode.settings import InitialCondition
from ssiode.threads import map_in_threads, thread_count

if TYPE_CHECKING:
    from ssiode.problem import Problem

_SECONDS_PER_CHUNK = 0.5
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
        On numbers out of range, d < L + 2, or an infeasible initial state.

    Examples
    --------
    >>> from ssiode import Problem, Target, TiedNetwork
    >>> linear = Problem(Target("z1"), TiedNetwork("identity"))
    >>> run = run_sgd(linear, m=0.1, gamma=0.2, d=100, steps=2000, replicas=4, records=2)
    >>> run.steps.tolist(), bool(run.m[:, -1].min() > 0.9)
    ([0, 1000, 2000], True)
    """
    if e is not None or m is not None:
        settings["initial"] = InitialCondition("fixed", e, m)
    problem = problem.replace(**settings)
    _check_dimension(problem)
    run = _Run.start(problem, whole_number("fresh_samples", fresh_samples, minimum=1), threshold)
    return run.record(record_steps(problem.sgd.steps, records, spacing), progress)


def _check_dimension(problem: Problem) -> None:
    d, length = problem.sgd.d, problem.length
    if d < length + 2:
        raise InputError(
            f"d is {d}; direct SGD with {length} tokens needs d >= {length + 2} (length + 2)"
        )


def _directions(problem: Problem) -> np.ndarray:
    """Random orthonormal vectors that span the encoding and the teacher, shape (r, d)."""
    sequence = np.random.SeedSequence(problem.sgd.seed, spawn_key=(_DIRECTIONS,))
    shape = (problem.sgd.d, problem.geometry.rank)
    orthonormal, _ = np.linalg.qr(np.random.default_rng(sequence).standard_normal(shape))
    return np.ascontiguousarray(orthonormal.T)


def _initial_weights(problem: Problem, directions: np.ndarray) -> np.ndarray:
    """Unit vectors with the problem's initial overlaps, or uniform; shape (replicas, d)."""
    fixed = problem.initial.fixed_state(problem.geometry)
    weights = np.empty((problem.sgd.replicas, problem.sgd.d))
    for replica, row in enumerate(weights):
        sequence = np.random.SeedSequence(problem.sgd.seed, spawn_key=(_WEIGHTS, replica))
        row[:] = np.random.default_rng(sequence).standard_normal(problem.sgd.d)
        if fixed is None:
            row /= np.linalg.norm(row)
            continue
        inside = problem.geometry.coordinates(fixed)
        row -= (directions @ row) @ directions
        row *= np.sqrt(max(0.0, 1.0 - inside @ inside)) / np.linalg.norm(row)
        row += inside @ directions
        row /= np.linalg.norm(row)
    return weights


@dataclass
class _Run:
    """The state of all replicas between two chunks of steps."""

    problem: Problem
    kernels: ModuleType
    constants: tuple[Any, ...]
    weights: np.ndarray
    streams: list[np.ndarray]
    recovery_steps: np.ndarray
    alive: np.ndarray
    threshold: float
    fresh_samples: int
    steps_done: int = 0
    stepping_seconds: float = 0.0
    _latest: np.ndarray | None = None

    @classmethod
    def start(cls, problem: Problem, fresh_samples: int, threshold: float) -> _Run:
        threshold = check_threshold(threshold)
        geometry, length, sgd = problem.geometry, problem.length, problem.sgd
        directions = _directions(problem)
        constants = (
            geometry.basis[-1] @ directions,
            directions,
            np.ascontiguousarray(geometry.basis),
            geometry.injected,
            problem.student.parameters(length),
            problem.student.workspace_size(length),
            problem.target.n_outputs,
            float(np.sqrt(problem.label_noise)),
        )
        run = cls(
            problem,
            _linked_kernels(problem),
            constants,
            _initial_weights(problem, directions),
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

    def overlaps(self) -> np.ndarray:
        """States (e, m) of the replicas, shape (replicas, L + 1); NaN where diverged."""
        directions, coordinates = self.constants[1:3]
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
        if not self.steps_done or not self.stepping_seconds:
            return None
        replicas = self.problem.sgd.replicas
        return self.stepping_seconds / (self.steps_done * replicas)

    def _advance_to(self, step: int, bar: Any) -> None:
        """Advance in chunks of about half a second, after which Ctrl-C is seen."""
        while self.steps_done < step:
            chunk = min(step - self.steps_done, self._chunk_steps())
            seconds = map_in_threads(
                lambda replica: self._advance_replica(replica, chunk),  # noqa: B023
                range(self.problem.sgd.replicas),
            )
            # The first chunk is short and holds the compilation, so it is not timed.
            if self.steps_done:
                self.stepping_seconds += sum(seconds)
            self.steps_done += chunk
            self._latest = self.overlaps()
            bar.update(chunk)

    def _chunk_steps(self) -> int:
        seconds = self._seconds_per_step()
        if seconds is None:
            return 1
        sgd = self.problem.sgd
        per_chunk = seconds * sgd.replicas / min(thread_count(), sgd.replicas)
        growth = 8 * self.steps_done
        return int(np.clip(_SECONDS_PER_CHUNK / per_chunk, 1, max(1, growth)))

    def _advance_replica(self, replica: int, n_steps: int) -> float:
        """Advance one replica unless it has diverged; return the seconds that the kernel took."""
        if not self.alive[replica]:
            return 0.0
        problem, sgd = self.problem, self.problem.sgd
        tokens, noise = (self.streams[purpose][replica] for purpose in (_TOKENS, _LABEL_NOISE))
        labels = self._labels(tokens, n_steps * sgd.batch)
        start = time.perf_counter()
        self.alive[replica] = self.kernels.advance_replica(
            tokens,
            noise,
            self.weights[replica],
            *self.constants,
            labels,
            n_steps,
            sgd.batch,
            sgd.gamma * problem.loss.scale / sgd.d,
            self.threshold,
            self.steps_done,
            self.recovery_steps[replica],
        )
        return time.perf_counter() - start

    def _fresh_losses(self) -> np.ndarray:
        def loss(replica: int) -> float:
            if not self.alive[replica]:
                return np.nan
            tokens, noise = (self.streams[p][replica] for p in (_FRESH_TOKENS, _FRESH_NOISE))
            return self.kernels.fresh_loss(
                tokens,
                noise,
                self.weights[replica],
                *self.constants,
                self._labels(tokens, self.fresh_samples),
            )

        losses = map_in_threads(loss, range(self.problem.sgd.replicas))
        return self.problem.loss.scale * np.array(losses)

    def _labels(self, tokens: np.ndarray, n_samples: int) -> np.ndarray:
        """Labels of the next samples of a stream for a target that only Python can evaluate."""
        target = self.problem.target
        if target.expressions is not None:
            return np.empty((n_samples, 0))
        fields = np.empty((n_samples, target.length))
        self.kernels.teacher_fields(tokens.copy(), self.constants[0], fields)
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
