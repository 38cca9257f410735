"""The commands anonymize and ru-map: a table that can be released, and the map of what could be."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import ClassVar

from deid.base.files import check_new_file, together, write_bytes
from deid.base.options import refuse_given
from deid.cli import Summary, column_names, command, job_count, option, print_rows, working
from deid.cli.option_groups import OutputOptions, TableOutputOptions
from deid.disclosure.assessment import Requirements
from deid.disclosure.methods import MapOptions, MethodChoice, MethodOptions, said_of_size
from deid.disclosure.options import DiskOptions, RoleOptions
from deid.table.options import TableOptions

_FILES, _TABLES = "Further files", "Against other tables"


@dataclass(frozen=True)
class FurtherFiles:
    """What is written beside a release."""

    PANEL: ClassVar[str] = _FILES
    report: Path | None = option(None, "Write a report as a web page.")
    save_scheme: Path | None = option(None, "Keep the recoding as a scheme, for rows to come.")
    aligned: Path | None = option(None, "Private: the published cells in the order of TABLE, for deid write-back.")


@command
def anonymize(
    told: Summary,
    *,
    source: TableOptions,
    place: TableOutputOptions,
    roles: RoleOptions,
    asked: Requirements,
    how: MethodChoice,
    options: MethodOptions,
    population: str | None = option(
        None, "Table of the population, for --k-map, --presence and same-disease.", metavar="P", panel=_TABLES
    ),
    beside: FurtherFiles,
    disk: DiskOptions,
) -> None:
    """Make a table that can be released with a stated protection.

    Every column must be spoken of: quasi-identifiers are generalized until what is asked for holds, sensitive columns
    and those of --publish leave as they are, identifiers, free text and those of --drop do not. Verifiers that know
    only the result must pass it, otherwise nothing is written. OUT.manifest.json lies beside the release.

    Example: deid anonymize patients.csv --qi age,sex,zip --sensitive disease --drop mrn --k 5 --l 2 -o released.csv
    """

    from deid.disclosure.guards import fates_of
    from deid.disclosure.release import anonymize
    from deid.disclosure.release_report import release_notes, release_rows, write_report
    from deid.disclosure.scheme import apply_scheme, read_scheme, scheme_of
    from deid.manifest.page import made_section
    from deid.table.table_writing import check_new_table, write_table

    out = place.check(source.table)
    if disk.memory is not None:
        disk.refuse(
            **{"method": how.method not in ("auto", "mondrian"), "target": how.target, "scheme": how.scheme},
            **{"rules_left": how.rules_left},
            **vars(beside),
            **{"population": population, "prefix": how.prefix},
            **{"suppression": options.suppression, "rounds": options.rounds, "sep": source.sep},
        )
        _anonymize_on_disk(told, source, out, roles, asked, disk.memory, job_count(options.jobs))
        return
    if how.scheme is not None:
        searched: dict[str, object] = {"method": how.method != "auto", "target": how.target, "prefix": how.prefix}
        searched |= {"rules_left": how.rules_left, "population": population}
        refuse_given("is for a search, and a scheme is applied as it is", "--scheme", **searched)
    if beside.aligned is not None:
        check_new_table(beside.aligned)
    check_new_file(beside.save_scheme, beside.report)
    told.begin(out, inputs=source.files(population))
    options = replace(options, jobs=job_count(options.jobs))
    with working("anonymizing"):
        data = roles.open(source.table, source)
        if how.scheme is not None:
            options = replace(options, suppression=options.suppression or 1.0)
            release = apply_scheme(read_scheme(how.scheme), data, asked, options)
        else:
            others = roles.open_beside(population, data, source)
            release = anonymize(
                data,
                asked,
                how.method,
                options,
                target=how.target,
                population=others,
                prefixes=column_names(how.prefix),
                rules_left=how.rules_left,
            )
    with together():
        place.write(release.table())
        if beside.aligned is not None:
            write_table(release.aligned(), beside.aligned)
        if beside.save_scheme is not None:
            write_bytes(beside.save_scheme, scheme_of(release).to_json().encode())
        if beside.report is not None:
            write_report(beside.report, release, made_section(told.run))
    told.notes, told.extra = release_notes(release), release.as_dict()
    if how.method == "auto" and how.scheme is None and (size := said_of_size(len(data), len(data.quasi_identifiers))):
        told.notes.append(size)
    if beside.aligned is not None:
        told.places.append(f"{beside.aligned} ties the release to the rows of the table: it must not leave the house")
    print_rows(("release", "value"), release_rows(release))
    told.sign(
        out,
        beside={"aligned": beside.aligned, "scheme": beside.save_scheme},
        columns={name: f"{what.fate} ({what.role})" for name, what in fates_of(release.original).items()},
        results={name: value for name, value in told.extra.items() if name != "columns"},
    )


def _anonymize_on_disk(
    told: Summary, source: TableOptions, out: Path, roles: RoleOptions, asked: Requirements, memory: int, jobs: int
) -> None:
    """Make a release of a table that does not fit into memory."""
    from deid.disclosure.out_of_core import anonymize_on_disk

    told.begin(out, inputs=source.files())
    with working("anonymizing"):
        release = anonymize_on_disk(
            source.table,
            roles.stated(),
            asked,
            out,
            memory=memory,
            jobs=jobs,
            drop_rest=roles.drop_rest,
            table=source.sql,
        )
    told.notes, told.extra = release.notes(), release.as_dict()
    print_rows(("release", "value"), release.lines())
    told.sign(
        out,
        columns={name: f"{fate} ({role})" for name, (role, fate) in release.fates.items()},
        results=told.extra,
    )


@command
def ru_map(told: Summary, *, source: TableOptions, place: OutputOptions, roles: RoleOptions, asked: MapOptions) -> None:
    """Map risk and utility of many releases of a table, with the Pareto front and choices; releases nothing.

    Writes a plot, .svg or .png.

    Example: deid ru-map patients.csv --qi age,sex,zip --ks 2,5,10 --max-risk 0.05 --min-utility 0.8 -o map.svg
    """

    from deid.base.plots import check_image, image
    from deid.disclosure.frontier import choose, frontier, map_releases, plot_map

    kind = check_image(place.output)
    check_new_file(place.output)
    choose((), least_utility=asked.min_utility, greatest_risk=asked.max_risk)  # bounds that are none are told at once
    data = roles.open(source.table, source)
    asked = replace(asked, jobs=job_count(asked.jobs))
    with working("making releases"):
        points, failures = map_releases(data, column_names(asked.methods), asked.ks, asked, Requirements(l=asked.l))
    choices = choose(points, least_utility=asked.min_utility, greatest_risk=asked.max_risk)
    front = frontier(points)
    write_bytes(place.output, image(plot_map(points, choices), kind), private=False)
    print_rows(
        ("method", "k", "utility", "risk", "Pareto"),
        [(p.method, str(p.k), f"{p.utility:.4f}", f"{p.risk:.4f}", "yes" if p in front else "") for p in points],
    )
    told.notes = [f"{name}, k = {size}: not reached: {error.what}" for name, size, error in failures]
    told.notes += [str(choice) for choice in choices]
    told.extra = {
        "points": [asdict(point) for point in points],
        "front": [asdict(point) for point in front],
        "choices": [asdict(choice) for choice in choices],
    }
