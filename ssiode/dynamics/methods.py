"""The ways to run replicas, and what the state of a run is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ssiode.errors import InputError

if TYPE_CHECKING:
    from ssiode.problem import Problem
    from ssiode.results import Ensemble


class Purpose(IntEnum):
    """Uses of random numbers, each with streams of its own, so that records do not change a run."""

    TOKENS = 0
    LABEL_NOISE = 1
    FRESH_TOKENS = 2
    FRESH_NOISE = 3
    WEIGHTS = 4
    DIRECTIONS = 5
    LEFT_OUT = 6
    DIFFUSION = 7


def generator(problem: Problem, *key: int) -> np.random.Generator:
    """The generator of one purpose, or of one purpose and replica."""
    return np.random.default_rng(np.random.SeedSequence(problem.sgd.seed, spawn_key=key))


@dataclass
class RunState:
    """The state of all replicas between two chunks of samples; :class:`Run` moves it.

    Attributes
    ----------
    problem : Problem
    weights, updates : arrays of shape (replicas, rows, ...)
    streams, fresh_streams : uint64 arrays of shape (replicas, n, 4)
    recovery_steps : integer array of shape (replicas, 2)
        First passages of |v| and |m|, -1 for none yet.
    alive : boolean array of shape (replicas,)
        False where the weights are no longer finite.
    threshold : float
    samples_done : int
        Samples that every replica has seen.
    options : mapping
        Settings of the method beside those of the problem.
    """

    problem: Problem
    weights: np.ndarray
    updates: np.ndarray
    streams: np.ndarray
    fresh_streams: np.ndarray
    recovery_steps: np.ndarray
    alive: np.ndarray
    threshold: float
    samples_done: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def stopped(cls, ensemble: Ensemble) -> RunState:
        """The state in which a run was cut short."""
        checkpoint = ensemble.checkpoint
        passages = (ensemble.recovery_steps, ensemble.semantic_recovery_steps)
        return RunState(
            ensemble.problem,
            checkpoint.weights.copy(),
            checkpoint.updates.copy(),
            checkpoint.streams.copy(),
            checkpoint.fresh_streams.copy(),
            np.stack(passages, axis=1),
            checkpoint.alive.copy(),
            ensemble.threshold,
            checkpoint.samples_done,
            ensemble.options,
        )

    @property
    def steps_done(self) -> int:
        """Number of whole steps."""
        return self.samples_done // self.problem.sgd.batch

    def note_start(self, e: np.ndarray, m: np.ndarray) -> None:
        """Note who has recovered from the start, with m of shape (replicas, rows)."""
        semantic = np.mean(m**2, axis=-1)
        self.recovery_steps[np.sum(e**2, axis=-1) + semantic >= self.threshold**2, 0] = 0
        self.recovery_steps[semantic >= self.threshold**2, 1] = 0


class Run(ABC):
    """Moves the state of replicas by one method.

    Attributes
    ----------
    state : RunState
    grain : int
        Samples that are done in one piece: a call of :meth:`advance` does a multiple of it, but for
        the last before a record.
    """

    state: RunState
    grain: int = 1

    @abstractmethod
    def overlaps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The e, m and |w|^2/d of all rows, shape (replicas, L or rows); NaN where diverged."""

    @abstractmethod
    def advance(self, n_samples: int) -> float:
        """Advance all replicas; return the seconds that this took on all threads."""

    @abstractmethod
    def add_fresh_losses(self, totals: np.ndarray, n_samples: int) -> None:
        """Add the losses of fresh samples, before the scale of the loss, to each total."""


class Method(ABC):
    """One way to run replicas, known by its name, so that its runs can be resumed."""

    name: ClassVar[str]
    known: ClassVar[dict[str, Method]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" in cls.__dict__:
            Method.known[cls.name] = cls()

    @abstractmethod
    def entries(self, problem: Problem) -> int:
        """Number of entries of a weight vector."""

    @abstractmethod
    def start(
        self, problem: Problem, threshold: float, first_replica: int, options: Mapping[str, Any]
    ) -> Run:
        """Put replicas, numbered from `first_replica`, where they start."""

    @abstractmethod
    def state_shapes(self, problem: Problem) -> dict[str, tuple[int, ...]]:
        """Shapes of weights, updates, streams and fresh streams of all replicas."""

    def check(self, ensemble: Ensemble) -> None:
        """Refuse a checkpoint that is none of this method, on which kernels would read astray.

        Raises
        ------
        InputError
        """
        stopped, sgd = ensemble.checkpoint, ensemble.problem.sgd
        kinds = {"weights": "f8", "updates": "f8", "streams": "u8", "fresh_streams": "u8"}
        expected = {
            name: (shape, np.dtype(kinds[name]))
            for name, shape in self.state_shapes(ensemble.problem).items()
        }
        expected["alive"] = ((sgd.replicas,), np.dtype(bool))
        planned, done, samples = stopped.planned_steps, stopped.records_done, stopped.samples_done
        fits = (
            all(
                isinstance(array := getattr(stopped, name), np.ndarray)
                and (array.shape, array.dtype) == facts
                for name, facts in expected.items()
            )
            and planned.ndim == 1
            and planned.dtype == np.int64
            and planned.size > 0
            and planned[0] == 0
            and planned[-1] == sgd.steps
            and bool(np.all(np.diff(planned) > 0))
            and isinstance(done, int)
            and isinstance(samples, int)
            and 0 <= done <= min(len(planned), len(ensemble.steps))
            and (planned[done - 1] if done else 0) * sgd.batch <= samples
            and samples <= planned[min(done, len(planned) - 1)] * sgd.batch
        )
        if not fits:
            raise InputError(
                f"the run of {self.name} is damaged where it stopped and cannot be resumed; "
                "start it anew"
            )

    @abstractmethod
    def resumed(self, state: RunState) -> Run:
        """Go on from a state."""
