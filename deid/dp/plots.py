"""Plots of released numbers: counts by bin with their intervals, and survival curves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deid.base.errors import require
from deid.base.late import pd
from deid.base.plots import COLOURS, Figure, new_figure
from deid.dp.release_files import NOT_PRIVATE

_MOST_BINS = 2_000
_LABELS = 40  # beyond, only some bins are named


def plot_bins(frame: pd.DataFrame, number: str, names: Sequence[str]) -> Figure:
    """Return the plot of a number by bin, with intervals where there are some.

    Parameters
    ----------
    frame : pandas.DataFrame
        A row a bin: ``number``, ``lower``, ``upper``, and the columns that name the bin.
    number : str
        Column of the number.
    names : sequence of str
        Columns that name a bin; the last one runs along the axis, each cell of the others is a series.

    Raises
    ------
    ConfigError
        When there are too many bins to be seen.
    """
    require(0 < len(frame) <= _MOST_BINS, f"a plot shows 1 to {_MOST_BINS} bins", "ask for fewer columns or cells")
    *series, along = names or [""]
    figure, axes = new_figure(min(4.5 + 0.12 * len(frame), 14), 3.8, grid=True)
    groups = frame.groupby(series, sort=False) if series else [((), frame)]
    for place, (name, own) in enumerate(groups):
        at = np.arange(len(own))
        colour = COLOURS[1 + place % 7]
        values = own[number].to_numpy(float)
        if own["lower"].notna().any():
            ends = [np.maximum(values - own["lower"], 0), np.maximum(own["upper"] - values, 0)]
            axes.errorbar(at, values, yerr=ends, fmt="none", ecolor=colour, elinewidth=1, capsize=2)
        axes.plot(at, values, drawstyle="steps-mid", color=colour, label=" ".join(map(str, name)) if series else number)
    labels = own[along].astype(str).tolist() if along else ["total"]
    step = -(-len(labels) // _LABELS)
    axes.set_xticks(np.arange(len(labels))[::step], labels[::step], rotation=90 if len(labels) > 8 else 0, fontsize=7)
    axes.set(xlabel=along, ylabel=number)
    if series:
        axes.legend(fontsize="small")
    return _told(figure, frame)


def plot_survival(frame: pd.DataFrame, time: str, by: Sequence[str]) -> Figure:
    """Return the plot of `deid.dp.survival.survival`: a curve a group, with its interval as a band."""
    figure, axes = new_figure(6.5, 4.2, grid=True)
    groups = frame.groupby(list(by), sort=False) if by else [((), frame)]
    for place, (name, own) in enumerate(groups):
        colour = COLOURS[1 + place % 7]
        at = np.arange(len(own))
        axes.step(at, own["survival"], where="post", color=colour, label=" ".join(map(str, name)) or "all")
        axes.fill_between(at, own["lower"], own["upper"], step="post", color=colour, alpha=0.2, linewidth=0)
    longest = frame[time].drop_duplicates().tolist()
    step = -(-len(longest) // _LABELS)
    axes.set_xticks(np.arange(len(longest))[::step], longest[::step], rotation=90, fontsize=7)
    axes.set(xlabel=time, ylabel="survival", ylim=(0, 1.02))
    axes.legend(fontsize="small")
    return _told(figure, frame)


def _told(figure: Figure, frame: pd.DataFrame) -> Figure:
    """Say of numbers with test noise that they protect nobody."""
    if NOT_PRIVATE in frame:
        figure.suptitle("NOT PRIVATE", color=COLOURS[2])
    return figure
