"""One independent stream of random numbers per replica, named by seed, purpose and replica."""

from __future__ import annotations

import numpy as np

from ssiode.errors import whole_number

# xoshiro256++ never leaves the all-zero state, so any other constant takes its place.
_NOT_ALL_ZERO = np.uint64(0x9E3779B97F4A7C15)


def stream_states(seed: int, replicas: int, purpose: int = 0, first: int = 0) -> np.ndarray:
    """Return the first states of the streams of all replicas.

    The state of replica i is four words of ``SeedSequence(seed, spawn_key=(purpose, i))``, so it
    does not depend on the number of replicas, on their order or on threads.

    Parameters
    ----------
    seed : int
        The seed of the run, at least 0.
    replicas : int
        The number of streams, at least 1.
    purpose : int
        Which use of random numbers within the run, at least 0. Streams of different purposes are
        independent.
    first : int
        The number of the first replica, at least 0.

    Returns
    -------
    numpy.ndarray
        States for :mod:`ssiode.kernels.normals`, uint64, of shape (replicas, 4); no row is zero.

    Examples
    --------
    >>> states = stream_states(seed=7, replicas=3)
    >>> states.shape
    (3, 4)
    >>> bool((stream_states(seed=7, replicas=2) == states[:2]).all())
    True
    """
    seed = whole_number("seed", seed, minimum=0)
    replicas = whole_number("replicas", replicas, minimum=1)
    purpose = whole_number("purpose", purpose, minimum=0)
    first = whole_number("first_replica", first, minimum=0)
    states = np.empty((replicas, 4), dtype=np.uint64)
    for replica in range(replicas):
        sequence = np.random.SeedSequence(seed, spawn_key=(purpose, first + replica))
        states[replica] = sequence.generate_state(4, np.uint64)
    states[~states.any(axis=1), 0] = _NOT_ALL_ZERO
    return states
