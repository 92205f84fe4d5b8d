"""The diffusion that SGD follows for large d: a stochastic differential equation on (e, m)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.dynamics.drift import drift
from ssiode.dynamics.methods import Method, Purpose, Run, RunState
from ssiode.dynamics.ode import ENGINE_TOLERANCE
from ssiode.dynamics.run import run_method
from ssiode.dynamics.start import coordinate_weights
from ssiode.errors import InputError, whole_number
from ssiode.kernels.normals import fill_standard_normal
from ssiode.kernels.streams import stream_states
from ssiode.population_risk import Fluctuations, make_engine
from ssiode.recovery import DEFAULT_THRESHOLD

if TYPE_CHECKING:
    from ssiode.problem import Problem
    from ssiode.results import Ensemble

_FEWEST_TIME_STEPS, _MOST_TIME_STEPS = 256, 2**16
# Of the overlaps, which are of order one: the error of the noiseless path.
_PATH_TOLERANCE = 1e-3
# S is computed anew when the overlaps have moved so far; it is a smooth function of them.
_REFRESHED = 0.02


class Diffusing(Run):
    """Replicas of the diffusion, all moved together in time steps of `grain` samples.

    The weights of the state are the overlaps (e, m) themselves, of shape (replicas, 1, L + 1); its
    updates hold the overlaps for which S was computed last, and the root of this S.
    """

    def __init__(self, state: RunState) -> None:
        options, problem = dict(state.options), state.problem
        engine_options = {"tolerance": ENGINE_TOLERANCE, **options["engine_options"]}
        # A part of a run, or one that is resumed, must choose the same engine and time steps.
        v = _start(problem, 0)
        self._engine = make_engine(problem, options["engine"], v, **engine_options)
        self._fluctuations = Fluctuations(problem, **options["fluctuations"], seed=problem.sgd.seed)
        self.state = state
        sgd = problem.sgd
        if options["time_steps"] is None:
            options["time_steps"] = self._time_steps(v)
        self.grain = -(-sgd.steps // options["time_steps"]) * sgd.batch
        state.options = options | {"engine": self._engine.name}

    def overlaps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See :meth:`Run.overlaps`."""
        v = np.where(self.state.alive[:, None], self.state.weights[:, 0], np.nan)
        return v[:, :-1], v[:, -1:], np.ones((len(v), 1))

    def advance(self, n_samples: int) -> float:
        """See :meth:`Run.advance`."""
        start = time.perf_counter()
        while n_samples > 0:
            piece = min(self.grain, n_samples)
            self._step(piece)
            n_samples -= piece
        return time.perf_counter() - start

    def add_fresh_losses(self, totals: np.ndarray, n_samples: int) -> None:
        """Add the population risk, which needs no samples."""
        alive = self.state.alive
        risks = self._engine.moments(self.state.weights[alive, 0])[:, 0]
        totals[alive] += n_samples * risks / self.state.problem.loss.scale

    def _step(self, n_samples: int) -> None:
        """Heun's step of the drift and Euler's of the noise, to second order for small noise."""
        state, problem, alive = self.state, self.state.problem, self.state.alive
        sgd = problem.sgd
        if alive.any():
            before = state.weights[alive, 0]
            h = sgd.gamma * n_samples / (sgd.batch * sgd.d)
            noise = np.sqrt(h * sgd.gamma / (sgd.d * sgd.batch)) * self._noise(before)
            after = _inside(problem, _heun(problem, self._engine, sgd.gamma, before, h, noise))
            finite = np.isfinite(after).all(axis=1)
            self._note_recovery(before, after, n_samples)
            state.weights[alive, 0] = after
            state.alive[np.flatnonzero(alive)[~finite]] = False
        state.samples_done += n_samples

    def _noise(self, v: np.ndarray) -> np.ndarray:
        """Normal vectors of covariance S(v), in the coordinates (e, m)."""
        state, geometry = self.state, self.state.problem.geometry
        normals = np.empty((len(state.weights), geometry.rank))
        for stream, row in zip(state.streams[:, 0], normals, strict=True):
            fill_standard_normal(stream, row)
        kept, size = state.updates[state.alive, 0], v.shape[1]
        stale = ~(np.sqrt(np.sum((v - kept[:, :size]) ** 2, axis=1)) <= _REFRESHED)
        if stale.any():
            kept[stale, :size] = v[stale]
            kept[stale, size:] = self._roots(v[stale]).reshape(stale.sum(), -1)
            state.updates[state.alive, 0] = kept
        roots = kept[:, size:].reshape(-1, geometry.rank, geometry.rank)
        coordinates = np.sum(roots * normals[state.alive][:, None, :], axis=2)
        return np.sum(geometry.basis * coordinates[:, None, :], axis=2)

    def _roots(self, v: np.ndarray) -> np.ndarray:
        """Symmetric roots of S in the orthonormal coordinates, shape (p, r, r)."""
        sgd, geometry = self.state.problem.sgd, self.state.problem.geometry
        covariance = self._fluctuations.values(v, sgd.gamma, sgd.batch)
        inside = geometry.coordinates(np.swapaxes(geometry.coordinates(covariance), 1, 2))
        values, vectors = np.linalg.eigh((inside + np.swapaxes(inside, 1, 2)) / 2)
        scaled = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        return np.sum(scaled[:, :, None, :] * vectors[:, None, :, :], axis=3)

    def _note_recovery(self, before: np.ndarray, after: np.ndarray, n_samples: int) -> None:
        """Note first passages within the time step, where the norms are taken as linear in time."""
        state, batch = self.state, self.state.problem.sgd.batch
        replicas = np.flatnonzero(state.alive)
        for column, norm in enumerate((_norm, _semantic_norm)):
            old, new = norm(before), norm(after)
            passed = (new >= state.threshold) & (state.recovery_steps[replicas, column] < 0)
            share = (state.threshold - old[passed]) / (new[passed] - old[passed])
            samples = state.samples_done + n_samples * np.clip(share, 0.0, 1.0)
            state.recovery_steps[replicas[passed], column] = np.ceil(samples / batch)

    def _time_steps(self, v: np.ndarray) -> int:
        """So many that the path without noise is accurate."""
        problem, sgd = self.state.problem, self.state.problem.sgd

        def path(n: int) -> np.ndarray:
            states, step = [v], sgd.ode_time / n
            for _ in range(n):
                states.append(_heun(problem, self._engine, sgd.gamma, states[-1], step))
            return np.array(states)

        n = _FEWEST_TIME_STEPS
        with np.errstate(over="ignore", invalid="ignore"):
            coarse = path(n)
            while n < _MOST_TIME_STEPS:
                fine = path(2 * n)
                # Halving the step takes three quarters of the error off.
                if np.abs(fine[::2] - coarse).max() <= 3 * _PATH_TOLERANCE:
                    return n * 2
                n, coarse = 2 * n, fine
        raise InputError(
            f"the diffusion needs more than {n} time steps for gamma = {sgd.gamma:g} and "
            f"{sgd.steps} steps; lower gamma or steps, or give time_steps"
        )


