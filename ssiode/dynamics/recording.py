"""Running replicas to chosen steps, recording them, and keeping what an interruption leaves."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ssiode.dynamics.pacing import Pace
from ssiode.errors import InputError
from ssiode.interrupts import held_interrupts
from ssiode.results import Checkpoint, Ensemble

if TYPE_CHECKING:
    from ssiode.dynamics.methods import Run, RunState

# What Python hands to one call of a kernel stays below some ten megabytes.
_FLOATS_PER_CHUNK = 2**21
_SECONDS_BETWEEN_SAVES = 60.0
_LARGEST_SHARE_OF_SAVING = 0.05


class _Interrupted(Exception):
    """Ctrl-C came and the last chunk is complete."""


@dataclass
class Recording:
    """The records of one run.

    Attributes
    ----------
    run : Run
    method : str
        Its name.
    planned_steps : integer array
        Steps to be recorded.
    fresh_samples : int
        Samples of each recorded loss.
    first_replica : int
        Number of the first replica.
    save : Path or None
        File that keeps the run.
    states, losses : lists
        One entry a record: (e, m, |w|^2/d), and the mean losses.
    """

    run: Run
    method: str
    planned_steps: np.ndarray
    fresh_samples: int
    first_replica: int
    save: Path | None = None
    states: list[tuple[np.ndarray, ...]] = field(default_factory=list)
    losses: list[np.ndarray] = field(default_factory=list)
    _fresh_streams: np.ndarray | None = None
    _kernel_seconds: float = 0.0
    _timed_samples: int = 0
    _stepping: Pace = field(default_factory=Pace)
    _measuring: Pace = field(default_factory=Pace)
    _saved_at: float = 0.0
    _saving_seconds: float = 0.0

    @classmethod
    def resumed(cls, run: Run, ensemble: Ensemble, save: Path | None) -> Self:
        """Go on with the records that are complete."""
        stopped = ensemble.checkpoint
        parts = (ensemble.e, ensemble.m, ensemble.squared_norms)
        recording = cls(
            run,
            ensemble.method,
            stopped.planned_steps,
            ensemble.fresh_samples,
            ensemble.first_replica,
            save,
        )
        rows = run.state.weights.shape[1]
        for i in range(stopped.records_done):
            e, m, norms = (None if part is None else part[:, i] for part in parts)
            m = m.reshape(len(m), rows)
            recording.states.append((e, m, np.ones_like(m) if norms is None else norms))
            recording.losses.append(ensemble.loss[:, i])
        return recording

    def go(self, progress: bool) -> Ensemble:
        """Run to each of the planned steps in turn."""
        from tqdm import tqdm

        sgd = self.state.problem.sgd
        status = "finished"
        with (
            held_interrupts() as interrupted,
            tqdm(
                total=sgd.steps,
                initial=self.state.steps_done,
                unit="step",
                disable=not progress,
                leave=False,
            ) as bar,
        ):
            try:
                self._keep_start()
                for step in self.planned_steps[len(self.losses) :]:
                    self._advance_to(int(step), bar, interrupted)
                    self._fresh_streams = self.state.fresh_streams.copy()
                    losses = self._fresh_losses(interrupted)
                    self._fresh_streams = None
                    self.states.append(self.run.overlaps())
                    self.losses.append(losses)
            except _Interrupted:
                status = "interrupted"
            if status == "finished" and not self.state.alive.all():
                status = "diverged"
            ensemble = self.ensemble(status)
            if self.save is not None:
                _save(ensemble, self.save)
        return ensemble

    @property
    def state(self) -> RunState:
        """The state of the replicas."""
        return self.run.state

    def _in_chunks(
        self,
        n_samples: int,
        pace: Pace,
        interrupted: Callable[[], bool],
        do: Callable[[int], None],
    ) -> None:
        problem, grain = self.state.problem, self.run.grain
        floats = (problem.length + problem.target.n_outputs) * len(self.state.weights)
        most = max(1, _FLOATS_PER_CHUNK // (floats * grain))
        while n_samples > 0:
            if interrupted():
                raise _Interrupted
            grains = pace.chunk(min(-(-n_samples // grain), most))
            chunk = min(grains * grain, n_samples)
            start = time.perf_counter()
            do(chunk)
            pace.over(grains, time.perf_counter() - start)
            n_samples -= chunk

    def _advance_to(self, step: int, bar: Any, interrupted: Callable[[], bool]) -> None:
        def advance(chunk: int) -> None:
            before, is_first = self.state.steps_done, not self._stepping.size
            seconds = self.run.advance(chunk)
            if not is_first:  # the first chunk compiles
                self._timed_samples += chunk
                self._kernel_seconds += seconds
            bar.update(self.state.steps_done - before)
            pause = max(_SECONDS_BETWEEN_SAVES, self._saving_seconds / _LARGEST_SHARE_OF_SAVING)
            if time.monotonic() - self._saved_at > pause:
                self._keep("unfinished")

        to_do = step * self.state.problem.sgd.batch - self.state.samples_done
        self._in_chunks(to_do, self._stepping, interrupted, advance)

    def _fresh_losses(self, interrupted: Callable[[], bool]) -> np.ndarray:
        """Mean losses of fresh samples, one a replica; NaN where diverged."""
        totals = np.where(self.state.alive, 0.0, np.nan)

        def add(chunk: int) -> None:
            self.run.add_fresh_losses(totals, chunk)

        self._in_chunks(self.fresh_samples, self._measuring, interrupted, add)
        return self.state.problem.loss.scale * (totals / self.fresh_samples)

    def _keep_start(self) -> None:
        """Tell at once if the file cannot be written, when there is no result to keep yet."""
        try:
            self._keep("unfinished")
        except InputError as error:
            error.result = None
            raise

    def _keep(self, status: str) -> None:
        """Write what there is to the file of the run."""
        if self.save is None:
            return
        start = time.monotonic()
        _save(self.ensemble(status), self.save)
        self._saved_at = time.monotonic()
        self._saving_seconds = self._saved_at - start

    def ensemble(self, status: str) -> Ensemble:
        """The records so far; of an unfinished run also its last state, without a loss."""
        run = self.state
        sgd, replicas = run.problem.sgd, len(run.weights)
        states, losses = list(self.states), list(self.losses)
        steps = self.planned_steps[: len(losses)]
        is_over = status in ("finished", "diverged")
        if not is_over and (not len(steps) or steps[-1] < run.steps_done):
            states.append(self.run.overlaps())
            losses.append(np.full(replicas, np.nan))
            steps = np.append(steps, run.steps_done)
        e, m, norms = (np.stack(part, axis=1) for part in zip(*states, strict=True))
        has_rows = run.weights.shape[1] > 1
        return Ensemble(
            problem=run.problem,
            method=self.method,
            seed=sgd.seed,
            first_replica=self.first_replica,
            steps=steps,
            e=e,
            m=m if has_rows else m[..., 0],
            squared_norms=norms if run.problem.geometry.is_joint else None,
            loss=np.stack(losses, axis=1),
            recovery_steps=run.recovery_steps[:, 0].copy(),
            semantic_recovery_steps=run.recovery_steps[:, 1].copy(),
            threshold=run.threshold,
            fresh_samples=self.fresh_samples,
            options=run.options,
            status=status,
            message=self._message(status),
            seconds_per_step=self._seconds_per_step(),
            checkpoint=None if is_over else self._checkpoint(),
        )

    def _checkpoint(self) -> Checkpoint:
        run = self.state
        # Fresh samples of a record that is not complete will be drawn again.
        fresh = run.fresh_streams if self._fresh_streams is None else self._fresh_streams
        return Checkpoint(
            planned_steps=self.planned_steps,
            records_done=len(self.losses),
            samples_done=run.samples_done,
            weights=run.weights.copy(),
            updates=run.updates.copy(),
            streams=run.streams.copy(),
            fresh_streams=fresh.copy(),
            alive=run.alive.copy(),
        )

    def _message(self, status: str) -> str:
        run = self.state
        if status in ("interrupted", "unfinished"):
            return f"{status} after {run.steps_done} of {run.problem.sgd.steps} steps"
        if status == "diverged":
            lost = int((~run.alive).sum())
            return f"the weights of {lost} of {len(run.alive)} replicas became infinite or NaN"
        return f"all {run.problem.sgd.steps} steps were done"

    def _seconds_per_step(self) -> float | None:
        if not self._timed_samples:
            return None
        samples = self._timed_samples * len(self.state.weights)
        return self._kernel_seconds / samples * self.state.problem.sgd.batch


def _save(ensemble: Ensemble, path: Path) -> None:
    """Save a run; an error of the file keeps the run on it."""
    try:
        ensemble.save(path)
    except InputError as error:
        error.result = ensemble
        raise
