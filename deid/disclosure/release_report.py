"""The report of a release: what was done, the levels that verifiers found, loss and risk, plots, and how it was made.

It holds no cell of the table.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from deid.base.errors import ConfigError
from deid.base.plots import COLOURS, Figure, new_figure
from deid.base.reports import Section, write_page
from deid.disclosure.classes import equivalence_classes
from deid.disclosure.guards import told_of
from deid.disclosure.queries import average_relative_error, closed_ends, query_precision, random_queries
from deid.disclosure.release import Release
from deid.disclosure.risk import SampleRisk
from deid.table.microdata import Microdata

_QUERIES, _MANY_ROWS = 1_000, 100_000
VERIFIED = (
    "It was released only because the verifiers below passed it. The report holds counts and levels, no cell of the "
    "table."
)


def write_report(path: Path, release: Release, made: Section) -> None:
    """Write the report as a self-contained page.

    Parameters
    ----------
    path : Path
        The HTML file; replaced where it exists.
    release : Release
        What was made.
    made : Section
        How it was made (`deid.manifest.page.made_section`).

    Raises
    ------
    OutputError
        When the file cannot be written.
    """
    sections = [_done(release), _columns(release), _levels(release), _loss(release), _answers(release)]
    sections += [_risk(release), made]
    write_page(path, "Release report", sections, [_losses(release), _sizes(release)], VERIFIED)


def _done(release: Release) -> Section:
    data = release.original
    rows = [
        ("method", release.method),
        ("rows in the original", str(len(data))),
        ("rows published", str(len(release.rows))),
        ("rows suppressed", f"{release.suppressed} ({release.suppressed / len(data):.2%})"),
        ("quasi-identifiers", ", ".join(data.quasi_identifiers)),
        ("sensitive", ", ".join(data.sensitive) or "none named"),
        ("counted", "rows" if data.person is None else f"distinct persons ({data.person})"),
        ("persons that look alike", told_of(data)),
    ]
    rows += [(f"level of {name}", str(level)) for name, level in release.levels.items()]
    return Section("What was done", ("", ""), rows)


def _columns(release: Release) -> Section:
    rows = [(name, what.role, what.fate) for name, what in release.fates.items()]
    note = (
        "Generalized: until the levels asked for hold. Published: a sensitive value, protected by the models that "
        "speak of it. Unaltered: published as it is, without protection. Dropped: not in the released table."
    )
    return Section("Every column of the original", ("column", "role", "what was done"), rows, note)


def _levels(release: Release) -> Section:
    rows = [(f.name, f.wanted, f.reached, f.met if f.wanted else "") for f in release.findings]
    note = "Found by verifiers that know the published table alone. Without a level asked for, the level is only told."
    return Section("Protection", ("model", "asked", "reached", "met"), rows, note)


def _loss(release: Release) -> Section:
    loss = release.loss
    rows = [
        ("certainty penalty (NCP), 0 to 1", f"{loss.ncp:.4f}"),
        ("loss metric (LM)", f"{loss.lm:.4f}"),
        ("discernibility (DM)", f"{loss.dm:,}"),
        ("average class size over k (C_AVG)", f"{loss.c_avg:.3f}"),
        ("classes", f"{loss.classes:,}"),
    ]
    rows += [(f"NCP of {name}", f"{value:.4f}") for name, value in loss.columns.items()]
    return Section("Loss", ("measure", "value"), rows)


def _risk(release: Release) -> Section:
    before, after = release.risks

    def row(name: str, of: Any, style: str = ".2%") -> tuple[str, str, str]:
        return name, format(of(before), style), format(of(after), style)

    def smallest(risk: SampleRisk) -> int:
        return risk.smallest_class

    rows = [
        row("prosecutor: highest", lambda r: r.prosecutor.highest),
        row("prosecutor: average", lambda r: r.prosecutor.average),
        row("prosecutor: persons at risk", lambda r: r.prosecutor.at_risk),
        ("marketer: linked rightly by all published columns", *(f"{share:.2%}" for share in release.linked_by_all)),
        row("marketer: linked rightly by the quasi-identifiers alone", lambda r: r.marketer),
        row("unique in the table", lambda r: r.sample_unique),
        row("smallest class", smallest, "d"),
    ]
    rows += [(name, "", value) for name, value in release.in_population()]
    note = (
        "The prosecutor knows that a person is in the table, and all quasi-identifiers; the marketer links everybody. "
        "The line on all published columns is the bound for attackers who know sensitive and unaltered values, too."
    )
    return Section("Risk of re-identification", ("measure", "before", "after"), rows, note)


def _answers(release: Release) -> Section:
    """Return how well the release answers counts and queries: the same questions for every release of a table."""
    kept = replace(release.original, frame=release.original.frame.iloc[release.rows].reset_index(drop=True))
    published = Microdata(release.recoded.frame, release.recoded.roles, kinds=release.recoded.kinds)
    count = _QUERIES if len(kept) <= _MANY_ROWS else _QUERIES // 10
    try:
        mean, errors = average_relative_error(release.original, published, random_queries(release.original, count))
        median = f"{np.nanmedian(errors):.4f}"
        rows = [("average relative error (AvgRE)", f"{mean:.4f}"), ("median relative error", median)]
    except ConfigError:  # no query has an answer
        rows = []
    line, _ = closed_ends(kept, published)
    for name in kept.quasi_identifiers:
        if line.kind(name) != "nominal":
            rows.append((f"precision of queries on {name}", f"{query_precision(kept, published, name):.4f}"))
    note = (
        f"{count:,} random counts over two quasi-identifiers; rows of a class are taken to be spread evenly over its "
        "cells. Precision: of the rows that a query such as age > 60 returns, the share that meets it."
    )
    return Section("Answers to queries", ("measure", "value"), rows, note)


def _losses(release: Release) -> Figure:
    figure, axes = new_figure(6, 0.6 + 0.3 * min(len(release.loss.columns), 40))
    shown = list(release.loss.columns.items())[:40]
    axes.barh([name for name, _ in shown], [value for _, value in shown], color=COLOURS[1])
    axes.set(xlim=(0, 1), xlabel="certainty penalty of the column")
    axes.invert_yaxis()
    return figure


def _sizes(release: Release) -> Figure:
    figure, axes = new_figure(6, 3)
    for name, table, colour in (("before", release.original, COLOURS[2]), ("after", release.recoded, COLOURS[1])):
        sizes = np.sort(equivalence_classes(table).persons)
        share = np.cumsum(sizes) / sizes.sum()
        axes.step(sizes, share, where="post", label=name, color=colour)
    axes.set(xscale="log", xlabel="size of a record's class", ylabel="share of records in classes up to that size")
    axes.legend()
    return figure
