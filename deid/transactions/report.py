"""The report of a release of codes; it holds no record."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from deid.base.plots import COLOURS, image, new_figure
from deid.base.reports import write_html
from deid.transactions.attacks import distinguishability
from deid.transactions.release import CodesRelease
from deid.transactions.transactions import Transactions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["write_codes_report"]


@dataclass(frozen=True)
class _Section:
    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""


def write_codes_report(path: Path, release: CodesRelease, command: str) -> None:
    """Write the report as a self-contained page.

    Parameters
    ----------
    path : Path
        The HTML file; replaced where it exists.
    release : CodesRelease
        What was made.
    command : str
        The command line that made it, shown on the page.

    Raises
    ------
    OutputError
        When the file cannot be written.
    """
    figures = [_fitting(release)]
    if release.published is not None:
        figures.append(_supports(release.original.transactions, release.published))
    sections = [_done(release), _protection(release), _attacks(release)]
    if release.loss is not None:
        sections.append(_loss(release))
    if release.studies:
        sections.append(_studies(release))
    write_html(
        path,
        "release.html",
        title="Report of a release of codes",
        sections=sections,
        plots=[base64.b64encode(image(figure)).decode("ascii") for figure in figures],
        command=command,
    )


def _done(release: CodesRelease) -> _Section:
    data = release.original.transactions
    rows = [
        ("method", release.method),
        ("stops an attacker who", release.attacker),
        ("records", f"{len(data):,}"),
        ("records without codes", f"{int((data.lengths == 0).sum()):,}"),
        ("codes, occurrences", f"{len(data.labels):,}, {len(data.items):,}"),
        *((name.replace("_", " "), f"{count:,}") for name, count in release.told.items()),
        ("columns published beside the codes", ", ".join(release.columns) or "none"),
    ]
    return _Section("What was done", ("", ""), rows)


def _protection(release: CodesRelease) -> _Section:
    rows = [(f.model, f.asked, f"{f.verdict.level:.4g}", "yes") for f in release.findings]
    return _Section(
        "Protection",
        ("model", "asked", "reached", "met"),
        rows,
        "Found by verifiers that know what is published alone.",
    )


def _attacks(release: CodesRelease) -> _Section:
    before, after = release.attacks
    rows = []
    for place, attack in enumerate(before):
        then = after[place] if after else None
        rows.append(
            (
                attack.attacker,
                f"{attack.targets:,}",
                f"{attack.unique:.2%}",
                "" if then is None else f"{then.unique:.2%}",
                f"{attack.few:.2%}",
                "" if then is None else f"{then.few:.2%}",
            )
        )
    few = f"1 to {before[0].most}"
    columns = ("attacker knows", "persons", "unique", "after", f"{few} fit", "after")
    note = "Share of persons whom one or few records fit. Codes suppressed everywhere are left out of what is known."
    return _Section("Attacks", columns, rows, note)


def _loss(release: CodesRelease) -> _Section:
    loss = release.loss
    assert loss is not None
    rows = [
        ("utility loss (UL)", f"{loss.ul:.4g}"),
        ("average relative error of the counts of codes (AvgRE)", f"{loss.avg_re:.4f}"),
        ("the same for sets that a tenth of the records hold", f"{loss.case_error:.4f}"),
        ("certainty penalty (NCP), 0 to 1", f"{loss.ncp:.4f}"),
        ("occurrences suppressed", f"{loss.suppressed:.2%}"),
        ("codes published as they are", f"{loss.codes_intact:,}"),
    ]
    return _Section("Loss", ("measure", "value"), rows)


def _studies(release: CodesRelease) -> _Section:
    rows = [
        (s.disease, f"{s.cases:,}", f"{s.certain:,}", f"{s.possible:,}", "yes" if s.supported else "no")
        for s in release.studies
    ]
    note = "A study is supported when cases and controls are the same records before and after."
    return _Section("Studies", ("disease", "cases", "certain after", "possible after", "supported"), rows, note)


def _fitting(release: CodesRelease) -> Figure:
    figure = new_figure(6, 3)
    axes = figure.add_subplot()
    data = release.original.transactions
    full = [frozenset(row) for row in data.texts() if row]
    shown = [("before", data, COLOURS[2])]
    if release.published is not None:
        shown.append(("after", release.published, COLOURS[1]))
    for name, table, colour in shown:
        counts = np.sort(distinguishability(table, full))
        share = np.arange(1, len(counts) + 1) / max(len(counts), 1)
        axes.step(np.maximum(counts, 0.5), share, where="post", label=name, color=colour)
    axes.set_xscale("log")
    axes.set_xlabel("records that fit all codes of a person")
    axes.set_ylabel("share of persons")
    axes.legend()
    return figure


def _supports(original: Transactions, published: Transactions) -> Figure:
    figure = new_figure(6, 3)
    axes = figure.add_subplot()
    for name, table, colour in (("codes before", original, COLOURS[2]), ("items after", published, COLOURS[1])):
        supports = np.sort(table.supports[table.supports > 0])[::-1]
        axes.plot(np.arange(1, len(supports) + 1), supports, label=name, color=colour)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("rank")
    axes.set_ylabel("records that hold it")
    axes.legend()
    return figure
