"""Problems of direct SGD; Python functions as targets share the kernels of a student and a loss."""

import numpy as np

from ssiode import (
    Attention,
    Encoding,
    ExpressionStudent,
    Problem,
    Target,
    TiedNetwork,
    UntiedNetwork,
)
from ssiode.loss import FrobeniusLoss, SquaredLoss


def two_squares(z):
    return (z**2 - 1).sum(axis=-1)


def odd_and_even(z):
    return z[..., 0] + z[..., 0] * z[..., 1]


def quadratic_sum(z):
    return (z**2 - 1).sum(axis=-1) / 2 + z[..., 0]


def four_outputs(z):
    return np.stack([np.tanh(z[..., 0]), z[..., 1], z[..., 0] * z[..., 1], 0.3 + 0 * z[..., 0]], -1)


ATTENTION = Problem(Target(two_squares, length=2), Attention("trace"), Encoding("opposite"))
CORRELATED = Problem(
    Target(odd_and_even, length=2),
    Attention("trace"),
    Encoding(
        "gram",
        matrix=((1.0, 0.6), (0.6, 1.0)),
        teacher_overlap=(0.5, -0.2),
        injected=(0.7, -0.4),
    ),
    SquaredLoss(scale=0.5),
    label_noise=2.0,
)
NETWORK = Problem(
    Target(quadratic_sum, length=5),
    TiedNetwork("relu"),
    Encoding(
        "matrix",
        matrix=tuple(map(tuple, 0.4 * np.eye(5)[:, :3] + 0.1)),
        teacher_overlap=(0.16, 0.0, 0.12, 0.04, 0.04),
    ),
    label_noise=3.0,
)
WHOLE_MATRIX = Problem(
    Target(four_outputs, length=2),
    Attention("identity"),
    Encoding("opposite", injected=(0.3, 0.2)),
    FrobeniusLoss(scale=2.0),
    label_noise=0.2,
)
EXPRESSION = CORRELATED.replace(
    student=ExpressionStudent("tanh(z1*z2) + z1/2"), encoding=Encoding("opposite")
)
ROW = CORRELATED.replace(student=UntiedNetwork("relu"), label_noise=0.5)
JOINT = ROW.replace(student=UntiedNetwork("relu", constraint="joint"))
