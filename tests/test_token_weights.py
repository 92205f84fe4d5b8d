"""Tied networks that weigh the tokens."""

import numpy as np
import pytest

from ssiode import Encoding, InputError, Problem, Target, TiedNetwork, landscape, risk, run_chain
from ssiode.kernels.linker import link, piece
from ssiode.student import Student
from ssiode.student.token_weights import token_weights

SETTINGS = {"activation": "tanh", "scale": 1.5}


def output_of(student, z):
    kernels = link([*student.kernel_pieces(len(z)), piece("student_outputs")])
    outputs = np.empty((1, 1))
    kernels.tabulate_outputs(z[None], student.kernel_parameters(len(z)), np.empty(1), outputs)
    return outputs[0, 0]


def test_the_output_is_the_formula():
    weights = np.array([2.0, -1.0, 0.5])
    z = np.array([0.3, -0.7, 1.1])
    scaled = weights * np.sqrt(3 / np.sum(weights**2))
    expected = 1.5 * np.tanh(scaled @ z / np.sqrt(3))
    student = TiedNetwork(**SETTINGS, token_weights=weights.tolist())
    assert output_of(student, z) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("engine", ["series", "quadrature", "montecarlo"])
def test_opposite_weights_turn_a_token_round(engine):
    weighted = Problem(Target("z1 - z2"), TiedNetwork(**SETTINGS, token_weights=(1, -1)))
    plain = Problem(Target("z1 + z2"), TiedNetwork(**SETTINGS))
    found, expected = (risk(p, m=0.4, engine=engine) for p in (weighted, plain))
    error = found.value_error + expected.value_error
    assert abs(found.value - expected.value) <= 4 * error
    assert found.second_moment == pytest.approx(expected.second_moment, rel=0.05)


@pytest.mark.parametrize("encoding", [Encoding(), Encoding("orthonormal", norm=0.8)])
def test_engines_agree(encoding):
    student = TiedNetwork("s^2 + s", token_weights=(2, -1))
    problem = Problem(Target("z1*z2 + z1"), student, encoding)
    e = None if encoding.kind == "none" else (0.3, -0.2)
    series = risk(problem, e, 0.5)
    assert series.engine == "series"
    other = risk(problem, e, 0.5, engine="quadrature")
    np.testing.assert_allclose(series.gradient, other.gradient, atol=1e-9)
    assert series.value == pytest.approx(other.value, abs=1e-9)
    exact = problem.symbolic_risk().value if encoding.kind == "none" else None
    if exact is not None:
        assert float(exact.subs(dict.fromkeys(exact.free_symbols, 0.5))) == pytest.approx(
            series.value, abs=1e-12
        )


def test_equal_weights_are_the_plain_network():
    target = Target("sum(He2(z)) + z1", length=3)
    plain, weighted = (
        risk(Problem(target, TiedNetwork("relu", token_weights=w)), m=0.3)
        for w in (None, (2, 2, 2))
    )
    assert weighted.value == pytest.approx(plain.value, rel=1e-13)
    np.testing.assert_allclose(weighted.gradient, plain.gradient, rtol=1e-12)


def test_sgd_leaves_the_origin_where_the_plain_network_sees_nothing():
    weighted = Problem(Target("z1 - z2"), TiedNetwork("relu", token_weights=(1, -1)))
    assert landscape(weighted, minima=False).escape_order == 1
    blind = Problem(Target("z1 + z2"), TiedNetwork("relu", token_weights="alternating"))
    found = landscape(blind, minima=False)
    assert found.escape_order is None
    assert any("direction of the token weights" in line for line in found.explanations)


@pytest.mark.slow
def test_the_chain_learns():
    problem = Problem(Target("z1 - z2"), TiedNetwork("relu", token_weights=(1, -1)))
    settings = {"gamma": 0.2, "d": 200, "steps": 6000, "replicas": 4, "records": 1}
    assert np.all(run_chain(problem, **settings).m[:, -1] > 0.7)


def test_drawn_weights_depend_on_their_seed_alone():
    first, again, other = (token_weights("random", seed, 5) for seed in (1, 1, 2))
    assert first == again != other
    assert token_weights("random", None, 5) == token_weights("random", 0, 5)
    assert set(token_weights("signs", 3, 50)) == {-1.0, 1.0}


def test_huge_and_tiny_weights_have_a_direction():
    for factor in (1e-200, 1e200):
        axes = TiedNetwork("relu", token_weights=(3 * factor, -4 * factor)).axes(2)
        np.testing.assert_allclose(axes, [[0.6, -0.8]], rtol=1e-14)


def test_tables_round_trip_and_plain_networks_keep_theirs():
    student = TiedNetwork("relu", token_weights=(1, -1))
    assert Student.from_table(student.to_table()) == student
    drawn = TiedNetwork("relu", token_weights="signs", token_seed=4)
    assert Student.from_table(drawn.to_table()) == drawn
    assert set(TiedNetwork("relu").to_table()) == {"kind", "activation", "scale"}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"token_weights": (0, 0)}, "all 0"),
        ({"token_weights": (1, float("nan"))}, "finite"),
        ({"token_weights": "sign"}, "did you mean 'signs'|allowed"),
        ({"token_weights": (1, -1), "token_seed": 3}, "leave it out"),
        ({"token_weights": "signs", "token_seed": -1}, "token_seed"),
    ],
)
def test_bad_weights_are_refused(settings, words):
    with pytest.raises(InputError, match=words):
        TiedNetwork("relu", **settings)


def test_a_list_of_another_length_is_refused():
    with pytest.raises(InputError, match="one per token"):
        Problem(Target("z1 - z2"), TiedNetwork("relu", token_weights=(1, 2, 3)))
