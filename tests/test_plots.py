"""Figures: the data on the artists, the files, and what is refused. No pixels."""

import dataclasses

import numpy as np
import pytest
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ssiode import Encoding, InputError, Problem, Target, TiedNetwork, scaling
from ssiode.plots import (
    POSITIONAL_COLOURS,
    SEMANTIC_COLOUR,
    check_figure_path,
    component_colours,
    component_names,
    new_figure,
    plot_agreement,
    plot_ensemble,
    plot_scaling,
    plot_trajectory,
    save_figure,
)
from ssiode.settings import SGDSettings
from tests.test_results import ensemble, trajectory


@pytest.fixture
def ax():
    return new_figure().subplots()


def test_a_trajectory_is_drawn_as_one_line_a_component(ax):
    solution = trajectory()
    lines = plot_trajectory(ax, solution, [2, 0])
    assert [line.get_label() for line in lines] == ["$m$, ODE", "$e_{1}$, ODE"]
    assert np.array_equal(lines[0].get_xydata(), np.column_stack([solution.t, solution.m]))
    assert np.array_equal(lines[1].get_xydata(), np.column_stack([solution.t, solution.e[:, 0]]))
    assert list(ax.lines) == lines
    assert lines[0].get_color() == SEMANTIC_COLOUR


def test_an_ensemble_is_drawn_as_a_band_and_points(ax):
    several = ensemble(replicas=5, records=7)
    band, points = plot_ensemble(ax, several, [1])
    assert isinstance(band, FillBetweenPolyCollection)
    mean, spread = several.e[..., 1].mean(axis=0), several.e[..., 1].std(axis=0, ddof=1)
    assert np.array_equal(points.get_xydata(), np.column_stack([several.t, mean]))
    assert points.get_label() == "$e_{2}$, SGD mean and spread"
    corners = {(x.round(12), y.round(12)) for x, y in band.get_paths()[0].vertices}
    for t, low, high in zip(several.t, mean - spread, mean + spread, strict=True):
        assert (t.round(12), low.round(12)) in corners
        assert (t.round(12), high.round(12)) in corners


def test_many_records_are_thinned_to_points_that_can_be_told_apart(ax):
    several = ensemble(records=201)
    band, points = plot_ensemble(ax, several, [2])
    assert 20 <= len(points.get_xdata()) <= 30
    assert set(points.get_xdata()) <= set(several.t)
    # The band keeps them all.
    assert len(band.get_paths()[0].vertices) >= 2 * 201


def test_a_single_replica_is_drawn_without_a_warning(ax):
    _, points = plot_ensemble(ax, ensemble(replicas=1), [2])
    assert len(points.get_xdata()) == 3


def test_agreement_overlays_both_and_leaves_out_what_is_zero(ax):
    solution = trajectory(e=np.zeros((3, 2)))
    several = ensemble(e=np.zeros((4, 3, 2)))
    artists = plot_agreement(ax, solution, several)
    lines = [artist for artist in artists if isinstance(artist, Line2D)]
    assert [line.get_label() for line in lines] == ["$m$, SGD mean and spread", "$m$, ODE"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["$m$"]
    assert "ODE" in ax.get_legend().get_title().get_text()
    assert r"\tau" in ax.get_xlabel()
    assert "overlaps" in ax.get_ylabel()


def test_agreement_shows_every_component_that_moves(ax):
    artists = plot_agreement(ax, trajectory(), ensemble())
    # A band, points and a line for each of e_1, e_2 and m.
    assert len(artists) == 9
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["$e_{1}$", "$e_{2}$", "$m$"]


def test_agreement_of_nothing_but_zeros_shows_m(ax):
    zeros = trajectory(e=np.zeros((3, 2)), m=np.zeros(3))
    several = ensemble(e=np.zeros((4, 3, 2)), m=np.zeros((4, 3)))
    assert len(plot_agreement(ax, zeros, several)) == 3


def test_agreement_with_lost_replicas_is_drawn(ax):
    several = ensemble()
    m = several.m.copy()
    m[0, 1:] = np.nan
    assert plot_agreement(ax, trajectory(), ensemble(m=m, status="diverged"))


@pytest.mark.parametrize("length", [1, 2, 6, 20])
def test_names_and_colours_have_one_entry_a_statistic(length):
    problem = Problem(Target("sum(z)", length=length), TiedNetwork("relu"))
    names, colours = component_names(problem), component_colours(problem)
    assert len(names) == len(colours) == length + 1
    assert (names[0], names[-1]) == ("$e_{1}$", "$m$")
    assert colours[-1] == SEMANTIC_COLOUR
    assert SEMANTIC_COLOUR not in POSITIONAL_COLOURS
    assert len(set(colours[:6])) == min(length + 1, 6)
    for colour in colours:
        to_rgba(colour)


def test_statistics_of_one_colour_have_other_lines_and_points(ax):
    length = 8
    e = np.linspace(0.1, 0.5, 3)[:, None] * np.arange(1, length + 1)
    problem = Problem(Target(lambda z: z.sum(axis=-1), length=length), TiedNetwork("relu"))
    several = ensemble(problem=problem, e=np.tile(e, (4, 1, 1)))
    artists = plot_agreement(ax, trajectory(problem=problem, e=e), several)
    lines, points = artists[-length - 1 :], artists[1 : 2 * length + 2 : 2]
    assert len({(line.get_color(), line.is_dashed()) for line in lines}) == length + 1
    assert len({(line.get_color(), line.get_marker()) for line in points}) == length + 1
    assert len(ax.get_legend().get_texts()) == length + 1


def full_figure():
    figure = new_figure()
    plot_agreement(figure.subplots(), trajectory(), ensemble())
    return figure


@pytest.mark.parametrize("ending", ["png", "pdf", "svg", "PNG"])
def test_files_have_the_same_bytes_twice(tmp_path, ending):
    paths = [tmp_path / f"{name}.{ending}" for name in ("first", "second")]
    for path in paths:
        check_figure_path(path)
        save_figure(full_figure(), path)
    first, second = (path.read_bytes() for path in paths)
    assert first == second
    start = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}[ending.lower()]
    assert first.startswith(start)
    assert len(first) > 5000


