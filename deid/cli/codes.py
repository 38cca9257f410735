"""``deid codes``: release diagnosis codes, and attack released ones."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deid.cli.common import Summary, SummaryJson
from deid.cli.run_manifest import begin, finish, tables_of
from deid.cli.table_options import PersonsAsGiven, QuasiIdentifiers, Separator, SqlTable, Table, names_of, print_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from deid.table.hierarchy import Hierarchy
    from deid.transactions.attacks import Attack
    from deid.transactions.methods import Asked
    from deid.transactions.reading import CodedRecords
    from deid.transactions.release import CodesRelease

__all__ = ["risk_of_codes"]


Column = Annotated[
    str, typer.Option("--codes", metavar="COLUMN", help="Column with a code, or a list of codes, a cell.")
]
CodeSeparator = Annotated[str, typer.Option(metavar="C", help="Character between the codes of a cell.")]
Person = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Column that tells whose row it is; needed when rows are visits.")
]
Visit = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column that tells the visit: a number or a date.")]
HierarchyName = Annotated[
    str | None, typer.Option("--hierarchy", metavar="H", help="icd-9-cm, icd-10-cm, or a CSV of ARX's form.")
]
OwnLeaf = Annotated[
    bool, typer.Option("--own-leaf", help="Codes that are not in the hierarchy are leaves below its root.")
]
Known = Annotated[int, typer.Option("--m", help="Codes that the attacker knows (p of coherence).")]


def _read(
    place: str,
    column: str,
    separator: str | None,
    table: str | None,
    code_separator: str,
    person: str | None,
    visit: str | None,
    persons_as_given: bool = True,
) -> tuple[pd.DataFrame, CodedRecords]:
    from deid.table.table_files import read_table
    from deid.transactions.reading import read_codes

    frame = read_table(place, separator=separator, table=table, text=True)
    return frame, read_codes(
        frame, column, separator=code_separator, person=person, visit=visit, persons_as_given=persons_as_given
    )


def _cells(frame: pd.DataFrame, data: CodedRecords, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the columns of each record; the rows of a person must agree."""
    from deid.base.errors import InputError
    from deid.transactions.relational import column_cells

    if not columns:
        return []
    cells = column_cells(frame, columns)
    for rows in data.rows:
        for row in rows[1:]:
            if cells[row] != cells[rows[0]]:
                raise InputError(
                    "the rows of a person differ in a column of --qi",
                    "give every person one value",
                    position=f"row {row + 1}",
                )
    return [cells[rows[0]] for rows in data.rows]