class Diffusion(Method):
    """The stochastic differential equation."""

    name = "diffusion"

    def entries(self, problem: Problem) -> int:
        """See :meth:`Method.entries`."""
        return problem.length + 1

    def start(
        self, problem: Problem, threshold: float, first_replica: int, options: Mapping[str, Any]
    ) -> Diffusing:
        """See :meth:`Method.start`."""
        replicas, geometry = problem.sgd.replicas, problem.geometry
        if geometry.n_rows > 1:
            raise InputError(
                "the diffusion of an untied network of several tokens is not available; run_chain "
                "moves it at any d"
            )
        shapes = self.state_shapes(problem)
        weights = np.empty(shapes["weights"])
        for i in range(replicas):
            weights[i, 0] = _start(problem, first_replica + i)
        state = RunState(
            problem,
            weights,
            np.full(shapes["updates"], np.nan),
            stream_states(problem.sgd.seed, replicas, Purpose.DIFFUSION, first_replica)[:, None],
            np.zeros(shapes["fresh_streams"], dtype=np.uint64),
            np.full((replicas, 2), -1),
            np.ones(replicas, dtype=bool),
            threshold,
            options=options,
        )
        state.note_start(weights[:, 0, :-1], weights[:, 0, -1:])
        return Diffusing(state)

    def state_shapes(self, problem: Problem) -> dict[str, tuple[int, ...]]:
        """See :meth:`Method.state_shapes`."""
        replicas, size = problem.sgd.replicas, problem.length + 1
        return {
            "weights": (replicas, 1, size),
            "updates": (replicas, 1, size + problem.geometry.rank**2),
            "streams": (replicas, 1, 4),
            "fresh_streams": (replicas, 0, 4),
        }

    def resumed(self, state: RunState) -> Diffusing:
        """See :meth:`Method.resumed`."""
        return Diffusing(state)


