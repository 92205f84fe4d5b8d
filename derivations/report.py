"""What a derivation consists of, and how it is checked and printed.

A derivation is a chain of steps; a step states a formula and carries checks of it. A check is a
:class:`Proof` (an expression that expands to exactly 0), a :class:`Measurement` (a number below a
tolerance) or a :class:`Control` (a wrong formula that the same kind of check must reject).
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TextIO

import sympy


class Check(Protocol):
    """What every check can say about itself."""

    @property
    def holds(self) -> bool:
        """Whether the check came out as it must."""

    def describe(self) -> str:
        """Say in one line what was checked and what came out."""


def is_exactly_zero(expression: object) -> bool:
    """Decide whether the numerator of an expression expands to 0.

    Only the arithmetic of polynomials is used, so ``True`` is a proof. Undefined functions and
    their derivatives count as independent symbols. An element of a SymPy polynomial ring is
    already expanded.

    >>> x = sympy.Symbol("x")
    >>> is_exactly_zero((x**2 - 1) / (x + 1) - x + 1), is_exactly_zero(x - 1)
    (True, False)
    """
    if not isinstance(expression, sympy.Basic):
        return bool(expression == 0)
    numerator, denominator = sympy.fraction(sympy.together(expression))
    if sympy.expand(denominator) == 0:
        return False
    return bool(sympy.expand(numerator) == 0)


@dataclass(frozen=True)
class Proof:
    """Expressions that must all expand to exactly 0.

    Parameters
    ----------
    what : str
        What is proved when they do.
    residuals : tuple
        SymPy expressions or elements of a SymPy polynomial ring: left side minus right side.

    Examples
    --------
    >>> x, y = sympy.symbols("x y")
    >>> print(Proof("square of a sum", ((x + y) ** 2 - x**2 - 2 * x * y - y**2,)).describe())
    proved: square of a sum (1 identity, 0 left over)
    """

    what: str
    residuals: tuple[object, ...]

    @cached_property
    def left_over(self) -> int:
        """How many residuals do not expand to 0."""
        return sum(not is_exactly_zero(residual) for residual in self.residuals)

    @property
    def holds(self) -> bool:
        """Whether there is something to prove and nothing is left over."""
        return bool(self.residuals) and self.left_over == 0

    def describe(self) -> str:
        """Say what is proved and how many identities that took."""
        count = len(self.residuals)
        noun = "identity" if count == 1 else "identities"
        word = "proved" if self.holds else "NOT PROVED"
        return f"{word}: {self.what} ({count} {noun}, {self.left_over} left over)"


@dataclass(frozen=True)
class Measurement:
    """A number that must not exceed a tolerance, with the reason for that tolerance.

    Examples
    --------
    >>> print(Measurement("residual", 2e-9, 1e-8, "rounding").describe())
    measured: residual is 2e-09, allowed 1e-08 (rounding)
    """

    what: str
    value: float
    tolerance: float
    reason: str

    @property
    def holds(self) -> bool:
        """Whether the number is within its tolerance; NaN never is."""
        return bool(self.value <= self.tolerance)

    def describe(self) -> str:
        """Say what was measured, and what is allowed and why."""
        word = "measured" if self.holds else "OUT OF TOLERANCE"
        return (
            f"{word}: {self.what} is {self.value:.3g}, allowed {self.tolerance:.3g} ({self.reason})"
        )


@dataclass(frozen=True)
class Control:
    """A wrong formula: the check of it must fail, or the check has no power.

    Examples
    --------
    >>> x = sympy.Symbol("x")
    >>> print(Control("2 x instead of x", Proof("", (2 * x - x,))).describe())
    rejected as it must be: 2 x instead of x (1 of 1 identities left over)
    """

    what: str
    check: Proof | Measurement

    @property
    def holds(self) -> bool:
        """Whether the wrong formula is rejected, for a number because it is too large."""
        if isinstance(self.check, Proof):
            return self.check.left_over > 0
        return bool(self.check.value > self.check.tolerance)

    def describe(self) -> str:
        """Say which wrong formula was tried and how clearly it fails."""
        word = "rejected as it must be" if self.holds else "NOT REJECTED"
        if isinstance(self.check, Proof):
            found = f"{self.check.left_over} of {len(self.check.residuals)} identities left over"
        else:
            found = f"{self.check.value:.3g}, allowed {self.check.tolerance:.3g}"
        return f"{word}: {self.what} ({found})"


@dataclass(frozen=True)
class Step:
    """One step: a title, a few sentences, a formula in LaTeX, and the checks of it."""

    title: str
    prose: str
    formula: str
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class Derivation:
    """A chain of steps that ends in a formula.

    Examples
    --------
    >>> step = Step("Nothing", "Zero is zero.", "0 = 0", (Proof("0 = 0", (sympy.Integer(0),)),))
    >>> print(Derivation("Example", "The least there is.", (step,)).markdown())
    # Example
    <BLANKLINE>
    The least there is.
    <BLANKLINE>
    ## 1. Nothing
    <BLANKLINE>
    Zero is zero.
    <BLANKLINE>
    $$
    0 = 0
    $$
    <BLANKLINE>
    - [x] proved: 0 = 0 (1 identity, 0 left over)
    """

    title: str
    summary: str
    steps: tuple[Step, ...]

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks of all steps, in order."""
        return tuple(check for step in self.steps for check in step.checks)

    @property
    def holds(self) -> bool:
        """Whether there are checks and all of them hold."""
        return bool(self.checks) and all(check.holds for check in self.checks)

    def markdown(self) -> str:
        """Write the derivation as Markdown with LaTeX formulas."""
        parts = [f"# {self.title}", _wrapped(self.summary)]
        for number, step in enumerate(self.steps, start=1):
            formula = " ".join(step.formula.split())
            parts += [f"## {number}. {step.title}", _wrapped(step.prose), f"$$\n{formula}\n$$"]
            parts.append("\n".join(_listed(check) for check in step.checks))
        return "\n\n".join(parts)


def _wrapped(text: str) -> str:
    """Break a text into lines, but never inside of a formula: a line could begin with a minus."""
    glued = re.sub(r"\$[^$]*\$", lambda match: re.sub(r"\s+", "\0", match.group()), text)
    lines = textwrap.wrap(
        " ".join(glued.split()), 100, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(lines).replace("\0", " ")


def _listed(check: Check) -> str:
    return f"- [{'x' if check.holds else ' '}] {check.describe()}"


def publish(derivations: Iterable[Derivation], out: TextIO | None = None) -> int:
    """Print derivations, then how many checks hold; the number of failed checks is returned.

    A derivation without any check counts as one failure.

    Parameters
    ----------
    derivations : iterable of Derivation
        What is printed, in this order.
    out : text stream, optional
        Where to; standard output by default.

    Returns
    -------
    int
        Failed checks.
    """
    out = sys.stdout if out is None else out
    total = failed = 0
    for derivation in derivations:
        print(derivation.markdown(), end="\n\n", file=out, flush=True)
        total += len(derivation.checks)
        failed += sum(not check.holds for check in derivation.checks) or int(not derivation.holds)
    print(f"{total - failed} of {total} checks hold.", file=out, flush=True)
    return failed
