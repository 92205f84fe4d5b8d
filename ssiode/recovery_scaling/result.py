"""The result of a scaling measurement."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.recovery_scaling.fits import (
    Fit,
    corrected_power_fit,
    least_squares,
    logarithm_fits,
    pooled_errors,
    power_fit,
)
from ssiode.results import provenance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ssiode.problem import Problem
    from ssiode.recovery_scaling.law import RecoveryLaw
    from ssiode.recovery_scaling.outlook import Outlook
    from ssiode.recovery_scaling.passages import RecoveryPoint

# A fit agrees with the theorem within so many of its errors, and its form with the medians above
# this p-value. Right laws fail by chance in about one of a hundred measurements with 16 replicas
# at 4 dimensions, whose errors are rough, and in fewer with more.
_MOST_ERRORS = 3.0
_SMALLEST_P_VALUE = 0.001
# Beyond this error of a power a fit says nothing about it.
_LARGEST_ERROR = 0.5
_TITLES = {True: "agrees with Theorem 1", False: "DISAGREES with Theorem 1", None: "no verdict"}


@dataclass(frozen=True)
class GammaTrial:
    """One learning rate of a search.

    Attributes
    ----------
    d, constant, gamma : int, float, float
    median : float or None
        Median steps; None if it is not smaller than those of all trials before.
    recovered, counted, steps_run : int
        So many of the counted replicas recovered within these steps.
    """

    d: int
    constant: float
    gamma: float
    median: float | None
    recovered: int
    counted: int
    steps_run: int


@dataclass(frozen=True, eq=False)
class Scaling:
    """Steps of weak recovery over the dimension, and the law that fits them.

    Attributes
    ----------
    problem : Problem
        With the replicas and the seed that were used, and a random start.
    method : str
        `chain` or `sgd`.
    law : RecoveryLaw
        Of Theorem 1, with its `order`.
    remark : str
        Where that order comes from.
    constant : float
        C of the learning rates gamma.
    threshold, overlap : float, str
        Weak recovery: |v| (`v`) or |m| (`m`) >= threshold.
    requested_dims : tuple of int
    points : tuple of RecoveryPoint
        What was measured, one a dimension.
    trials : tuple of GammaTrial
        The search of C.
    sides : tuple of int or None
        The sign of the initial m that is counted; None if both are.
    outlook : Outlook or None
        Drift and noise of the ODE along m, where they are available.
    was_interrupted : bool
    """

    problem: Problem
    method: str
    law: RecoveryLaw
    remark: str
    constant: float
    threshold: float
    overlap: str
    requested_dims: tuple[int, ...]
    points: tuple[RecoveryPoint, ...]
    trials: tuple[GammaTrial, ...]
    sides: tuple[int, ...] | None
    outlook: Outlook | None
    was_interrupted: bool

    @property
    def dims(self) -> tuple[int, ...]:
        """Dimensions that were run."""
        return tuple(point.d for point in self.points)

    @property
    def steps(self) -> tuple[float | None, ...]:
        """Median steps of weak recovery; None where they are not known."""
        return tuple(point.median for point in self.points)

    @property
    def ode_steps(self) -> tuple[float | None, ...]:
        """Steps that the ODE along m needs from a median start; None where it does not recover."""
        if self.outlook is None:
            return (None,) * len(self.points)
        order = self.law.order
        return tuple(self.outlook.steps(point.d, point.gamma, order) for point in self.points)

    @cached_property
    def _known(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Dimensions, medians and their pooled errors; None if they cannot be fitted."""
        points = [p for p in self.points if p.log_error is not None]
        has_gap = any(p.log_error is None and p.status != "interrupted" for p in self.points)
        if has_gap or len(points) < 2:
            return None
        columns = ([p.d for p in points], [p.median for p in points], [p.log_error for p in points])
        dims, medians, errors = (np.array(column, dtype=float) for column in columns)
        return dims, medians, pooled_errors(dims, medians, errors, self.law.order)

    @cached_property
    def power(self) -> Fit | None:
        """The fit of the power law; None without a median at every dimension that was run."""
        return None if self._known is None else power_fit(*self._known, self.law)

    @cached_property
    def corrected_power(self) -> Fit | None:
        """The same with the first correction of finite d; None at order 2 or for few dimensions."""
        return None if self._known is None else corrected_power_fit(*self._known, self.law)

    @cached_property
    def logarithm(self) -> tuple[Fit, Fit, Fit | None] | None:
        """At order 2 the power of the logarithm, the line in log d, and its curvature."""
        if self._known is None or self.law.order != 2:
            return None
        return logarithm_fits(*self._known)

    @property
    def exponent(self) -> float | None:
        """Fitted power p of tau = K d^p; None if it is not known."""
        return None if self.power is None else self.power.value

    @property
    def exponent_error(self) -> float | None:
        """Its standard error: bootstrap over replicas, or the residuals if these are larger."""
        return None if self.power is None else self.power.error

    @property
    def predicted(self) -> float:
        """The p of Theorem 1; at order 2 that of a power law fitted to d log^2 d at these d."""
        if self.power is not None:
            return float(self.power.expected)
        if self.law.order != 2:
            return float(self.law.power)
        dims = np.array(self.requested_dims, dtype=float)
        exact = np.log([self.law.steps(d) for d in self.requested_dims])
        columns = [np.ones(len(dims)), np.log(dims)]
        return least_squares("", columns, exact, np.ones(len(dims)), 1).value

    @property
    def status(self) -> str:
        """`finished`; `interrupted`; or `not recovered` if a median is not known."""
        if self.was_interrupted:
            return "interrupted"
        return "finished" if self._known is not None else "not recovered"

    @property
    def message(self) -> str:
        """The status in words."""
        missing = [p for p in self.points if p.log_error is None]
        if self.was_interrupted:
            known = len(self.points) - len(missing)
            return f"interrupted: {known} of {len(self.requested_dims)} dimensions have a median"
        if not missing:
            return f"all {len(self.points)} dimensions have a median"
        return f"no exponent: {self._gap(missing[0])}"

    def _gap(self, point: RecoveryPoint) -> str:
        """Why a point has no median."""
        passages = point.passages
        count, recovered = len(passages), int(np.isfinite(passages).sum())
        if not count:
            return f"at d = {point.d} no replica starts at the sign that grows; give more replicas"
        if point.median == 0:
            return f"at d = {point.d} the median start has recovered; leave this d out or raise eta"
        if point.median is not None:
            return (
                f"at d = {point.d} the median {point.median:g} has no error, as {recovered} of "
                f"{count} replicas recovered; give more replicas or lower the constant"
            )
        text = (
            f"at d = {point.d} {recovered} of {count} replicas recovered within "
            f"{point.steps_run} steps, so their median is not known"
        )
        if point.diverged.any():
            lost = int(point.diverged.sum())
            return f"{text}; the weights of {lost} diverged: lower the constant"
        if self.outlook is not None and self.outlook.sides == ():
            why = "is flat" if self.outlook.is_flat else "rises"
            return (
                f"{text}; the population risk {why} from m = 0 to both signs, so the student does "
                "not learn this target from random weights"
            )
        return f"{text}; lower the constant (--search-gamma searches it) or give more max_steps"

    @cached_property
    def _verdict(self) -> tuple[bool | None, str]:
        if self.power is None:
            return None, self.message
        if self.law.order == 2:
            return self._logarithm_verdict()
        for fit, kind in (
            (self.power, ""),
            (self.corrected_power, " with a correction of finite d"),
        ):
            if fit is None or fit.error > _LARGEST_ERROR:
                continue
            if fit.deviation <= _MOST_ERRORS:
                return True, f"the exponent{kind} is {fit.deviation:.2g} errors from Theorem 1"
        if self.power.error > _LARGEST_ERROR:
            return None, "the error of the exponent is too large; give more replicas or dimensions"
        return False, f"the exponent is {self.power.deviation:.2g} errors from Theorem 1"

    def _logarithm_verdict(self) -> tuple[bool | None, str]:
        _, line, _ = self.logarithm
        if line.p_value is None:
            return None, "two dimensions show no law; give three or more"
        p_value = f"p-value {line.p_value:.2g}"
        if line.p_value < _SMALLEST_P_VALUE:
            return False, f"tau / (d log d) is no straight line in log d ({p_value})"
        if line.value < _MOST_ERRORS * line.error:
            return None, "d log^2 d cannot be told from d log d; give more replicas or dimensions"
        return True, f"tau / (d log d) is a growing straight line in log d ({p_value})"

    @property
    def agrees(self) -> bool | None:
        """Whether the law agrees with Theorem 1; None if that is not known."""
        return self._verdict[0]

    @property
    def reason(self) -> str:
        """The verdict in words."""
        return self._verdict[1]

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""

        def shown(fit: Fit | None) -> dict[str, Any] | None:
            return None if fit is None else fit.as_dict()

        logarithm = None
        if self.logarithm is not None:
            names = ("power", "line", "curvature")
            logarithm = dict(zip(names, map(shown, self.logarithm), strict=True))
        return {
            "dims": self.dims,
            "steps": self.steps,
            "exponent": self.exponent,
            "exponent_error": self.exponent_error,
            "predicted": self.predicted,
            "predicted_law": self.law.text,
            "agrees": self.agrees,
            "reason": self.reason,
            "power_fit": shown(self.power),
            "corrected_power_fit": shown(self.corrected_power),
            "logarithm_fits": logarithm,
            "order": self.law.order,
            "remark": self.remark,
            "constant": self.constant,
            "gammas": tuple(point.gamma for point in self.points),
            "ode_steps": self.ode_steps,
            "counted_signs": self.sides,
            "wrong_sign": tuple(point.wrong_sign for point in self.points),
            "wrong_sign_recovered": tuple(point.wrong_sign_recovered for point in self.points),
            "points": [point.as_dict() for point in self.points],
            "gamma_search": [asdict(trial) for trial in self.trials],
            "requested_dims": self.requested_dims,
            "method": self.method,
            "threshold": self.threshold,
            "overlap": self.overlap,
            "replicas": self.problem.sgd.replicas,
            "seed": self.problem.sgd.seed,
            "status": self.status,
            "message": self.message,
        } | provenance(self.problem)

    def figure(self) -> Figure:
        """Draw medians, quartiles, the fitted law and that of Theorem 1."""
        from ssiode.plots import new_figure, plot_scaling

        figure = new_figure()
        ax = figure.subplots()
        plot_scaling(ax, self)
        sgd = self.problem.sgd
        settings = f"{self.method}, $C={self.constant:g}$, {sgd.replicas} replicas"
        ax.set_title(f"{_TITLES[self.agrees]}: {settings}", fontsize="medium")
        return figure
