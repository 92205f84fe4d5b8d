"""Figures of the landscape: the data on the artists, and the files."""

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from ssiode import Encoding, Problem, Target, TiedNetwork
from ssiode.landscape_plots import (
    landscape_figure,
    plot_flow,
    plot_minima,
    plot_risk_contours,
    plot_risk_curve,
    plot_steepest,
    risk_levels,
)
from ssiode.plots import SEMANTIC_COLOUR, new_figure, save_figure
from ssiode.risk_landscape.minima import local_minima
from ssiode.risk_landscape.surface import risk_surface
from tests.risk_landscape.minima.problems import HE2, HE4, positional_semantic, trace


@pytest.fixture
def ax():
    return new_figure().subplots()


@pytest.fixture(scope="module")
def both_kinds():
    problem = positional_semantic(0.67)
    return risk_surface(problem, size=31), local_minima(problem, starts=8).minima


def test_contours_cover_the_disc_and_its_whole_range(ax, both_kinds):
    surface, _ = both_kinds
    filled, lines, circle = plot_risk_contours(ax, surface)
    inside = surface.risk[surface.is_feasible]
    assert filled.levels[0] < inside.min() < inside.max() < filled.levels[-1]
    assert set(lines.levels) <= set(risk_levels(surface))
    assert circle.get_radius() == 1.0
    assert ax.get_aspect() == 1.0
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$e$", "$m$")


def test_flow_lines_descend(ax, both_kinds):
    surface, _ = both_kinds
    lines, *arrows = plot_flow(ax, surface)
    assert len(arrows) > 10
    for line in lines.get_segments():
        kept = line[np.linalg.norm(line, axis=1) < 0.95]
        if len(kept) > 1:
            # From one end to the other, beyond what is lost by interpolation.
            assert surface.risk_at(kept[0]) >= surface.risk_at(kept[-1]) - 1e-5


def test_flat_risk_has_no_flow_lines(ax):
    problem = Problem(Target("z1 + z2"), TiedNetwork("square"), Encoding("opposite"))
    assert plot_flow(ax, risk_surface(problem, size=11)) == []


def test_minima_have_a_marker_a_kind_at_their_places(ax, both_kinds):
    surface, minima = both_kinds
    semantic, positional = plot_minima(ax, surface, minima)
    assert semantic.get_label() == "semantic minimum"
    assert semantic.get_markerfacecolor() == SEMANTIC_COLOUR
    np.testing.assert_allclose(np.sort(semantic.get_ydata()), [-1, 1])
    np.testing.assert_allclose(np.sort(positional.get_xdata()), [-1, 1])
    assert semantic.get_marker() != positional.get_marker()


def test_minima_beside_a_slice_are_open(ax):
    problem = Problem(Target(HE2), TiedNetwork("relu"), Encoding("orthonormal"))
    surface = risk_surface(problem, size=11, direction=(1.0, -1.0))
    (markers,) = plot_minima(ax, surface, local_minima(problem, starts=8).minima)
    assert "beside the slice" in markers.get_label()
    assert markers.get_markerfacecolor() == "none"
    assert to_rgba(markers.get_markeredgecolor())[3] == 1.0


def test_steepest_direction_is_an_arrow_from_the_origin(ax, both_kinds):
    surface, _ = both_kinds
    arrow, handle = plot_steepest(ax, surface, np.array([0.0, 2.0]))
    assert arrow.xy[0] == 0
    assert arrow.xy[1] > 0.3
    assert "steepest" in handle.get_label()
    assert plot_steepest(ax, surface, np.zeros(2)) == []


def test_without_an_encoding_the_figure_is_a_curve(ax):
    problem = trace(HE4, "none")
    surface, minima = risk_surface(problem), local_minima(problem).minima
    line, marker = plot_risk_curve(ax, surface, minima)
    assert np.array_equal(line.get_xydata(), np.column_stack([surface.grid, surface.risk]))
    assert marker.get_ydata()[0] == pytest.approx(minima[0].risk)
    assert len(landscape_figure(surface, minima).axes) == 1


def test_flat_curve_is_not_magnified(ax):
    problem = Problem(Target(HE2), TiedNetwork("tanh"))
    plot_risk_curve(ax, risk_surface(problem))
    low, high = ax.get_ylim()
    assert high - low > 1e-3


def test_figure_has_all_parts_and_the_same_bytes_twice(tmp_path, both_kinds):
    surface, minima = both_kinds
    paths = [tmp_path / f"{name}.png" for name in ("first", "second")]
    for path in paths:
        figure = landscape_figure(surface, minima, np.array([1.0, 0.0]), title="title")
        save_figure(figure, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    contours, bar, solid = figure.axes
    assert contours.get_xlabel() == "$e$"
    assert solid.get_zlabel() == "$R$"
    assert bar.get_title() == "$R$"
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["steepest descent at 0", "semantic minimum", "positional minimum"]
    assert figure.get_suptitle() == "title"


def test_slices_say_so_in_the_title():
    problem = Problem(Target(HE2), TiedNetwork("relu"), Encoding("orthonormal"))
    figure = landscape_figure(risk_surface(problem, size=21), title="relu")
    assert figure.get_suptitle().startswith("relu: slice of 3 overlaps")
