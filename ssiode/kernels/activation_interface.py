"""The activation of a network: signatures only, replaced by the linker."""

from __future__ import annotations

import numpy as np


def activation(s: np.ndarray, out: np.ndarray) -> None:
    """Write sigma(s[0]) into out[0]."""


def activation_derivative(s: np.ndarray, out: np.ndarray) -> None:
    """Write sigma'(s[0]) into out[0]."""
