"""What students are blind to, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ssiode.hermite.coefficient import Verdict

if TYPE_CHECKING:
    from ssiode.weight_sharing.measurement import Measurement, Runner
    from ssiode.weight_sharing.prediction import Prediction


def remarks_on(measurements: dict[str, Measurement], runners: dict[str, Runner]) -> tuple[str, ...]:
    """One line for each student that does not recover, or that is blind to the leading tensor."""
    found = []
    for name, measured in measurements.items():
        prediction = runners[name].prediction
        text = "" if prediction is None else _blindness(prediction)
        if measured.steps is None:
            text = f"{_failure(measured, runners[name])}{'; ' if text else ''}{text}"
        if text:
            found.append(f"{name}: {text}")
    return tuple(found)


def _failure(measured: Measurement, runner: Runner) -> str:
    if runner.method == "ode":
        return "the ODE does not recover" + ("" if runner.ode_recovers else " at any learning rate")
    text = f"{measured.recovered} of {measured.counted} replicas recovered"
    return f"{text} in {measured.steps_run} steps"


def _blindness(prediction: Prediction) -> str:
    known = prediction.alignment
    if known is None:
        return ""
    parts = []
    if known.blind_orders:
        orders = ", ".join(map(str, known.blind_orders))
        parts.append(f"the activation does not see order {orders} of the target")
    if prediction.line is None:
        return "; ".join(parts)
    if known.along.verdict is Verdict.ZERO:
        text = f"the tensor of order {known.order} is orthogonal to the shared direction"
        if known.rescued_at is not None:
            text += f", order {known.rescued_at} is the first that is not"
        elif known.sees_nothing:
            text += ", and so are all others: the target is invisible"
        parts.append(text)
    elif prediction.line.growth < 0:
        parts.append(f"at order {known.order} the risk rises with the overlap")
    return "; ".join(parts)