def run_diffusion(
    problem: Problem,
    *,
    e: Any = None,
    m: float | None = None,
    records: int = 200,
    spacing: str = "linear",
    threshold: float = DEFAULT_THRESHOLD,
    time_steps: int | None = None,
    order: int = 8,
    samples: int = 2**11,
    engine: str | None = None,
    engine_options: Mapping[str, Any] | None = None,
    first_replica: int = 0,
    save: str | Path | None = None,
    progress: bool = False,
    **settings: Any,
) -> Ensemble:
    r"""Run the diffusion that SGD tends to for large d, at a cost that does not depend on d.

    .. math:: dv = \Big[-(\Gamma - v v^T)\,\nabla R - \frac{\gamma}{2b}\,V v\Big]\,dt
              + \sqrt{\frac{\gamma}{b\,d}}\; S(v)^{1/2}\, dB,\qquad t = \gamma\,\tau/d,

    with S the covariance of what one step adds to the overlaps (see
    :class:`ssiode.population_risk.Fluctuations`; after Arnaboldi et al., arXiv 2506.02651). What it
    leaves out is of order 1/d in means and variances. The drift is taken by Heun's method.

    Parameters
    ----------
    problem : Problem
    e, m, records, spacing, threshold, first_replica, save, progress, **settings
        See :func:`ssiode.run_sgd`. Steps are those of SGD.
    time_steps : int, optional
        Number of time steps, >= 1, in the whole run; by default so many that the path without noise
        from the start of replica 0 has an error below 1e-3.
    order, samples : int
        Of :class:`ssiode.population_risk.Fluctuations`: the nodes of S for one or two tokens, and
        the samples for more.
    engine, engine_options : optional
        Name and arguments of the engine of the drift; chosen if not given.

    Returns
    -------
    Ensemble
        Its loss is the population risk.

    Raises
    ------
    InputError
        As in :func:`ssiode.run_sgd`; for an untied network; where V is infinite.

    Examples
    --------
    >>> from ssiode import Problem, Target, TiedNetwork
    >>> linear = Problem(Target("z1"), TiedNetwork("identity"))
    >>> run = run_diffusion(linear, m=0.1, gamma=0.2, d=10**6, steps=10**6, replicas=4, records=1)
    >>> bool(abs(run.m[:, -1] - 0.435).max() < 0.01)
    True
    """
    options = {
        "engine": engine,
        "engine_options": dict(engine_options or {}),
        "time_steps": None
        if time_steps is None
        else whole_number("time_steps", time_steps, minimum=1),
        "fluctuations": {"order": order, "samples": samples},
    }
    return run_method(
        "diffusion",
        problem,
        e=e,
        m=m,
        records=records,
        spacing=spacing,
        threshold=threshold,
        fresh_samples=1,
        first_replica=first_replica,
        save=save,
        progress=progress,
        settings=settings,
        options=options,
    )


def _start(problem: Problem, replica: int) -> np.ndarray:
    """The overlaps (e, m) from which a replica starts."""
    (row,) = coordinate_weights(problem, replica)
    return problem.geometry.basis @ row[:-1]


def _heun(
    problem: Problem,
    engine: Any,
    gamma: float,
    v: np.ndarray,
    step: float,
    noise: np.ndarray | float = 0.0,
) -> np.ndarray:
    """One step of the drift by Heun's method, with noise."""
    here = drift(problem, engine, gamma, v)
    there = drift(problem, engine, gamma, _inside(problem, v + step * here + noise))
    return v + step / 2 * (here + there) + noise


def _inside(problem: Problem, v: np.ndarray) -> np.ndarray:
    """States of which those longer than weights can be are shortened, as normalising does."""
    squares = problem.geometry.squared_length(v)
    return v / np.sqrt(np.maximum(squares, 1.0))[..., None]


def _norm(v: np.ndarray) -> np.ndarray:
    return np.sqrt(np.sum(v**2, axis=-1))


def _semantic_norm(v: np.ndarray) -> np.ndarray:
    return np.abs(v[:, -1])
