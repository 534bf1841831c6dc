"""Placement of intervals, legends and axes in figures, and how figures show zeros; nothing is simulated."""

from __future__ import annotations

import numpy as np
import pytest
from made_up import results
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

from tailback.plotting import experiment as figures
from tailback.plotting import placement, plot
from tailback.reproduction.reproduce import _together
from tailback.results.intervals import Interval

NO_LOSS = [0.0, 0.0, 0.0]
"""Losses of three replications in which no packet was lost, %."""


def interval(mean: float, half: float) -> Interval:
    """Return an interval with a mean and a half-width."""
    return Interval(mean, mean - half, mean + half, 5)


def bars_in_pixels(axes: Axes) -> np.ndarray:  # type: ignore[type-arg]
    """Return both ends of all error bars, in pixels."""
    found = []
    for container in axes.containers:
        assert isinstance(container, ErrorbarContainer)
        for bars in container.lines[2]:
            found += [axes.transData.transform(segment) for segment in bars.get_segments()]
    return np.concatenate(found)


@pytest.mark.parametrize("scale", ["log", "linear", "symlog"])
def test_intervals_beyond_the_axis_are_clipped_and_marked_by_arrows(scale: plot.Scale) -> None:
    figure = plot.new()
    (axes,) = figure.axes
    with plot.style():
        plot.curve(axes, [1, 2, 3], [interval(10, 1), interval(20, 25), interval(8, 9)], label="a")
        plot.finish(axes, x="rate", y="delay (ms)", y_scale=scale)
    axes.set_ylim(7, 40)
    placement.settle(figure)
    ends, box = bars_in_pixels(axes), axes.get_window_extent()
    assert ends[:, 1].min() >= box.y0 - 0.01
    assert ends[:, 1].max() <= box.y1 + 0.01
    arrows = [line for line in axes.lines if line not in axes.containers[0].lines[0:1] and line.get_zorder() == 4]
    assert sum(len(line.get_xdata()) for line in arrows) == 3  # type: ignore[arg-type]
    assert axes.get_ylim() == (7, 40)


def test_nan_has_no_error_bar_and_does_not_affect_other_bars() -> None:
    figure = plot.new()
    (axes,) = figure.axes
    with plot.style():
        axes.errorbar([1, 2, 3], [1, np.nan, 3], yerr=[0.1, np.nan, 9])
    axes.set_ylim(0, 4)
    placement.settle(figure)
    whole = [segment for segment in axes.containers[0].lines[2][0].get_segments() if len(segment)]
    assert len(whole) == 2
    assert max(segment[:, 1].max() for segment in whole) <= 4


def test_a_legend_without_room_beside_the_curves_is_outside_the_axes() -> None:
    figure = plot.new()
    (axes,) = figure.axes
    with plot.style():
        for index, label in enumerate(("one", "two", "three")):
            # Steep lines leave no corner free for the legend.
            x = list(range(40))
            plot.curve(axes, x, [interval((k + index) % 2, 0.01) for k in x], label=label, index=index)
        plot.finish(axes, x="rate", y="loss (%)")
    placement.settle(figure)
    figure.draw_without_rendering()
    legend = axes.get_legend()
    assert legend is not None
    assert not placement.covers_something(axes, legend)
    box = axes.get_window_extent()
    assert legend.get_window_extent().x0 >= box.x1
    assert legend.get_window_extent().x1 <= figure.bbox.x1


def test_a_legend_with_room_stays_inside_and_off_the_curve() -> None:
    figure = plot.new()
    (axes,) = figure.axes
    with plot.style():
        plot.curve(axes, [1, 2, 3], [interval(x**3, 0.1) for x in (1, 2, 3)], label="cube")
        plot.finish(axes, x="rate", y="loss (%)")
    placement.settle(figure)
    legend = axes.get_legend()
    assert legend is not None
    assert not placement.covers_something(axes, legend)
    assert axes.get_window_extent().contains(*legend.get_window_extent().p0)


def test_curves_that_hide_one_another_are_named() -> None:
    figure = plot.new()
    (axes,) = figure.axes
    with plot.style():
        for index, (label, add) in enumerate({"none": 0, "plain": 0, "class": 5}.items()):
            plot.curve(axes, [1, 2, 3], [interval(x + add, 0.1) for x in (1, 2, 3)], label=label, index=index)
        plot.finish(axes, x="rate", y="loss (%)")
    placement.settle(figure)
    assert placement.coincident(axes) == [["none", "plain"]]
    assert "none / plain coincide" in axes.get_title(loc="right")


