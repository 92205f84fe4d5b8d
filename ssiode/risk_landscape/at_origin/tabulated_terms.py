"""Hermite coefficients of students without a formula: averages over a grid, or over samples.

On up to three axes the trapezoidal rule, whose error falls exponentially for analytic functions;
beyond them scrambled Sobol points, with standard errors over independent scramblings.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ssiode.errors import InputError
from ssiode.hermite.numeric.axis_rules import hermite_table
from ssiode.kernels.linker import link, piece
from ssiode.population_risk.mehler.grid import (
    Axis,
    contract,
    needed_reach,
    product_points,
    total_order,
)
from ssiode.risk_landscape.at_origin.numbers import Number
from ssiode.risk_landscape.at_origin.student_symmetry import Beta, StudentSymmetry
from ssiode.risk_landscape.at_origin.student_terms import Key, StudentTerms
from ssiode.threads import one_blas_thread

if TYPE_CHECKING:
    from ssiode.problem import Problem

_LAST_ORDER = 8
# Two levels by number of axes: their difference, many times the error of the finer one, is stated.
_LEVELS = {1: (7, 8), 2: (6, 7), 3: (4, 5)}
_ROUNDING = 64 * 2.0**-53
_SCRAMBLINGS, _LOG2_POINTS = 16, 14
# With 15 degrees of freedom Student's t exceeds this once in 40,000 times.
_STANDARD_ERRORS = 6.0


class TabulatedTerms(StudentTerms):
    """Averages of the outputs of the student's kernel.

    Parameters
    ----------
    problem : Problem

    Examples
    --------
    >>> from ssiode import Attention, Problem, Target
    >>> terms = TabulatedTerms(Problem(Target("z1 + z2"), Attention("trace")))
    >>> round(terms.number((0, (2, 0))).value, 9), terms.key(0, (0, 1))
    (0.140978389, ((0, (1, 0)), 0))
    """

    last_order = _LAST_ORDER

    def __init__(self, problem: Problem) -> None:
        import sympy

        student, length = problem.student, problem.length
        pieces = [*student.kernel_pieces(length), piece("student_outputs")]
        self._kernel = link(pieces).tabulate_outputs
        self._parameters = student.kernel_parameters(length)
        self._workspace_size = student.workspace_size(length)
        self._injected = problem.geometry.injected
        self.n_outputs = student.n_outputs(length)
        self.axes = sympy.eye(length)
        self.symmetry = StudentSymmetry.of(problem)
        self._length = length
        self._known: dict[Key, Number] = {}
        self._is_sampled = length not in _LEVELS
        points = _SCRAMBLINGS * 2**_LOG2_POINTS
        self.how = f"{points} samples of the fields" if self._is_sampled else "a grid of the fields"

    def number(self, key: Key) -> Number:
        """See :meth:`StudentTerms.number`."""
        if key not in self._known:
            self._known[key] = self._number(*key)
        return self._known[key]

    def _number(self, function: int, beta: Beta) -> Number:
        if sum(beta) > _LAST_ORDER:
            raise InputError(f"order {sum(beta)} is above the {_LAST_ORDER} of tabulated students")
        value, error = self._sampled(beta) if self._is_sampled else self._on_grid(beta)
        return Number.of_float(value[function], error[function])

    def _functions(self, x: np.ndarray) -> np.ndarray:
        """All outputs and, last, the squared norm at fields x of shape (n, L)."""
        values = np.empty((len(x), self.n_outputs))
        fields = np.ascontiguousarray(x + self._injected)
        self._kernel(fields, self._parameters, np.empty(self._workspace_size), values)
        return np.concatenate([values.T, np.square(values).sum(axis=1)[None]])

    def _on_grid(self, beta: Beta) -> tuple[np.ndarray, np.ndarray]:
        coarse, fine = self._boxes
        place = (slice(None), *beta)
        root = math.sqrt(math.prod(map(math.factorial, beta)))
        value = root * fine[place]
        error = 2 * np.abs(value - root * coarse[place])
        # In the normalised basis no coefficient, and so no sum of products, exceeds the norm.
        norms = np.sqrt((fine**2).reshape(len(fine), -1).sum(axis=1))
        return value, error + _ROUNDING * root * norms

    @cached_property
    def _boxes(self) -> tuple[np.ndarray, np.ndarray]:
        """Normalised coefficients by two rules, shape (k + 1, 9, ..., 9)."""
        reach = needed_reach(self._functions, self._length, _LAST_ORDER)
        if reach is None:
            raise InputError("the student grows too fast for its averages to be found")
        coarse, fine = (self._box(Axis(level, reach)) for level in _LEVELS[self._length])
        return coarse, fine

    @one_blas_thread()
    def _box(self, axis: Axis) -> np.ndarray:
        values = self._functions(product_points([axis.nodes] * self._length))
        values = values.reshape(-1, *[len(axis.nodes)] * self._length)
        table = axis.table(0.0, _LAST_ORDER)
        for i in reversed(range(self._length)):
            values = contract(table, values, i + 1)
        return np.where(total_order(_LAST_ORDER, self._length) <= _LAST_ORDER, values, 0.0)

    def _sampled(self, beta: Beta) -> tuple[np.ndarray, np.ndarray]:
        """Means and errors over independent scramblings, averaged over equivalent indices."""
        turned = (tuple(np.roll(beta, turn).tolist()) for turn in range(self._length))
        indices = {index for index in turned if self.symmetry.representative(index) == (beta, 1)}
        means = []
        for x, values in self._samples:
            table = hermite_table(x.ravel(), max(beta, default=0)).reshape(-1, *x.shape)
            products = sum(
                np.prod([table[power, :, i] for i, power in enumerate(index) if power] or [1.0], 0)
                for index in sorted(indices or {beta})
            )
            means.append(np.mean(values * products, axis=1) / max(len(indices), 1))
        root = math.sqrt(math.prod(map(math.factorial, beta)))
        spread = np.std(means, axis=0, ddof=1) / math.sqrt(_SCRAMBLINGS)
        return root * np.mean(means, axis=0), _STANDARD_ERRORS * root * spread

    @cached_property
    def _samples(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Gaussian points and the functions there, for each scrambling."""
        from scipy.special import ndtri
        from scipy.stats.qmc import Sobol

        blocks = []
        for scrambling in range(_SCRAMBLINGS):
            sobol = Sobol(self._length, rng=np.random.default_rng([scrambling]))
            uniform = np.clip(sobol.random_base2(_LOG2_POINTS), 1e-12, 1 - 1e-12)
            x = ndtri(uniform)
            blocks.append((x, self._functions(x)))
        return blocks
