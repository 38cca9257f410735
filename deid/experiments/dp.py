"""How far released cubes are from the truth: methods by epsilon, and DPCube by its threshold.

These experiments compare with the true counts, so their figures are themselves not private: they are for tables that
may be shown, or for choosing a method on made-up data. Noise is seeded test noise. The methods compared always include
``even``, the noisy total spread evenly; a method that does not beat it has learnt nothing from the data.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from deid.base.errors import ConfigError
from deid.base.late import pd
from deid.base.options import column_names
from deid.base.plots import COLOURS, Figure, draw_lines, new_figure
from deid.base.reports import frame_records, frame_section
from deid.dp.counting import rows_of
from deid.dp.cube import plan_cube
from deid.dp.domain import Dimension
from deid.dp.domain_options import parse_slices
from deid.dp.dpcube import dpcube
from deid.dp.marginals import Axes
from deid.dp.methods import METHODS, Rows, measure
from deid.dp.trend import average_slope, regression_slope
from deid.dp.unit import PrivacyUnit
from deid.experiments.asking import MethodRuns
from deid.experiments.outcome import TRUE_COUNTS, Form, Outcome, RunOptions, frame_of

THRESHOLDS: dict[str, tuple[float, ...]] = {
    "printed": (0.1, 0.5, 1.0, 2.0),
    "uniformity": (0.02, 0.1, 0.5),
    "sse": (2.0, 4.0, 8.0, 12.0, 24.0),
}
"""Gain -> thresholds that `sweep_thresholds` tries."""

_SLOPES = {"average_slope_error": average_slope, "regression_slope_error": regression_slope}


def _axes(dimensions: Sequence[Dimension], slices: Sequence[Sequence[str]]) -> list[Axes]:
    names = [dimension.name for dimension in dimensions]
    if not slices or any(not one or not set(one) <= set(names) for one in slices):
        raise ConfigError("slices to compare on are missing, or name no dimension", "for example: --slice year,death")
    return [tuple(sorted(names.index(name) for name in set(one))) for one in slices]


def _slope_errors(found: npt.NDArray[Any], true: npt.NDArray[Any], ordered: int | None) -> dict[str, float]:
    """Return the mean absolute error of slopes along an axis, over all other cells."""
    if ordered is None or true.shape[ordered] < 2:
        return dict.fromkeys(_SLOPES, float("nan"))
    steps = np.arange(true.shape[ordered])
    lines = [np.moveaxis(table, ordered, 0).reshape(len(steps), -1).T for table in (found, true)]
    return {
        name: float(np.mean([abs(slope(steps, a) - slope(steps, b)) for a, b in zip(*lines, strict=True)]))
        for name, slope in _SLOPES.items()
    }


def compare_methods(
    rows: Rows,
    dimensions: Sequence[Dimension],
    slices: Sequence[Sequence[str]],
    how: RunOptions,
    *,
    methods: Sequence[str] = tuple(METHODS),
) -> pd.DataFrame:
    """Measure the error of methods on slices; neighbours differ in a row.

    Parameters
    ----------
    rows : Rows
        The table.
    dimensions : sequence of Dimension
        Its columns.
    slices : sequence of sequences of str
        What is compared; also the named slices of ``marginals``.
    how : RunOptions
        Costs of the whole release, and how many are made.
    methods : sequence of str
        Keys of `deid.dp.methods.METHODS`; ``even`` is always among them.

    Returns
    -------
    pandas.DataFrame
        ``method``, ``epsilon``, ``slice``, ``cells``, ``l1`` (mean over runs), ``l1_sd``, ``per_bin`` (L1 error a
        cell), and errors of slopes along the first ordered dimension.

    Raises
    ------
    ConfigError
        When a slice or method is none.
    """
    records = []
    for told, axes, true, released in _released(rows, dimensions, slices, how, methods):
        ordered = _ordered(dimensions, axes)
        found = [{"l1": float(np.abs(one - true).sum())} | _slope_errors(one, true, ordered) for one in released]
        own = pd.DataFrame(found)
        records.append(
            {
                **told,
                "cells": true.size,
                "l1": own["l1"].mean(),
                "l1_sd": own["l1"].std(ddof=0),
                "per_bin": own["l1"].mean() / true.size,
                **{name: own[name].mean() for name in _SLOPES},
            }
        )
    return pd.DataFrame(records)


_Counts = npt.NDArray[Any]


def _ordered(dimensions: Sequence[Dimension], axes: Axes) -> int | None:
    return next((i for i, axis in enumerate(axes) if dimensions[axis].ordered), None)


def _released(
    rows: Rows,
    dimensions: Sequence[Dimension],
    slices: Sequence[Sequence[str]],
    how: RunOptions,
    methods: Sequence[str],
) -> Iterator[tuple[dict[str, Any], Axes, _Counts, list[_Counts]]]:
    """Yield method, epsilon and slice, its axes, the true counts and those of every run."""
    asked = _axes(dimensions, slices)
    truths = [rows.counts(axes) for axes in asked]
    for method in dict.fromkeys([*methods, "even"]):
        for epsilon in how.epsilons:
            named = slices if method == "marginals" else ()
            terms: dict[str, Any] = {"report_share": 0, "assert_bound": True}
            plan = plan_cube(dimensions, epsilon, PrivacyUnit(), method=method, slices=named, **terms)
            found: list[list[_Counts]] = [[] for _ in asked]
            for noise in how.noises():
                model, _ = measure(rows, plan, noise)
                for axes, own in zip(asked, found, strict=True):
                    own.append(model.counts(axes))
            for axes, true, own in zip(asked, truths, found, strict=True):
                yield {"method": method, "epsilon": float(epsilon), "slice": plan.names(axes)}, axes, true, own


def histograms(
    rows: Rows,
    dimensions: Sequence[Dimension],
    slices: Sequence[Sequence[str]],
    how: RunOptions,
    *,
    methods: Sequence[str] = tuple(METHODS),
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Release slices, and return their counts cell by cell; arguments as those of `compare_methods`.

    Each slice is drawn along its first ordered column (``bin``), a line a combination of the others (``series``).

    Returns
    -------
    bins : pandas.DataFrame
        ``method``, ``epsilon``, ``slice``, ``series``, ``bin``, ``true``; ``count`` (of the first run), ``error`` (mean
        absolute error of the runs).
    slopes : pandas.DataFrame
        ``method``, ``epsilon``, ``slice``, ``series``, ``true`` and mean released average slope, sum of the steps over
        the number of bins as Gardner 2012, section 5.3.3, has it.

    Raises
    ------
    ConfigError
        When a slice has no ordered column, or a slice or method is none.
    """
    bins, slopes = [], []
    for told, axes, true, released in _released(rows, dimensions, slices, how, methods):
        ordered = _ordered(dimensions, axes)
        if ordered is None:
            raise ConfigError("a slice has no ordered column", "name one with a range, edges or dates in each slice")
        line, others = dimensions[axes[ordered]], [dimensions[axis] for i, axis in enumerate(axes) if i != ordered]
        names = list(itertools.product(*(one.labels for one in others)))
        lines = [np.moveaxis(one, ordered, -1).reshape(len(names), -1) for one in (true, *released)]
        errors = np.abs(np.array(lines[1:]) - lines[0]).mean(axis=0)
        for number, labels in enumerate(names):
            series = ", ".join(f"{one.name} = {label}" for one, label in zip(others, labels, strict=True))
            about = {**told, "series": series}
            for place, label in enumerate(line.labels):
                of_bin = {"true": lines[0][number, place], "count": lines[1][number, place]}
                bins.append({**about, "bin": label, **of_bin, "error": errors[number, place]})
            drop = [(one[number, -1] - one[number, 0]) / len(line) for one in lines]
            slopes.append({**about, "true": float(drop[0]), "released": float(np.mean(drop[1:]))})
    return pd.DataFrame(bins), pd.DataFrame(slopes)


