"""The table of the series: interpolation, parity, perturbation and the box of overlaps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ssiode.encoding import Encoding
from ssiode.population_risk.mehler.builder import TableBuilder
from ssiode.population_risk.mehler.positional import positional_box
from ssiode.population_risk.mehler.table import MehlerTable
from ssiode.problem import Problem
from ssiode.student import Attention, LinearAttention, TiedNetwork
from ssiode.target import Target
from tests.population_risk.problems import feasible_points

UNITS = np.ones(5)


def explicit_table(generator: np.random.Generator, shape: tuple[int, ...]) -> MehlerTable:
    """A table of two tokens with random coefficients and one or two positional axes."""
    q = len(shape)
    coefficients = generator.standard_normal((4, 7, *shape)) * 0.5 ** np.arange(7)[:, None].reshape(
        7, *[1] * q
    )
    return MehlerTable(
        basis=np.array([[0.6, 0.8], [-0.8, 0.6]])[:q],
        half_widths=np.array([1.5, 0.7])[:q],
        coefficients=coefficients,
        largest=np.abs(coefficients).reshape(4, 7, -1).sum(axis=2),
        term_errors=1e-3 * generator.uniform(0.5, 1.0, (4, 7)),
        left_out=np.zeros(4),
        is_finite=True,
        settings="",
    )


@pytest.mark.parametrize("shape", [(), (5,), (4, 6)])
def test_sums_are_powers_times_chebyshev_polynomials(shape):
    generator = np.random.default_rng(0)
    table = explicit_table(generator, shape)
    v = generator.uniform(-0.4, 0.4, (9, 3))
    v[0, 2], v[1, 2] = 1.0, 0.0
    units = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    sums = table.sums(v, units) / units
    assert sums.shape == (9, 5)
    for state, row in zip(v, sums, strict=True):
        terms = table.coefficients
        for axis in range(len(shape)):
            x = table.basis[axis] @ state[:2] / table.half_widths[axis]
            polynomials = np.cos(np.arange(shape[axis]) * np.arccos(x))
            terms = np.tensordot(terms, polynomials, axes=(2, 0))
        n, m = np.arange(7), state[2]
        assert row[[0, 1, 2, 4]] == pytest.approx(terms @ m**n, abs=1e-13)
        slope = terms[0, 1:] @ (n[1:] * m ** (n[1:] - 1))
        assert row[3] == pytest.approx(slope, abs=1e-13)


@pytest.mark.parametrize("shape", [(), (5,), (4, 6)])
def test_perturbed_moves_terms_by_their_errors(shape):
    table = explicit_table(np.random.default_rng(1), shape)
    moved = np.abs(table.perturbed().coefficients - table.coefficients)
    changed = moved.reshape(4, 7, -1)
    assert changed[..., 0] == pytest.approx(table.term_errors, rel=1e-9)
    assert np.count_nonzero(changed) == 4 * 7
    assert np.array_equal(table.perturbed().coefficients, table.perturbed().coefficients)


def test_perturbed_keeps_the_parity():
    problem = Problem(Target("He2(z1) + z1*z2"), Attention("trace"), Encoding("opposite"))
    table = TableBuilder(problem, 8).build()
    v = np.array([[0.3, -0.3, 0.4]])
    moved = table.perturbed()
    assert not np.array_equal(moved.sums(v, UNITS), table.sums(v, UNITS))
    there, back = moved.sums(v, UNITS)[0], moved.sums(-v, UNITS)[0]
    assert np.array_equal(there[[0, 4]], back[[0, 4]])
    assert np.array_equal(there[1:4], -back[1:4])


EVEN = {
    "trace": Problem(Target("He2(z1) + z2"), Attention("trace"), Encoding("orthonormal")),
    "linear attention": Problem(Target("z1*z2 + z1"), LinearAttention(), Encoding("orthonormal")),
    "numeric": Problem(Target("tanh(z1) + z2^2"), TiedNetwork("s^2"), Encoding("opposite")),
}


@pytest.mark.parametrize("name", EVEN)
def test_what_parity_makes_zero_is_exactly_zero(name):
    problem = EVEN[name]
    table = TableBuilder(problem, 12).build()
    assert table.coefficients.any()
    degrees = sum(np.ogrid[tuple(map(slice, table.coefficients.shape[2:]))], start=np.zeros(1))
    for n in range(table.coefficients.shape[1]):
        for quantity in range(4):
            is_slope = quantity in (1, 2)
            vanishing = (degrees + n + is_slope) % 2 == 1
            block = table.coefficients[quantity, n]
            assert not block[vanishing.reshape(block.shape)].any()
    # R(-e, -m) = R(e, m), to the last bit.
    v = np.array(feasible_points(problem, 5, seed=2))
    there, back = table.sums(v, UNITS), table.sums(-v, UNITS)
    assert np.array_equal(there[:, [0, 4]], back[:, [0, 4]])
    assert np.array_equal(there[:, 1:4], -back[:, 1:4])


@pytest.mark.parametrize(
    "problem",
    [
        Problem(Target("He2(z1) + z2"), Attention("trace"), Encoding("opposite", norm=1.5)),
        Problem(Target("z1^2 + z2"), TiedNetwork("tanh"), Encoding("orthonormal")),
        Problem(Target("z1^2 + z2"), TiedNetwork("relu"), Encoding("orthonormal")),
    ],
    ids=["trace", "tanh", "relu"],
)
def test_interpolation_is_as_accurate_as_stated(problem):
    builder = TableBuilder(problem, 12)
    table = builder.build()
    terms_at, _, _, teacher, _ = builder._accurate_rule()
    offsets = np.random.default_rng(3).uniform(-1, 1, (20, len(table.basis))) * table.half_widths
    exact = terms_at(offsets)
    powers = table.coefficients
    for index, xi in enumerate(offsets / table.half_widths):
        found = powers
        for x in xi:
            found = np.tensordot(found, np.cos(np.arange(found.shape[2]) * np.arccos(x)), (2, 0))
        assert np.all(np.abs(found - exact[index]) <= table.term_errors + 1e-15)
    assert teacher.top + 1 == table.coefficients.shape[1]


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        (Encoding("none"), []),
        (Encoding("opposite", norm=0.8), [math.sqrt(2) * 0.8]),
        (Encoding("orthonormal"), [1.0, 1.0]),
        (Encoding("matrix", matrix=((1,), (2,))), [math.sqrt(5)]),
    ],
)
def test_the_box_holds_every_feasible_overlap(encoding, expected):
    problem = Problem(Target("z1 + z2"), Attention(), encoding)
    basis, widths = positional_box(problem, np.eye(2))
    assert sorted(widths) == pytest.approx(expected, rel=1e-8)
    assert basis @ basis.T == pytest.approx(np.eye(len(basis)), abs=1e-13)
    points = np.array(feasible_points(problem, 50, seed=4))[:, :-1]
    assert np.all(np.abs(points @ basis.T) <= widths)
    assert points @ basis.T @ basis == pytest.approx(points, abs=1e-12)


def test_only_what_the_student_sees_is_tabulated():
    problem = Problem(Target("z1 + z2"), TiedNetwork("tanh"), Encoding("orthonormal"))
    basis, _ = positional_box(problem, problem.student.axes(2))
    assert np.abs(basis) == pytest.approx(np.full((1, 2), 1 / math.sqrt(2)))
    opposite = problem.replace(encoding=Encoding("opposite"))
    assert len(positional_box(opposite, opposite.student.axes(2))[0]) == 0
