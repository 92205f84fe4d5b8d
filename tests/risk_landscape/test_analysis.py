"""All parts of a landscape together, and encodings side by side."""

import json

import pytest

import ssiode
from ssiode import Attention, Encoding, Problem, Target, TiedNetwork
from ssiode.cli.output import plain
from ssiode.errors import InputError
from ssiode.risk_landscape import analysis
from ssiode.risk_landscape.comparison import encoded_problems

HE4 = Problem(Target("He4(z1) + He4(z2)"), Attention("trace"), Encoding("opposite"))


def test_verdict_of_a_local_minimum_at_the_origin():
    found = ssiode.landscape(HE4)
    assert (found.exponent.sie, found.flatness_index, found.escape_order) == (4, 2, None)
    assert "the origin is a local minimum" in found.verdict
    assert [one.kind for one in found.minima.minima] == ["uninformed"]
    assert found.largest_gamma is None
    assert found.steepest_direction is None


def test_plain_data_has_the_promised_keys():
    problem = Problem(Target("He2(z1) + He2(z2)"), Attention("trace"), Encoding("opposite"))
    data = json.loads(json.dumps(plain(ssiode.landscape(problem).as_dict())))
    assert data["flatness_index"] == data["escape_order"] == 2
    assert data["hessian"]["mm"] == pytest.approx(-2 * 0.563914, abs=1e-6)
    assert data["hessian"]["ee"] == pytest.approx(2.076008, abs=1e-6)
    assert data["hessian"]["em"] == 0
    assert data["steepest_direction"] == {"e": [0.0, 0.0], "m": 1.0}
    assert data["leading_form"].endswith("- 0.563914 m^2")
    assert [set(one) >= {"e", "m", "risk"} for one in data["minima"]] == [True, True]


def test_noise_stops_growth_at_the_largest_learning_rate():
    problem = Problem(Target("He2(z1) + He2(z2)"), Attention("trace"))
    found = ssiode.landscape(problem, minima=False)
    for factor, grows in ((0.95, True), (1.05, False)):
        gamma = factor * found.largest_gamma
        solution = ssiode.solve_ode(problem, gamma=gamma, t_max=5.0, m=1e-4)
        assert bool(solution.m[-1] > 1e-4) is grows


def test_directions_are_named_as_minima_are():
    """With an encoding along the teacher e moves with m, and that is the semantic direction."""
    rows = Encoding("gram", matrix=((1, 1), (1, 1)), teacher_overlap=(1, 1))
    problem = Problem(Target("He1(z1) + He2(z2)"), Attention("trace"), rows)
    found = ssiode.landscape(problem)
    assert "along m, the semantic direction" in found.verdict
    assert {one.kind for one in found.minima.minima} == {"semantic"}


def test_largest_learning_rate_has_an_error():
    long = Problem(Target("sum(He2(z))", length=5), Attention("trace"))
    found = ssiode.landscape(long, minima=False)
    assert 0 < found.largest_gamma_error < 0.05 * found.largest_gamma
    assert "+-" in found.verdict


def test_no_noise_gives_no_largest_learning_rate():
    problem = Problem(Target("He2(z1) + He2(z2)"), Attention("trace"), Encoding(injected=(1e6, 1)))
    assert ssiode.landscape(problem, minima=False).largest_gamma is None


def test_constant_students_see_nothing():
    problem = Problem(Target("He2(z1)"), TiedNetwork("He0"))
    found = ssiode.landscape(problem)
    assert found.descent.status == "flat"
    assert found.explanations == (
        "the student is constant: the risk has no term of order 2 in m alone",
    )


def test_interrupted_search_keeps_what_is_known(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(analysis, "_minima", interrupted)
    found = ssiode.landscape(HE4)
    assert (found.status, found.minima, found.flatness_index) == ("interrupted", None, 2)
    assert found.as_dict()["minima"] is None


def test_minima_are_left_out_on_request():
    found = ssiode.landscape(HE4, minima=False)
    assert found.minima is None
    assert found.as_dict()["minima"] is None


@pytest.mark.parametrize(
    ("order", "words"), [(1, ">= 2"), (20, "end at order 8"), (2.5, "whole number")]
)
def test_orders_out_of_range_are_refused(order, words):
    with pytest.raises(InputError, match=words):
        ssiode.landscape(HE4, max_order=order, minima=False)


def test_compared_encodings_keep_what_the_problem_says():
    own = Encoding("random", norm=2.0, dimension=5, seed=3, injected=(0.1, 0.2))
    problem = Problem(Target("z1 - z2"), Attention("trace"), own)
    found = encoded_problems(problem, ["random", "opposite+injected", "injected", "none"])
    encodings = [one.encoding for one in found.values()]
    assert (encodings[0].dimension, encodings[0].seed, encodings[0].injected) == (5, 3, None)
    assert (encodings[1].norm, encodings[1].injected) == (2.0, (0.1, 0.2))
    assert [one.kind for one in encodings[2:]] == ["none", "none"]
    orders = [ssiode.landscape(one, minima=False).escape_order for one in found.values()]
    assert orders == [2, 1, 1, None]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["oposite"], "did you mean 'opposite'"),
        (["matrix"], "--matrix"),
        (["injected"], "--injected"),
        ([], "give kinds"),
        (["none", "none"], "each of them once"),
    ],
)
def test_encodings_that_cannot_be_compared_are_refused(names, words):
    with pytest.raises(InputError, match=words):
        encoded_problems(HE4, names)


@pytest.mark.parametrize("kind", ["none", "opposite", "orthonormal"])
def test_figure_shows_the_minima(kind):
    problem = Problem(Target("He2(z1) + He2(z2)"), TiedNetwork("relu"), Encoding(kind))
    figure = ssiode.landscape(problem).figure(size=21)
    legends = [*figure.legends, *(ax.get_legend() for ax in figure.axes if ax.get_legend())]
    labels = {text.get_text() for legend in legends for text in legend.get_texts()}
    expected = "mixed minimum" if kind == "orthonormal" else "semantic minimum"
    assert expected in labels


@pytest.mark.parametrize(
    ("target", "student"),
    [
        ("He2(z1) + z2", Attention("trace", scale=0.0)),
        ("He2(z1) + z2", Attention("projection", left=(0, 0), right=(1, 0))),
        ("He2(z1) + z1", Attention("trace")),
        ("He2(z1) + z2", TiedNetwork("relu", scale=0.0)),
    ],
)
def test_a_student_that_ignores_its_fields_is_named(target, student):
    found = ssiode.landscape(Problem(Target(target), student), minima=False)
    assert found.escape_order is None
    assert "the risk does not depend on the overlaps" in found.verdict
    assert all(line.startswith("the student is constant") for line in found.explanations)
