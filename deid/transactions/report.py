"""The report of a release of codes; it holds no record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import zip_longest
from pathlib import Path

import numpy as np

from deid.base.plots import COLOURS, Figure, new_figure
from deid.base.reports import Section, write_page
from deid.transactions.attacks import Attack, distinguishability
from deid.transactions.release import CodesRelease
from deid.transactions.transactions import Transactions

VERIFIED = "It was released only because the verifiers below passed it. The report holds counts and levels, no record."


def attack_rows(results: Mapping[str, Sequence[Attack]]) -> Section:
    """Return attacks on several tables (name -> attacks), each attacker's outcomes beside one another."""
    found = zip_longest(*([asdict(attack) | {"name": name} for attack in own] for name, own in results.items()))
    most = next(iter(results.values()))[0].most
    forms = {"attacker knows": "{attacker}", "in": "{name}", "persons": "{targets:,}", "unique": "{unique:.2%}"}
    rows = [attack for same in found for attack in filter(None, same)]
    return Section.of("", rows, forms | {f"1 to {most} fit": "{few:.2%}", "median": "{median:g}"})


def write_codes_report(path: Path, release: CodesRelease, made: Section) -> None:
    """Write the report as a self-contained page.

    Parameters
    ----------
    path, made
        The HTML file and how it was made, as for `deid.disclosure.release_report.write_report`.
    release : CodesRelease
        What was made.
    """
    figures = [_fitting(release)]
    if release.published is not None:
        figures.append(_supports(release.original.transactions, release.published))
    sections = [_done(release), _protection(release), *([_attacks(release)] if release.attacks[0] else [])]
    if release.loss is not None:
        sections.append(_loss(release))
    if release.studies:
        sections.append(_studies(release))
    write_page(path, "Report of a release of codes", [*sections, made], figures, VERIFIED)


def _done(release: CodesRelease) -> Section:
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
    return Section("What was done", ("", ""), rows)


def _protection(release: CodesRelease) -> Section:
    rows = [(f.model, f.asked, f"{f.verdict.level:.4g}", "yes") for f in release.findings]
    return Section(
        "Protection",
        ("model", "asked", "reached", "met"),
        rows,
        "Found by verifiers that know what is published alone.",
    )


def _attacks(release: CodesRelease) -> Section:
    before, after = release.attacks
    note = "Share of persons whom one or few records fit. Codes suppressed everywhere are left out of what is known."
    return replace(attack_rows({"before": before, **({"after": after} if after else {})}), title="Attacks", note=note)


def _loss(release: CodesRelease) -> Section:
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
    return Section("Loss", ("measure", "value"), rows)


def _studies(release: CodesRelease) -> Section:
    rows = [
        (s.disease, f"{s.cases:,}", f"{s.certain:,}", f"{s.possible:,}", "yes" if s.supported else "no")
        for s in release.studies
    ]
    note = "A study is supported when cases and controls are the same records before and after."
    return Section("Studies", ("disease", "cases", "certain after", "possible after", "supported"), rows, note)


def _fitting(release: CodesRelease) -> Figure:
    figure, axes = new_figure(6, 3)
    data = release.original.transactions
    full = [frozenset(row) for row in data.texts() if row]
    shown = [("before", data, COLOURS[2])]
    if release.published is not None:
        shown.append(("after", release.published, COLOURS[1]))
    for name, table, colour in shown:
        counts = np.sort(distinguishability(table, full))
        share = np.arange(1, len(counts) + 1) / max(len(counts), 1)
        axes.step(np.maximum(counts, 0.5), share, where="post", label=name, color=colour)
    axes.set(xscale="log", xlabel="records that fit all codes of a person", ylabel="share of persons")
    axes.legend()
    return figure


def _supports(original: Transactions, published: Transactions) -> Figure:
    figure, axes = new_figure(6, 3)
    for name, table, colour in (("codes before", original, COLOURS[2]), ("items after", published, COLOURS[1])):
        supports = np.sort(table.supports[table.supports > 0])[::-1]
        axes.plot(np.arange(1, len(supports) + 1), supports, label=name, color=colour)
    axes.set(xscale="log", yscale="log", xlabel="rank", ylabel="records that hold it")
    axes.legend()
    return figure
