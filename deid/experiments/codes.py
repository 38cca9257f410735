"""What diagnosis codes tell, what suppressing rare ones buys, and which studies releases of them still support.

The studies of Loukides, Denny and Malin 2010 and of Loukides, Gkoulalas-Divanis and Malin 2010, in the form of the
tutorial of Gkoulalas-Divanis and Loukides 2012: curves of support, suppression by frequency, diseases by method, error
of case counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from deid.base.errors import ConfigError, DeidError
from deid.base.late import pd
from deid.base.plots import COLOURS, Figure, new_figure
from deid.base.reports import Section, frame_records, frame_section
from deid.experiments.outcome import Form, Outcome, frame_of
from deid.transactions.asking import CodesAsked, release_codes
from deid.transactions.attacks import attack_codes
from deid.transactions.reading import CodedRecords
from deid.transactions.suppression import suppress_rare

SUPPORTS = (1, 2, 5, 10, 20, 50, 100, 200)
"""Numbers of records at which curves of support are told."""
SHARES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.25)
"""Shares of the records up to which a code counts as rare."""


def support_curves(data: CodedRecords, m: int = 2) -> pd.DataFrame:
    """Return for each attacker which share of the persons at most so many records fit.

    Returns
    -------
    pandas.DataFrame
        ``attacker``, ``records`` (`SUPPORTS`), ``share`` of the persons.
    """
    rows = []
    for records in SUPPORTS:
        for attack in attack_codes(data, data.transactions, m=m, most=records):
            rows.append({"attacker": attack.attacker, "records": records, "share": attack.few})
    return pd.DataFrame(rows).sort_values(["attacker", "records"], kind="stable", ignore_index=True)


def suppression_sweep(data: CodedRecords, shares: Sequence[float] = SHARES) -> pd.DataFrame:
    """Suppress everywhere the codes that at most a share of the records have, and attack with all codes of a person.

    Vinterbo's global suppression, as the tutorial applies it.

    Returns
    -------
    pandas.DataFrame
        ``share``, ``codes_left``, ``unique`` (share of persons).
    """
    rows = []
    for share in shares:
        left = suppress_rare(data.transactions, int(share * len(data.transactions)))
        unique = attack_codes(data, left, draws=1)[0].unique
        rows.append({"share": share, "codes_left": int((left.supports > 0).sum()), "unique": unique})
    return pd.DataFrame(rows)


def plot_codes(curves: pd.DataFrame, sweep: pd.DataFrame, rows: pd.DataFrame) -> Figure:
    """Return a plot: persons by records that fit (`support_curves`), suppression, error of case counts by method."""
    figure, (left, middle, right) = new_figure(14, 4.2, 3, grid=True)
    for number, (attacker, own) in enumerate(curves.groupby("attacker", sort=False)):
        left.plot(own["records"].to_numpy(), own["share"].to_numpy(), "-o", color=COLOURS[number], label=str(attacker))
    left.set(xscale="log", xlabel="records that fit, at most", ylabel="share of the persons", ylim=(0, 1))
    left.legend(fontsize="small")
    middle.plot(sweep["share"].to_numpy(), sweep["unique"].to_numpy(), "-o", color=COLOURS[1])
    for row in sweep.itertuples():
        middle.annotate(
            f"{row.codes_left}", (row.share, row.unique), xytext=(3, 5), textcoords="offset points", fontsize=7
        )
    middle.set(xlabel="codes of at most this share of the records go (codes left beside)", ylabel="unique persons")
    told = rows.dropna(subset=["case_error"]) if "case_error" in rows else rows.iloc[:0]
    right.bar(range(len(told)), told["case_error"].to_numpy() if len(told) else [], color=COLOURS[2])
    right.set_xticks(range(len(told)), told["method"].tolist())
    right.set(ylabel="AvgRE of case counts")
    return figure


def _sections(rows: pd.DataFrame, values: Mapping[str, Any]) -> list[Section]:
    """Return the tables of `support_curves`, `suppression_sweep` and `compare_codes`."""
    curves, sweep = frame_of(values["curves"]), frame_of(values["suppression"])
    wide = curves.pivot_table(index="attacker", columns="records", values="share", sort=False).rename(columns=str)
    told = " ".join(f"{method}: not done: {what}." for method, what in values["not_done"].items())
    sections = [
        frame_section("Share of the persons whom at most so many records fit", wide.reset_index(), digits=4),
        frame_section("Codes suppressed that at most a share of the records have", sweep, digits=4),
        frame_section("Releases by method", rows, told, 4),
    ]
    if studies := values["studies"]:
        methods = rows["method"].tolist()
        kept = {(study["disease"], study["method"]) for study in studies if study["supported"]}
        diseases = dict.fromkeys(str(study["disease"]) for study in studies)
        lines = [(d, *("yes" if (d, method) in kept else "" for method in methods)) for d in diseases]
        sections.append(Section("Studies that a release supports", ("disease", *methods), lines))
    return sections


def codes_outcome(frame: pd.DataFrame, asked: CodesAsked, methods: Sequence[str], *, linked: bool = False) -> Outcome:
    """Attack codes, suppress rare ones, and release them by every method.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table, all cells texts.
    asked : CodesAsked
        Columns and levels; its method does not count.
    methods : sequence of str
        Methods of deid codes anonymize.
    linked : bool
        Whether persons were told apart by comparing all that is known of them.

    Returns
    -------
    Outcome
        Rows with ``method``, ``ul``, ``avg_re`` (each code), ``case_error`` (AvgRE of the sets of up to two codes that
        a tenth of the records have), ``ncp``, ``suppressed``, ``unique`` (by all codes), ``studies`` supported,
        ``cpu_seconds``; ``not_done``: the methods that could not do it.

    Raises
    ------
    ConfigError
        When no method could.
    """
    data = asked.read(frame, persons_as_given=asked.persons_as_given or linked)
    curves, sweep = support_curves(data, m=asked.m), suppression_sweep(data)
    rows, studies, not_done = [], [], {}
    for method in methods:
        try:
            release = release_codes(frame, replace(asked, method=method), linked=linked)
        except DeidError as error:
            not_done[method] = error
            continue
        for study in release.studies:
            told = {"disease": study.disease, "method": method, "cases": study.cases, "supported": study.supported}
            studies.append(told)
        row: dict[str, Any] = {"method": method}
        if release.loss is not None:
            after = release.attacks[1]
            row |= {name: getattr(release.loss, name) for name in ("ul", "avg_re", "case_error", "ncp", "suppressed")}
            row["unique"] = after[0].unique if after else float("nan")
            row["studies"] = sum(study.supported for study in release.studies)
        rows.append({**row, "cpu_seconds": release.seconds})
    if not rows:
        raise ConfigError("no method could release the codes", str(next(iter(not_done.values()), "name a method")))
    return CODES.outcome(
        pd.DataFrame(rows),
        persons=len(data.transactions),
        curves=frame_records(curves),
        suppression=frame_records(sweep),
        studies=studies,
        not_done={method: error.what for method, error in not_done.items()},
    )


CODES = Form(
    "Diagnosis codes",
    _sections,
    lambda rows, values: plot_codes(frame_of(values["curves"]), frame_of(values["suppression"]), rows),
    "Persons by records that fit, unique persons by suppressed share, error of case counts by method",
)