def sweep_thresholds(
    rows: Rows,
    dimensions: Sequence[Dimension],
    slices: Sequence[Sequence[str]],
    how: RunOptions,
) -> pd.DataFrame:
    """Measure DPCube with every gain over its thresholds (`THRESHOLDS`).

    Parameters
    ----------
    rows, dimensions, slices, how
        As those of `compare_methods`.

    Returns
    -------
    pandas.DataFrame
        ``gain``, ``threshold``, ``epsilon``, ``slice``, ``boxes`` and ``l1`` (means over runs).
    """
    asked = _axes(dimensions, slices)
    cube = rows.counts()
    names = [dimension.name for dimension in dimensions]
    records = []
    for gain, thresholds in THRESHOLDS.items():
        mode = "paper" if gain == "printed" else "improved"
        for threshold, epsilon in itertools.product(thresholds, how.epsilons):
            found = [dpcube(cube, epsilon, noise, mode=mode, gain=gain, threshold=threshold) for noise in how.noises()]
            for axes in asked:
                true = rows.counts(axes)
                errors = [
                    np.abs(boxes.aggregate(axes, [None] * len(names), boxes.counts) - true).sum() for boxes in found
                ]
                place, boxes = " x ".join(names[axis] for axis in axes), float(np.mean([len(boxes) for boxes in found]))
                records.append((gain, threshold, float(epsilon), place, boxes, float(np.mean(errors))))
    return pd.DataFrame(records, columns=["gain", "threshold", "epsilon", "slice", "boxes", "l1"])


