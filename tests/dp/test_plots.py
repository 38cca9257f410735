"""Plots of released numbers: every bin and every curve with its interval, named, and what protects nobody says so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from deid.base.errors import ConfigError
from deid.dp.plots import plot_bins, plot_survival
from deid.dp.release_files import NOT_PRIVATE

BINS = pd.DataFrame(
    {"sex": list("FFMM"), "age": ["0", "1", "0", "1"], "count": [4.0, 0.0, 7.0, 2.0], "lower": [3.0, -1.0, 6.0, 2.5],
     "upper": [4.5, -0.5, 9.0, 3.0]}
)  # fmt: skip
CURVES = pd.DataFrame(
    {"sex": list("FFFMMM"), "month": list("123123"), "survival": [1, 0.9, 0.5, 1, 0.8, 0.8],
     "lower": [0.9, 0.8, 0.3, 0.9, 0.6, 0.5], "upper": [1, 1, 0.7, 1, 0.9, 0.9]}
)  # fmt: skip


def test_bins_are_drawn_with_their_intervals_a_series_each() -> None:
    (axes,) = plot_bins(BINS, "count", ["sex", "age"]).axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["F", "M"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("age", "count")
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0", "1"]
    drawn = [line.get_ydata().tolist() for line in axes.lines if line.get_drawstyle() == "steps-mid"]
    assert drawn == [[4.0, 0.0], [7.0, 2.0]]
    ends = [[segment[:, 1].tolist() for segment in bars.get_segments()] for bars in axes.collections]
    assert ends == [[[3.0, 4.5], [-1.0, 0.0]], [[6.0, 9.0], [2.0, 3.0]]]  # no bar ends beyond its number
    assert plot_bins(BINS, "count", ["age"]).axes[0].get_legend() is None


def test_without_names_and_intervals_the_total_is_drawn() -> None:
    figure = plot_bins(pd.DataFrame({"count": [5.0], "lower": [np.nan], "upper": [np.nan]}), "count", [])
    (axes,) = figure.axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["total"]
    assert not axes.collections
    assert figure.get_suptitle() == ""


@pytest.mark.parametrize(
    ("bins", "named", "turned"), [(8, 8, 0), (9, 9, 90), (40, 40, 90), (41, 21, 90), (2000, 40, 90)]
)
def test_of_many_bins_some_are_named(bins: int, named: int, turned: int) -> None:
    frame = pd.DataFrame({"age": range(bins), "count": 1.0, "lower": np.nan, "upper": np.nan})
    labels = plot_bins(frame, "count", ["age"]).axes[0].get_xticklabels()
    assert (len(labels), labels[0].get_rotation(), labels[1].get_text()) == (named, turned, str(-(-bins // 40)))


def test_more_bins_than_can_be_seen_and_none_are_refused() -> None:
    for rows in (0, 2001):
        with pytest.raises(ConfigError, match="a plot shows 1 to 2000 bins"):
            plot_bins(pd.DataFrame({"count": np.zeros(rows)}), "count", [])


def test_curves_are_drawn_with_their_bands_on_one_scale() -> None:
    (axes,) = plot_survival(CURVES, "month", ["sex"]).axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["F", "M"]
    assert [line.get_ydata().tolist() for line in axes.lines] == [[1, 0.9, 0.5], [1, 0.8, 0.8]]
    assert (axes.get_ylim(), axes.get_xlabel(), axes.get_ylabel()) == ((0, 1.02), "month", "survival")
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "2", "3"]
    bands = [
        [round(float(edge), 3) for edge in band.get_paths()[0].get_extents().intervaly] for band in axes.collections
    ]
    assert bands == [[0.3, 1.0], [0.5, 1.0]]
    whole = plot_survival(CURVES.head(3), "month", []).axes[0]
    assert [text.get_text() for text in whole.get_legend().get_texts()] == ["all"]


def test_what_protects_nobody_says_so_over_the_plot() -> None:
    for figure in (
        plot_bins(BINS.assign(**{NOT_PRIVATE: "x"}), "count", ["sex", "age"]),
        plot_survival(CURVES.assign(**{NOT_PRIVATE: "x"}), "month", ["sex"]),
    ):
        assert figure.get_suptitle() == "NOT PRIVATE"
