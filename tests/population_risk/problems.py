"""Problems with their references, and helpers, for the tests of the engines."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ssiode.encoding import Encoding
from ssiode.loss import SquaredLoss
from ssiode.population_risk import RiskEvaluation
from ssiode.problem import Problem
from ssiode.student import Attention, LinearAttention, TiedNetwork
from ssiode.target import Target
from tests import reference
from tests.reference import ReferenceRisk


def column(function: Callable[..., np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """Make a function of z1, ..., zL a target with one output."""
    return lambda z: function(*np.moveaxis(z, -1, 0))[..., None]


def he2(x):
    return x**2 - 1


# Four families that differ in student, encoding, overlap with the teacher, injection and noise.
SETTINGS: dict[str, tuple[Problem, ReferenceRisk]] = {
    "trace, opposite": (
        Problem(Target("He2(z1) + z2"), Attention("trace"), Encoding("opposite")),
        ReferenceRisk(column(lambda x, y: he2(x) + y), reference.attention_weighted(np.eye(2)), 2),
    ),
    "identity, injected": (
        Problem(
            Target("[z1, tanh(z2), z1*z2, 1]"),
            Attention("identity"),
            Encoding("orthonormal", injected=(0.3, -0.2)),
            SquaredLoss(0.5),
        ),
        ReferenceRisk(
            lambda z: np.stack(
                [z[..., 0], np.tanh(z[..., 1]), z[..., 0] * z[..., 1], np.ones(z.shape[:-1])], -1
            ),
            reference.attention_identity(),
            2,
            scale=0.5,
            injected=(0.3, -0.2),
        ),
    ),
    "tanh, correlated, noisy": (
        Problem(
            Target("z1^2 + z2"),
            TiedNetwork("tanh", 2.0),
            Encoding("gram", matrix=((1.0, 0.3), (0.3, 0.5)), teacher_overlap=(0.4, -0.2)),
            label_noise=0.7,
        ),
        ReferenceRisk(
            column(lambda x, y: x**2 + y), reference.tied_network("tanh", 2.0), 2, label_noise=0.7
        ),
    ),
    "linear attention": (
        Problem(Target("z1*z2 + z1"), LinearAttention(), Encoding("matrix", matrix=((1,), (2,)))),
        ReferenceRisk(column(lambda x, y: x * y + x), reference.tied_network("square"), 2),
    ),
}


def feasible_points(problem: Problem, count: int, seed: int) -> list[np.ndarray]:
    """Draw states of all lengths |w| <= 1 in the feasible set."""
    generator = np.random.default_rng(seed)
    geometry = problem.geometry
    points = []
    for _ in range(count):
        u = generator.standard_normal(geometry.rank)
        u *= generator.uniform() ** (1 / geometry.rank) / np.linalg.norm(u)
        points.append(geometry.basis @ u)
    return points


def moments(result: RiskEvaluation) -> np.ndarray:
    """Return (R, dR/de, dR/dm, V) in one array."""
    return np.array([result.value, *result.gradient, result.second_moment])


def errors(result: RiskEvaluation) -> np.ndarray:
    return np.array([result.value_error, *result.gradient_error, result.second_moment_error])


def positional_semantic(omega: float = 0.67) -> Problem:
    return Problem(
        Target.named("positional-semantic", omega=omega, a=1.0),
        Attention("identity"),
        Encoding("opposite"),
        SquaredLoss(0.5),
    )
