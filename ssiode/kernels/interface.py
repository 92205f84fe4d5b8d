"""The functions that a student, a target and a loss bring to an engine kernel.

These are signatures only: the linker drops this import and puts the problem's own functions in
its place. All arrays are 1-D float64,
but for the integers `degrees` and `products` and the matrices of polynomials.
"""

from __future__ import annotations

import numpy as np


def target_outputs(
    z_star: np.ndarray,
    degrees: np.ndarray,
    products: np.ndarray,
    coefficients: np.ndarray,
    values: np.ndarray,
    labels: np.ndarray,
) -> None:
    """Write the k labels g(z*) of the L fields z*, with the numbers of g and a buffer."""


def local_target(z_star: np.ndarray, numbers: np.ndarray, labels: np.ndarray) -> None:
    """Write the k labels of a target that is generated from an expression with these numbers."""


def student_forward(
    z: np.ndarray, parameters: np.ndarray, workspace: np.ndarray, outputs: np.ndarray
) -> None:
    """Write the k outputs f(z) and leave in `workspace` what the backward pass needs."""


def student_backward(
    z: np.ndarray,
    parameters: np.ndarray,
    workspace: np.ndarray,
    cotangent: np.ndarray,
    gradient: np.ndarray,
) -> None:
    """Write the L numbers sum_a cotangent_a df_a/dz_l, after a forward pass at the same z."""


def loss_forward(labels: np.ndarray, outputs: np.ndarray, cotangent: np.ndarray) -> float:
    """Return the loss l(y, f) and write the k derivatives dl/df_a."""
    return 0.0
