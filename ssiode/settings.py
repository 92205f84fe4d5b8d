"""Settings of a training run and its initial condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ssiode.errors import InputError, choose, finite_number, number_list, whole_number
from ssiode.geometry import Geometry
from ssiode.row_geometry import RowGeometry

_LARGEST = 10**15


@dataclass(frozen=True)
class SGDSettings:
    r"""How SGD runs: one step is :math:`w \leftarrow \sqrt d\,(w+\delta w)/|w+\delta w|`.

    Parameters
    ----------
    gamma : float
        Learning rate, >= 0; a step moves the ODE time by gamma/d.
    d : int
        Token dimension, >= 3; direct SGD needs d >= L + 2.
    batch : int
        Samples per step, >= 1; their gradients are averaged.
    steps, replicas : int
        Number of SGD steps and of independent runs, >= 1.
    seed : int
        Seed of all randomness, >= 0.

    Examples
    --------
    >>> SGDSettings(gamma=0.5, d=1000, steps=4000).ode_time
    2.0
    """

    gamma: float = 0.05
    d: int = 1000
    batch: int = 1
    steps: int = 200_000
    replicas: int = 16
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", finite_number("gamma", self.gamma, minimum=0))
        minima = {"d": 3, "batch": 1, "steps": 1, "replicas": 1, "seed": 0}
        for name, minimum in minima.items():
            maximum = None if name == "seed" else _LARGEST
            value = whole_number(name, getattr(self, name), minimum=minimum, maximum=maximum)
            object.__setattr__(self, name, value)

    @property
    def ode_time(self) -> float:
        """Length t = gamma steps / d of the run in ODE time."""
        return self.gamma * self.steps / self.d


@dataclass(frozen=True)
class InitialCondition:
    """Where training starts.

    Parameters
    ----------
    kind : str
        `random` (weights uniform on the sphere) or `fixed` (the overlaps below).
    e : float or sequence of L floats, optional
        Positional overlaps for `fixed`; one number holds for every token, none means 0.
    m : float or sequence of L floats, optional
        Semantic overlap for `fixed`, in [-1, 1]; none means 0. A list holds one for each weight
        vector of an untied network.

    Examples
    --------
    >>> from ssiode import Encoding
    >>> opposite = Encoding("opposite").geometry(2)
    >>> InitialCondition("fixed", e=(0.1, -0.1), m=0.2).state(opposite, d=100, seed=0).tolist()
    [0.1, -0.1, 0.2]
    """

    kind: str = "random"
    e: tuple[float, ...] | float | None = None
    m: tuple[float, ...] | float | None = None

    def __post_init__(self) -> None:
        choose("initial condition", self.kind, ("random", "fixed"))
        if self.kind == "random" and (self.e is not None or self.m is not None):
            raise InputError("a random initial condition takes no e and m; use kind = 'fixed'")
        for name in ("e", "m"):
            if (given := getattr(self, name)) is not None:
                is_list = not isinstance(given, str) and hasattr(given, "__iter__")
                checked = number_list(name, given) if is_list else finite_number(name, given)
                object.__setattr__(self, name, checked)

    def fixed_state(self, geometry: Geometry | RowGeometry) -> np.ndarray | None:
        """Return the overlaps v = (e, m) that were given, or None when they are random."""
        if self.kind == "random":
            return None
        return geometry.state(self.e, 0.0 if self.m is None else self.m)

    def with_overlaps(self, e: Any = None, m: Any = None) -> Self:
        """Return the fixed start with the overlaps given here; the others stay.

        >>> InitialCondition("fixed", e=0.1, m=0.3).with_overlaps(e=0.2)
        InitialCondition(kind='fixed', e=0.2, m=0.3)
        """
        return type(self)("fixed", self.e if e is None else e, self.m if m is None else m)

    def state(self, geometry: Geometry | RowGeometry, d: int, seed: int) -> np.ndarray:
        """Return the overlaps that were given, or draw those of one random start from the seed."""
        fixed = self.fixed_state(geometry)
        if fixed is not None:
            return fixed
        return geometry.random_state(d, np.random.default_rng(np.random.SeedSequence(seed)))
