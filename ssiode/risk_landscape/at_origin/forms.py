"""Homogeneous forms in the independent overlaps, with what is known about their coefficients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ssiode.hermite.coefficient import Verdict
from ssiode.risk_landscape.at_origin.numbers import Number, number_text, zero


@dataclass(frozen=True, eq=False)
class HomogeneousForm:
    """The part of the risk of one order.

    Attributes
    ----------
    order : int
    names : tuple of str
        The r independent overlaps.
    terms : mapping
        Coefficients by powers of the overlaps; those left out are proved zero.

    Examples
    --------
    >>> form = HomogeneousForm(2, ("e", "m"), {(1, 1): Number.of_float(-1.5, 1e-9)})
    >>> str(form), form.verdict.value, form(np.array([[1.0, 2.0]])).tolist()
    ('-1.5 e m', 'nonzero', [-3.0])
    """

    order: int
    names: tuple[str, ...]
    terms: Mapping[tuple[int, ...], Number]

    @property
    def verdict(self) -> Verdict:
        """Whether the form vanishes: proved zero, proved not to be zero, or neither."""
        verdicts = {number.verdict for number in self.terms.values()}
        for verdict in (Verdict.NONZERO, Verdict.UNDECIDED):
            if verdict in verdicts:
                return verdict
        return Verdict.ZERO

    def coefficient(self, powers: Sequence[int]) -> Number:
        """The coefficient of a monomial."""
        return self.terms.get(tuple(powers), zero())

    @cached_property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        powers = np.array(list(self.terms), dtype=int).reshape(-1, len(self.names))
        numbers = self.terms.values()
        return powers, np.array([x.value for x in numbers]), np.array([x.error for x in numbers])

    def __call__(self, overlaps: np.ndarray) -> np.ndarray:
        """Values at independent overlaps of shape (p, r); shape (p,)."""
        powers, values, _ = self._arrays
        return _monomials(overlaps, powers) @ values

    def error(self, overlaps: np.ndarray) -> np.ndarray:
        """Bounds of the errors of the values."""
        powers, values, errors = self._arrays
        rounding = 2.0**-50 * np.abs(values)
        return np.abs(_monomials(overlaps, powers)) @ (errors + rounding)

    def gradient(self, overlaps: np.ndarray) -> np.ndarray:
        """Derivatives at independent overlaps of shape (p, r); the same shape."""
        powers, values, _ = self._arrays
        columns = []
        for i in range(len(self.names)):
            lowered = powers.copy()
            lowered[:, i] -= 1
            factors = np.where(lowered[:, i] >= 0, powers[:, i] * values, 0.0)
            columns.append(_monomials(overlaps, np.maximum(lowered, 0)) @ factors)
        return np.stack(columns, axis=-1)

    def without(self, names: Sequence[str]) -> HomogeneousForm:
        """The restriction to states where the named overlaps vanish."""
        gone = [self.names.index(name) for name in names]
        kept = {p: x for p, x in self.terms.items() if not any(p[i] for i in gone)}
        return HomogeneousForm(self.order, self.names, kept)

    def __str__(self) -> str:
        """The form as a sum of monomials, exact where it is short."""
        parts = [_term(number, self._monomial(powers)) for powers, number in self.terms.items()]
        return " + ".join(parts).replace("+ -", "- ") or "0"

    def _monomial(self, powers: Sequence[int]) -> str:
        factors = [
            name if power == 1 else f"{name}^{power}"
            for name, power in zip(self.names, powers, strict=True)
            if power
        ]
        return " ".join(factors)

    def as_list(self) -> list[dict[str, Any]]:
        """The terms as plain data."""
        return [
            {
                "powers": dict(zip(self.names, powers, strict=True)),
                "coefficient": None if number.exact is None else str(number.exact),
                "value": number.value,
                "error": number.error,
            }
            for powers, number in self.terms.items()
        ]


def _monomials(overlaps: np.ndarray, powers: np.ndarray) -> np.ndarray:
    """All monomials at all points, shape (p, number)."""
    return np.prod(overlaps[:, None, :] ** powers[None], axis=-1)


def _term(number: Number, monomial: str) -> str:
    is_short = number.exact is not None and number.exact.is_Integer
    text = str(number.exact) if is_short else number_text(number.value, number.error)
    if "+-" in text:
        text = f"({text})"
    return {"1": monomial, "-1": f"-{monomial}"}.get(text, f"{text} {monomial}")
