"""Estimates of what truncated series leave out, against series with known sums."""

from __future__ import annotations

import numpy as np
import pytest

from ssiode.population_risk.mehler.truncation import tail_estimate

N = np.arange(200_000)


def algebraic(rate: float) -> np.ndarray:
    return 1.0 / (1 + N) ** rate


@pytest.mark.parametrize("top", [24, 48, 96, 200])
@pytest.mark.parametrize(
    "terms",
    [
        algebraic(1.5),
        algebraic(3.0),
        0.9**N,
        0.3**N,
        np.exp(-np.sqrt(N)),
        np.where(N % 2 == 0, algebraic(2.5), 0.0),
        np.where(N % 2 == 1, 0.8**N, 0.0),
    ],
    ids=["n^-1.5", "n^-3", "0.9^n", "0.3^n", "exp(-sqrt n)", "even n^-2.5", "odd 0.8^n"],
)
def test_the_tail_is_bounded(terms, top):
    estimate = tail_estimate(terms[: top + 1], np.zeros(()))
    assert terms[top + 1 :].sum() <= estimate < np.inf


@pytest.mark.parametrize("rate", [2.0, 3.0, 5.0])
def test_the_tail_of_algebraic_decay_is_doubled(rate):
    terms = algebraic(rate)
    estimate = tail_estimate(terms[:129], np.zeros(()))
    assert estimate == pytest.approx(2 * terms[129:].sum(), rel=0.2)


@pytest.mark.parametrize("terms", [np.ones(65), algebraic(0.5)[:65], algebraic(1.0)[:65]])
def test_divergence_is_said(terms):
    assert tail_estimate(terms, np.zeros(())) == np.inf


def test_rounding_is_no_tail():
    terms = np.full(65, 1e-18)
    terms[0] = 1.0
    assert tail_estimate(terms, np.array(1e-15)) < 1e-15
    assert tail_estimate(terms, np.array(0.0)) == np.inf


def test_rows_are_estimated_apart():
    rows = np.array([0.5 ** np.arange(65), np.ones(65), np.zeros(65)])
    estimate = tail_estimate(rows, np.zeros(3))
    assert estimate[0] < 1e-8
    assert estimate[1] == np.inf
    assert estimate[2] == 0
