"""Problems and their files: round trips, and what is refused in one line."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest

from ssiode.dynamics import run_sgd
from ssiode.encoding import Encoding
from ssiode.loss import FrobeniusLoss, SquaredLoss
from ssiode.problem import Problem, load_rows, read_tables
from ssiode.settings import InitialCondition, SGDSettings
from ssiode.student import Attention, LinearAttention, TiedNetwork
from ssiode.target import Target
from tests.checks import refuses

PROBLEMS = {
    "defaults": Problem(Target("z1*z2"), TiedNetwork()),
    "positional-semantic": Problem(
        Target.named("positional-semantic", omega=0.67, a=1.0),
        Attention("identity"),
        Encoding("opposite", norm=2.0),
        SquaredLoss(0.5),
        0.25,
        SGDSettings(gamma=0.1, d=50, batch=2, steps=10, replicas=3, seed=2**70),
        InitialCondition("fixed", e=(0.1, -0.1), m=0.2),
    ),
    "everything": Problem(
        Target("b*z1 + c", length=3, parameters={"b": "1/3", "c": 0.1}),
        Attention("projection", 0.5, (1.0, 2.0, 3.0), (0.0, 1.0, -1.0)),
        Encoding(
            "matrix",
            matrix=((0.1, 0.2, 1.0), (1e-10, 3.0, 0.0), (1e6, -0.5, 2.0)),
            teacher_overlap=(0.0, 0.1, 0.0),
            injected=(0.1, 0.2, 0.3),
        ),
        FrobeniusLoss(3.0),
    ),
    "one overlap": Problem(
        Target("z1^2 + z2^2"),
        LinearAttention(),
        Encoding("orthonormal"),
        initial=InitialCondition("fixed", e=0.1),
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_files_round_trip(name, tmp_path):
    problem = PROBLEMS[name]
    path = tmp_path / "problem.toml"
    problem.to_toml(path)
    again = Problem.from_toml(str(path))
    assert again.to_tables() == problem.to_tables()
    for part in ("student", "encoding", "loss", "label_noise", "sgd", "initial"):
        assert getattr(again, part) == getattr(problem, part)
    assert again.target.expressions == problem.target.expressions
    assert again.length == problem.length
    assert np.array_equal(again.geometry.metric, problem.geometry.metric)


def test_a_minimal_file_has_defaults():
    problem = Problem.from_tables({"target": {"expression": "z1*z2"}})
    assert problem.student == Attention("trace")
    assert problem.encoding == Encoding("none")
    assert problem.loss == SquaredLoss()
    assert (problem.label_noise, problem.sgd, problem.initial.kind) == (
        0.0,
        SGDSettings(),
        "random",
    )


def test_tables_are_not_changed():
    tables = {"target": {"expression": "z1*z2", "label_noise": 0.5}, "student": {"kind": "tied"}}
    Problem.from_tables(tables)
    assert tables["target"] == {"expression": "z1*z2", "label_noise": 0.5}
    assert tables["student"] == {"kind": "tied"}


def test_functions_cannot_be_written():
    problem = Problem(Target(lambda z: z[..., 0], length=2), TiedNetwork())
    refuses(problem.to_tables, "function")


def test_a_file_that_cannot_be_written(tmp_path):
    refuses(lambda: PROBLEMS["defaults"].to_toml(tmp_path / "no" / "problem.toml"), "cannot write")


TARGET = '[target]\nexpression = "z1*z2"\n'


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        # Unknown keys at every level, with the nearest one.
        ('[targt]\nexpression = "z1"', ["table 'targt'", "did you mean 'target'?"]),
        (TARGET + "lenght = 2", ["key of target 'lenght'", "'length'"]),
        (TARGET + "[student]\nreductoin = 'trace'", ["key of student 'attention'", "'reduction'"]),
        (TARGET + "[student]\nkind = 'tide'", ["student 'tide'", "'tied'"]),
        (TARGET + "[student]\nkind = 'tied'\nreduction = 'trace'", ["key of student 'tied'"]),
        (TARGET + "[encoding]\nkid = 'none'", ["key of encoding 'kid'", "'kind'"]),
        (TARGET + "[encoding]\nkind = 'oposite'", ["'opposite'"]),
        (TARGET + "[loss]\nscal = 1", ["key of loss 'squared'", "'scale'"]),
        (TARGET + "[sgd]\ngama = 1", ["key of sgd 'gama'", "'gamma'"]),
        (TARGET + "[initial]\nkind = 'fixed'\nn = 1", ["key of initial 'n'"]),
        (TARGET + "[student]\n'a\\nb' = 1", ["key of student"]),
        (TARGET + '["a\\nb"]', ["unknown table"]),
        (TARGET + f"[sgd]\n{'x' * 500} = 1", ["key of sgd"]),
        # Wrong types: strings for numbers, lists for scalars, booleans, nested tables, dates.
        (TARGET + "label_noise = '1'", ["label_noise is '1'"]),
        (TARGET + "label_noise = true", ["label_noise is True"]),
        (TARGET + "label_noise = [1]", ["label_noise is [1]"]),
        (TARGET + "label_noise = nan", ["label_noise is nan"]),
        (TARGET + "length = '2'", ["length is '2'"]),
        (TARGET + "length = [2]", ["length is [2]"]),
        (TARGET + "length = 2.5", ["length is 2.5"]),
        (TARGET + "parameters = 3", ["table"]),
        (TARGET + "parameters = {z1 = 3}", ["z1"]),
        ("[target]\nexpression = 3", ["text"]),
        ("[target]\nexpression = ['z1', 2]", ["text"]),
        ("[target]\nexpression = 1979-05-27", ["text"]),
        ("target = 'z1'", ["[target] is 'z1'", "table"]),
        ("[[target]]\nexpression = 'z1'", ["[target] is", "table"]),
        (TARGET + "[sgd]\ngamma = '0.5'", ["gamma is '0.5'"]),
        (TARGET + "[sgd]\ngamma = 1979-05-27", ["gamma is"]),
        (TARGET + "[sgd]\ngamma = inf", ["gamma is inf"]),
        (TARGET + "[sgd]\nsteps = {n = 1}", ["steps is {'n': 1}"]),
        (TARGET + "[sgd]\nd = true", ["d is True"]),
        (TARGET + "[sgd]\nd = 1000.5", ["d is 1000.5"]),
        (TARGET + f"[sgd]\nsteps = 1{'0' * 400}", ["steps is 1000"]),
        (TARGET + f"[sgd]\nsteps = 1{'0' * 5000}", ["not a TOML file"]),
        (TARGET + "[sgd.gamma]\nx = 1", ["gamma is {'x': 1}"]),
        (TARGET + "[student]\nkind = 3", ["student '3'"]),
        (TARGET + "[student]\nkind = 'tied'\nactivation = ['relu']", ["activation"]),
        (TARGET + "[student]\nscale = [1]", ["student scale is [1]"]),
        (TARGET + "[encoding]\nkind = 'matrix'", ["needs 'matrix'"]),
        (TARGET + "[encoding]\nkind = 'matrix'\nmatrix = 3", ["list of rows"]),
        (TARGET + "[encoding]\nkind = 'matrix'\nmatrix = [['1'], ['2']]", ["'1'"]),
        (TARGET + "[encoding]\nkind = 'matrix'\nmatrix = 'no.npy'", ["no.npy", ".npy file"]),
        (TARGET + '[encoding]\nkind = "matrix"\nmatrix = "a\\nb.npy"', ["cannot read"]),
        (TARGET + '[encoding]\nkind = "matrix"\nmatrix = "a\\u0000b"', ["cannot read"]),
        (TARGET + "[encoding]\nkind = 'opposite'\nnorm = '1'", ["norm"]),
        (TARGET + "[encoding]\nkind = 'opposite'\ninjected = 0.1", ["injected is 0.1"]),
        (TARGET + "[encoding]\nkind = 'opposite'\ninjected = [0.1]", ["injected has 1"]),
        (TARGET + "[loss]\nscale = 'x'", ["loss scale"]),
        (TARGET + "[initial]\nkind = 'fixed'\nm = 'x'", ["m is 'x'"]),
        (TARGET + "[initial]\nkind = 'fixed'\nm = 1.5", ["infeasible"]),
        (TARGET + "[initial]\nkind = 'fixed'\ne = [1, 2, 3]", ["3 entries"]),
        # Not TOML at all.
        ("[target", ["not a TOML file"]),
        ("a = 1\na = 2", ["not a TOML file"]),
        ("x = " + "[" * 5000, ["not a TOML file"]),
        ("", ["no target"]),
    ],
)
def test_bad_files_are_refused(tmp_path, text, parts):
    path = tmp_path / "problem.toml"
    path.write_text(text, encoding="utf-8")
    refuses(lambda: Problem.from_toml(path), *parts)


def test_files_that_cannot_be_read(tmp_path):
    refuses(lambda: Problem.from_toml(tmp_path / "no\nfile.toml"), "cannot read", "No such file")
    refuses(lambda: Problem.from_toml(tmp_path), "cannot read")
    refuses(lambda: Problem.from_toml("a\0b"), "null")
    (tmp_path / "latin.toml").write_bytes("# caf\xe9".encode("latin-1"))
    refuses(lambda: Problem.from_toml(tmp_path / "latin.toml"), "not a TOML file")


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "large", "keys", "nothing"])
def test_what_is_no_problem_file_is_refused_at_once(tmp_path, kind):
    path = tmp_path / "problem.toml"
    part = "no file but a folder, a pipe or a device"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path = Path("/dev/zero")
    elif kind == "large":
        path.write_text("#" * (10**6 + 1))
        part = "at most 1000000"
    elif kind == "keys":
        path.write_text(" . ".join(["a"] * 50_000) + " = 1")
        part = "parts"
    else:
        part = "No such file"
    start = time.perf_counter()
    refuses(lambda: read_tables(path), part)
    assert time.perf_counter() - start < 1


def test_long_lists_of_numbers_are_no_long_keys(tmp_path):
    path = tmp_path / "problem.toml"
    path.write_text(f"[encoding]\nmatrix = [{[0.5] * 1000}]  # 1. 2. 3. a.b.c.d ......\n")
    assert len(read_tables(path)["encoding"]["matrix"][0]) == 1000


def test_a_mark_of_the_byte_order_is_skipped(tmp_path):
    path = tmp_path / "problem.toml"
    path.write_text("[target]\nexpression = 'z1'\n", encoding="utf-8-sig")
    assert read_tables(path) == {"target": {"expression": "z1"}}


def test_a_missing_matrix_is_not_called_damaged(tmp_path):
    refuses(lambda: load_rows(tmp_path / "rows.npy"), "No such file", "give a .npy file")
    refuses(lambda: load_rows(tmp_path), "no file")
    (tmp_path / "rows.npy").write_bytes(b"no array")
    refuses(lambda: load_rows(tmp_path / "rows.npy"), "damaged")


def test_an_overlap_that_is_not_given_stays():
    target, fixed = Target("z1*z2"), InitialCondition("fixed", e=(0.1, -0.1), m=0.3)
    problem = Problem(target, Attention(), Encoding("opposite"), initial=fixed)
    assert problem.initial_state(e=(0.2, -0.2)).tolist() == [0.2, -0.2, 0.3]
    assert problem.initial_state(m=0.4).tolist() == [0.1, -0.1, 0.4]
    run = run_sgd(problem, e=(0.2, -0.2), d=10, steps=1, replicas=1, gamma=0.0)
    np.testing.assert_allclose(run.v[0, 0], [0.2, -0.2, 0.3], atol=1e-14)
    assert problem.replace(initial=InitialCondition()).initial_state(m=0.4).tolist() == [0, 0, 0.4]


def test_matrix_beside_the_file(tmp_path):
    rows = np.array([[1, 2], [3, 4]])
    np.save(tmp_path / "rows.npy", rows)
    path = tmp_path / "problem.toml"
    path.write_text(TARGET + "[encoding]\nkind = 'matrix'\nmatrix = 'rows.npy'")
    assert read_tables(path)["encoding"]["matrix"] == [[1.0, 2.0], [3.0, 4.0]]
    assert np.array_equal(Problem.from_toml(path).geometry.gram, rows @ rows.T)


def saved(path, array, **options):
    np.save(path, array, **options)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("damage", "part"),
    [
        (lambda path: b"", "cannot read"),
        (lambda path: b"1,2,3\n", "cannot read"),
        (lambda path: b"PK\x03\x04", "cannot read"),
        (lambda path: saved(path, np.eye(3))[:-5], "cannot read"),
        (lambda path: saved(path, np.eye(3))[:40], "cannot read"),
        (lambda path: saved(path, np.eye(3)).replace(b"{'descr'", b"{{descr''"), "cannot read"),
        (lambda path: saved(path, np.eye(3)).replace(b"(3, 3)", b"(9" + b"9" * 17 + b", 3)"), ""),
        (lambda path: saved(path, np.array([[1, None]]), allow_pickle=True), "cannot read"),
        (lambda path: saved(path, np.ones((2, 2), dtype=bool)), "real numbers"),
        (lambda path: saved(path, np.ones((2, 2), dtype=complex)), "real numbers"),
        (lambda path: saved(path, np.array([["a", "b"]])), "real numbers"),
        (lambda path: saved(path, np.ones(3)), "two-dimensional"),
        (lambda path: saved(path, np.ones((2, 2, 2))), "two-dimensional"),
    ],
)
def test_damaged_matrices_are_refused(tmp_path, damage, part):
    path = tmp_path / "rows.npy"
    path.write_bytes(damage(path))
    refuses(lambda: load_rows(path), part, "rows.npy")


def test_an_archive_is_no_matrix(tmp_path):
    np.savez(tmp_path / "rows.npz", rows=np.eye(2))
    refuses(lambda: load_rows(tmp_path / "rows.npz"), "cannot read")
    refuses(lambda: load_rows(tmp_path), "cannot read")


@pytest.mark.parametrize("kind", ["<f4", ">f8", "<i2", "<u1"])
def test_matrices_of_all_real_types(tmp_path, kind):
    np.save(tmp_path / "rows.npy", np.array([[1, 2]], dtype=kind))
    assert load_rows(tmp_path / "rows.npy") == [[1.0, 2.0]]


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"student": Attention("identity")}, ["1 outputs", "4"]),
        ({"student": Attention("projection", left=(1, 2, 3), right=(1, 2))}, ["left has 3"]),
        ({"encoding": Encoding("opposite", teacher_overlap=(0.1, 0.1))}, ["negative eigenvalue"]),
        ({"label_noise": -0.1}, ["label_noise"]),
        ({"label_noise": "0.1"}, ["label_noise"]),
        ({"initial": InitialCondition("fixed", e=0.1)}, ["infeasible"]),
    ],
)
def test_parts_that_do_not_fit_are_refused(options, parts):
    arguments = {"target": Target("z1*z2"), "student": TiedNetwork(), **options}
    refuses(lambda: Problem(**arguments), *parts)


def test_odd_lengths_have_no_opposite_encoding():
    refuses(lambda: Problem(Target("z1"), Attention(), Encoding("opposite")), "even length")


def test_replace_changes_fields_and_settings():
    problem = PROBLEMS["one overlap"]
    changed = problem.replace(gamma=0.5, d=20, label_noise=1.0)
    assert (changed.sgd.gamma, changed.sgd.d, changed.label_noise) == (0.5, 20, 1.0)
    assert changed.sgd.steps == problem.sgd.steps
    assert problem.label_noise == 0.0
    assert problem.replace(sgd=SGDSettings(d=30), gamma=0.25).sgd == SGDSettings(0.25, 30)
    refuses(lambda: problem.replace(gamma=-1), "gamma")


def test_initial_states():
    problem = PROBLEMS["one overlap"]
    assert problem.initial_state().tolist() == [0.1, 0.1, 0.0]
    assert problem.initial_state(m=0.3).tolist() == [0.1, 0.1, 0.3]
    assert problem.initial_state(e=(0.1, 0.2)).tolist() == [0.1, 0.2, 0.0]
    random = PROBLEMS["defaults"]
    assert np.array_equal(random.initial_state(), random.initial_state())
    assert not np.array_equal(random.initial_state(), random.replace(seed=1).initial_state())


def test_smoothness_is_that_of_all_parts():
    smooth = Problem(Target("z1*z2"), TiedNetwork("tanh"))
    assert smooth.is_smooth
    assert not smooth.replace(student=TiedNetwork("relu")).is_smooth
    assert not smooth.replace(target=Target("abs(z1)")).is_smooth
    assert not smooth.replace(loss=FrobeniusLoss()).is_smooth
