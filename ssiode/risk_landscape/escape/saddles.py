"""Whether a state at which the flow stands still attracts it or is a saddle."""

from __future__ import annotations

import numpy as np

from ssiode.risk_landscape.coordinates import FeasibleCoordinates
from ssiode.risk_landscape.escape.independent_steps import VectorField

# Displacement for derivatives of the drift, and the part of the largest one that is growth.
_DISPLACEMENT, _GROWTH = 1e-6, 1e-4


def drift_derivatives(
    field: VectorField, coordinates: FeasibleCoordinates, v: np.ndarray
) -> np.ndarray:
    """Derivatives of the drift in the orthonormal frame at a state v, shape (r, r).

    Central differences, around a point moved by 2e-6 towards the origin so as to stay feasible.

    >>> from ssiode import Encoding
    >>> frame = FeasibleCoordinates(Encoding("opposite").geometry(2))
    >>> drift_derivatives(lambda v: -2 * v, frame, np.array([0.6, -0.6, 0.8])).round(6).tolist()
    [[-2.0, 0.0], [0.0, -2.0]]
    """
    center = (1 - 2 * _DISPLACEMENT) * coordinates.coordinates(v)
    shifts = _DISPLACEMENT * np.eye(coordinates.dimension)
    around = coordinates.overlaps(np.concatenate([center + shifts, center - shifts]))
    ahead, behind = np.split(coordinates.coordinates(field(around)), 2)
    return ((ahead - behind) / (2 * _DISPLACEMENT)).T + 0.0


def distance_from_saddle(
    field: VectorField, coordinates: FeasibleCoordinates, v: np.ndarray, velocity: np.ndarray
) -> float | None:
    """Distance of v from a stationary state along the directions that grow there.

    Parameters
    ----------
    field : callable
        Velocities at states of shape (p, L + 1).
    coordinates : FeasibleCoordinates
    v, velocity : arrays of shape (L + 1,)
        A state that hardly moves.

    Returns
    -------
    float or None
        None if no direction grows.

    Examples
    --------
    >>> from ssiode import Encoding
    >>> frame = FeasibleCoordinates(Encoding("opposite").geometry(2))
    >>> v = np.array([0.0, 0.0, 1e-9])
    >>> round(distance_from_saddle(lambda v: 3 * v, frame, v, 3 * v), 15)
    1e-09
    >>> distance_from_saddle(lambda v: -3 * v, frame, v, -3 * v) is None
    True
    """
    derivatives = drift_derivatives(field, coordinates, v)
    rates, directions = np.linalg.eig(derivatives)
    grows = rates.real > _GROWTH * np.abs(derivatives).max()
    if not grows.any():
        return None
    along = np.linalg.lstsq(directions, coordinates.coordinates(velocity))[0]
    return float(np.abs(along[grows] / rates[grows]).max())
