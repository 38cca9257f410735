"""Results that commands wrote with ``--json``, shown again: tables and plots of a page.

Each command's own tables and plots are made of its figures anew. Everything in a file may have been changed since, so
that a file that does not hold what its command writes is an error of that file.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deid.base.errors import MALFORMED, ConfigError, InputError, require, told_as
from deid.base.files import read_text
from deid.base.plots import COLOURS, Figure, new_figure
from deid.base.reports import Section, frame_section
from deid.disclosure.frontier import ChosenRelease, Point, plot_map
from deid.evaluation.sections import evaluation_sections
from deid.experiments.calibration import calibration_section
from deid.experiments.codes import CODES
from deid.experiments.conclusions import CONCLUSIONS
from deid.experiments.dp import BINS, COMPARED, SWEPT
from deid.experiments.linkage import LINKED
from deid.experiments.models import MODELS
from deid.experiments.outcome import Form, frame_of
from deid.experiments.page import FEATURES, HIPS, LEARNING, LEARNT, QUEUES, SAMPLING
from deid.experiments.private_linkage import FILTERS
from deid.experiments.robustness import Robustness, robustness_section
from deid.experiments.same_disease import ONE_DISEASE
from deid.experiments.sequences import LENGTHS
from deid.experiments.tables import RELEASES
from deid.experiments.trajectories import LONGITUDINAL

_MOST = 64 * 2**20
"""Bytes of a file of results; the largest evaluations take a few hundred a document."""
_LARGEST_MATRIX = 40
"""Categories of a confusion matrix that a page can show with their counts."""


@dataclass(frozen=True, eq=False)
class Plot:
    """A figure, and what it shows in words."""

    figure: Figure
    alt: str


@dataclass(frozen=True, eq=False)
class Shown:
    """What a page shows of one result, or of several that belong together."""

    title: str
    sections: Sequence[Section]
    plots: Sequence[Plot]


Values = Mapping[str, Any]


def find_results(source: Path) -> dict[str, Values]:
    """Read one file of results, or all of a folder.

    Parameters
    ----------
    source : Path
        What a command wrote with ``--json``, or a folder that holds such files (other JSON files there are passed
        over, and so are folders).

    Returns
    -------
    dict of str to mapping
        File name -> JSON values, in the order of names.

    Raises
    ------
    InputError
        When a file cannot be read, or is no result that can be shown.
    """
    if not source.is_dir():
        values = _read(source)
        if not _is_result(values):
            known = ", ".join(_KINDS)
            raise InputError(
                "this is no result that has a page", f"name what one of these wrote with --json: {known}", str(source)
            )
        return {source.name: values}
    found = {}
    for file in sorted(source.glob("*.json")):
        values = _read(file)
        if _is_result(values):
            found[file.name] = values
    if not found:
        raise InputError(
            "the folder holds no result that can be shown", "write some into it with --json FILE.json", str(source)
        )
    return found


def _is_result(values: Any) -> bool:
    return isinstance(values, dict) and isinstance(values.get("command"), str) and values["command"] in _KINDS


def _read(file: Path) -> Any:
    hint, where = "name what a command wrote with --json", str(file)
    small = not file.is_file() or file.stat().st_size <= _MOST
    require(small, "the file is too large for results", hint, where, kind=InputError)
    text = read_text(file, where, InputError)
    with told_as(InputError("the file is no JSON", hint, where), ValueError, RecursionError):
        return json.loads(text)


def show_results(found: Mapping[str, Values], source: Path) -> list[Shown]:
    """Return what a page shows of results, those of releases of tables on one map.

    Parameters
    ----------
    found : mapping of str to mapping
        From `find_results`.
    source : Path
        Where they were found, for errors.

    Raises
    ------
    InputError
        When a file does not hold what its command writes.
    """
    shown: list[Shown] = []
    points: list[Point] = []
    for name, values in found.items():
        where = str(source / name if source.is_dir() else source)
        what = f"the file does not hold what deid {values['command']} writes"
        with told_as(InputError(what, "run the command again", where), *MALFORMED, ConfigError):
            if values["command"] == "anonymize":
                points.append(_release_point(values))
            one = _KINDS[values["command"]](values)
        shown.append(dataclasses.replace(one, title=f"{one.title} ({name})") if len(found) > 1 else one)
    if points:
        shown.insert(0, Shown("Releases: risk and utility", (), [_map(points, ())]))
    return shown


# --- evaluations ---


def _evaluation(values: Values) -> Shown:
    strict, leaks = values["measures"]["strict"]["by_label"], values["leaks"]["by_category"]
    rows = sorted(strict.items(), key=lambda item: (-item[1]["gold"], item[0]))
    # beside a count of documents the command tells which were compared
    sections = list(evaluation_sections({**values, "documents": values.get("compared", values["documents"])}))
    plots = []
    if told := [(name, score) for name, score in rows if score["gold"]]:
        plots.append(_recall(told, leaks))
    if confused := values.get("confusion"):
        plots.append(_confusion(confused["labels"], np.array(confused["words"], dtype=np.int64)))
    if parts := values.get("reliability"):
        plots.append(_reliability(parts))
        sections.append(
            Section.of(
                "Reliability of scores",
                parts,
                {
                    "score above": "{above:.1f}",
                    "up to": "{upto:.1f}",
                    "spans": "{spans}",
                    "mean score": "{score:.3f}",
                    "right": "{right:.3f}",
                },
                "Right: share of the spans with start, end and category of gold; equal to the mean score where scores "
                "are true probabilities.",
            )
        )
    return Shown("Evaluation", sections, plots)


def _recall(rows: Sequence[tuple[str, Values]], leaks: Mapping[str, Values]) -> Plot:
    height = 1 + 0.3 * len(rows)
    figure, axes = new_figure(8, height)
    places = np.arange(len(rows))
    hidden = [
        1 - leaks[name]["phi_words_left"] / max(leaks[name]["phi_words"], 1) if name in leaks else np.nan
        for name, _ in rows
    ]
    axes.barh(
        places - 0.2, [score["recall"] for _, score in rows], 0.38, color=COLOURS[1], label="strict recall of spans"
    )
    axes.barh(places + 0.2, hidden, 0.38, color=COLOURS[6], label="words hidden")
    axes.set_yticks(places, [f"{name} ({score['gold']})" for name, score in rows])
    axes.invert_yaxis()
    axes.set(xlim=(0, 1), xlabel="share of gold (spans in brackets)")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.6 / height - 0.04), ncols=2, fontsize="small")
    return Plot(
        figure, "Bars: strict recall and share of words hidden, by category; the table of categories has the numbers"
    )


def _confusion(labels: Sequence[str], words: np.ndarray) -> Plot:
    if words.shape != (len(labels), len(labels)):
        raise ValueError("no square matrix")
    # what neither side marks is most of a note, and no confusion
    words = words.copy()
    words[-1, -1] = 0
    size = len(labels)
    share = words / np.maximum(words.sum(axis=1, keepdims=True), 1)
    side = 2.4 + 0.36 * size
    figure, axes = new_figure(side, side)
    axes.imshow(share, cmap="Blues", vmin=0, vmax=1)
    if size <= _LARGEST_MATRIX:
        for i, j in np.argwhere(words):
            colour = "#ffffff" if share[i, j] > 0.6 else "#000000"
            axes.text(j, i, str(words[i, j]), ha="center", va="center", fontsize=6, color=colour)
    axes.set_xticks(range(size), labels, rotation=90, fontsize=7)
    axes.set_yticks(range(size), labels, fontsize=7)
    axes.set(xlabel="system", ylabel="gold")
    figure.supxlabel("words; shade: share of the row", fontsize=8)
    return Plot(figure, "Confusion matrix: words by category in gold (rows) and in the system (columns)")


def _reliability(parts: Sequence[Values]) -> Plot:
    figure, axes = new_figure(5, 4.6, grid=True)
    axes.plot([0, 1], [0, 1], color=COLOURS[7], linewidth=0.8, label="true probabilities")
    axes.plot([p["score"] for p in parts], [p["right"] for p in parts], "-o", color=COLOURS[1], label="spans")
    for part in parts:
        axes.annotate(
            str(part["spans"]), (part["score"], part["right"]), xytext=(4, -9), textcoords="offset points", fontsize=7
        )
    axes.set(
        xlim=(0, 1.02), ylim=(0, 1.02), xlabel="mean score of spans (their number beside)", ylabel="share that is right"
    )
    axes.legend(loc="upper left", fontsize="small")
    return Plot(figure, "Reliability diagram: share of spans that are right over their mean score; its table follows")


def _crossval(values: Values) -> Shown:
    pooled = _evaluation(values["pooled"])
    folds = frame_of(values["folds"])
    shown = ["fold", "documents", "spans", "strict_precision", "strict_recall", "strict_f1", "phi_recall"]
    section = frame_section("Folds", folds[shown].round(4), "The other tables and plots are of all folds together.")
    return Shown("Cross-validation", [section, *pooled.sections], pooled.plots)


def _calibration(values: Values) -> Shown:
    points, chosen = values["dials"], values["chosen"]
    figure, (left, right) = new_figure(11, 4.2, 2, grid=True)
    dials = [p["dial"] for p in points]
    left.plot(dials, [p["recall"] for p in points], "-o", color=COLOURS[1], label="recall of PHI words")
    left.plot(
        dials, [p["bound"] for p in points], "--", color=COLOURS[1], label=f"at least ({values['confidence']:.0%})"
    )
    left.plot(dials, [p["precision"] for p in points], "-s", color=COLOURS[2], label="precision")
    left.axhline(values["target"], color=COLOURS[7], linewidth=0.8, label="target")
    left.set(xlabel="dial", ylabel="share")
    right.plot(dials, [p["leaks"] for p in points], "-o", color=COLOURS[1])
    low, high = zip(*(p["leaks_interval"] for p in points), strict=True)
    right.fill_between(dials, low, high, color=COLOURS[1], alpha=0.15, label="interval")
    right.set(xlabel="dial", ylabel="PHI words left per note")
    for axes in (left, right):
        axes.axvline(chosen["dial"], color=COLOURS[0], linewidth=0.8, linestyle=":", label="chosen")
        axes.legend(fontsize="small")
    plot = Plot(figure, "Recall, precision and PHI words left per note, by dial")
    return Shown("Calibration", [calibration_section(values)], [plot])


# --- experiments ---


def _again(*forms: Form) -> Callable[[Values], Shown]:
    """Return what shows figures of one of these forms, the first by default."""

    def shown(values: Values) -> Shown:
        form = next((form for form in forms if form.rows in values), forms[0])
        found = form.again(values)
        return Shown(found.title, found.sections, [Plot(found.draw(), form.alt)] if found.draw else [])

    return shown


def _robustness(values: Values) -> Shown:
    rows = [Robustness(**row) for row in values["perturbations"]]
    figure, axes = new_figure(8, 1 + 0.35 * len(rows))
    places = np.arange(len(rows))
    axes.barh(places, [row.recall_fall for row in rows], color=COLOURS[1])
    for place, row in zip(places, rows, strict=True):
        axes.plot(row.recall_fall_interval, [place, place], color="#000000", linewidth=1)
    axes.set_yticks(places, [row.name for row in rows])
    axes.invert_yaxis()
    axes.set(xlabel="recall of PHI words lost, with its interval")
    axes.grid(axis="x", alpha=0.3)
    alt = "Bars: recall of PHI words lost by way of writing; the table has the numbers"
    return Shown("Robustness", [robustness_section(rows)], [Plot(figure, alt)])


# --- releases of tables ---


def _map(points: Sequence[Point], choices: Sequence[ChosenRelease]) -> Plot:
    return Plot(plot_map(points, choices), "R-U map: utility over risk of each release, with the Pareto front")


def _ru_map(values: Values) -> Shown:
    points = [Point(**point) for point in values["points"]]
    choices = [
        ChosenRelease(told["strategy"], None if told["point"] is None else Point(**told["point"]))
        for told in values["choices"]
    ]
    forms = {"method": "{0.method}", "k": "{0.k}", "utility": "{0.utility:.4f}", "risk": "{0.risk:.4f}"}
    note = "Risk: average chance that a record is linked rightly; utility: 1 - NCP. " + "; ".join(map(str, choices))
    return Shown("Risk and utility", [Section.of("Releases", points, forms, note)], [_map(points, choices)])


def _release_point(values: Values) -> Point:
    risk = values["risk_after"]["prosecutor"]["average"]
    return Point(str(values["method"]), int(values["asked"].get("k", 1)), 1 - values["loss"]["ncp"], float(risk))


def _release(values: Values) -> Shown:
    rows = [
        {"what": "rows published", "value": f"{values['published']} of {values['rows']}"},
        {"what": "average risk before", "value": f"{values['risk_before']['prosecutor']['average']:.4f}"},
        {"what": "average risk after", "value": f"{values['risk_after']['prosecutor']['average']:.4f}"},
        {"what": "utility (1 - NCP)", "value": f"{1 - values['loss']['ncp']:.4f}"},
    ]
    section = Section.of(f"Release by {values['method']}", rows, {"": "{what}", "value": "{value}"})
    return Shown("Release", [section], [])


_KINDS: Mapping[str, Callable[[Values], Shown]] = {
    "evaluate": _evaluation,
    "crossval": _crossval,
    "calibrate": _calibration,
    "experiment learning-curve": _again(LEARNING),
    "experiment active-learning": _again(QUEUES),
    "experiment features": _again(FEATURES),
    "experiment sampling": _again(SAMPLING),
    "experiment learners": _again(LEARNT),
    "experiment dp": _again(COMPARED, SWEPT, BINS),
    "experiment sequences": _again(LENGTHS),
    "experiment hips": _again(HIPS),
    "experiment robustness": _robustness,
    "experiment linkage": _again(LINKED),
    "experiment private-linkage": _again(FILTERS),
    "experiment tables": _again(RELEASES),
    "experiment same-disease": _again(ONE_DISEASE),
    "experiment trajectories": _again(LONGITUDINAL),
    "experiment codes": _again(CODES),
    "experiment conclusions": _again(CONCLUSIONS),
    "experiment models": _again(MODELS),
    "ru-map": _ru_map,
    "anonymize": _release,
}
"""Command -> what its results are shown as."""
