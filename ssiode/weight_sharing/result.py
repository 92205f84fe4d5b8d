"""The result of a measurement of the gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.recovery_scaling.fits import Fit, least_squares
from ssiode.recovery_scaling.run import SHORTEST_SEARCH
from ssiode.results import provenance
from ssiode.weight_sharing.remarks import remarks_on
from ssiode.weight_sharing.students import DEFAULT_STUDENTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ssiode.problem import Problem
    from ssiode.weight_sharing.alignment import Alignment
    from ssiode.weight_sharing.measurement import Measurement, Runner

# Relative error of a gain whose steps are without noise: that of the solver.
_EXACT = 1e-6
_FEWEST_LENGTHS = 3
_NOISE = (
    "at this d noise alone takes weights to eta at large rates, so a best one may be of that kind"
)


@dataclass(frozen=True, eq=False)
class LengthResult:
    """All students at one length.

    Attributes
    ----------
    length : int
    measurements : dict of Measurement
        By the name of the student.
    alignments : dict of Alignment
        Of the target with the networks of the sum of their fields, by the name of the student.
    overlaps : dict of float or None
        The equal overlaps from which they start, by student; None for random weights.
    remarks : tuple of str
        What students are blind to, and why.
    """

    length: int
    measurements: dict[str, Measurement]
    alignments: dict[str, Alignment]
    overlaps: dict[str, float | None]
    remarks: tuple[str, ...]

    @classmethod
    def of(
        cls, length: int, measurements: dict[str, Measurement], runners: dict[str, Runner]
    ) -> LengthResult:
        """From what was measured by the runners of the same names."""
        predictions = {name: runner.prediction for name, runner in runners.items()}
        return cls(
            length,
            measurements,
            {name: p.alignment for name, p in predictions.items() if p and p.alignment},
            {name: runner.problem.initial.m for name, runner in runners.items()},
            remarks_on(measurements, runners),
        )


@dataclass(frozen=True, eq=False)
class Gain:
    """Steps of weak recovery of several students over the length.

    Attributes
    ----------
    problem : Problem
        With the replicas and the seed that were used.
    policy, method, start : str
    students : tuple of str
        The last one is the reference.
    overlap : float or None
        As it was asked for.
    threshold : float
    requested_lengths : tuple of int
    results : tuple of LengthResult
        What was measured, one a length.
    was_interrupted : bool
    """

    problem: Problem
    policy: str
    method: str
    students: tuple[str, ...]
    start: str
    overlap: float | None
    threshold: float
    requested_lengths: tuple[int, ...]
    results: tuple[LengthResult, ...]
    was_interrupted: bool

    @property
    def lengths(self) -> tuple[int, ...]:
        """Lengths that were measured."""
        return tuple(found.length for found in self.results)

    @property
    def reference(self) -> str:
        """The student whose steps are divided by those of the others."""
        return self.students[-1]

    def steps(self, student: str) -> tuple[float | None, ...]:
        """Median steps of a student over the lengths; None where it did not recover."""
        return tuple(found.measurements[student].steps for found in self.results)

    def gains(self, student: str) -> tuple[float | None, ...]:
        """Steps of the reference over those of a student; 0 where that one alone fails.

        None where the reference did not recover either.
        """
        return tuple(
            _ratio(
                *(_or_never(found.measurements[name].steps) for name in (self.reference, student))
            )
            for found in self.results
        )

    def gain_errors(self, student: str) -> tuple[float | None, ...]:
        """Standard errors of the gains."""
        errors = []
        for found, ratio in zip(self.results, self.gains(student), strict=True):
            pair = [found.measurements[name].log_error for name in (student, self.reference)]
            known = ratio and None not in pair
            errors.append(float(ratio * np.hypot(*pair)) if known else None)
        return tuple(errors)

    @property
    def gain(self) -> tuple[float | None, ...]:
        """Gains of the first student."""
        return self.gains(self.students[0])

    @property
    def gain_error(self) -> tuple[float | None, ...]:
        """Standard errors of the gains of the first student."""
        return self.gain_errors(self.students[0])

    def predicted_gains(self, student: str) -> tuple[float | None, ...]:
        """Gains of a student by the leading order, under the same policy; None if unknown."""
        names = (self.reference, student)
        return tuple(
            _ratio(*(found.measurements[name].predicted_steps for name in names))
            for found in self.results
        )

    @property
    def predicted_gain(self) -> tuple[float | None, ...]:
        """Those of the first student."""
        return self.predicted_gains(self.students[0])

    @property
    def ode_gain(self) -> tuple[float | None, ...]:
        """Gains of the first student by the ODE at the same learning rates."""
        names = (self.reference, self.students[0])
        return tuple(
            _ratio(*(_or_never(found.measurements[name].ode_steps) for name in names))
            for found in self.results
        )

    @property
    def theorem_gain(self) -> tuple[float | None, ...]:
        """Gains of Theorem 2 of the paper, whatever the policy; None for other pairs of students.

        The theorem is about tied over untied networks.
        """
        if self.students != DEFAULT_STUDENTS:
            return (None,) * len(self.results)
        known = [found.alignments.get("tied") for found in self.results]
        return tuple(None if one is None else one.theorem_gain for one in known)

    def power(self, student: str) -> Fit | None:
        """The fit of gain = K L^p; None for fewer than three lengths with a gain."""
        return _power_fit(self.lengths, self.gains(student), self.gain_errors(student))

    def predicted_power(self, student: str) -> float | None:
        """The same fit of the predicted gains."""
        errors = (0.0,) * len(self.results)
        fit = _power_fit(self.lengths, self.predicted_gains(student), errors)
        return None if fit is None else fit.value

    @property
    def status(self) -> str:
        """`finished`, `interrupted`, or `not recovered` if the reference never does."""
        if self.was_interrupted:
            return "interrupted"
        return "finished" if any(self.steps(self.reference)) else "not recovered"

    @property
    def message(self) -> str:
        """The status in words."""
        count, wanted = len(self.results), len(self.requested_lengths)
        if self.was_interrupted:
            return f"interrupted: {count} of {wanted} lengths are complete"
        missing = [
            f"{name} at L = {found.length}"
            for found in self.results
            for name, measured in found.measurements.items()
            if measured.steps is None
        ]
        text = f"did not recover: {', '.join(missing)}" if missing else "all students recovered"
        return f"{text}; {_NOISE}" if self._is_short else text

    @property
    def _is_short(self) -> bool:
        """Whether noise alone may take overlaps to the threshold at the rates of a search."""
        searched = self.policy == "best" and self.method != "ode"
        return searched and self.problem.sgd.d * self.threshold**2 < SHORTEST_SEARCH

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        by_student = {f"{name.replace('-', '_')}_steps": self.steps(name) for name in self.students}
        first = self.students[0]
        fit = self.power(first)
        return {
            "lengths": self.lengths,
            **by_student,
            "gain": self.gain,
            "gain_error": self.gain_error,
            "predicted_gain": self.predicted_gain,
            "theorem_gain": self.theorem_gain,
            "ode_gain": self.ode_gain,
            "power": None if fit is None else fit.value,
            "power_error": None if fit is None else fit.error,
            "predicted_power": self.predicted_power(first),
            "gains": {name: self.gains(name) for name in self.students[:-1]},
            "gammas": {
                name: [found.measurements[name].gamma for found in self.results]
                for name in self.students
            },
            "policy": self.policy,
            "method": self.method,
            "students": self.students,
            "start": self.start,
            "overlaps": {
                name: [found.overlaps[name] for found in self.results] for name in self.students
            },
            "threshold": self.threshold,
            "measurements": {
                name: [found.measurements[name].as_dict() for found in self.results]
                for name in self.students
            },
            "alignment": [
                {name: known.as_dict() for name, known in found.alignments.items()}
                for found in self.results
            ],
            "remarks": [found.remarks for found in self.results],
            "replicas": self.problem.sgd.replicas,
            "seed": self.problem.sgd.seed,
            "requested_lengths": self.requested_lengths,
            "status": self.status,
            "message": self.message,
        } | provenance(self.problem)

    def figure(self) -> Figure:
        """Draw steps and gains over the length."""
        from ssiode.gain_plots import plot_gain, plot_steps
        from ssiode.plots import new_figure

        figure = new_figure()
        left, right = figure.subplots(1, 2)
        plot_steps(left, self)
        plot_gain(right, self)
        figure.suptitle(f"policy {self.policy}, {self.method}", fontsize="medium")
        return figure


def _power_fit(
    lengths: tuple[int, ...],
    gains: tuple[float | None, ...],
    errors: tuple[float | None, ...],
) -> Fit | None:
    rows = [
        (length, ratio, max(error / ratio, _EXACT))
        for length, ratio, error in zip(lengths, gains, errors, strict=True)
        if ratio and error is not None
    ]
    if len(rows) < _FEWEST_LENGTHS:
        return None
    places, ratios, relative = np.array(rows).T
    columns = [np.ones(len(rows)), np.log(places)]
    return least_squares("log gain = log K + p log L; p", columns, np.log(ratios), relative, 1)


def _or_never(steps: float | None) -> float:
    return np.inf if steps is None else steps


def _ratio(reference: float | None, steps: float | None) -> float | None:
    """Steps over steps: 0 where only the second are infinite, None where the first are unknown."""
    if not reference or not steps or reference == np.inf:
        return None
    return float(reference / steps)