@pytest.mark.parametrize("name", ["figure", "figure.jpg", "figure.png.txt", ".png", "figure.", ""])
def test_other_endings_are_refused(tmp_path, name):
    with pytest.raises(InputError, match="must end in"):
        check_figure_path(tmp_path / name)


def test_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="folder"):
        check_figure_path(tmp_path / "none" / "figure.png")


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="folder"):
        check_figure_path(tmp_path / "file" / "figure.png")


def test_a_folder_in_the_place_of_the_figure_is_refused(tmp_path):
    (tmp_path / "figure.png").mkdir()
    with pytest.raises(InputError, match="folder"):
        check_figure_path(tmp_path / "figure.png")


def test_a_figure_needs_no_display_and_no_pyplot():
    figure = new_figure(3.0, 2.0)
    assert isinstance(figure, Figure)
    assert figure.get_size_inches().tolist() == [3.0, 2.0]
    assert getattr(figure, "number", None) is None


def test_labels_of_long_sequences_are_drawn(tmp_path):
    length = 12
    problem = Problem(
        Target(lambda z: z.sum(axis=-1), length=length),
        TiedNetwork("relu"),
        Encoding("orthonormal"),
        sgd=SGDSettings(gamma=0.5, d=100),
    )
    generator = np.random.default_rng(1)
    solution = trajectory(problem=problem, e=generator.standard_normal((3, length)))
    several = ensemble(problem=problem, e=generator.standard_normal((4, 3, length)))
    figure = new_figure()
    ax = figure.subplots()
    plot_agreement(ax, solution, several)
    assert len(ax.get_legend().get_texts()) == 10
    assert ax.get_legend().get_texts()[-1].get_text() == "$m$"
    save_figure(figure, tmp_path / "long.png")


def test_scaling_is_drawn_as_medians_and_two_laws(ax):
    found = scaling(Problem(Target("z1"), TiedNetwork("identity")), [100, 200, 400], replicas=8)
    bars, fitted, law = plot_scaling(ax, found)
    points, caps, _ = bars
    assert np.array_equal(points.get_xydata(), np.column_stack([found.dims, found.steps]))
    low, high = (cap.get_ydata() for cap in caps)
    assert np.allclose(low, [point.quantile(0.25) for point in found.points])
    assert np.allclose(high, [point.quantile(0.75) for point in found.points])
    x, y = fitted.get_data()
    assert np.allclose(np.diff(np.log(y)) / np.diff(np.log(x)), found.exponent)
    x, y = law.get_data()
    assert np.allclose(y / x, np.exp(np.mean(np.log(np.divide(found.steps, found.dims)))))
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_scaling_without_a_median_shows_where_it_ended(ax, tmp_path):
    linear = Problem(Target("z1"), TiedNetwork("identity"))
    _, ends = plot_scaling(ax, scaling(linear, [100, 200], replicas=2, max_steps=3))
    assert ends.get_xydata().tolist() == [[100, 3]]
    save_figure(ax.figure, tmp_path / "scaling.png")


def test_scaling_with_nothing_measured_is_empty_axes(ax, tmp_path):
    linear = Problem(Target("z1"), TiedNetwork("identity"))
    found = scaling(linear, [100, 200], replicas=2, max_steps=3)
    plot_scaling(ax, dataclasses.replace(found, points=()))
    save_figure(ax.figure, tmp_path / "scaling.png")
