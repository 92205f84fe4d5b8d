"""What every engine for the population risk gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from ssiode.errors import InputError, choose

if TYPE_CHECKING:
    from ssiode.problem import Problem


@dataclass(frozen=True, eq=False)
class RiskEvaluation:
    """Population risk, its gradient and the second moment of the gradient at one state.

    Attributes
    ----------
    value, value_error : float
        R(e, m) = E l and an estimate of its error, infinite where nothing is known.
    gradient, gradient_error : arrays of shape (L + 1,)
        (dR/de_1, ..., dR/de_L, dR/dm); for an untied network (dR/de_1, ..., dR/dm_L) of shape
        (2 L,).
    second_moment, second_moment_error : float
        V = E sum_l (dl/dz_l)^2 of one sample, without the division by the batch size; for an
        untied network V_l = E (dl/dz_l)^2, which is the same for all its rows.
    engine, reason : str
        Which engine computed it, and why that one.
    """

    value: float
    value_error: float
    gradient: np.ndarray
    gradient_error: np.ndarray
    second_moment: float
    second_moment_error: float
    engine: str
    reason: str

    @classmethod
    def of(
        cls, moments: np.ndarray, errors: np.ndarray, units: np.ndarray, engine: str, reason: str
    ) -> Self:
        """From (R, dR/de, dR/dm, V) and their errors, each to be multiplied by its unit."""
        with np.errstate(over="ignore", invalid="ignore"):
            moments, errors = moments * units, errors * units
        return cls(
            value=float(moments[0]),
            value_error=float(errors[0]),
            gradient=moments[1:-1],
            gradient_error=errors[1:-1],
            second_moment=float(moments[-1]),
            second_moment_error=float(errors[-1]),
            engine=engine,
            reason=reason,
        )

    def __post_init__(self) -> None:
        check_finite(np.array([self.value, *self.gradient, self.second_moment]))


def check_finite(moments: np.ndarray) -> None:
    """Raise `InputError` if a risk, a gradient or a second moment is infinite or undefined."""
    if not np.all(np.isfinite(moments)):
        raise InputError(
            "the risk is not finite: student or loss overflow, or are undefined at some fields"
        )


class Estimate(NamedTuple):
    """Numbers and estimates of their errors, arrays of the same shape."""

    value: np.ndarray
    error: np.ndarray


class RiskTable(NamedTuple):
    """The risk of a table: R = sum_n m^n sum_k c_(n,k) T_(k_1)(x_1) ... T_(k_q)(x_q).

    Attributes
    ----------
    coefficients : array of shape (L + 1, N + 1, p_1, ..., p_q)
        c for R, and in the same form for dR/de_1, ..., dR/de_L.
    projection : array of shape (q, L)
        x = projection @ e lies in [-1, 1]^q for all feasible e.
    """

    coefficients: np.ndarray
    projection: np.ndarray


class RiskEngine(ABC):
    """An engine that averages the loss of one problem over its Gaussian fields.

    States v = (e, m) are arrays of shape (..., L + 1), or (..., 2 L) for an untied network. A
    subclass sets `name` and is then found by it; it gives the numbers of many states by
    :meth:`moments`, and those of one state with their errors by :meth:`evaluate`.
    """

    name: ClassVar[str]
    # Whether it serves students with one weight vector for each token, or those with a single one.
    serves_rows: ClassVar[bool] = False
    # Engines of a lower rank are chosen first where they serve; `suits` says in words why.
    rank: ClassVar[int]
    suits: ClassVar[str] = ""
    engines: ClassVar[dict[tuple[str, bool], type[RiskEngine]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" in cls.__dict__:
            cls.engines[cls.name, cls.serves_rows] = cls

    problem: Problem
    reason: str = "asked for by name"

    @classmethod
    @abstractmethod
    def objection(cls, problem: Problem) -> str | None:
        """Why this engine cannot serve the problem, or None if it can."""

    @classmethod
    def reluctance(cls, problem: Problem) -> str | None:
        """Why this engine, though it serves, is not chosen unless asked for by name."""
        return None

    @classmethod
    def suited(
        cls, problem: Problem, v: np.ndarray | None, tolerance: float, **options: Any
    ) -> Self:
        """Build the engine for a problem, and where it can adapt for an error at a state."""
        return cls(problem, **options)

    def objection_at(self, v: np.ndarray) -> str | None:
        """Why this engine is not chosen at a state, or None."""
        return None

    @classmethod
    def check(cls, problem: Problem) -> None:
        """Raise `InputError` with the objection, if there is one."""
        if (objection := cls.objection(problem)) is not None:
            raise InputError(f"engine {cls.name!r} does not serve: {objection}")

    @property
    @abstractmethod
    def settings(self) -> str:
        """The engine's settings in words."""

    @property
    def description(self) -> str:
        """Why this engine, and with which settings."""
        return f"{self.reason}; {self.settings}"

    @abstractmethod
    def moments(self, v: np.ndarray) -> np.ndarray:
        """(R, dR/de_1, ..., dR/de_L, dR/dm, V) without errors, as fast as possible.

        A deterministic function from shape (p, L + 1) to shape (p, L + 3), or from (p, 2 L) to
        (p, 2 L + 2) for an untied network.
        """

    @abstractmethod
    def evaluate(self, v: np.ndarray) -> RiskEvaluation:
        """Risk, gradient and second moment at one v of shape (L + 1,), with errors."""

    def estimates(self, v: np.ndarray) -> Estimate:
        """(R, dR/de_1, ..., dR/de_L, dR/dm, V) with errors, in the shape of :meth:`moments`.

        The numbers that :meth:`evaluate` gives at each of the states.
        """
        results = [self.evaluate(state) for state in v]
        shape = (len(v), v.shape[1] + 2)
        rows = [[r.value, *r.gradient, r.second_moment] for r in results]
        errors = [[r.value_error, *r.gradient_error, r.second_moment_error] for r in results]
        return Estimate(np.reshape(rows, shape), np.reshape(errors, shape))

    def value(self, v: np.ndarray) -> Estimate:
        """R at states v, with errors; shape (...)."""
        return self._column(v, 0)

    def gradient(self, v: np.ndarray) -> Estimate:
        """The derivatives of R by v, with errors; in the shape of v."""
        return self._column(v, slice(1, -1))

    def second_moment(self, v: np.ndarray) -> Estimate:
        """V with errors; shape (...)."""
        return self._column(v, -1)

    def _column(self, v: np.ndarray, column: int | slice) -> Estimate:
        """Columns of the estimates at states v."""
        states = np.asarray(v, dtype=float)
        found = self.estimates(states.reshape(-1, states.shape[-1]))
        columns = [array[:, column] for array in found]
        return Estimate(*(c.reshape(states.shape[:-1] + c.shape[1:]) for c in columns))

    def tabulated_risk(self) -> RiskTable | None:
        """R as the polynomial that :meth:`moments` sums, or None if it sums none."""
        return None

    def rough(self) -> RiskEngine:
        """A cheaper engine of the same problem, to search with; itself if it is cheap."""
        return self

    @abstractmethod
    def companion(self) -> RiskEngine:
        """An engine with independent numerical errors of at least about the same size."""


def engine_classes(problem: Problem) -> dict[str, type[RiskEngine]]:
    """The engines for the weights of a problem, by name."""
    has_rows = problem.geometry.n_rows > 1
    return {name: kind for (name, rows), kind in RiskEngine.engines.items() if rows == has_rows}


def engine_class(problem: Problem, name: str) -> type[RiskEngine]:
    """Look the engine of that name up that fits the weights of a problem."""
    known = engine_classes(problem)
    return known[choose("engine", name, known)]
