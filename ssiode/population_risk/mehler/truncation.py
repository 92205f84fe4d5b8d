"""What a truncated power series leaves out, estimated from the decay of its terms."""

from __future__ import annotations

import numpy as np

# Decay slower than this between blocks is taken for divergence.
_SLOWEST = 0.95


def tail_estimate(terms: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Estimate the sum of the absolute terms beyond the last one.

    The sums over (N/4, N/2] and (N/2, N] are extrapolated as a geometric series over blocks of
    doubling length: exact for algebraic decay, an overestimate for any faster one. The result is
    infinite where the blocks do not decay, and doubled where they do.

    Parameters
    ----------
    terms : array of shape (..., N + 1)
        Absolute values, by order.
    noise : array of shape (...)
        Sizes below which sums over a block are rounding.

    Examples
    --------
    >>> n = np.arange(65)
    >>> exact = 2.0**-64
    >>> bool(exact <= tail_estimate(2.0**-n, np.zeros(())) < 1e-9)
    True
    >>> float(tail_estimate(np.ones(65), np.zeros(())))
    inf
    """
    top = terms.shape[-1] - 1
    last = terms[..., top // 2 + 1 :].sum(axis=-1)
    before = terms[..., top // 4 + 1 : top // 2 + 1].sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = last / before
        tail = np.where(ratio < _SLOWEST, 2 * last * ratio / (1 - ratio), np.inf)
    # A short series, or one that converges within its last block, still owes its last term.
    tail = np.maximum(tail, terms[..., -2:].max(axis=-1))
    return np.where(last <= noise, last, tail)