def _anonymize(
    context: typer.Context,
    place: Table,
    column: Column,
    out: Annotated[Path, typer.Option("-o", "--output", metavar="OUT", help="Released table, CSV or Parquet.")],
    method: Annotated[
        str,
        typer.Option(
            help="global-suppression, local-suppression, complete, km, km-local, km-vertical, ugaclip, cba, coat, "
            "pcta, aclip, coherence, rbat, suppress-control, top-down-control, disassociation or relational."
        ),
    ] = "km",
    k: Annotated[int, typer.Option("--k", help="Records that must fit what the attacker knows.")] = 5,
    m: Known = 2,
    hierarchy: HierarchyName = None,
    own_leaf: OwnLeaf = False,
    code_separator: CodeSeparator = ";",
    person: Person = None,
    visit: Visit = None,
    privacy: Annotated[
        Path | None,
        typer.Option(metavar="F", help="Privacy policy: a line a set of codes; else the sets of the visits."),
    ] = None,
    parts: Annotated[bool, typer.Option("--parts", help="Protect parts of the privacy policy's sets as well.")] = False,
    utility: Annotated[
        Path | None, typer.Option(metavar="F", help="Utility policy: a line a set of codes that may be combined.")
    ] = None,
    phenotypes: Annotated[
        Path | None,
        typer.Option(
            metavar="F", help="Diseases to study, lines NAME: CODES; they are the utility policy, if no other is."
        ),
    ] = None,
    siblings: Annotated[
        int,
        typer.Option(metavar="N", help="Codes near a phenotype's may be combined: up to this level of the hierarchy."),
    ] = 0,
    free: Annotated[
        bool, typer.Option("--free", help="Codes in no utility constraint may be combined with each other.")
    ] = False,
    most_suppressed: Annotated[
        float, typer.Option(metavar="P", help="ugaclip, cba, coat, pcta, aclip: greatest share of codes suppressed.")
    ] = 1.0,
    sensitive_codes: Annotated[
        list[str] | None, typer.Option(metavar="A,B", help="Codes that must not be inferred; 042.* for all below.")
    ] = None,
    rules: Annotated[
        Path | None, typer.Option(metavar="F", help="rbat: lines PUBLIC CODES -> SENSITIVE CODES.")
    ] = None,
    confidence: Annotated[
        float, typer.Option(metavar="P", help="Greatest probability of a sensitive code (h, c, rho).")
    ] = 0.5,
    known: Annotated[
        int | None,
        typer.Option(metavar="N", help="rho-uncertainty: most codes that the attacker knows; any by default."),
    ] = None,
    quasi_identifiers: QuasiIdentifiers = None,
    report: Annotated[Path | None, typer.Option(metavar="F", help="Write a report as a web page.")] = None,
    separator: Separator = None,
    table: SqlTable = None,
    persons_as_given: PersonsAsGiven = False,
    summary_json: SummaryJson = None,
) -> None:
    """Make diagnosis codes that can be released with a stated protection.

    Published are the codes, and with the method relational the columns of --qi, which must be generalized before. A
    verifier that knows only the result must pass it, otherwise nothing is written. OUT.manifest.json lies beside it.

    Example: deid codes anonymize patients.csv --codes diagnosis --method km --k 5 --m 2 --hierarchy icd-9-cm -o out.csv
    """
    from deid.base.files import check_new_file
    from deid.table.table_files import check_new_table, write_table
    from deid.transactions.policies import read_policy
    from deid.transactions.reading import codes_hierarchy
    from deid.transactions.release import anonymize_codes
    from deid.transactions.report import write_codes_report

    check_new_table(out)
    if report is not None:
        check_new_file(report)
    run = begin(context, out)
    columns = names_of(quasi_identifiers)
    frame, data = _read(place, column, separator, table, code_separator, person, visit, persons_as_given)
    tree = codes_hierarchy(data, hierarchy, own_leaf=own_leaf)
    labels = data.transactions.labels
    studies = read_policy(phenotypes, labels, "phenotypes") if phenotypes else {}
    asked = _asked(
        data, tree, k, m, privacy, parts, utility, studies, siblings, free, most_suppressed, sensitive_codes, rules,
        confidence, known,
    )  # fmt: skip
    release = anonymize_codes(
        data, asked, method, hierarchy=tree, columns=columns, cells=_cells(frame, data, columns), phenotypes=studies
    )
    write_table(release.table(column), out)
    command = shlex.join(["deid", *sys.argv[1:]])
    if report is not None:
        write_codes_report(report, release, command)
    _print(release)
    summary = Summary("codes anonymize")
    left = [name for name in frame.columns if name not in (column, *columns)]
    summary.notes = [f"left out: {', '.join(left)}"] if left else []
    if person is None:
        summary.notes.append("every row was taken for a person; when rows are visits, name the person with --person")
    summary.extra = release.as_dict() | {"persons_as_given": persons_as_given}
    fates = {column: "anonymized", **dict.fromkeys(columns, "published"), **dict.fromkeys(left, "left out")}
    finish(run, summary, out, inputs=tables_of(place), columns=fates, results=summary.extra)
    summary.finish(summary_json)


def _asked(
    data: CodedRecords,
    tree: Hierarchy | None,
    k: int,
    m: int,
    privacy: Path | None,
    parts: bool,
    utility: Path | None,
    studies: dict[str, frozenset[str]],
    siblings: int,
    free: bool,
    most_suppressed: float,
    sensitive: list[str] | None,
    rules: Path | None,
    confidence: float,
    known: int | None,
) -> Asked:
    """Gather what is asked from options and files."""
    from deid.transactions.methods import Asked
    from deid.transactions.policies import all_parts, listed_codes, phenotype_policy, read_policy, read_rules

    labels = data.transactions.labels
    sets = (
        list(read_policy(privacy, labels, "privacy policy").values())
        if privacy
        else sorted(set(data.visits), key=sorted)
    )
    if utility is not None:
        groups = list(read_policy(utility, labels, "utility policy").values())
    else:
        groups = phenotype_policy(studies, labels, tree, siblings=siblings)
    return Asked(
        k=k,
        m=m,
        privacy=all_parts(sets) if parts else sets,
        utility=groups,
        sensitive=listed_codes(" ".join(sensitive or ()), labels, "--sensitive-codes"),
        rules=read_rules(rules, labels) if rules else (),
        confidence=confidence,
        known=known,
        most_suppressed=most_suppressed,
        free=free,
    )


def _print(release: CodesRelease) -> None:
    rows = [
        ("method", release.method),
        ("stops an attacker who", release.attacker),
        ("records", f"{len(release.original.transactions):,}"),
        *((name.replace("_", " "), f"{count:,}") for name, count in release.told.items()),
        *((f.model, f"{f.verdict.level:.4g} (asked: {f.asked})") for f in release.findings),
    ]
    loss = release.loss
    if loss is not None:
        rows += [
            ("loss: UL, AvgRE", f"{loss.ul:.4g}, {loss.avg_re:.4f}"),
            ("loss: NCP, occurrences suppressed", f"{loss.ncp:.4f}, {loss.suppressed:.2%}"),
        ]
    rows += [(f"study of {s.disease}", "supported" if s.supported else "lost") for s in release.studies]
    print_rows(("release", "value"), rows)
    if release.published is not None:
        _print_attacks([("before", release.attacks[0]), ("after", release.attacks[1])])


