"""The command risk: what attackers can do with a published table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deid.cli.codes import risk_of_codes
from deid.cli.common import Summary, SummaryJson
from deid.cli.risk_report import check_signed, write_report
from deid.cli.source_options import KeyFile
from deid.cli.table_options import (
    Hierarchies,
    IgnoreSuppressed,
    Person,
    PersonsAsGiven,
    QuasiIdentifiers,
    SchemaFile,
    Sensitive,
    Separator,
    SqlTable,
    Table,
    gather_schema,
    open_beside,
    open_microdata,
    print_rows,
)

if TYPE_CHECKING:
    from deid.disclosure.composition import Composition
    from deid.disclosure.risk import AttackerRisk, PopulationRisk, SampleRisk


def _risk(
    place: Table,
    quasi_identifiers: QuasiIdentifiers = None,
    sensitive: Sensitive = None,
    person: Person = None,
    schema: SchemaFile = None,
    hierarchy: Hierarchies = None,
    population: Annotated[
        str | None,
        typer.Option(metavar="P", help="Table of the population, one row a person, with the quasi-identifiers."),
    ] = None,
    population_size: Annotated[
        int | None, typer.Option(metavar="N", help="Size of the population, to estimate how many are unique in it.")
    ] = None,
    earlier: Annotated[
        str | None,
        typer.Option("--with", metavar="R", help="Another release of these persons: the composition attack."),
    ] = None,
    known: Annotated[
        str | None,
        typer.Option(metavar="O", help="For --with: table of persons that the attacker knows, such as the original."),
    ] = None,
    threshold: Annotated[float, typer.Option(metavar="P", help="Probability from which a person is at risk.")] = 0.2,
    expert_report: Annotated[
        Path | None,
        typer.Option(metavar="F", help="Write the signed report that an expert determination needs, as JSON."),
    ] = None,
    check_report: Annotated[
        Path | None, typer.Option(metavar="F", help="Check the signature of such a report, and that it is of TABLE.")
    ] = None,
    assume: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="For the report: a further assumption (repeatable)."),
    ] = None,
    policy: Annotated[
        str | None, typer.Option(metavar="NAME|FILE", help="For the report: policy of the notes that go along.")
    ] = None,
    key_file: KeyFile = None,
    codes: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Attack this column of diagnosis codes, as deid codes risk does."),
    ] = None,
    ignore_suppressed: IgnoreSuppressed = False,
    persons_as_given: PersonsAsGiven = False,
    separator: Separator = None,
    table: SqlTable = None,
    summary_json: SummaryJson = None,
) -> None:
    """Measure the risk of re-identification and disclosure in a table.

    The prosecutor knows that a person is in the table, the journalist looks in the population, the marketer links all.
    With a population also the risk that membership itself discloses (everyone in the table has the disease).

    Example: deid risk released.csv --qi age,sex,zip --population voters.csv
    """
    from deid.base.errors import ConfigError
    from deid.disclosure.composition import composition_attack
    from deid.disclosure.guards import check_published
    from deid.disclosure.risk import population_risk, sample_risk
    from deid.manifest import results_of

    if check_report is not None:
        return check_signed(place, population, check_report, key_file, summary_json)
    if expert_report is None and (assume or policy):
        raise ConfigError("--assume and --policy are for the report", "add --expert-report F")
    if codes is not None:
        return risk_of_codes(
            place, codes, population=population, person=person, separator=separator, table=table,
            summary_json=summary_json,
        )  # fmt: skip
    said = gather_schema(schema, quasi_identifiers, sensitive, person, hierarchy, persons_as_given=persons_as_given)
    release = open_microdata(place, said, separator, table, published=True)
    told = check_published(release, results_of(Path(place)))
    rule = "ignore" if ignore_suppressed else "class"
    if earlier is not None and not release.sensitive:
        raise ConfigError("no column is sensitive", "name the ones under attack with --sensitive")
    alone = sample_risk(release, threshold=threshold, population_size=population_size, suppressed=rule)
    extra: dict[str, Any] = {"sample": alone.as_dict()}
    rows = _sample_rows(alone, threshold)
    whole: PopulationRisk | None = None
    register_of_all = open_beside(population, release, said, separator)
    if register_of_all is not None:
        whole = population_risk(release, register_of_all, threshold=threshold, suppressed=rule)
        extra["population"] = whole.as_dict()
        rows += _population_rows(whole, threshold)
    if earlier is not None:
        from dataclasses import asdict

        other = open_microdata(earlier, said, separator, None, published=True)
        targets = open_beside(known, release, said, separator)
        for column in release.sensitive:
            attack = composition_attack(release, other, column, targets)
            extra.setdefault("composition", {})[column] = asdict(attack)
            rows += _composition_rows(column, attack, known is not None)
    print_rows(("measure", "value", "rows"), rows)
    summary = Summary("risk")
    summary.notes = list(told)
    summary.extra = extra
    if expert_report is not None:
        summary.notes += write_report(
            expert_report,
            release,
            alone,
            whole,
            place,
            population,
            threshold,
            [*(assume or ()), *told],
            policy,
            rule,
            key_file,
        )
    summary.finish(summary_json)


def _percent(share: float) -> str:
    return f"{share:.2%}"


def _numbers(rows: tuple[int, ...]) -> str:
    return " ".join(str(row + 1) for row in rows[:5])


def _attacker_rows(name: str, found: AttackerRisk, threshold: float) -> list[tuple[str, ...]]:
    return [
        (f"{name}: highest", _percent(found.highest), _numbers(found.witness)),
        (f"{name}: average", _percent(found.average), ""),
        (f"{name}: persons above {threshold:g}", _percent(found.at_risk), ""),
    ]


def _sample_rows(found: SampleRisk, threshold: float) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        ("rows, persons, classes", f"{found.rows}, {found.persons}, {found.classes}", ""),
        ("persons of the smallest class", str(found.smallest_class), ""),
        *_attacker_rows("prosecutor", found.prosecutor, threshold),
        ("marketer: linked rightly", _percent(found.marketer), ""),
        ("unique in the table", _percent(found.sample_unique), ""),
    ]
    if found.population_unique is not None:
        rows.append(("unique in the population, estimated", _percent(found.population_unique), ""))
    return rows


def _population_rows(found: PopulationRisk, threshold: float) -> list[tuple[str, ...]]:
    return [
        ("population matching a row: least", str(found.smallest_match), ""),
        *_attacker_rows("journalist (q, Q)", found.journalist, threshold),
        *_attacker_rows("instance disclosure (r, R)", found.instance, threshold),
        ("unique in the population", _percent(found.population_unique), ""),
        ("membership: chance of presence", f"{found.membership.least:.2%} to {found.membership.greatest:.2%}", ""),
        ("membership: certainly in the table", _percent(found.membership.certain), ""),
    ]


def _composition_rows(column: str, found: Composition, persons: bool) -> list[tuple[str, ...]]:
    what = "persons in both releases" if persons else "pairs of classes with a value in common"
    before, other, both = found.candidates
    return [
        (f"composition, {column}: {what}", str(found.targets), ""),
        (f"composition, {column}: mean values left by each, by both", f"{before:.2f}, {other:.2f}, {both:.2f}", ""),
        (f"composition, {column}: disclosed by one alone", _percent(found.disclosed_before), ""),
        (f"composition, {column}: disclosed by both", _percent(found.disclosed), _numbers(found.rows)),
    ]
