"""The target without transition, softmax(s s^T) with positions added to the fields themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ssiode.errors import InputError
from ssiode.phase.task import check_mixture, check_strength

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ssiode.risk_landscape import Landscape

_POINTS = 41


@dataclass(frozen=True)
class ShiftedMinimum:
    """The global minima of one task, (e, m) and (-e, -m).

    Attributes
    ----------
    omega, e, m : float
        Overlaps with the rows (p, -p) and with the teacher; e >= 0.
    place_error : float
        Of e and m.
    risk, risk_error : float
    n_minima : int
        All minima that were found, 2 if these are the only ones.
    is_certified : bool
        Whether it is proved that there are no others.
    """

    omega: float
    e: float
    m: float
    place_error: float
    risk: float
    risk_error: float
    n_minima: int
    is_certified: bool


@dataclass(frozen=True)
class ShiftedPath:
    """Global minima over omega, by ascending omega.

    Attributes
    ----------
    a : float
    minima : tuple of ShiftedMinimum
    status, message : str
        `finished` or `interrupted`, and what that means.
    """

    a: float
    minima: tuple[ShiftedMinimum, ...]
    status: str
    message: str

    @property
    def was_interrupted(self) -> bool:
        """Whether Ctrl-C came before the end."""
        return self.status == "interrupted"

    @property
    def longest_step(self) -> float | None:
        """Largest distance of neighbouring minima in the plane (e, m)."""
        places = np.array([(one.e, one.m) for one in self.minima]).reshape(-1, 2)
        steps = np.hypot(*np.diff(places, axis=0).T)
        return float(steps.max()) if len(steps) else None

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "a": self.a,
            "minima": [asdict(one) for one in self.minima],
            "longest_step": self.longest_step,
            "status": self.status,
            "message": self.message,
        }

    def figure(self) -> Figure:
        """Draw e, m and the risk of the global minimum over omega."""
        from ssiode.phase_plots import shifted_figure

        return shifted_figure(self)


def shifted_path(a: float = 1.0, omegas: Sequence[float] | None = None) -> ShiftedPath:
    r"""Follow the global minimum of the target without transition over omega.

    The target is :math:`\mathrm{softmax}(s s^T)` with
    :math:`s = (1-\omega) z_\star + \omega a\,(1, -1)` (Arnaboldi et al., arXiv 2506.02651, appendix
    F.3): the positions are added before the softmax and not after. The student and the squared loss
    are those of :func:`ssiode.phase_region`.

    Parameters
    ----------
    a : float
        In (0, 1].
    omegas : sequence of float, optional
        In [0, 1]; by default 41 from 0 to 1.

    Returns
    -------
    ShiftedPath
        Ctrl-C keeps the minima that were found.

    Raises
    ------
    InputError
        If a number is out of its range.

    Examples
    --------
    >>> half = shifted_path(1.0, [0.5]).minima[0]
    >>> round(half.e, 4), round(half.m, 4), half.n_minima, half.is_certified
    (0.3796, 0.9251, 2, True)
    """
    a = check_strength(a)
    grid = np.linspace(0, 1, _POINTS).tolist() if omegas is None else list(omegas)
    grid = sorted({check_mixture(omega) for omega in grid})
    if not grid:
        raise InputError("omegas is empty; give one number at least")
    minima: list[ShiftedMinimum] = []
    for omega in grid:
        try:
            found = _landscape(omega, a)
        except KeyboardInterrupt:
            break
        if found.status == "interrupted":
            break
        minima.append(_global_minimum(omega, found))
    if len(minima) < len(grid):
        message = f"interrupted after {len(minima)} of {len(grid)} points, which are kept"
        return ShiftedPath(a, tuple(minima), "interrupted", message)
    return ShiftedPath(a, tuple(minima), "finished", f"all of {len(grid)} points")


def _landscape(omega: float, a: float) -> Landscape:
    from ssiode.encoding import Encoding
    from ssiode.loss import SquaredLoss
    from ssiode.problem import Problem
    from ssiode.risk_landscape import landscape
    from ssiode.student import Attention
    from ssiode.target import Target

    target = Target.named("positional-semantic-shift", omega=omega, a=a)
    problem = Problem(target, Attention("identity"), Encoding("opposite"), SquaredLoss(0.5))
    return landscape(problem)


def _global_minimum(omega: float, found: Landscape) -> ShiftedMinimum:
    known = found.minima
    best = min(known.minima, key=lambda one: one.risk)
    e, m = best.e[0], best.m
    sign = 1.0 if e > 0 or (e == 0 and m > 0) else -1.0
    return ShiftedMinimum(
        omega=omega,
        e=abs(e),
        m=sign * m + 0.0,  # no -0
        place_error=best.position_error,
        risk=best.risk,
        risk_error=best.risk_error,
        n_minima=len(known.minima),
        is_certified=known.certificate.status == "certified",
    )
