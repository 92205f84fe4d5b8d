"""Results as short tables for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ssiode.results import spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ssiode.problem import Problem
    from ssiode.results import Ensemble, Trajectory
    from ssiode.validation import Agreement

_ROWS = 9
_TOKENS_SHOWN = 8  # more columns than a terminal is wide; --json has them all


def trajectory_table(result: Trajectory) -> str:
    """A few times of the ODE solution, recovery and status."""
    names, shown = result.problem.geometry.overlap_names, _shown(result.problem)
    header = ["t", *(names[i] for i in shown), "risk"]
    rows = [[result.t[i], *result.v[i, shown], result.risk[i]] for i in _chosen(len(result.t))]
    return "\n".join(
        [
            _table(header, rows),
            _error_line(result),
            _recovery_line("time", result.recovery_time, result.threshold),
            f"{result.status}: {result.message}; engine {result.engine} ({result.reason})",
        ]
    )


def ensemble_table(result: Ensemble) -> str:
    """A few records of the ensemble, recovery and status."""
    mean, deviation = result.v.mean(axis=0), spread(result.v)
    names, shown = result.problem.geometry.overlap_names, _shown(result.problem)
    length = result.problem.length
    semantic = [i for i in shown if i >= length]
    header = ["steps", "t", *(f"{names[i]}_mean" for i in shown)]
    header += [*(f"{names[i]}_std" for i in semantic), "|m|_mean", "loss", "loss_error"]
    data = result.as_dict()
    table = [
        [
            result.steps[record],
            result.t[record],
            *mean[record, shown],
            *deviation[record, semantic],
            result.semantic_norm[:, record].mean(),
            data["loss_mean"][record],
            data["loss_error"][record],
        ]
        for record in _chosen(len(result.steps))
    ]
    found = result.recovery_steps[result.recovery_steps >= 0]
    recovered = f"{len(found)} of {len(result.recovery_steps)} replicas reached |v| >= "
    recovered += f"{result.threshold:g}"
    if len(found):
        recovered += f", in the median after {np.median(found):.0f} steps"
    seconds = result.seconds_per_step
    speed = "" if seconds is None else f"; {1e6 * seconds:.3g} us a step"
    return "\n".join(
        [
            _table(header, table),
            recovered,
            f"{result.status}: {result.message}; seed {result.seed}{speed}",
        ]
    )


def _shown(problem: Problem) -> list[int]:
    """Places in v of the overlaps of the first tokens, and of the semantic ones."""
    length, n_overlaps = problem.length, problem.geometry.n_overlaps
    tokens = range(min(length, _TOKENS_SHOWN))
    return [*tokens, *range(length, min(n_overlaps, length + _TOKENS_SHOWN))]


def agreement_table(result: Agreement) -> str:
    """The ODE beside the ensemble at a few times, and the verdict."""
    trajectory, ensemble = result.trajectory, result.ensemble
    moving = [i for i in range(trajectory.v.shape[1]) if np.any(np.abs(trajectory.v[:, i]) > 1e-12)]
    names = trajectory.problem.geometry.overlap_names
    header = ["t", *(f"{names[i]} {kind}" for i in moving for kind in ("ODE", "SGD", "spread"))]
    rows = []
    for row in _chosen(min(len(trajectory.t), len(ensemble.t))):
        states = ensemble.v[:, row]
        cells = [
            cell
            for i in moving
            for cell in (trajectory.v[row, i], states[:, i].mean(), states[:, i].std(ddof=1))
        ]
        rows.append([trajectory.t[row], *cells])
    verdicts = {True: "ODE and SGD agree", False: "ODE and SGD DISAGREE", None: "no verdict"}
    return "\n".join(
        [
            _table(header, rows),
            f"largest deviation {result.max_deviation:.4g}, expected fluctuation "
            f"{result.expected_fluctuation:.4g} (standard deviation of a replica); at the worst "
            f"time {result.deviation_ratio:.3g} fluctuations, allowed {result.threshold:.3g}",
            f"{verdicts[result.agrees]}: {result.reason} (false-alarm rate <= "
            f"{result.false_alarm_rate:g}; seed {ensemble.seed})",
            *_law_lines(result),
            *(
                f"{part.status}: {part.message}"
                for part in (trajectory, ensemble)
                if part.status != "finished"
            ),
        ]
    )


def _law_lines(result: Agreement) -> list[str]:
    """The tests of the chain against direct SGD, and what is missing."""
    lines = []
    if result.laws:
        tests = ", ".join(f"{law.quantity} {law.p_value:.2g}" for law in result.laws)
        lines.append(
            f"chain against direct SGD, p-values of Kolmogorov-Smirnov tests: {tests} "
            f"(alarm below {result.law_threshold:.2g})"
        )
    return lines + ([result.remark] if result.remark else [])


def _chosen(size: int) -> list[int]:
    return np.unique(np.linspace(0, size - 1, min(size, _ROWS)).astype(int)).tolist()


def _table(header: list[str], rows: list[list[float]]) -> str:
    return text_table([header, *([f"{value:.6g}" for value in row] for row in rows)])


def text_table(rows: Sequence[Sequence[str]]) -> str:
    """Lines of cells, each column as wide as its widest cell and flush right.

    >>> print(text_table([["d", "steps"], ["100", "7"]]))
      d  steps
    100      7
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ("  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(lines)


def _error_line(result: Trajectory) -> str:
    if result.m_error is None:
        return "numerical error not estimated"
    return (
        f"numerical error at most {result.e_error.max():.1e} in e, "
        f"{result.m_error.max():.1e} in m, {result.risk_error.max():.1e} in the risk"
    )


def _recovery_line(what: str, value: float | None, threshold: float) -> str:
    if value is None:
        return f"weak recovery |v| >= {threshold:g} is not reached"
    return f"weak recovery |v| >= {threshold:g} at {what} {value:.6g}"
