r"""Fits of median steps over dimensions.

Every fit is weighted least squares with the bootstrap errors of the medians, pooled over the
dimensions. The error of what is fitted is multiplied by :math:`\sqrt{\chi^2/\nu}` where that is
above 1, so that it never claims more than the residuals allow; the p-value of :math:`\chi^2` says
whether the form fits at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ssiode.errors import InputError
from ssiode.recovery_scaling.law import RecoveryLaw


@dataclass(frozen=True)
class Fit:
    """One number that a fit gives.

    Attributes
    ----------
    form : str
        What is fitted, exactly.
    value, error : float
        The number and its standard error.
    expected : float or None
        What Theorem 1 says.
    chi_square : float
        Sum of the squared residuals in units of the bootstrap errors.
    degrees_of_freedom : int
    p_value : float or None
        Probability of a larger chi-square by chance; None without degrees of freedom.
    parameters : tuple of float
        All fitted parameters, in the order of the form.
    """

    form: str
    value: float
    error: float
    expected: float | None
    chi_square: float
    degrees_of_freedom: int
    p_value: float | None
    parameters: tuple[float, ...]

    @property
    def deviation(self) -> float | None:
        """Distance from what is expected, in errors."""
        return None if self.expected is None else abs(self.value - self.expected) / self.error

    def as_dict(self) -> dict[str, Any]:
        """Return all fields by name."""
        return asdict(self)


def least_squares(
    form: str,
    columns: Sequence[np.ndarray],
    values: np.ndarray,
    errors: np.ndarray,
    of_interest: int,
    expected: float | None = None,
) -> Fit:
    """Fit a sum of columns to values with errors; the number is one of the coefficients.

    Raises
    ------
    InputError
        If there are fewer values than columns.

    Examples
    --------
    >>> x = np.arange(4.0)
    >>> fit = least_squares("a + b x", [x**0, x], 1 + 2 * x, 0 * x + 0.1, 1, 2.0)
    >>> round(fit.value, 12), round(fit.error, 4), fit.degrees_of_freedom
    (2.0, 0.0447, 2)
    """
    if len(values) < len(columns):
        raise InputError(f"{len(values)} dimensions cannot fit {form}; give {len(columns)} or more")
    design = np.column_stack(columns) / errors[:, None]
    scales = np.linalg.norm(design, axis=0)
    q, r = np.linalg.qr(design / scales)
    inverse = np.linalg.inv(r) / scales[:, None]
    coefficients = inverse @ (q.T @ (values / errors))
    residuals = values / errors - design @ coefficients
    chi_square, freedom = float(residuals @ residuals), len(values) - len(columns)
    error = float(np.linalg.norm(inverse[of_interest]))
    if freedom:
        error *= max(1.0, float(np.sqrt(chi_square / freedom)))
    return Fit(
        form=form,
        value=float(coefficients[of_interest]),
        error=error,
        expected=expected,
        chi_square=chi_square,
        degrees_of_freedom=freedom,
        p_value=_p_value(chi_square, freedom),
        parameters=tuple(coefficients.tolist()),
    )


def _p_value(chi_square: float, freedom: int) -> float | None:
    from scipy.special import chdtrc

    return float(chdtrc(freedom, chi_square)) if freedom else None


def pooled_errors(
    dims: np.ndarray, medians: np.ndarray, errors: np.ndarray, order: int
) -> np.ndarray:
    """Relative errors of medians from the bootstrap errors of all dimensions together.

    The bootstrap of a few replicas knows the error of a median to some tens of percent only. But
    up to a factor that all dimensions share these errors are known: the steps are spread by the
    starts and by noise, which is of the relative size d^(-1/2) at order 1, 1 / log d at order 2,
    and the same at all d beyond. The factor is the root mean square over the dimensions.

    >>> pooled_errors(np.array([100.0, 400.0]), np.array([1e3, 1e4]), np.array([0.1, 0.05]), 1)
    array([0.1 , 0.05])
    """
    shape = {1: dims**-0.5, 2: 1 / np.log(dims)}.get(order, np.ones(len(dims)))
    factor = np.sqrt(np.mean((errors / shape) ** 2))
    return np.maximum(factor * shape, 1 / (np.sqrt(12) * medians))  # steps are whole


def power_fit(dims: np.ndarray, medians: np.ndarray, errors: np.ndarray, law: RecoveryLaw) -> Fit:
    """The power p of tau = K d^p.

    At order 2 the expected value is that of the same fit to d log^2 d itself.
    """
    logs, ones = np.log(dims), np.ones(len(dims))
    expected = float(law.power)
    if law.order == 2:
        exact = np.log([law.steps(d) for d in dims.tolist()])
        expected = least_squares("", [ones, logs], exact, errors, 1).value
    form = "log tau = log K + p log d; p"
    return least_squares(form, [ones, logs], np.log(medians), errors, 1, expected)


def corrected_power_fit(
    dims: np.ndarray, medians: np.ndarray, errors: np.ndarray, law: RecoveryLaw
) -> Fit | None:
    """The power p of tau = K d^p exp(c d^-k), with the first correction of finite d.

    From an overlap m_0 of order d^(-1/2) the ODE reaches eta in a time that is
    1 - (m_0 / eta)^(n - 2) of the leading one, so k = n/2 - 1 for n >= 3; at n = 1 the noise of
    the first passage is such a correction with k = 1. None at order 2 and below four dimensions.
    """
    if law.order == 2 or len(dims) < 4:
        return None
    k = 1.0 if law.order == 1 else law.order / 2 - 1
    columns = [np.ones(len(dims)), np.log(dims), dims**-k]
    form = f"log tau = log K + p log d + c d^-{k:g}; p"
    return least_squares(form, columns, np.log(medians), errors, 1, float(law.power))


def logarithm_fits(
    dims: np.ndarray, medians: np.ndarray, errors: np.ndarray
) -> tuple[Fit, Fit, Fit | None]:
    """For d log^2 d: the power of the logarithm, the line of tau/(d log d), and its curvature.

    At learning rates C / log d the ODE time is t = C tau / (d log d), and it grows as
    log d + b with a constant b that log^2 d leaves out: so tau / (d log d) is a straight line in
    log d. The curvature is None below four dimensions.
    """
    logs, ones = np.log(dims), np.ones(len(dims))
    form = "log(tau / d) = log K + q log log d; q"
    power = least_squares(form, [ones, np.log(logs)], np.log(medians / dims), errors, 1, 2.0)
    line = medians / (dims * logs)
    sizes = line * errors
    form = "tau / (d log d) = A log d + B; A"
    straight = least_squares(form, [ones, logs], line, sizes, 1)
    if len(dims) < 4:
        return power, straight, None
    curve = (logs - logs.mean()) ** 2
    form = "tau / (d log d) = A log d + B + K (log d - mean)^2; K"
    return power, straight, least_squares(form, [ones, logs, curve], line, sizes, 2, 0.0)