def _print_attacks(results: list[tuple[str, list[Attack]]]) -> None:
    rows = [
        (
            attack.attacker,
            name,
            f"{attack.targets:,}",
            f"{attack.unique:.2%}",
            f"{attack.few:.2%}",
            f"{attack.median:g}",
        )
        for place in range(max(len(attacks) for _, attacks in results))
        for name, attacks in results
        if place < len(attacks)
        for attack in [attacks[place]]
    ]
    most = results[0][1][0].most
    print_rows(("attacker knows", "in", "persons", "unique", f"1 to {most} fit", "median"), rows)


def _risk(
    place: Table,
    column: Column,
    released: Annotated[
        str | None, typer.Option(metavar="R", help="The release of these persons, with the same column of codes.")
    ] = None,
    population: Annotated[
        str | None, typer.Option(metavar="P", help="A population, with the same column: who else fits.")
    ] = None,
    m: Known = 2,
    draws: Annotated[int, typer.Option(metavar="N", help="Random parts of each person's codes.")] = 20,
    most: Annotated[int, typer.Option(metavar="N", help="Up to so many candidates count as few.")] = 5,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the random parts.")] = 0,
    hierarchy: HierarchyName = None,
    own_leaf: OwnLeaf = False,
    code_separator: CodeSeparator = ";",
    person: Person = None,
    visit: Visit = None,
    register_of_all: Annotated[
        str | None, typer.Option("--register", metavar="V", help="Two-step: identified persons, such as voters.")
    ] = None,
    discharge: Annotated[
        str | None, typer.Option(metavar="D", help="Two-step: discharge records with demographics and codes.")
    ] = None,
    on: Annotated[list[str] | None, typer.Option(metavar="A,B", help="Two-step: demographic columns of both.")] = None,
    separator: Separator = None,
    table: SqlTable = None,
    summary_json: SummaryJson = None,
) -> None:
    """Attack diagnosis codes: how many persons do their codes single out, before and after a release.

    The attacker knows all codes of a person, m random ones, or those of one visit; or comes from a register of persons
    over discharge records. The release may hold sets such as (401.1,401.9), or inner values of the hierarchy.

    Example: deid codes risk patients.csv --codes diagnosis --released released.csv --hierarchy icd-9-cm
    """
    risk_of_codes(
        place, column, released=released, population=population, m=m, draws=draws, most=most, seed=seed,
        hierarchy=hierarchy, own_leaf=own_leaf, code_separator=code_separator, person=person, visit=visit,
        two_steps=(register_of_all, discharge, names_of(on)), separator=separator, table=table,
        summary_json=summary_json,
    )  # fmt: skip


def risk_of_codes(
    place: str,
    column: str,
    *,
    released: str | None = None,
    population: str | None = None,
    m: int = 2,
    draws: int = 20,
    most: int = 5,
    seed: int = 0,
    hierarchy: str | None = None,
    own_leaf: bool = False,
    code_separator: str = ";",
    person: str | None = None,
    visit: str | None = None,
    two_steps: tuple[str | None, str | None, list[str]] = (None, None, []),
    separator: str | None = None,
    table: str | None = None,
    summary_json: Path | None = None,
) -> None:
    """Attack codes and print what came of it; also behind ``deid risk --codes``."""
    from deid.base.errors import ConfigError
    from deid.table.table_files import read_table
    from deid.transactions.attacks import attack_codes, two_step
    from deid.transactions.reading import codes_hierarchy, parse_published, read_codes

    _, data = _read(place, column, separator, table, code_separator, person, visit)
    targets: list[tuple[str, Any]] = [("the table", data.transactions)]
    if population is not None:
        targets.append(
            ("the population", _read(population, column, separator, None, code_separator, None, None)[1].transactions)
        )
    if released is not None:
        tree = codes_hierarchy(data, hierarchy, own_leaf=own_leaf)
        table_of, shown = _read(released, column, separator, None, code_separator, None, None)
        if {"joint", "cluster", "part"} <= set(table_of.columns):
            raise ConfigError(
                "a release by disassociation has no records to look for", "its chunks were verified when it was made"
            )
        targets.append(("the release", parse_published(shown.transactions.texts(), tree)))
    voters, discharges, on = two_steps
    if any(two_steps) and not all(two_steps):
        raise ConfigError("two-step linkage needs --register, --discharge and --on", "give all three")
    results = []
    for name, found in targets:
        attacks = attack_codes(data, found, m=m, draws=draws, most=most, seed=seed)
        if voters is not None and discharges is not None:
            records = read_table(discharges, separator=separator, text=True)
            coded = read_codes(records, column, separator=code_separator)
            attacks.append(
                two_step(read_table(voters, separator=separator, text=True), records, coded, found, on, most=most)
            )
        results.append((name, attacks))
    _print_attacks(results)
    summary = Summary("codes risk")
    summary.extra = {name: [attack.as_dict() for attack in attacks] for name, attacks in results}
    summary.finish(summary_json)