def drawn(figure: figures.Figure) -> Figure:
    """Return the drawing of a figure of an experiment, with everything placed."""
    picture = figure.draw()
    placement.settle(picture)
    return picture


def words(figure: Figure) -> str:
    """Return the texts within all axes of a drawing."""
    return " ".join(text.get_text() for axes in figure.axes for text in axes.texts)


def test_a_panel_of_zeros_shows_the_number_of_packets() -> None:
    lossless = results({("plain", rate): NO_LOSS for rate in (1, 2)})["loss"]
    family = drawn(figures.both_views(lossless, "zero", "Loss", x="rate", curves="mechanism"))
    assert words(family).count("0 of 6,000 packets") == 2
    some = results({("plain", 1): NO_LOSS, ("plain", 2): [1.0, 1.1, 0.9]})["loss"]
    assert "packets" not in words(drawn(figures.both_views(some, "some", "Loss", x="rate", curves="mechanism")))


def test_a_curve_of_zeros_among_others_has_the_number_of_packets_in_the_legend() -> None:
    r = results(
        {("plain", 1): NO_LOSS, ("plain", 2): NO_LOSS, ("none", 1): [1.0, 1.1, 0.9], ("none", 2): [2.0, 2.1, 1.9]}
    )
    both = {name: r.where(mechanism=name)["loss"] for name in ("none", "plain")}
    picture = drawn(figures.compare(both, "both", "Loss", x="rate"))
    legend = picture.axes[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["none", "plain: 0 of 6,000"]


def test_figures_with_the_same_share_key_have_the_same_axis() -> None:
    r = results({("plain", 1): [1.0, 1.1, 0.9], ("none", 1): [50.0, 51.0, 49.0]})
    views = [
        figures.compare({name: r.where(mechanism=name)["loss"]}, name, "Loss", x="rate", share="loss")
        for name in ("plain", "none")
    ]
    alone = figures.compare({"none": r.where(mechanism="none")["loss"]}, "alone", "Loss", x="rate")
    assert [[figure.name for figure in group] for group in _together([views[0], alone, views[1]])] == [
        ["plain", "none"],
        ["alone"],
    ]
    pictures = [view.draw() for view in views]
    placement.share_scale(pictures)
    ends = {picture.axes[0].get_ylim() for picture in pictures}
    assert len(ends) == 1
    assert ends.pop()[1] >= 50


def test_figures_with_different_scales_cannot_share_an_axis() -> None:
    r = results({("plain", 1): [1.0, 1.1, 0.9]})["loss"].where(mechanism="plain")
    views = [figures.compare({"a": r}, kind, "Loss", x="rate", y_scale=kind) for kind in ("linear", "log")]  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="several kinds"):
        placement.share_scale([view.draw() for view in views])


def test_time_series_fill_their_axis_in_all_panels() -> None:
    series = {"sw0": ([0.0, 5.0, 10.0], [1.0, 3.0, 2.0]), "sw1": ([0.0, 5.0, 12.0], [1.0, 3.0, 2.0])}
    picture = drawn(figures.traces(series, "t", "Queue", y="queue (kB)", levels={"high": 2.5}))
    assert [axes.get_xlim() for axes in picture.axes] == [(0.0, 12.0), (0.0, 12.0)]


def test_a_time_axis_with_set_limits_keeps_them() -> None:
    figure = plot.new()
    (axes,) = figure.axes
    axes.plot([0, 10], [1, 2])
    plot.finish(axes, x="time (s)", y="queue (kB)")
    axes.set_xlim(2, 5)
    placement.settle(figure)
    assert axes.get_xlim() == (2, 5)


def test_dollar_signs_in_texts_are_not_parsed_as_mathematics() -> None:
    figure = plot.new()
    (axes,) = figure.axes
    # Neither text is TeX: matplotlib would refuse the first one, and draw the second one as mathematics.
    axes.plot([1, 1000], [1, 5], label=r"$\bad{x$")
    axes.set_title("costs $5 and $10")
    axes.set_xscale("log")
    axes.legend()
    for kind in ("svg", "png", "pdf"):
        assert len(plot.to_bytes(figure, kind)) > 1000  # type: ignore[arg-type]
    assert not axes.title.get_parse_math()
    assert all(label.get_parse_math() for label in axes.get_xticklabels() if label.get_text())
