"""The risk of one task (omega, a), from the table that all tasks share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from ssiode.errors import InputError, finite_number
from ssiode.phase.polynomials import evaluate
from ssiode.phase.table import PhaseTable, phase_table


def positional_weight(a: np.ndarray) -> np.ndarray:
    """Return alpha = sigma(2 a^2), the diagonal entry of the positional part of the target.

    >>> round(float(positional_weight(1.0)), 6)
    0.880797
    """
    return 1 / (1 + np.exp(-2 * np.square(a)))


def positional_strength(alpha: float) -> float:
    """The a of alpha = sigma(2 a^2), for alpha in [1/2, 1).

    >>> round(positional_strength(positional_weight(0.76)), 12)
    0.76
    """
    return float(np.sqrt(np.log(alpha / (1 - alpha)) / 2))


def check_strength(a: object) -> float:
    """Return a in (0, 1] as a float, else raise `InputError`."""
    value = finite_number("a", a)
    if not 0 < value <= 1:
        raise InputError(f"a is {value:g}; it must be in (0, 1]")
    return value


def check_mixture(omega: object) -> float:
    """Return omega in [0, 1] as a float, else raise `InputError`."""
    value = finite_number("omega", omega)
    if not 0 <= value <= 1:
        raise InputError(f"omega is {value:g}; it must be in [0, 1]")
    return value


def steepest_direction(ee: float, mm: float) -> dict[str, float] | None:
    """The axis of the lower curvature, as the Hessian at the origin is diagonal.

    >>> steepest_direction(-0.1, -0.2)
    {'e': 0.0, 'm': 1.0}
    """
    if min(ee, mm) >= 0:
        return None
    is_positional = ee < mm
    return {"e": float(is_positional), "m": float(not is_positional)}


@dataclass(frozen=True, eq=False)
class Task:
    r"""R(e, m) = E |T - S|^2 / 2 of attention on two tokens with opposite rows of norm 1.

    The overlaps are those of the rows (p, -p): positional overlaps (e, -e), in the unit disc
    :math:`e^2 + m^2 \le 1`.

    Parameters
    ----------
    omega : float
        In [0, 1].
    a : float
        In (0, 1].

    Examples
    --------
    >>> task = Task.of(0.67, 1.0)
    >>> round(float(task.risk(0.0, 0.0)), 6)
    0.131752
    >>> task.gradient(0.0, 0.5).round(6).tolist()
    [-0.0, -0.041536]
    """

    omega: float
    a: float
    table: PhaseTable

    @classmethod
    def of(cls, omega: object, a: object) -> Self:
        """Check the numbers, and take the table.

        Raises
        ------
        InputError
            If one is out of its range.
        """
        return cls(check_mixture(omega), check_strength(a), phase_table())

    @cached_property
    def weights(self) -> np.ndarray:
        """Of S_2, C and S_1 in R: 2 (1, -2 A, -2 B)."""
        return 2 * np.array([1.0, -2 * self.semantic_part, -2 * self.positional_part])

    @property
    def semantic_part(self) -> float:
        """A = 1 - omega."""
        return 1 - self.omega

    @property
    def positional_part(self) -> float:
        """B = omega sigma(2 a^2)."""
        return float(self.omega * positional_weight(self.a))

    @cached_property
    def constant(self) -> float:
        """The part of R without overlaps, E |T|^2 / 2 for the diagonal of T."""
        second, _, first = evaluate_at_origin(self.table)
        part, other = self.semantic_part, self.positional_part
        return 2 * (part**2 * second + 2 * part * other * first + other**2)

    def _derivative(self, e: np.ndarray, m: np.ndarray, dx: int, dy: int) -> np.ndarray:
        coefficients = np.tensordot(self.weights, self.table.derivative(dx, dy), axes=1)
        return evaluate(coefficients, np.square(e), np.square(m))

    def risk(self, e: np.ndarray, m: np.ndarray) -> np.ndarray:
        """R at overlaps in the disc, of any common shape."""
        return self.constant + self._derivative(e, m, 0, 0)

    def gradient(self, e: np.ndarray, m: np.ndarray) -> np.ndarray:
        """(dR/de, dR/dm), shape (..., 2)."""
        e, m = np.asarray(e, dtype=float), np.asarray(m, dtype=float)
        parts = 2 * e * self._derivative(e, m, 1, 0), 2 * m * self._derivative(e, m, 0, 1)
        return np.stack(np.broadcast_arrays(*parts), axis=-1)

    def hessian(self, e: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Second derivatives, shape (..., 2, 2)."""
        e, m = np.asarray(e, dtype=float), np.asarray(m, dtype=float)
        ee = 2 * self._derivative(e, m, 1, 0) + 4 * e * e * self._derivative(e, m, 2, 0)
        mm = 2 * self._derivative(e, m, 0, 1) + 4 * m * m * self._derivative(e, m, 0, 2)
        em = 4 * e * m * self._derivative(e, m, 1, 1)
        flat = np.stack(np.broadcast_arrays(ee, em, em, mm), axis=-1)
        return flat.reshape(*flat.shape[:-1], 2, 2)

    def error(self, dx: int = 0, dy: int = 0) -> float:
        """Error of a derivative in x = e^2 and y = m^2 anywhere in the disc."""
        return float(np.abs(self.weights) @ self.table.derivative_error(dx, dy))


def evaluate_at_origin(table: PhaseTable) -> np.ndarray:
    """S_2, C and S_1 at e = m = 0, shape (3,)."""
    zero = np.zeros(())
    return np.array([evaluate(function, zero, zero) for function in table.derivative(0, 0)])
