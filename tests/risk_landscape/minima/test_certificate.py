"""The proof must fail where a minimum is not listed, and find a narrow one."""

import numpy as np
import pytest

from ssiode import Encoding, Problem, Target, TiedNetwork
from ssiode.population_risk import make_engine
from ssiode.risk_landscape.minima import local_minima
from ssiode.risk_landscape.minima.certificate import certify
from ssiode.risk_landscape.minima.multi_start import search
from ssiode.risk_landscape.minima.reduced_risk import ReducedRisk
from tests.risk_landscape.minima.problems import (
    HE2,
    HE4,
    TabulatedRisk,
    along_the_teacher,
    positional_semantic,
    trace,
)


@pytest.mark.parametrize(
    "problem",
    [
        trace(HE2, "none"),
        trace(HE4, "none"),
        trace(),
        trace(HE4),
        positional_semantic(0.67),
        positional_semantic(0.98, 0.76),
        along_the_teacher(),
        Problem(Target(HE2), TiedNetwork("tanh"), Encoding("orthonormal")),
    ],
)
def test_no_certificate_without_one_of_the_minima(problem):
    risk = ReducedRisk(make_engine(problem))
    found = search(risk, 8, seed=0)
    assert certify(risk, found.minima, found.soft_saddles).is_certified
    for i, missing in enumerate(found.minima):
        rest = found.minima[:i] + found.minima[i + 1 :]
        certificate = certify(risk, rest, found.soft_saddles)
        assert certificate.status == "not certified"
        if rest:
            distances = np.linalg.norm(certificate.unresolved - missing.y, axis=1)
            assert distances.min() < 1e-3


def narrow_well():
    """R = (m - 0.2)^2 with a well of width 0.01 at m = -0.4, as a table in e."""
    return TabulatedRisk(
        lambda x: (x - 0.2) ** 2 - 0.03 * np.exp(-((x + 0.4) ** 2) / (2 * 0.01**2)),
        degree=900,
        problem=along_the_teacher(),
        slope=1.0,
    )


def test_narrow_minimum_that_all_starts_miss_prevents_the_certificate():
    risk = ReducedRisk(narrow_well())
    found = search(risk, 1, seed=0)
    np.testing.assert_allclose([p.y for p in found.minima], [[0.2]], atol=1e-9)
    certificate = certify(risk, found.minima, found.soft_saddles, found.search_size)
    assert not certificate.is_certified
    assert "another minimum" in certificate.reason
    assert np.abs(certificate.unresolved + 0.4).max() < 0.02


def test_narrow_minimum_is_found_where_the_certificate_fails():
    engine = narrow_well()
    found = local_minima(engine.problem, engine=engine, starts=1)
    assert found.certificate.is_certified
    np.testing.assert_allclose([m.m for m in found.minima], [0.2, -0.4], atol=0.02)


def test_narrow_minimum_on_the_boundary_prevents_the_certificate():
    # R = -2 m - (narrow well at x = 0.6) falls outwards everywhere on the upper arc.
    engine = TabulatedRisk(
        lambda x: -0.1 * np.exp(-((x - 0.6) ** 2) / (2 * 0.03**2)), lambda x: -2 + 0 * x, degree=300
    )
    risk = ReducedRisk(engine)
    found = search(risk, 1, seed=0)
    kept = [p for p in found.minima if abs(p.y[0]) < 0.1]
    assert len(kept) == 1
    certificate = certify(risk, kept)
    assert not certificate.is_certified
    assert np.linalg.norm(certificate.unresolved - [0.6, 0.8], axis=1).min() < 0.02
    assert local_minima(engine.problem, engine=engine).certificate.is_certified


def test_two_minima_so_close_that_the_region_between_them_is_nearly_flat():
    # R = (x^2 - w^2)^2 + m^2: minima at x = -w, w with curvature 8 w^2 and a low saddle between.
    w = 0.01
    engine = TabulatedRisk(
        lambda x: (x**2 - w**2) ** 2, lambda x: 0 * x, lambda x: 1.0 + 0 * x, degree=6
    )
    found = local_minima(engine.problem, engine=engine)
    np.testing.assert_allclose([m.coordinates[0] for m in found.minima], [-w, w], atol=1e-6)
    assert found.certificate.is_certified


def test_degenerate_saddle_is_no_minimum():
    # R = x^2 - m^4 (1 - m^2): no curvature along m at the origin, but it descends.
    engine = TabulatedRisk(
        lambda x: x**2, *[lambda x: 0 * x] * 3, lambda x: -1 + 0 * x, lambda x: 0 * x,
        lambda x: 1 + 0 * x, degree=4,
    )  # fmt: skip
    found = local_minima(engine.problem, engine=engine)
    np.testing.assert_allclose([abs(m.m) for m in found.minima], [(2 / 3) ** 0.5] * 2, atol=1e-9)
    assert found.certificate.is_certified
    assert 0 < found.certificate.resolution < 1e-3
    assert "without curvature" in found.certificate.reason


def test_bent_valley_that_descends_is_no_minimum():
    # Along m alone R = m^4 rises; along x = m^2 it is x^2 - 3 x m^2 + m^4 = -m^4.
    engine = TabulatedRisk(
        lambda x: x**2, lambda x: 0 * x, lambda x: -3 * x, lambda x: 0 * x, lambda x: 1 + 0 * x,
        degree=4,
    )  # fmt: skip
    found = local_minima(engine.problem, engine=engine)
    assert all(m.is_boundary for m in found.minima)


def test_error_of_the_engine_is_in_the_proof():
    risk = ReducedRisk(make_engine(trace(HE2, "none")))
    found = search(risk, 8, seed=0)
    estimates = risk.engine.estimates

    def blurred(v):
        value, error = estimates(v)
        return type(estimates(v))(value, error + 5.0)

    risk.engine.estimates = blurred
    assert not certify(risk, found.minima, found.soft_saddles).is_certified
