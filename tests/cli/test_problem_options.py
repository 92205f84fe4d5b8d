import numpy as np
import pytest

from ssiode.cli.problem_options import _FLAGS, build_problem, parse_parameters
from ssiode.errors import InputError


def flags(**given):
    return {name.removeprefix("--").replace("-", "_"): None for name in _FLAGS} | given


def test_flags_alone_make_a_problem():
    problem = build_problem(None, (), flags(target="z1*z2", student="tied", gamma=0.3, d=50))
    assert problem.student.kind == "tied"
    assert (problem.sgd.gamma, problem.sgd.d) == (0.3, 50)


def test_another_kind_drops_the_settings_of_the_file(problem_file):
    path = problem_file(
        "[target]\nexpression = 'z1*z2'\n[student]\nkind = 'tied'\nactivation = 'tanh'\n"
    )
    assert build_problem(path, (), flags(student="attention")).student.kind == "attention"
    assert build_problem(path, (), flags(student="tied")).student.activation == "tanh"


def test_another_target_keeps_the_label_noise(problem_file):
    path = problem_file(
        "[target]\nname = 'positional-semantic'\nomega = 0.5\na = 1.0\nlabel_noise = 0.1\n"
        "[student]\nreduction = 'trace'\n"
    )
    problem = build_problem(path, (), flags(target="z1*z2"))
    assert problem.target.expressions is not None
    assert problem.label_noise == 0.1


def test_a_matrix_comes_from_a_file(tmp_path):
    np.save(tmp_path / "rows.npy", np.array([[1.0, 0.0, 0.5], [0.0, 2.0, 0.0]]))
    given = flags(target="z1*z2", encoding="matrix", matrix=str(tmp_path / "rows.npy"))
    problem = build_problem(None, (), given)
    np.testing.assert_allclose(problem.geometry.gram, [[1.25, 0.0], [0.0, 4.0]])


def test_parameters_are_exact():
    problem = build_problem(None, ("b=1/3",), flags(target="b*z1", student="tied"))
    assert str(problem.target.expressions[0]) == "z1/3"


@pytest.mark.parametrize("pair", ["b", "=2", "b=", ""])
def test_a_malformed_parameter_is_refused(pair):
    with pytest.raises(InputError, match="NAME=VALUE"):
        parse_parameters((pair,))