def _draw(frame: pd.DataFrame, lines: str, x: str, label: str) -> Figure:
    slices = list(dict.fromkeys(frame["slice"]))
    figure, every = new_figure(5.5 * len(slices), 4.2, len(slices), squeeze=False, grid=True)
    for axes, name in zip(every[0], slices, strict=True):
        draw_lines(axes, frame[frame["slice"] == name], lines, x, "l1", dashed=["even"])
        axes.set(xscale="log", yscale="log", title=name, xlabel=label, ylabel="L1 error")
    axes.legend(fontsize="small")
    return figure


def plot_methods(frame: pd.DataFrame) -> Figure:
    """Return the plot of `compare_methods`: error over epsilon, a panel a slice."""
    return _draw(frame, "method", "epsilon", "epsilon")


def plot_thresholds(frame: pd.DataFrame) -> Figure:
    """Return the plot of `sweep_thresholds`: error over epsilon, or over the threshold at one; a panel a slice."""
    if "epsilon" not in frame or frame["epsilon"].nunique() == 1:
        return _draw(frame, "gain", "threshold", "threshold of the gain")
    lines = frame["gain"] + " " + frame["threshold"].map("{:g}".format)
    return _draw(frame.assign(line=lines), "line", "epsilon", "epsilon")


def plot_histograms(bins: pd.DataFrame) -> Figure:
    """Return the plot of `histograms`: counts over bins, a panel for the first slice's truth and for each release."""
    kinds = list(dict.fromkeys(zip(bins["slice"], bins["epsilon"], bins["method"], strict=True)))
    figure, every = new_figure(3.6 * (len(kinds) + 1), 3.6, len(kinds) + 1, squeeze=False, grid=True)
    shown = bins[(bins["slice"] == kinds[0][0]) & (bins["epsilon"] == kinds[0][1]) & (bins["method"] == kinds[0][2])]
    panels = [("original", shown, "true")]
    for place, epsilon, method in kinds:
        own = bins[(bins["slice"] == place) & (bins["epsilon"] == epsilon) & (bins["method"] == method)]
        panels.append((f"{method}, epsilon {epsilon:g}", own, "count"))
    for axes, (title, own, what) in zip(every[0], panels, strict=True):
        for number, (series, line) in enumerate(own.groupby("series", sort=False)):
            axes.plot(
                range(len(line)),
                line[what].to_numpy(),
                drawstyle="steps-mid",
                color=COLOURS[1 + number % 7],
                label=series,
            )
        axes.set(title=title, xlabel=str(own["slice"].iloc[0]), ylabel="count")
    if bins["series"].any():
        every[0][0].legend(fontsize="small")
    return figure


COMPARED = Form(
    "Error by method and epsilon",
    lambda frame, _: [frame_section("Error by method and epsilon", frame, TRUE_COUNTS)],
    lambda frame, _: plot_methods(frame),
    "L1 error over epsilon, a panel a slice",
    "methods",
)
SWEPT = Form(
    "DPCube by gain, threshold and epsilon",
    lambda frame, _: [frame_section("DPCube by gain, threshold and epsilon", frame, TRUE_COUNTS)],
    lambda frame, _: plot_thresholds(frame),
    "L1 error over the threshold",
    "thresholds",
)
BINS = Form(
    "Histograms",
    lambda bins, values: [
        frame_section("Sum of the errors of the bins", _summed(bins), TRUE_COUNTS),
        frame_section("Average slopes", frame_of(values["slopes"]), "Mean over the runs of the released counts."),
    ],
    lambda bins, _: plot_histograms(bins),
    "Counts over bins, a panel a release",
    "bins",
)


def dp_outcome(frame: pd.DataFrame, asked: MethodRuns, how: RunOptions) -> Outcome:
    """Compare methods on the rows of a table, sweep thresholds or show bins, and return tables and plot."""
    dimensions = asked.dimensions(column_names(asked.dims), lambda: frame)
    given = rows_of(frame, dimensions), dimensions, parse_slices(asked.slices)[0], how
    if asked.thresholds:
        return SWEPT.outcome(sweep_thresholds(*given))
    if asked.histogram:
        bins, slopes = histograms(*given, methods=column_names(asked.methods))
        return BINS.outcome(bins, slopes=frame_records(slopes))
    return COMPARED.outcome(compare_methods(*given, methods=column_names(asked.methods)))


def _summed(bins: pd.DataFrame) -> pd.DataFrame:
    return bins.groupby(["method", "epsilon", "slice", "series"], sort=False)["error"].sum().reset_index()
