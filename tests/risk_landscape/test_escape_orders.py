"""The escape order against the gradient flow, which knows nothing of expansions."""

import numpy as np
import pytest

from ssiode import Attention, Encoding, Problem, Target, TiedNetwork
from ssiode.risk_landscape.at_origin.descent import descent
from ssiode.risk_landscape.at_origin.taylor import TaylorExpansion
from ssiode.risk_landscape.coordinates import FeasibleCoordinates
from ssiode.risk_landscape.escape.flow import flow_from
from tests.risk_landscape.at_origin.problems import random_polynomial

_SIZE, _FACTOR = 0.02, 5
_STARTS = 12
# Forms of order 4 with coefficients of 1 leave in a time of 1 / (8 * 0.02^2) = 300.
_LONGEST = 3000.0
_STUDENTS = (Attention("trace"), Attention("trace", scale=0.7), TiedNetwork("He1"))
_ENCODINGS = (Encoding(), Encoding("opposite"), Encoding("orthonormal"))


def random_problem(generator):
    target = Target(random_polynomial(generator), length=2)
    student = _STUDENTS[generator.integers(len(_STUDENTS))]
    return Problem(target, student, _ENCODINGS[generator.integers(len(_ENCODINGS))])


def departures(problem, directions):
    """Of starts of a small norm: the number that the flow takes five times as far."""
    coordinates = FeasibleCoordinates(problem.geometry)
    lengths = np.linalg.norm(coordinates.coordinates(directions), axis=1, keepdims=True)
    starts = _SIZE * directions / lengths
    norms = np.linalg.norm(starts, axis=1)
    flow = flow_from(
        problem, None, 0.0, starts, t_max=_LONGEST, threshold=_FACTOR * float(norms.max())
    )
    assert flow.status == "finished", flow.message
    return flow.count("crossed")


@pytest.mark.slow
def test_flows_leave_the_origin_where_the_escape_order_says_so():
    generator = np.random.default_rng(5)
    seen = {"descends": 0, "minimum": 0}
    orders = set()
    for _ in range(200):
        problem = random_problem(generator)
        found = descent(TaylorExpansion(problem), 4)
        if found.status == "descends":
            orders.add(found.order)
            assert departures(problem, found.direction[None]) == 1, problem
        elif found.status == "minimum":
            coordinates = FeasibleCoordinates(problem.geometry)
            normals = generator.standard_normal((_STARTS, coordinates.dimension))
            assert departures(problem, coordinates.overlaps(normals)) == 0, problem
        else:
            continue
        seen[found.status] += 1
    assert min(seen.values()) >= 20  # or one of the two verdicts was not tried
    assert orders >= {1, 2, 4}
